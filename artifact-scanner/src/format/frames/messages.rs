//! Whether a catalogue of translated messages (`.mo` of gettext) is whole.
//!
//! A head, then two tables of lengths and places, a table of sums, and the texts, each with a NUL
//! behind it. Since revision 1 there are texts in pieces, too, between which the reader puts words of
//! its system. The texts themselves are looked at like any bytes.

use crate::bytes::{be32, count, index, le32, slice};
use crate::{Budget, Unscannable};

const MAGIC: u32 = 0x9504_12de;
/// Behind the last piece of a text.
const LAST: usize = 0xffff_ffff;

type Number = fn(&[u8], usize) -> Option<u32>;

fn numbers(bytes: &[u8]) -> Option<Number> {
    match (le32(bytes, 0), be32(bytes, 0)) {
        (Some(MAGIC), _) => Some(le32),
        (_, Some(MAGIC)) => Some(be32),
        _ => None,
    }
}

pub(super) fn is_catalogue(bytes: &[u8]) -> bool {
    numbers(bytes).is_some()
}

/// Where the last of its tables and texts ends.
pub(super) fn end(bytes: &[u8], budget: &mut Budget) -> Result<usize, Unscannable> {
    let number = numbers(bytes).ok_or(Unscannable::Corrupt)?;
    let field = |at| number(bytes, at).map(index).ok_or(Unscannable::Corrupt);
    let (texts, sums) = (field(8)?, field(20)?);
    let mut end = 28;
    let mut holds = |at: usize, count: usize, size: usize| {
        let size = count.checked_mul(size).ok_or(Unscannable::Corrupt)?;
        slice(bytes, at, size).ok_or(Unscannable::Corrupt)?;
        end = end.max(at + size);
        Ok(())
    };
    holds(0, 28, 1)?;
    if sums > 0 {
        holds(field(24)?, sums, 4)?;
    }
    for table in [field(12)?, field(16)?] {
        holds(table, texts, 8)?;
        budget.charge(8 * count(texts) + 1)?;
        for text in 0..texts {
            let (length, at) = (field(table + 8 * text)?, field(table + 8 * text + 4)?);
            holds(at, length.checked_add(1).ok_or(Unscannable::Corrupt)?, 1)?;
        }
    }
    if field(4)?.is_multiple_of(0x1_0000) {
        return Ok(end);
    }
    let (words, list, pieced) = (field(28)?, field(32)?, field(36)?);
    holds(list, words, 8)?;
    budget.charge(8 * count(words) + 1)?;
    for word in 0..words {
        holds(field(list + 8 * word + 4)?, field(list + 8 * word)?, 1)?;
    }
    for table in [field(40)?, field(44)?] {
        holds(table, pieced, 4)?;
        for text in 0..pieced {
            let mut at = field(table + 4 * text)?;
            let (text, mut length) = (field(at)?, 0_usize);
            loop {
                budget.charge(16)?;
                holds(at, 12, 1)?;
                length = length.saturating_add(field(at + 4)?);
                if field(at + 8)? == LAST {
                    break;
                }
                at += 8;
            }
            holds(text, length, 1)?;
        }
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    const LAST_SIGN: u32 = u32::MAX;

    fn catalogue() -> Vec<u8> {
        let numbers = [MAGIC, 0, 1, 28, 36, 0, 0, 1, 44, 2, 46];
        let head = numbers.iter().flat_map(|number| number.to_le_bytes());
        head.chain(*b"a\0bb\0").collect()
    }

    #[track_caller]
    fn judge(bytes: &[u8], expected: Result<usize, Unscannable>) {
        let mut budget = Budget::new(Limits::default());
        assert_eq!(end(bytes, &mut budget), expected);
    }

    #[test]
    fn a_catalogue_ends_behind_its_last_text() {
        let whole = catalogue();
        judge(&whole, Ok(49));
        judge(&whole[..48], Err(Unscannable::Corrupt));
        judge(&whole[..20], Err(Unscannable::Corrupt));
        let mut many = whole.clone();
        many[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        judge(&many, Err(Unscannable::Corrupt));
        // A word of the system amid the pieces `a` and `b`, in both tables.
        let numbers = [MAGIC, 1, 0, 28, 28, 0, 0, 1, 48, 1, 56, 56];
        let tables = [2, 80, 60, 83, 1, 0, 2, LAST_SIGN];
        let numbers = numbers.iter().chain(&tables);
        let pieced = numbers.flat_map(|number: &u32| number.to_le_bytes());
        let pieced: Vec<u8> = pieced.chain(*b"I\0\0ab\0").collect();
        judge(&pieced, Ok(86));
        judge(&pieced[..85], Err(Unscannable::Corrupt));
        assert!(is_catalogue(&whole) && !is_catalogue(b"a,b\n"));
    }
}
