//! Whether a JPEG is whole, how large it claims to be, and what its comments hold.

use super::{pixels, trailing};
use crate::bytes::{be16, count, slice};
use crate::{Budget, Notes, Unscannable};
use std::collections::BTreeMap;

/// What begins so goes on in the next segment, behind a head of so many bytes.
const SPREAD: [(&[u8], usize); 3] = [
    (b"ICC_PROFILE\0", 14),
    (b"http://ns.adobe.com/xmp/extension/\0", 75),
    (b"Photoshop 3.0\0", 14),
];

/// Walks the segments.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut at = 2;
    let mut frame = false;
    let mut joined = Joined::default();
    loop {
        let Some([0xff, marker]) = slice(bytes, at, 2).and_then(|m| <&[u8; 2]>::try_from(m).ok())
        else {
            return Err(Unscannable::Corrupt);
        };
        at += 2;
        match *marker {
            0xff => at -= 1,
            0xd9 if frame => break,
            0x01 | 0xd0..=0xd7 => {}
            marker => {
                let length = usize::from(be16(bytes, at).ok_or(Unscannable::Corrupt)?);
                let body = slice(
                    bytes,
                    at + 2,
                    length.checked_sub(2).ok_or(Unscannable::Corrupt)?,
                )
                .ok_or(Unscannable::Corrupt)?;
                at += length;
                budget.charge(count(length))?;
                match marker {
                    0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                        let (Some(height), Some(width)) = (be16(body, 1), be16(body, 3)) else {
                            return Err(Unscannable::Corrupt);
                        };
                        pixels(width.into(), height.into(), budget)?;
                        frame = true;
                    }
                    // Comments, and what programs note for themselves.
                    0xe0..=0xfe if !body.is_empty() => {
                        joined.add(marker, body, budget)?;
                        notes.part(
                            format!("segment before offset {at}"),
                            None,
                            None,
                            body.to_vec(),
                        );
                    }
                    0xda => at = scan_end(bytes, at, budget)?,
                    _ => {}
                }
            }
        }
    }
    joined.hand_on(notes);
    trailing(bytes, at, notes);
    Ok(())
}

/// What programs note in several segments of one kind, because one is too short.
#[derive(Default)]
struct Joined(BTreeMap<(u8, &'static [u8]), Noted>);

/// In how many segments, and what.
type Noted = (usize, Vec<u8>);

impl Joined {
    fn add(&mut self, marker: u8, body: &[u8], budget: &mut Budget) -> Result<(), Unscannable> {
        let spread = SPREAD.iter().find(|(name, _)| body.starts_with(name));
        let (name, head) = spread.copied().unwrap_or_default();
        let head = head.min(body.len());
        budget.unpack(count(body.len() - head))?;
        let (number, text) = self.0.entry((marker, name)).or_default();
        *number += 1;
        text.extend_from_slice(&body[head..]);
        Ok(())
    }

    fn hand_on(self, notes: &mut Notes) {
        for ((marker, _), (number, text)) in self.0 {
            if number > 1 {
                notes.part(format!("joined segments {marker:#x}"), None, None, text);
            }
        }
    }
}

/// Where the packed picture ends: at a marker that is neither stuffing nor a restart.
fn scan_end(bytes: &[u8], from: usize, budget: &mut Budget) -> Result<usize, Unscannable> {
    let mut at = from;
    while let Some(found) = memchr::memchr(0xff, bytes.get(at..).unwrap_or_default()) {
        at += found;
        budget.charge(count(found) + 2)?;
        match bytes.get(at + 1) {
            Some(0 | 0xd0..=0xd7) => at += 2,
            Some(_) => return Ok(at),
            None => break,
        }
    }
    Err(Unscannable::Corrupt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, Limits, Severity};

    fn jpeg(width: u16, tail: &[u8]) -> Vec<u8> {
        let mut jpeg = b"\xff\xd8\xff\xfe\x00\x04hi\xff\xc0\x00\x0b\x08\x00\x08".to_vec();
        jpeg.extend(width.to_be_bytes());
        jpeg.extend(b"\x01\x01\x11\x00\xff\xda\x00\x02\x12\xff\x00\x34\xff\xd9");
        jpeg.extend(tail);
        jpeg
    }

    fn run(bytes: &[u8]) -> (Notes, Result<(), Unscannable>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let end = check(bytes, &mut notes, &mut budget);
        (notes, end)
    }

    #[test]
    fn whole_cut_and_with_a_tail() {
        let (notes, end) = run(&jpeg(8, b""));
        assert_eq!((end, notes.worst()), (Ok(()), None));
        assert_eq!(notes.parts()[0].bytes, b"hi");
        let whole = jpeg(8, b"");
        assert_eq!(run(&whole[..whole.len() - 1]).1, Err(Unscannable::Corrupt));
        assert_eq!(
            run(&jpeg(8, b"PK\x03\x04")).0.worst(),
            Some(Severity::Suspicious)
        );
    }

    #[test]
    fn what_programs_note_is_handed_on() {
        let picture = [
            &jpeg(8, b"")[..2],
            b"\xff\xe2\x00\x05own",
            &jpeg(8, b"")[2..],
        ]
        .concat();
        let (notes, end) = run(&picture);
        assert_eq!(end, Ok(()));
        assert_eq!(notes.parts()[0].bytes, b"own");
    }

    #[test]
    fn what_is_spread_over_segments_is_joined() {
        let first = &jpeg(8, b"")[..2];
        let rest = &jpeg(8, b"")[2..];
        let profile =
            b"\xff\xe2\x00\x12ICC_PROFILE\0\x01\x02ab\xff\xe2\x00\x12ICC_PROFILE\0\x02\x02cd";
        let (notes, end) = run(&[first, profile, rest].concat());
        assert_eq!(end, Ok(()));
        let last = notes.parts().last().expect("one");
        assert_eq!(last.bytes, b"abcd");
        let (notes, _) = run(&[first, b"\xff\xfe\x00\x04to", rest].concat());
        assert_eq!(notes.parts().last().expect("one").bytes, b"tohi");
    }

    #[test]
    fn a_frame_of_too_many_pixels_is_a_bomb() {
        let mut bytes = jpeg(0xffff, b"");
        let frame = bytes
            .windows(2)
            .position(|pair| pair == b"\xff\xc0")
            .expect("there");
        bytes[frame + 5] = 0xff;
        assert_eq!(run(&bytes).1, Err(Unscannable::Limit(Limit::Pixels)));
    }
}
