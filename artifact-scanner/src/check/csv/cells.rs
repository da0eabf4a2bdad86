//! Which cells of a table begin with what could be a formula?
//!
//! Most cells begin with a letter or a digit, and nothing more is to be known of them. The others,
//! and the quotes, are picked out many bytes at a time.

use crate::bytes::count;
use crate::{Budget, Unscannable};

const BLOCK: usize = 4096;
/// A number is looked at so far before it is left to the judge of formulas.
const NUMBER_BYTES_MAX: usize = 48;
/// So many quotes are looked behind.
const QUOTES_MAX: usize = 8;
const SIGNS_MAX: usize = 4;

/// Where a cell begins, and whether that is within quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) at: usize,
    pub(super) quoted: bool,
}

/// Hands on each cell that may be a formula, and pays what `look` says it took. A table may name
/// a separator of its own.
pub(super) fn walk(
    bytes: &[u8],
    separator: Option<u8>,
    budget: &mut Budget,
    mut look: impl FnMut(Cell) -> u64,
) -> Result<(), Unscannable> {
    let (mut before, mut quoted) = (b'\n', false);
    let separator = separator.unwrap_or(b'\n');
    let mut flags = [0; BLOCK];
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        budget.charge(count(block.len()))?;
        flag(before, separator, block, &mut flags);
        for found in flagged(&flags) {
            let last = found.checked_sub(1).map_or(before, |last| block[last]);
            let begins = ends_cell(last) || last == separator;
            let byte = block[found];
            let at = number * BLOCK + found;
            let cell = &bytes[at..];
            // Behind a tab another cell begins.
            let is_judged = begins && !matches!(byte, b'\n' | b'\r' | b'\t');
            if is_judged && !is_plain(cell) && !is_number(cell) && !is_lone(cell) {
                budget.charge(look(Cell { at, quoted }))?;
            }
            if byte == b'"' {
                // It closes an open cell and opens one at its start; doubled it opens again.
                quoted = !quoted && (begins || last == b'"');
            }
        }
        before = block[block.len() - 1];
    }
    Ok(())
}

pub(super) fn ends_cell(byte: u8) -> bool {
    matches!(byte, b',' | b';' | b'\t' | b'|' | b'\n' | b'\r')
}

/// Whether a cell may be a formula that begins so: with a sign, with what is not shown, or with
/// what is not ASCII.
fn is_telling(byte: u8) -> bool {
    byte <= b'"' || byte >= 0x7f || matches!(byte, b'=' | b'+' | b'-' | b'@')
}

/// The places of the flags that are set: they are near to one another, and few.
fn flagged(flags: &[u8; BLOCK]) -> impl Iterator<Item = usize> {
    let (words, _) = flags.as_chunks::<8>();
    words.iter().enumerate().flat_map(|(number, word)| {
        let mut word = u64::from_le_bytes(*word);
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(number * 8 + bit / 8)
        })
    })
}

/// Sets the flags of a block, and of nothing behind it.
fn flag(before: u8, separator: u8, block: &[u8], flags: &mut [u8; BLOCK]) {
    // Without a branch, so that many are done at a time.
    let is_wanted = |last: u8, byte: u8| {
        let ends = u8::from(ends_cell(last)) | u8::from(last == separator);
        let begins = ends & u8::from(is_telling(byte));
        begins | u8::from(byte == b'"')
    };
    flags[0] = is_wanted(before, block[0]);
    flags[block.len()..].fill(0);
    for ((flag, byte), last) in flags[1..].iter_mut().zip(&block[1..]).zip(block) {
        *flag = is_wanted(*last, *byte);
    }
}

/// Whether what stands behind the quotes is what no formula begins with.
fn is_plain(cell: &[u8]) -> bool {
    let behind = cell.iter().take(QUOTES_MAX).find(|byte| **byte != b'"');
    behind.is_some_and(|byte| !is_telling(*byte))
}

