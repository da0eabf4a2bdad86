//! Whether a `NumPy` array holds the data it claims, or a pickle.

use super::trailing;
use crate::bytes::{be32, count, index, le16, le32, slice};
use crate::{Budget, Kind, Notes, Unscannable};

/// Reads the header; arrays of objects are a pickle behind it.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    budget.charge(128)?;
    let (start, length) = match bytes.get(6) {
        Some(1) => (10, usize::from(le16(bytes, 8).ok_or(Unscannable::Corrupt)?)),
        Some(2 | 3) => (12, index(le32(bytes, 8).ok_or(Unscannable::Corrupt)?)),
        _ => return Err(Unscannable::Corrupt),
    };
    let header = slice(bytes, start, length).ok_or(Unscannable::Corrupt)?;
    let header = std::str::from_utf8(header).map_err(|_| Unscannable::Corrupt)?;
    let data = &bytes[start + length..];
    let description = value(header, "descr").ok_or(Unscannable::Corrupt)?;
    let shape = value(header, "shape").ok_or(Unscannable::Corrupt)?;
    let items = product(shape).ok_or(Unscannable::Corrupt)?;
    if description.contains('O') && !data.is_empty() {
        notes.part("array of objects", None, Some(Kind::Pickle), data.to_vec());
        return Ok(());
    }
    // The size of a record of fields is not summed up here; its data is only bounded from below.
    let Some(item) = item_bytes(description) else {
        return if data.is_empty() && items > 0 {
            Err(Unscannable::Corrupt)
        } else {
            Ok(())
        };
    };
    let claimed = usize::try_from(items)
        .ok()
        .and_then(|items| items.checked_mul(item))
        .filter(|claimed| *claimed <= data.len())
        .ok_or(Unscannable::Corrupt)?;
    if description.contains('U') {
        budget.unpack(count(claimed))?;
        let text = wide_text(&data[..claimed], description.contains('>'), item);
        notes.part("texts", None, Some(Kind::Text), text.into_bytes());
    }
    trailing(bytes, start + length + claimed, notes);
    Ok(())
}

/// Texts of four bytes a character, each on a line of its own.
fn wide_text(data: &[u8], big: bool, item: usize) -> String {
    let number = if big { be32 } else { le32 };
    let mut text = String::new();
    for row in data.chunks(item.max(4)) {
        let characters = (0..row.len() / 4).map_while(|at| number(row, 4 * at));
        text.extend(
            characters
                .take_while(|c| *c != 0)
                .filter_map(char::from_u32),
        );
        text.push('\n');
    }
    text
}

/// The text behind `'key':`, to the end of the header.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let at = header
        .find(&format!("'{key}'"))
        .or_else(|| header.find(&format!("\"{key}\"")))?;
    let rest = header[at + key.len() + 2..]
        .trim_start()
        .strip_prefix(':')?
        .trim_start();
    let end = match rest.chars().next()? {
        '(' => rest.find(')')?,
        '[' => rest.rfind(']')?,
        quote => rest[quote.len_utf8()..].find(quote)? + quote.len_utf8(),
    };
    rest.get(..=end)
}

fn product(shape: &str) -> Option<u64> {
    shape
        .trim_matches(['(', ')'])
        .split(',')
        .map(|number| number.trim().trim_end_matches('L'))
        .filter(|number| !number.is_empty())
        .try_fold(1u64, |product, number| {
            product.checked_mul(number.parse().ok()?)
        })
}

fn item_bytes(description: &str) -> Option<usize> {
    let code = description.trim_matches(['\'', '"']);
    let code = code.strip_prefix(['<', '>', '|', '=']).unwrap_or(code);
    let (kind, size) = code.split_at_checked(1)?;
    let size = size.split('[').next()?;
    match kind {
        "?" => Some(1),
        "U" => size.parse::<usize>().ok()?.checked_mul(4),
        "b" | "i" | "u" | "f" | "c" | "S" | "a" | "V" | "m" | "M" => size.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Severity};

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).expect("small").to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), data].concat()
    }

    fn run(bytes: &[u8]) -> (Notes, Result<(), Unscannable>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let end = check(bytes, &mut notes, &mut budget);
        (notes, end)
    }

    #[test]
    fn the_data_is_there_or_not() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
        assert_eq!(run(&npy(header, &[0; 16])).1, Ok(()));
        assert_eq!(run(&npy(header, &[0; 15])).1, Err(Unscannable::Corrupt));
        let (notes, _) = run(&npy(header, &[1; 17]));
        assert_eq!(notes.worst(), Some(Severity::Suspicious));
        let huge =
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }\n";
        assert_eq!(run(&npy(huge, b"")).1, Err(Unscannable::Corrupt));
        let records =
            "{'descr': [('a', '<f8'), ('b', 'O')], 'fortran_order': False, 'shape': (1,), }\n";
        assert_eq!(run(&npy(records, b"pickle")).0.parts().len(), 1);
    }
}
