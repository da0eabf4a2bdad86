//! Which documents and archives begin behind something else, where their readers still find them?

use super::Subject;
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
