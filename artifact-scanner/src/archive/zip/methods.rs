//! How much of a zip is a member's, and what does it unpack to?

use super::record::Entry;
use crate::Unscannable;
use crate::archive::Sink;
use crate::archive::unpack::{Unpacked, inflate, lzma, pump};
use std::io::Read as _;

/// How many packed bytes a member has: where the directory hides data that the local header admits,
/// that is read.
pub(super) fn packed(entry: &Entry, header: &Entry) -> u64 {
    if header.has_descriptor() {
        entry.packed
    } else {
        entry.packed.max(header.packed)
    }
}

pub(super) fn unpack(entry: &Entry, data: &[u8], sink: &mut dyn Sink) -> Unpacked {
    let budget = sink.budget();
    match entry.method {
        0 => pump(data, budget),
        8 => inflate(data, budget),
        12 => pump(bzip2::bufread::BzDecoder::new(data), budget),
        // A version, the length of the properties, the properties; then as in a file of its own.
        14 => {
            let body = data.get(4..).unwrap_or_default();
            let (properties, data) = body.split_at_checked(5).unwrap_or_default();
            let ends_itself = entry.flags & 2 != 0;
            let size = if ends_itself { u64::MAX } else { entry.size };
            let header = [properties, &size.to_le_bytes()].concat();
            lzma(header.chain(data), budget)
        }
        93 => match ruzstd::decoding::StreamingDecoder::new(data) {
            Ok(decoder) => pump(decoder, budget),
            Err(_) => Unpacked {
                bytes: Vec::new(),
                end: Err(Unscannable::Corrupt),
            },
        },
        95 => pump(
            lzma_rust2::XzReader::new_mem_limit(data, false, 96 << 10),
            budget,
        ),
        _ => Unpacked {
            bytes: Vec::new(),
            end: Err(Unscannable::Unsupported),
        },
    }
}