/// Whether the cell is a number with a sign and ends: most cells with a sign are.
fn is_number(cell: &[u8]) -> bool {
    let [b'+' | b'-', body @ ..] = cell else {
        return false;
    };
    let part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-');
    let ends = |byte: &u8| matches!(byte, b',' | b';' | b'\t' | b'"' | b'\n' | b'\r');
    // Most are short: their length is counted at once, which no branch has to guess.
    if let Some(head) = body.first_chunk::<16>() {
        let mut others = [0; 16];
        for (other, byte) in others.iter_mut().zip(head) {
            *other = u8::from(!part(*byte));
        }
        let length = u128::from_le_bytes(others).trailing_zeros() as usize / 8;
        if let Some(end) = head.get(length) {
            return length > 0 && ends(end);
        }
    }
    let head = body.iter().take(NUMBER_BYTES_MAX);
    let length = head.take_while(|byte| part(**byte)).count();
    length > 0 && length < NUMBER_BYTES_MAX && body.get(length).is_none_or(ends)
}

/// Whether the cell is a sign, which stands for a missing value, or a few of them.
fn is_lone(cell: &[u8]) -> bool {
    let quoted = usize::from(cell.first() == Some(&b'"'));
    let signs = cell[quoted..].iter().take(SIGNS_MAX);
    let signs = signs.take_while(|byte| matches!(byte, b'-' | b'+' | b'/' | b'=' | b'@'));
    let behind = quoted + signs.count();
    if quoted > 0 {
        let closed = cell.get(behind) == Some(&b'"');
        return closed && cell.get(behind + 1).is_none_or(|byte| ends_cell(*byte));
    }
    match cell.get(behind) {
        // Where commas separate, a tab is a blank, and behind it may stand the command.
        Some(b'\t') => cell.get(behind + 1).is_none_or(|byte| {
            byte.is_ascii_digit()
                || matches!(byte, b'-' | b'+' | b'=' | b'@' | b'.' | b'\n' | b'\r')
        }),
        Some(byte) => ends_cell(*byte),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    /// The cells that begin with a sign, by the letter.
    fn slowly(text: &[u8]) -> Vec<Cell> {
        let (mut cells, mut quoted, mut last) = (Vec::new(), false, b'\n');
        for (at, byte) in text.iter().copied().enumerate() {
            let begins = ends_cell(last);
            if begins && is_telling(byte) && !matches!(byte, b'\n' | b'\r' | b'\t') {
                cells.push(Cell { at, quoted });
            }
            match (byte, quoted) {
                (b'"', true) => quoted = false,
                (b'"', false) if begins || last == b'"' => quoted = true,
                _ => {}
            }
            last = byte;
        }
        cells.retain(|cell| !is_number(&text[cell.at..]) && !is_lone(&text[cell.at..]));
        cells.retain(|cell| {
            let rest = &text[cell.at..];
            let marks = rest.iter().take_while(|byte| **byte == b'"').count();
            marks >= QUOTES_MAX || rest.get(marks).is_none_or(|byte| is_telling(*byte))
        });
        cells
    }

    #[test]
    fn a_number_is_one_however_long_and_whatever_is_behind() {
        for length in 0..60 {
            for end in [
                ",", ";", "\t", "\"", "\n", "\r", "", "x", "|", "+", " ", "(",
            ] {
                for behind in ["", "2", "2,345678901234567890"] {
                    let cell = format!("-{}{end}{behind}", "1".repeat(length));
                    let digits = length
                        + if end.is_empty() {
                            behind.len().min(1)
                        } else {
                            0
                        };
                    let ends = end.is_empty() || ",;\t\"\n\r".contains(end);
                    let expected = (1..NUMBER_BYTES_MAX).contains(&digits) && ends;
                    assert_eq!(is_number(cell.as_bytes()), expected, "{cell:?}");
                }
            }
        }
    }

    #[test]
    fn every_cell_is_handed_on_wherever_it_stands() {
        for at in (0..70).chain(BLOCK - 70..BLOCK + 70) {
            for cell in [
                "=a",
                "\"=a\"",
                "\"x,=a\"",
                "-1,@b",
                "\"\"\"\",+a",
                "x\"y,-z",
                "\u{ff1d}a",
            ] {
                for mark in [",", "\n", "\r\n", "|"] {
                    let text = format!("{}{mark}{cell}{mark}1{mark}{cell}", "x".repeat(at));
                    let mut cells = Vec::new();
                    let mut budget = Budget::new(Limits::default());
                    let end = walk(text.as_bytes(), None, &mut budget, |cell| {
                        cells.push(cell);
                        1
                    });
                    assert_eq!(end, Ok(()));
                    assert_eq!(cells, slowly(text.as_bytes()), "{text:?}");
                    assert!(cells.len() > 1, "{text:?}");
                }
            }
        }
    }
}
