//! The members of a 7z archive.

use super::unpack::pump;
use super::{Sink, path};
use crate::{Limit, Part, Unscannable};
use sevenz_rust2::{ArchiveReader, Error, Password};
use std::io::Cursor;

/// More memory than any archive of ours needs for its dictionary, in KiB.
const MEMORY_KIB: usize = 96 << 10;

/// Walks the archive.
pub(crate) fn read(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let mut reader =
        ArchiveReader::new_with_memory_limit(Cursor::new(bytes), Password::empty(), MEMORY_KIB)
            .map_err(|error| reason(&error))?;
    let mut end = Ok(());
    let walked = reader.for_each_entries(|entry, data| {
        if let Err(spent) = sink.budget().member() {
            end = Err(spent);
            return Ok(false);
        }
        let name = entry.name().to_owned();
        path::check(&name, sink.notes());
        if entry.is_directory() || !entry.has_stream() {
            return Ok(true);
        }
        let unpacked = pump(data, sink.budget());
        // The high half of the attributes is the mode of Unix.
        let mode = entry.windows_attributes() >> 16;
        if mode & 0o170_000 == 0o120_000 {
            path::check_link(
                &name,
                &String::from_utf8_lossy(&unpacked.bytes),
                sink.notes(),
            );
        }
        sink.member(Part {
            place: name.clone(),
            name: Some(name),
            kind: None,
            bytes: unpacked.bytes,
        });
        if let Err(stop) = unpacked.end {
            end = Err(stop);
            return Ok(false);
        }
        Ok(true)
    });
    end.and(walked.map_err(|error| reason(&error)))
}

fn reason(error: &Error) -> Unscannable {
    match error {
        Error::PasswordRequired | Error::MaybeBadPassword(_) => Unscannable::Encrypted,
        Error::UnsupportedCompressionMethod(method) if method.to_uppercase().contains("AES") => {
            Unscannable::Encrypted
        }
        Error::UnsupportedCompressionMethod(_)
        | Error::Unsupported(_)
        | Error::ExternalUnsupported => Unscannable::Unsupported,
        Error::MaxMemLimited { .. } => Unscannable::Limit(Limit::Memory),
        _ => Unscannable::Corrupt,
    }
}
