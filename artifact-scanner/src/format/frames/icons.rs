//! Whether icons and cursors of Windows (`.ico`, `.cur`) are whole, and which pictures are within?
//!
//! A head, an entry for each size, and the pictures: PNG files, which are handed on, or bitmaps without
//! their own head, which are pixels.

use crate::bytes::{count, index, le16, le32, slice};
use crate::{Budget, Notes, Unscannable};

const HEAD: usize = 6;
const ENTRY: usize = 16;
/// No icon has more sizes.
const PICTURES_MAX: u16 = 64;

/// Where the pictures are, where all entries are sound.
fn pictures(bytes: &[u8]) -> Option<Vec<(usize, usize)>> {
    le16(bytes, 2).filter(|kind| matches!(kind, 1 | 2))?;
    let number = le16(bytes, 4).filter(|number| (1..=PICTURES_MAX).contains(number))?;
    if le16(bytes, 0)? != 0 {
        return None;
    }
    let behind = HEAD + ENTRY * usize::from(number);
    let entries = (0..usize::from(number)).map(|entry| {
        let at = HEAD + ENTRY * entry;
        let (size, place) = (index(le32(bytes, at + 8)?), index(le32(bytes, at + 12)?));
        (bytes.get(at + 3) == Some(&0) && place >= behind).then_some((place, size))
    });
    entries.collect()
}

/// The first picture begins as one, and the entries do not lie about where the others are.
pub(super) fn is_icon(bytes: &[u8]) -> bool {
    let first = pictures(bytes).and_then(|pictures| pictures.first().copied());
    first.is_some_and(|(place, _)| is_picture(bytes.get(place..).unwrap_or_default()))
}

fn is_picture(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG") || le32(bytes, 0) == Some(40)
}

/// Where the last picture ends.
pub(super) fn end(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<usize, Unscannable> {
    let pictures = pictures(bytes).ok_or(Unscannable::Corrupt)?;
    let mut end = HEAD + ENTRY * pictures.len();
    for (number, (place, size)) in pictures.into_iter().enumerate() {
        let picture = slice(bytes, place, size).ok_or(Unscannable::Corrupt)?;
        if !is_picture(picture) {
            return Err(Unscannable::Corrupt);
        }
        if picture.starts_with(b"\x89PNG") {
            budget.unpack(count(size))?;
            let place = format!("picture {}", number + 1);
            notes.part(place, None, None, picture.to_vec());
        }
        end = end.max(place + size);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn icon(picture: &[u8]) -> Vec<u8> {
        let size = u32::try_from(picture.len()).expect("small").to_le_bytes();
        let head = b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0";
        [head, &size[..], &[22, 0, 0, 0], picture].concat()
    }

    #[test]
    fn pictures_are_handed_on() {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let whole = icon(b"\x89PNG\r\n\x1a\n");
        assert!(is_icon(&whole));
        assert_eq!(end(&whole, &mut notes, &mut budget), Ok(30));
        assert_eq!(notes.parts().len(), 1);
        let bitmap = icon(b"\x28\0\0\0pixels");
        assert!(is_icon(&bitmap));
        assert_eq!(end(&bitmap, &mut notes, &mut budget), Ok(32));
        assert_eq!(notes.parts().len(), 1);
        let cut = &bitmap[..30];
        assert_eq!(end(cut, &mut notes, &mut budget), Err(Unscannable::Corrupt));
        assert!(!is_icon(&icon(b"pixels")) && !is_icon(b"\0\0\x01\0"));
    }
}
