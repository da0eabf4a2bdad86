//! Decodes a stream into memory, within the budget, and keeps what came out before it broke.

use crate::bytes::{count, index};
use crate::{Budget, Limit, Unscannable};
use std::io::{self, ErrorKind, Read};

/// What a decoder gave, and why it gave no more.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: Result<(), Unscannable>,
}

/// Reads a decoder to its end, or to the end of the budget.
pub(crate) fn pump(mut decoder: impl Read, budget: &mut Budget) -> Unpacked {
    let most = index(budget.limits().member_bytes);
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    let end = loop {
        let read = match decoder.read(&mut chunk) {
            Ok(0) => break Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => break Err(reason(&error)),
        };
        if let Err(spent) = budget.unpack(count(read)) {
            break Err(spent);
        }
        if bytes.len() + read > most {
            break Err(Unscannable::Limit(Limit::Memory));
        }
        bytes.extend_from_slice(&chunk[..read]);
    };
    Unpacked { bytes, end }
}

/// Why a decoder failed.
pub(crate) fn reason(error: &io::Error) -> Unscannable {
    match error.kind() {
        ErrorKind::Unsupported => Unscannable::Unsupported,
        ErrorKind::OutOfMemory => Unscannable::Limit(Limit::Memory),
        _ => Unscannable::Corrupt,
    }
}

/// Inflates raw deflate data.
pub(crate) fn inflate(packed: &[u8], budget: &mut Budget) -> Unpacked {
    pump(flate2::bufread::DeflateDecoder::new(packed), budget)
}

/// Undoes the older form of xz, with a header of its own.
pub(crate) fn lzma(packed: impl Read, budget: &mut Budget) -> Unpacked {
    lzma_taking(packed, budget).0
}

/// The same; tells how many bytes it read and did not take, or nothing where it could not begin.
pub(crate) fn lzma_taking(packed: impl Read, budget: &mut Budget) -> (Unpacked, Option<usize>) {
    const MEMORY_KIB: u32 = 96 << 10;
    match lzma_rust2::LzmaReader::new_mem_limit(packed, MEMORY_KIB, None) {
        Ok(mut decoder) => {
            let unpacked = pump(&mut decoder, budget);
            (unpacked, Some(decoder.into_parts().1.len()))
        }
        Err(error) => {
            let end = Err(reason(&error));
            let bytes = Vec::new();
            (Unpacked { bytes, end }, None)
        }
    }
}

/// Inflates zlib data.
pub(crate) fn zlib(packed: &[u8], budget: &mut Budget) -> Unpacked {
    pump(flate2::bufread::ZlibDecoder::new(packed), budget)
}

/// Unpacks gzip, all members of it.
pub(crate) fn gzip(packed: &[u8], budget: &mut Budget) -> Unpacked {
    pump(flate2::bufread::MultiGzDecoder::new(packed), budget)
}
