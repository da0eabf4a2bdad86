//! Files that are one stream under a compression: gzip, bzip2, xz, zstd, zlib, lz4, lzma.

use super::unpack::{Unpacked, lzma_taking, pump};
use super::{Sink, aside};
use crate::{Kind, Limit, Part, Severity, Unscannable};

/// What joblib wrote before it knew formats: a mark and a size in letters, padded.
pub(crate) const ZFILE: &[u8] = b"ZF0x";
const ZFILE_HEAD_MAX: usize = 20;
/// A stream that says how long it is may still have a mark at its end, which is not read.
const LZMA_MARKER_MAX: usize = 8;

/// Unpacks the stream and hands its content on, under the name without the ending; what follows
/// the stream is handed on, too.
pub(crate) fn read(
    kind: Kind,
    bytes: &[u8],
    name: &str,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    let mut content = Vec::new();
    let mut rest = bytes;
    if kind == Kind::Zlib && bytes.starts_with(ZFILE) {
        let head = bytes.iter().skip(ZFILE.len()).take(ZFILE_HEAD_MAX);
        let size = head.take_while(|b| b.is_ascii_hexdigit() || matches!(b, b'L' | b' '));
        rest = &bytes[ZFILE.len() + size.count()..];
    }
    let mut end = Ok(());
    // One frame or member may follow another, and readers join them.
    while end.is_ok() && is_frame(kind, rest) {
        sink.budget().member()?;
        if kind == Kind::Gzip {
            aside::search("header", aside::of_gzip(rest), sink)?;
        }
        let before = rest.len();
        let unpacked = frame(kind, &mut rest, sink);
        end = unpacked.end;
        if content.is_empty() {
            content = unpacked.bytes;
        } else if content.len() + unpacked.bytes.len() > max(sink) {
            end = Err(Unscannable::Limit(Limit::Memory));
        } else {
            content.extend_from_slice(&unpacked.bytes);
        }
        if end.is_ok() && rest.len() == before {
            end = Err(Unscannable::Corrupt);
        }
    }
    sink.member(Part {
        place: String::new(),
        name: Some(inner_name(name)),
        kind: None,
        bytes: content,
    });
    end?;
    if rest.iter().any(|byte| *byte != 0) {
        let offset = bytes.len() - rest.len();
        sink.notes().find(
            "polyglot.trailing",
            Severity::Suspicious,
            format!("offset {offset}"),
            format!("{} bytes follow the end of the compressed data", rest.len()),
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

fn max(sink: &mut dyn Sink) -> usize {
    crate::bytes::index(sink.budget().limits().member_bytes)
}

fn is_frame(kind: Kind, bytes: &[u8]) -> bool {
    let skippable = matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    match kind {
        Kind::Gzip => bytes.starts_with(b"\x1f\x8b"),
        Kind::Bzip2 => bytes.starts_with(b"BZh"),
        Kind::Xz => bytes.starts_with(b"\xfd7zXZ\0"),
        Kind::Zstd => skippable || bytes.starts_with(b"\x28\xb5\x2f\xfd"),
        Kind::Lz4 => bytes.starts_with(b"\x04\x22\x4d\x18"),
        Kind::Lzma => bytes.first() == Some(&0x5d),
        Kind::Zlib => bytes.first().is_some_and(|first| first & 0x0f == 8),
        _ => false,
    }
}

/// Unpacks one frame and moves past it.
fn frame(kind: Kind, rest: &mut &[u8], sink: &mut dyn Sink) -> Unpacked {
    match kind {
        Kind::Gzip => pump(flate2::bufread::GzDecoder::new(&mut *rest), sink.budget()),
        Kind::Zlib => pump(flate2::bufread::ZlibDecoder::new(&mut *rest), sink.budget()),
        Kind::Bzip2 => pump(bzip2::bufread::BzDecoder::new(&mut *rest), sink.budget()),
        Kind::Xz => pump(
            lzma_rust2::XzReader::new_mem_limit(&mut *rest, false, 96 << 10),
            sink.budget(),
        ),
        Kind::Lzma => {
            let whole = *rest;
            let (unpacked, left) = lzma_taking(&mut *rest, sink.budget());
            let left = rest.len() + left.unwrap_or_default();
            *rest = &whole[whole.len().saturating_sub(left)..];
            let has_size = crate::bytes::le64(whole, 5).is_some_and(|size| size != u64::MAX);
            if has_size && left <= LZMA_MARKER_MAX {
                *rest = &[];
            }
            unpacked
        }
        Kind::Zstd => zstd(rest, sink),
        Kind::Lz4 => pump(
            lz4_flex::frame::FrameDecoder::new(&mut *rest),
            sink.budget(),
        ),
        _ => Unpacked {
            bytes: Vec::new(),
            end: Err(Unscannable::Unsupported),
        },
    }
}

fn zstd(rest: &mut &[u8], sink: &mut dyn Sink) -> Unpacked {
    if let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] = **rest {
        let length = crate::bytes::index(u32::from_le_bytes([a, b, c, d]));
        let skipped = crate::bytes::slice(rest, 8, length).map(<[u8]>::to_vec);
        *rest = rest
            .get(8usize.saturating_add(length)..)
            .unwrap_or_default();
        let Some(skipped) = skipped else {
            return Unpacked {
                bytes: Vec::new(),
                end: Err(Unscannable::Corrupt),
            };
        };
        if !skipped.is_empty() {
            sink.member(Part {
                place: "skippable frame".into(),
                name: None,
                kind: None,
                bytes: skipped,
            });
        }
        return Unpacked {
            bytes: Vec::new(),
            end: Ok(()),
        };
    }
    match ruzstd::decoding::StreamingDecoder::new(&mut *rest) {
        Ok(decoder) => pump(decoder, sink.budget()),
        Err(_) => Unpacked {
            bytes: Vec::new(),
            end: Err(Unscannable::Corrupt),
        },
    }
}

/// The name of what is within: `a.csv` of `a.csv.gz`, `a.tar` of `a.tgz`.
fn inner_name(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, ending)) => match ending.to_lowercase().as_str() {
            "tgz" | "taz" | "tbz" | "tbz2" | "txz" | "tzst" => format!("{stem}.tar"),
            "svgz" => format!("{stem}.svg"),
            "gz" | "bz2" | "xz" | "zst" | "lz4" | "lzma" | "z" => stem.to_owned(),
            // What a loader finds by itself, whatever the name.
            _ => String::new(),
        },
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::archive::tests::Kept;
    use std::io::Write as _;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).expect("to memory");
        encoder.finish().expect("to memory")
    }

    #[test]
    fn members_of_gzip_are_joined_and_the_tail_is_seen() {
        let mut kept = Kept::new(Limits::default());
        let bytes = [gzip(b"ab"), gzip(b"cd"), b"tail".to_vec()].concat();
        read(Kind::Gzip, &bytes, "x.csv.gz", &mut kept).expect("readable");
        assert_eq!(kept.members[0].bytes, b"abcd");
        assert_eq!(kept.members[0].name.as_deref(), Some("x.csv"));
        assert_eq!(kept.members[1].bytes, b"tail");
        assert_eq!(kept.rules(), ["polyglot.trailing"]);
    }

    #[test]
    fn a_cut_stream_is_corrupt_and_its_head_is_scanned() {
        let mut kept = Kept::new(Limits::default());
        let bytes = gzip(&vec![b'a'; 100_000]);
        let end = read(Kind::Gzip, &bytes[..bytes.len() - 9], "x.gz", &mut kept);
        assert_eq!(end, Err(Unscannable::Corrupt));
        assert!(!kept.members[0].bytes.is_empty());
    }

    #[test]
    fn streams_of_lzma_are_joined_and_the_tail_is_seen() {
        const AB: &[u8] = b"\x5d\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x30\x98\x9c\xff\xff\xff\xff\xf0\x00\x00\x00";
        const CD: &[u8] = b"\x5d\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x31\x99\x1c\xff\xff\xff\xff\xf0\x00\x00\x00";
        let mut kept = Kept::new(Limits::default());
        let two = [AB, CD].concat();
        read(Kind::Lzma, &two, "x.csv.lzma", &mut kept).expect("whole");
        assert_eq!(
            (kept.members[0].bytes.as_slice(), kept.rules()),
            (&b"abcd"[..], vec![])
        );
        let mut kept = Kept::new(Limits::default());
        let tail = [AB, b"the tail of it"].concat();
        read(Kind::Lzma, &tail, "x.csv.lzma", &mut kept).expect("whole");
        assert_eq!(kept.members[1].bytes, b"the tail of it");
        assert_eq!(kept.rules(), ["polyglot.trailing"]);
    }

    #[test]
    fn a_bomb_stops_at_the_ratio() {
        let mut kept = Kept::new(Limits::default());
        let bytes = gzip(&vec![0; 64 << 20]);
        kept.budget.packed(crate::bytes::count(bytes.len()));
        let end = read(Kind::Gzip, &bytes, "x.gz", &mut kept);
        assert_eq!(end, Err(Unscannable::Limit(Limit::Ratio)));
        assert!(kept.members[0].bytes.len() <= 17 << 20);
    }
}
