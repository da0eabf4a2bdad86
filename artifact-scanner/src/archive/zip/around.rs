//! What a zip holds outside its members.

use super::record::End;
use crate::archive::Sink;
use crate::{Part, Severity};
use memchr::memmem;

/// What stands before the first member, behind the end, and in the comment.
pub(super) fn read(bytes: &[u8], first: usize, end: &End, sink: &mut dyn Sink) {
    let mut outside = |place: &str, slice: &[u8], severity, message: &str| {
        if slice.iter().any(|byte| *byte != 0) {
            sink.notes()
                .find("polyglot.around", severity, place, message);
            sink.member(Part {
                place: place.to_owned(),
                name: None,
                kind: None,
                bytes: slice.to_vec(),
            });
        }
    };
    let head = &bytes[..first.min(bytes.len())];
    let own = memmem::find(head, b"PK\x03\x04").unwrap_or(head.len());
    let spanned = head.strip_prefix(b"PK\x07\x08").unwrap_or(&head[..own]);
    if own > 0 {
        outside(
            "head",
            spanned,
            Severity::Suspicious,
            "bytes stand before the archive",
        );
    }
    outside(
        "tail",
        &bytes[end.archive_to..],
        Severity::Suspicious,
        "bytes follow the end of the archive",
    );
    let comment = &bytes[end.comment.0..end.comment.1];
    let acts =
        comment.contains(&b'<') || comment.starts_with(b"%PDF") || comment.starts_with(b"PK");
    let severity = if acts {
        Severity::Suspicious
    } else {
        Severity::Info
    };
    outside("comment", comment, severity, "the archive has a comment");
}
