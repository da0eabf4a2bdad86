//! Whether a film is whole, and what is noted in it.

use super::trailing;
use crate::bytes::{be32, be64, count, index, slice};
use crate::{Budget, Notes, Unscannable};

/// Boxes that hold boxes, in which something may be noted.
const HOLD: [&[u8]; 9] = [
    b"moov", b"trak", b"mdia", b"minf", b"edts", b"dinf", b"moof", b"traf", b"mvex",
];
/// Shorter boxes hold no secret.
const NOTE_BYTES_MIN: usize = 40;

/// Walks the outer boxes of an MP4 file.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let (mut at, mut film) = (0, false);
    while at + 8 <= bytes.len() {
        let kind = &bytes[at + 4..at + 8];
        if !kind
            .iter()
            .all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | 0xa9))
        {
            break;
        }
        budget.charge(64)?;
        let size = match be32(bytes, at).unwrap_or_default() {
            0 => bytes.len() - at,
            1 => index(be64(bytes, at + 8).ok_or(Unscannable::Corrupt)?),
            size => index(size),
        };
        let body = slice(bytes, at, size)
            .filter(|_| size >= 8)
            .ok_or(Unscannable::Corrupt)?;
        match kind {
            b"moov" | b"moof" => {
                film = true;
                within(&body[8..], at + 8, notes, budget)?;
            }
            b"free" | b"skip" | b"uuid" | b"udta" | b"meta"
                if body[8..].iter().any(|byte| *byte != 0) =>
            {
                notes.part(
                    format!("box at offset {at}"),
                    None,
                    None,
                    body[8..].to_vec(),
                );
            }
            _ => {}
        }
        at += size;
    }
    if !film {
        return Err(Unscannable::Corrupt);
    }
    trailing(bytes, at, notes);
    Ok(())
}

/// Hands on what is noted in the index of a film, however deep.
fn within(
    bytes: &[u8],
    from: usize,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut todo = vec![(from, bytes)];
    while let Some((from, bytes)) = todo.pop() {
        let mut at = 0;
        while let Some(size) = be32(bytes, at).map(index) {
            budget.charge(64)?;
            // What is no box is left to who draws it.
            let Some(body) = slice(bytes, at, size).filter(|_| size >= 8) else {
                break;
            };
            let (kind, body) = (&body[4..8], &body[8..]);
            if HOLD.contains(&kind) {
                todo.push((from + at + 8, body));
            } else if matches!(
                kind,
                b"udta" | b"meta" | b"uuid" | b"free" | b"skip" | b"hdlr" | b"name"
            ) && body.len() >= NOTE_BYTES_MIN
                && body.iter().any(|byte| *byte != 0)
            {
                budget.unpack(count(body.len()))?;
                let place = format!("box at offset {}", from + at);
                notes.part(place, None, None, body.to_vec());
            }
            at += size;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn a_film_needs_its_index() {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let film = b"\0\0\0\x0cftypisom\0\0\0\x08moov";
        assert_eq!(check(film, &mut notes, &mut budget), Ok(()));
        assert_eq!(
            check(&film[..12], &mut notes, &mut budget),
            Err(Unscannable::Corrupt)
        );
    }

    #[test]
    fn what_is_noted_deep_within_is_handed_on() {
        let wrap = |kind: &[u8], body: &[u8]| {
            let size = u32::try_from(8 + body.len()).expect("small").to_be_bytes();
            [&size[..], kind, body].concat()
        };
        let text = [b'x'; 50];
        let track = wrap(b"trak", &wrap(b"udta", &text));
        let index = wrap(b"moov", &[wrap(b"mvhd", &[0; 100]), track].concat());
        let film = [wrap(b"ftyp", b"isom"), index].concat();
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        assert_eq!(check(&film, &mut notes, &mut budget), Ok(()));
        assert_eq!(notes.parts()[0].bytes, text);
    }
}
