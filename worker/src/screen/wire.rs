//! What does the gate say to a process that scans, and what does it hear?
//!
//! One message is one datagram of the socket: `u32` (little-endian) length of a JSON head, the
//! head, then the bytes of what goes along inline, one after the other. Descriptors go beside it,
//! in the order of the items that have one. Each item is answered by a message of its own.

use artifact_scanner::{Preset, Report, Serve, Verdict};
use kiln_protocol::outcome::Finding;
use kiln_warden::confine::Held;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes of a message at most; a socket takes more.
pub(crate) const MESSAGE_MAX: usize = 128 << 10;
/// Bytes that go inline at most; what is larger goes as a descriptor.
pub(crate) const INLINE_MAX: usize = 32 << 10;
/// Lines that are told of one stream at most; more are all of it.
pub(crate) const LINES_MAX: usize = 256;
/// Findings that are told of one item at most, the worst first.
pub(crate) const FINDINGS_MAX: usize = 50;
/// Bytes of a finding's place and of its sentence at most.
pub(crate) const TEXT_MAX: usize = 400;

/// What is said once, when a process starts: in a sealed file, for rules can be large.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) preset: Preset,
    /// The operator's rules: name and source.
    pub(crate) rules: Vec<(String, String)>,
    pub(crate) wall_ms: u64,
}

/// The answer to that.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hello {
    Ready { held: Held, rules: usize },
    Refused(String),
}

/// What a thing that is scanned is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    File,
    Stream,
}

/// What is asked of one thing.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    /// Whether its bytes are in the message.
    pub(crate) inline: bool,
}

/// The head of a question.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) seq: u64,
    /// The lengths of the job's own secrets, which stand first among the inline bytes.
    pub(crate) secrets: Vec<usize>,
    pub(crate) items: Vec<Item>,
}

/// An answer as it is written.
#[derive(Debug, Serialize)]
pub(crate) struct Told<'a> {
    pub(crate) seq: u64,
    pub(crate) index: usize,
    pub(crate) report: &'a Report,
    pub(crate) lines: &'a [Range<usize>],
}

/// An answer as it is read: nothing in it is believed before it was compared with the question.
#[derive(Debug, Deserialize)]
pub(crate) struct Heard {
    pub(crate) seq: u64,
    pub(crate) index: usize,
    pub(crate) report: HeardReport,
    pub(crate) lines: Vec<Range<usize>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeardReport {
    pub(crate) verdict: Verdict,
    pub(crate) unscannable_reason: Option<String>,
    pub(crate) media_type: String,
    pub(crate) serve: Option<Serve>,
    pub(crate) bytes: u64,
    pub(crate) sha256: Option<String>,
    pub(crate) findings: Vec<Finding>,
}

/// A message: the head, then everything inline.
pub(crate) fn message(ask: &Ask, inline: &[&[u8]]) -> Vec<u8> {
    let head = serde_json::to_vec(ask).expect("texts and numbers always serialise");
    let length = u32::try_from(head.len()).expect("a head is far shorter than a message");
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend_from_slice(&head);
    for part in inline {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// A message taken apart: the head, and what stands behind it.
pub(crate) fn parts(bytes: &[u8]) -> Option<(Ask, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let head = serde_json::from_slice(rest.get(..length)?).ok()?;
    Some((head, &rest[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_comes_apart() {
        let ask = Ask {
            seq: 7,
            secrets: vec![2],
            items: vec![Item {
                name: "a.csv".into(),
                kind: Kind::File,
                bytes: 3,
                inline: true,
            }],
        };
        let bytes = message(&ask, &[b"xy", b"1,2"]);
        let (head, rest) = parts(&bytes).expect("whole");
        assert_eq!((head.seq, head.items.len(), rest), (7, 1, &b"xy1,2"[..]));
        for cut in [0, 3, 4, 20] {
            assert!(parts(&bytes[..cut]).is_none(), "{cut}");
        }
    }
}
