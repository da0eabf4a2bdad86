//! The members of a 7z archive.

use super::unpack::pump;
use super::{Sink, path};
use crate::bytes::{index, le64};
use crate::{Limit, Part, Severity, Unscannable};
use sevenz_rust2::{Archive, ArchiveEntry, BlockDecoder, Error, Password};
use std::io::{Cursor, Read};

/// More memory than any archive of ours needs for its dictionary, in KiB.
const MEMORY_KIB: usize = 96 << 10;

/// Walks the archive.
///
/// Block by block: the library's reader of whole archives asks how many processors there are, which
/// opens files, and whoever scans in a process that may open none is killed for it.
pub(crate) fn read(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let (mut source, password) = (Cursor::new(bytes), Password::empty());
    let archive = Archive::read_with_memory_limit(&mut source, &password, MEMORY_KIB)
        .map_err(|error| reason(&error))?;
    for entry in archive.files.iter().filter(|entry| !holds(entry)) {
        sink.budget().member()?;
        path::check(entry.name(), sink.notes());
    }
    for block in 0..archive.blocks.len() {
        let (limit, source) = (MEMORY_KIB, &mut source);
        let block =
            BlockDecoder::new_with_memory_limit(1, limit, block, &archive, &password, source);
        let mut end = Ok(());
        let walked = block.for_each_entries(&mut |entry, data| {
            if holds(entry) {
                end = member(entry, data, sink);
            }
            Ok(end.is_ok())
        });
        end.and(walked.map_err(|error| reason(&error)))?;
    }
    let after = header_end(bytes).and_then(|end| bytes.get(end..));
    if let Some(rest) = after.filter(|rest| rest.iter().any(|byte| *byte != 0)) {
        let offset = bytes.len() - rest.len();
        sink.notes().find(
            "polyglot.trailing",
            Severity::Suspicious,
            format!("offset {offset}"),
            "bytes follow the end of the archive",
        );
        sink.member(Part {
            place: format!("offset {offset}"),
            name: None,
            kind: None,
            bytes: rest.to_vec(),
        });
    }
    Ok(())
}

/// Where the header ends, which is the last of an archive.
fn header_end(bytes: &[u8]) -> Option<usize> {
    const FIRST: usize = 32;
    let end = le64(bytes, 12)?.checked_add(le64(bytes, 20)?)?;
    index(end).checked_add(FIRST)
}

fn holds(entry: &ArchiveEntry) -> bool {
    !entry.is_directory() && entry.has_stream()
}

fn member(
    entry: &ArchiveEntry,
    data: &mut dyn Read,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    sink.budget().member()?;
    let name = entry.name().to_owned();
    path::check(&name, sink.notes());
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
    unpacked.end
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
