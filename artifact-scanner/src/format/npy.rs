//! Whether a `NumPy` array holds the data it claims, or a pickle.

mod header;

use super::trailing;
use crate::bytes::{be32, count, index, le16, le32, slice};
use crate::{Budget, Kind, Notes, Severity, Unscannable};

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
    let Some(header) = header::read(header) else {
        // Readers differ from us in what this says, and most of what it may say is objects.
        notes.find(
            "npy.header",
            Severity::Suspicious,
            "",
            "the header is not written as NumPy writes it",
        );
        notes.part("array of objects", None, Some(Kind::Pickle), data.to_vec());
        return Ok(());
    };
    if header.objects && !data.is_empty() {
        notes.part("array of objects", None, Some(Kind::Pickle), data.to_vec());
        return Ok(());
    }
    let item = header.item_bytes;
    let claimed = usize::try_from(header.items)
        .ok()
        .and_then(|items| items.checked_mul(item))
        .filter(|claimed| *claimed <= data.len())
        .ok_or(Unscannable::Corrupt)?;
    if let Some(code) = header.code.filter(|code| code.contains('U')) {
        budget.unpack(count(claimed))?;
        let text = wide_text(&data[..claimed], code.contains('>'), item);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

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
        let (notes, _) = run(&npy(&header.replace("<f8", "object"), b"pickle"));
        assert_eq!(notes.worst(), Some(Severity::Suspicious));
        assert_eq!(notes.parts().len(), 1);
    }
}
