//! The members of a 7z archive.

use super::tree::Tree;
use super::unpack::pump;
use super::{Sink, path};
use crate::bytes::{count, index, le64};
use crate::{Limit, Part, Severity, Unscannable};
use sevenz_rust2::{Archive, ArchiveEntry, BlockDecoder, Error, Password};
use std::io::{Cursor, Read};

/// More memory than any archive of ours needs for its dictionary, in KiB.
const MEMORY_KIB: usize = 96 << 10;
/// Behind the first header; all offsets count from here.
const START: usize = 32;

/// Walks the archive.
///
/// Block by block: the library's reader of whole archives asks how many processors there are, which
/// opens files, and whoever scans in a process that may open none is killed for it.
pub(crate) fn read(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let (mut source, password) = (Cursor::new(bytes), Password::empty());
    let archive = Archive::read_with_memory_limit(&mut source, &password, MEMORY_KIB)
        .map_err(|error| reason(&error))?;
    let mut tree = Tree::default();
    for entry in archive.files.iter().filter(|entry| !holds(entry)) {
        sink.budget().member()?;
        path::check(entry.name(), sink.notes());
        tree.file(entry.name());
    }
    for block in 0..archive.blocks.len() {
        let (limit, source) = (MEMORY_KIB, &mut source);
        let block =
            BlockDecoder::new_with_memory_limit(1, limit, block, &archive, &password, source);
        let mut end = Ok(());
        let walked = block.for_each_entries(&mut |entry, data| {
            if holds(entry) {
                end = member(entry, data, &mut tree, sink);
            }
            Ok(end.is_ok())
        });
        end.and(walked.map_err(|error| reason(&error)))?;
    }
    around(bytes, &archive, sink)?;
    tree.judge(sink)
}

/// What no part of the archive takes up: before the streams, behind them, behind the header.
fn around(bytes: &[u8], archive: &Archive, sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let header = le64(bytes, 12).ok_or(Unscannable::Corrupt)?;
    let header_size = le64(bytes, 20).ok_or(Unscannable::Corrupt)?;
    let header = START.saturating_add(index(header));
    let end = header.saturating_add(index(header_size));
    let streams = START.saturating_add(index(archive.pack_pos()));
    let packed = archive
        .pack_sizes()
        .iter()
        .fold(0u64, |sum, size| sum.saturating_add(*size));
    let streams_end = streams.saturating_add(index(packed));
    let (of_header, of_header_end) =
        packed_header(bytes.get(header..end).unwrap_or_default()).unwrap_or((header, header));
    // Archives without a stream say nothing of where streams are.
    let (streams, streams_end) = if packed == 0 {
        (START, START)
    } else {
        (streams, streams_end)
    };
    for (from, to) in [
        (START, streams),
        (streams_end, of_header),
        (of_header_end, header),
        (end, bytes.len()),
    ] {
        let Some(rest) = bytes
            .get(from..to)
            .filter(|rest| rest.iter().any(|byte| *byte != 0))
        else {
            continue;
        };
        sink.budget().charge(count(rest.len()))?;
        sink.notes().find(
            "polyglot.around",
            Severity::Suspicious,
            format!("offset {from}"),
            "bytes that are of no part of the archive",
        );
        sink.member(Part {
            place: format!("offset {from}"),
            name: None,
            kind: None,
            bytes: rest.to_vec(),
        });
    }
    Ok(())
}

/// Where the packed header lies that this one tells of, if it does.
fn packed_header(header: &[u8]) -> Option<(usize, usize)> {
    let [0x17, 0x06, rest @ ..] = header else {
        return None;
    };
    let (at, rest) = number(rest)?;
    let (1, rest) = number(rest)? else {
        return None;
    };
    let (size, _) = number(rest.strip_prefix(&[0x09])?)?;
    let start = START.saturating_add(index(at));
    Some((start, start.saturating_add(index(size))))
}

/// The first byte tells by its leading ones how many bytes follow, of which the lowest comes first.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let more = usize::try_from(first.leading_ones()).ok()?;
    let (low, rest) = rest.split_at_checked(more)?;
    let low = low
        .iter()
        .rev()
        .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let high = u64::from(*first) & 0x7fu64.checked_shr(u32::try_from(more).ok()?).unwrap_or(0);
    let shift = u32::try_from(8 * more).ok()?;
    Some((low | high.checked_shl(shift).unwrap_or(0), rest))
}

fn holds(entry: &ArchiveEntry) -> bool {
    !entry.is_directory() && entry.has_stream()
}

fn member(
    entry: &ArchiveEntry,
    data: &mut dyn Read,
    tree: &mut Tree,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    sink.budget().member()?;
    let name = entry.name().to_owned();
    path::check(&name, sink.notes());
    let unpacked = pump(data, sink.budget());
    // The high half of the attributes is the mode of Unix.
    let mode = entry.windows_attributes() >> 16;
    if mode & 0o170_000 == 0o120_000 {
        let target = String::from_utf8_lossy(&unpacked.bytes);
        path::check_link(&name, &target, sink.notes());
        tree.link(&name, &target, sink.notes());
    } else {
        tree.file(&name);
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

#[cfg(test)]
mod tests {
    use super::super::tests::Kept;
    use super::*;
    use crate::Limits;

    /// One file of four bytes, not packed, as 7-Zip writes it.
    const PACKED: &[u8] = b"\
        \x37\x7a\xbc\xaf\x27\x1c\x00\x04\x96\x41\xf6\xc2\x04\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\
        \x00\x00\x00\x00\x0d\x67\xd9\x0b\x31\x2c\x32\x0a\x01\x04\x06\x00\x01\x09\x04\x00\x07\x0b\x01\x00\
        \x01\x01\x00\x0c\x04\x00\x08\x0a\x01\x33\x42\x21\x55\x00\x00\x05\x01\x11\x0d\x00\x61\x00\x2e\x00\
        \x63\x00\x73\x00\x76\x00\x00\x00\x15\x06\x01\x00\x20\x80\xa4\x81\x00\x00\
        ";

    #[test]
    fn what_is_of_no_part_of_the_archive_is_handed_on() {
        let mut kept = Kept::new(Limits::default());
        assert_eq!(read(PACKED, &mut kept), Ok(()));
        assert_eq!((kept.names(), kept.rules()), (vec!["a.csv"], vec![]));
        let mut kept = Kept::new(Limits::default());
        assert_eq!(read(&[PACKED, b"tail"].concat(), &mut kept), Ok(()));
        assert_eq!(kept.rules(), ["polyglot.around"]);
        assert_eq!(kept.members[1].bytes, b"tail");
    }

    #[test]
    fn numbers_have_their_length_in_the_first_byte() {
        assert_eq!(number(&[0x7f, 1]), Some((0x7f, &[1][..])));
        assert_eq!(number(&[0x81, 0x02]), Some((0x102, &[][..])));
        assert_eq!(
            number(&[0xff, 1, 0, 0, 0, 0, 0, 0, 1]),
            Some((1 << 56 | 1, &[][..]))
        );
        assert_eq!(number(&[0xc0, 1]), None);
    }
}
