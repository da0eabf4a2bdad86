//! Which documents and archives begin behind something else, where their readers still find them?

use super::Subject;
use crate::bytes::{index, le16};
use crate::{Kind, Notes, Severity};

/// Looks for them around what the file is.
pub(super) fn around(kind: Kind, subject: &Subject<'_>, notes: &mut Notes) {
    let bytes = subject.bytes;
    let head = &bytes[..bytes.len().min(1024)];
    if kind != Kind::Pdf
        && let Some(at) = memchr::memmem::find(head, b"%PDF-").filter(|at| *at > 0)
    {
        notes.find(
            "polyglot.pdf",
            Severity::Suspicious,
            format!("offset {at}"),
            "readers of PDF open this file as a document",
        );
        notes.part(
            format!("offset {at}"),
            None,
            Some(Kind::Pdf),
            bytes[at..].to_vec(),
        );
    }
    let tail = &bytes[bytes.len().saturating_sub(22 + 0xffff)..];
    if memchr::memmem::rfind(tail, b"PK\x05\x06").is_some()
        && let Some(at) = memchr::memmem::find(bytes, b"PK\x03\x04")
    {
        notes.find(
            "polyglot.zip",
            Severity::Suspicious,
            format!("offset {at}"),
            "readers of zip open this file as an archive",
        );
        notes.part(
            format!("offset {at}"),
            None,
            Some(Kind::Zip),
            bytes[at..].to_vec(),
        );
    }
    let media = [
        Kind::Png,
        Kind::Jpeg,
        Kind::Gif,
        Kind::Webp,
        Kind::Bmp,
        Kind::Wav,
        Kind::Mp4,
    ];
    if media.contains(&kind)
        && let Some(at) = archive(bytes)
    {
        notes.find(
            "polyglot.archive",
            Severity::Suspicious,
            format!("offset {at}"),
            "programs that unpack find an archive in this file",
        );
        notes.part(format!("offset {at}"), None, None, bytes[at..].to_vec());
    }
    // Text that a container keeps where nobody looks, and a browser that guesses finds.
    if subject.is_within && !subject.is_claimed && subject.name.is_empty() && kind == Kind::Html {
        notes.find(
            "polyglot.markup",
            Severity::Suspicious,
            "",
            "a page of HTML where none belongs",
        );
    }
}

/// Where an archive begins that a program finds which looks for one in anything.
fn archive(bytes: &[u8]) -> Option<usize> {
    // Six bytes do not come by chance; four do, so that a member of a zip must look like one.
    let marked = [&b"7z\xbc\xaf\x27\x1c"[..], b"Rar!\x1a\x07", b"\xfd7zXZ\0"]
        .iter()
        .filter_map(|magic| memchr::memmem::find(bytes, magic))
        .min();
    let member = |at: &usize| {
        let head = &bytes[*at..];
        let method = le16(head, 8).unwrap_or(u16::MAX);
        let name = index(le16(head, 26).unwrap_or_default());
        let name = head.get(30..30 + name).unwrap_or_default();
        head.get(4).is_some_and(|version| *version <= 63)
            && head.get(5) == Some(&0)
            && matches!(method, 0 | 8 | 9 | 12 | 14 | 93 | 95 | 98 | 99)
            && !name.is_empty()
            && !name.iter().any(u8::is_ascii_control)
    };
    marked.or_else(|| memchr::memmem::find_iter(bytes, b"PK\x03\x04").find(member))
}

#[cfg(test)]
mod tests {
    use super::archive;

    #[test]
    fn an_archive_is_told_from_four_bytes() {
        assert_eq!(archive(b"ab7z\xbc\xaf\x27\x1c\0\x04"), Some(2));
        assert_eq!(archive(b"abRar!\x1a\x07\0"), Some(2));
        let mut member = b"abPK\x03\x04\x14\0\0\0\x08\0".to_vec();
        member.resize(28, 0);
        member.extend(b"\x05\0\0\0a.exe");
        assert_eq!(archive(&member), Some(2));
        member[7] = 1;
        assert_eq!(archive(&member), None);
        assert_eq!(archive(b"ab7z, PK\x03\x04 and Rar!"), None);
    }
}
