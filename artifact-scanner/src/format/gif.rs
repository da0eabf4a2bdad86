//! Whether a GIF is whole, how large it claims to be, and what its comments hold.

use super::{pixels, trailing};
use crate::bytes::{le16, slice};
use crate::{Budget, Notes, Unscannable};

/// Walks the blocks.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    walk(bytes, notes, budget).map_or_else(Err, |end| {
        trailing(bytes, end.ok_or(Unscannable::Corrupt)?, notes);
        Ok(())
    })
}

/// Where the file ends; `None` where it does not.
fn walk(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<Option<usize>, Unscannable> {
    let (Some(width), Some(height), Some(flags)) = (le16(bytes, 6), le16(bytes, 8), bytes.get(10))
    else {
        return Ok(None);
    };
    pixels(width.into(), height.into(), budget)?;
    let mut at = 13 + table(*flags);
    let mut images = 0u64;
    loop {
        budget.charge(16)?;
        match bytes.get(at) {
            Some(0x3b) => return Ok(Some(at + 1)),
            Some(0x2c) => {
                let Some(flags) = bytes.get(at + 9) else {
                    return Ok(None);
                };
                images += 1;
                pixels(
                    images.saturating_mul(width.into()),
                    u64::from(height) / 64,
                    budget,
                )?;
                at += 10 + table(*flags) + 1;
            }
            Some(0x21) => at += 2,
            _ => return Ok(None),
        }
        // Comments, texts and what programs note for themselves.
        let is_note = at
            .checked_sub(2)
            .and_then(|start| bytes.get(start..at))
            .is_some_and(|head| matches!(head, [0x21, label] if *label != 0xf9));
        let start = at;
        let mut text = Vec::new();
        loop {
            let Some(length) = bytes.get(at).map(|length| usize::from(*length)) else {
                return Ok(None);
            };
            budget.charge(1)?;
            let Some(block) = slice(bytes, at + 1, length) else {
                return Ok(None);
            };
            if is_note {
                text.extend_from_slice(block);
            }
            at += 1 + length;
            if length == 0 {
                break;
            }
        }
        if text.starts_with(b"XMP DataXMP") {
            // Its letters are the lengths of its blocks, too; or blocks are joined as everywhere.
            let place = format!("joined blocks before offset {at}");
            notes.part(place, None, None, text.split_off(11));
            text = bytes[start + 12..at].to_vec();
        } else if [&b"NETSCAPE2.0"[..], b"ANIMEXTS1.0"].contains(&text.get(..11).unwrap_or(b"")) {
            text.drain(..11);
        }
        // How often the pictures are shown takes three bytes.
        if text.len() > 3 {
            notes.part(format!("block before offset {at}"), None, None, text);
        }
    }
}

fn table(flags: u8) -> usize {
    if flags & 0x80 == 0 {
        0
    } else {
        3 << ((flags & 7) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Severity};

    const DOT: &[u8] =
        b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

    fn run(bytes: &[u8]) -> (Notes, Result<(), Unscannable>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let end = check(bytes, &mut notes, &mut budget);
        (notes, end)
    }

    #[test]
    fn blocks_of_text_and_of_programs_are_handed_on() {
        let with = |block: &[u8]| {
            let tail = DOT.len() - 1;
            run(&[&DOT[..tail], block, b";"].concat())
        };
        let (notes, end) = with(b"!\xff\x0bOWN PROGRAM\x04note\0");
        assert_eq!((end, notes.parts().len()), (Ok(()), 1));
        assert_eq!(notes.parts()[0].bytes, b"OWN PROGRAMnote");
        let (notes, end) = with(b"!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0");
        assert_eq!((end, notes.parts().len()), (Ok(()), 0));
    }

    #[test]
    fn whole_cut_and_with_a_tail() {
        let (notes, end) = run(DOT);
        assert_eq!((end, notes.worst()), (Ok(()), None));
        assert_eq!(run(&DOT[..DOT.len() - 2]).1, Err(Unscannable::Corrupt));
        let (notes, _) = run(&[DOT, b"PK\x03\x04"].concat());
        assert_eq!(notes.worst(), Some(Severity::Suspicious));
    }
}
