//! Whether files of boxes within boxes (WAVE, WebP) and bitmaps are whole.

use super::{pixels, trailing};
use crate::bytes::{be32, count, index, le16, le32, le64, slice};
use crate::{Budget, Notes, Unscannable};

/// Walks the chunks of a WAVE or WebP file.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let big = bytes.starts_with(b"RIFX");
    let number = |at| {
        if big {
            be32(bytes, at)
        } else {
            le32(bytes, at)
        }
    };
    // Sizes that four bytes do not hold stand in the first chunk.
    let wide = bytes
        .starts_with(b"RF64")
        .then(|| (le64(bytes, 20), le64(bytes, 28)));
    let size = match wide {
        Some((size, _)) => size.map(index),
        None => number(4).map(index),
    };
    let size = size.ok_or(Unscannable::Corrupt)?;
    let end = size.saturating_add(8);
    let (form, mut at) = (slice(bytes, 8, 4).ok_or(Unscannable::Corrupt)?, 12);
    if end > bytes.len() {
        return Err(Unscannable::Corrupt);
    }
    let mut data = false;
    while at + 8 <= end {
        let kind = &bytes[at..at + 4];
        let length = match (kind, wide) {
            (b"data", Some((_, length))) => length.map(index),
            _ => number(at + 4).map(index),
        };
        let length = length.ok_or(Unscannable::Corrupt)?;
        // Some programs leave chunks out of the size of the whole.
        let body = slice(bytes, at + 8, length).ok_or(Unscannable::Corrupt)?;
        budget.charge(count(length) + 8)?;
        match kind {
            b"data" | b"VP8 " | b"VP8L" | b"ANMF" => data = true,
            b"LIST" => list(body, at, notes),
            b"fmt " | b"fact" | b"ds64" | b"VP8X" | b"ALPH" | b"ANIM" | b"PEAK" => {}
            _ => notes.part(format!("chunk at offset {at}"), None, None, body.to_vec()),
        }
        if form == b"WEBP" {
            canvas(kind, body, budget)?;
        }
        at += 8 + length + length % 2;
    }
    if !data {
        return Err(Unscannable::Corrupt);
    }
    let padded = end + size % 2 * usize::from(bytes.len() > end);
    trailing(bytes, padded.max(at.min(bytes.len())), notes);
    Ok(())
}

/// The texts of a list, each by itself: title, author, comment.
fn list(body: &[u8], place: usize, notes: &mut Notes) {
    let mut at = 4;
    while let Some(text) = le32(body, at + 4).and_then(|length| slice(body, at + 8, index(length)))
    {
        let place = format!("text at offset {}", place + 8 + at);
        notes.part(place, None, None, text.to_vec());
        at += 8 + text.len() + text.len() % 2;
    }
    if at < body.len() {
        notes.part(
            format!("chunk at offset {place}"),
            None,
            None,
            body[at..].to_vec(),
        );
    }
}

fn canvas(kind: &[u8], body: &[u8], budget: &Budget) -> Result<(), Unscannable> {
    let size = match kind {
        b"VP8X" => le32(body, 4)
            .zip(le32(body, 6))
            .map(|(w, h)| ((w & 0xff_ffff) + 1, (h >> 8) + 1))
            .zip(body.get(9))
            .map(|(size, _)| size),
        b"VP8L" => le32(body, 1).map(|bits| ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)),
        b"VP8 " => le16(body, 6)
            .zip(le16(body, 8))
            .map(|(w, h)| (u32::from(w & 0x3fff), u32::from(h & 0x3fff))),
        _ => return Ok(()),
    };
    let (width, height) = size.ok_or(Unscannable::Corrupt)?;
    pixels(width.into(), height.into(), budget)
}

/// Compares a bitmap's header with its length.
pub(crate) fn check_bitmap(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &Budget,
) -> Result<(), Unscannable> {
    let end = index(le32(bytes, 2).ok_or(Unscannable::Corrupt)?);
    let start = index(le32(bytes, 10).ok_or(Unscannable::Corrupt)?);
    if end > bytes.len() || start > end {
        return Err(Unscannable::Corrupt);
    }
    let (width, height) = if le32(bytes, 14) == Some(12) {
        (
            le16(bytes, 18).map(u32::from),
            le16(bytes, 20).map(u32::from),
        )
    } else {
        (le32(bytes, 18), le32(bytes, 22))
    };
    let (Some(width), Some(height)) = (width, height) else {
        return Err(Unscannable::Corrupt);
    };
    pixels(
        width.into(),
        height.cast_signed().unsigned_abs().into(),
        budget,
    )?;
    trailing(bytes, end, notes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn a_wave_is_whole_or_not() {
        let wave = b"RIFF\x10\0\0\0WAVEdata\x04\0\0\0abcd";
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        assert_eq!(check(wave, &mut notes, &mut budget), Ok(()));
        assert_eq!(notes.worst(), None);
        assert_eq!(
            check(&wave[..20], &mut notes, &mut budget),
            Err(Unscannable::Corrupt)
        );
    }
}
