//! Whether a `NumPy` array holds the data it claims, or a pickle.

mod header;

use super::trailing;
use crate::bytes::{be32, count, index, le16, le32, slice};
use crate::{Budget, Kind, Notes, Severity, Unscannable};
use header::{Field, Header};

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
    let text = slice(bytes, start, length).ok_or(Unscannable::Corrupt)?;
    budget.charge(count(length) + 1)?;
    let text = if bytes[6] == 3 {
        String::from_utf8(text.to_vec()).map_err(|_| Unscannable::Corrupt)?
    } else {
        text.iter().map(|byte| char::from(*byte)).collect()
    };
    let data = &bytes[start + length..];
    let Some(Header { item, items }) = Header::read(&text) else {
        if data.is_empty() {
            return Err(Unscannable::Corrupt);
        }
        // Readers differ from us in what this says, and most of what it may say is objects.
        notes.find(
            "npy.header",
            Severity::Suspicious,
            "",
            "the header is not written as NumPy writes it",
        );
        budget.unpack(count(data.len()))?;
        notes.part("array of objects", None, Some(Kind::Pickle), data.to_vec());
        return Ok(());
    };
    if item.has_objects {
        if data.is_empty() {
            return Err(Unscannable::Corrupt);
        }
        budget.unpack(count(data.len()))?;
        notes.part("array of objects", None, Some(Kind::Pickle), data.to_vec());
        return Ok(());
    }
    let claimed = items
        .checked_mul(item.bytes)
        .and_then(|claimed| usize::try_from(claimed).ok())
        .filter(|claimed| *claimed <= data.len())
        .ok_or(Unscannable::Corrupt)?;
    if !item.texts.is_empty() && claimed > 0 {
        let texts = texts(&data[..claimed], &item, budget)?;
        notes.part("texts", None, Some(Kind::Text), texts.into_bytes());
    }
    trailing(bytes, start + length + claimed, notes);
    Ok(())
}

/// Texts of four bytes a character, each on a line of its own.
fn texts(data: &[u8], item: &Field, budget: &mut Budget) -> Result<String, Unscannable> {
    let mut out = String::new();
    for row in data.chunks_exact(index(item.bytes).max(1)) {
        for text in &item.texts {
            let number = if text.big { be32 } else { le32 };
            for nth in 0..text.count {
                budget.unpack(text.bytes + 1)?;
                let start = index(text.at + nth * text.bytes);
                let Some(letters) = slice(row, start, index(text.bytes)) else {
                    break;
                };
                let letters = (0..letters.len() / 4).map_while(|at| number(letters, 4 * at));
                let letters = letters.take_while(|letter| *letter != 0);
                out.extend(letters.filter_map(char::from_u32));
                out.push('\n');
            }
        }
    }
    Ok(out)
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

    /// What Python reads otherwise than a search of the header would.
    #[test]
    fn what_a_header_that_numpy_does_not_write_stands_before_is_a_pickle() {
        for header in [
            "{'descr': 'object', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '|\\x4f', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': 'i4,object', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': [('a', 'object')], 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '|V6', 'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
            "{# 'descr': '|V6', 'shape': (1,),\n'desc\\x72': '|O', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '|V6', 'fortran_order': False, 'shape': (1,), } or {}",
            "{'descr': ('|V6' '|O'), 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '|V3' '3', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '|V6', 'shape': (1,), }",
            "dict(descr='|V6')",
        ] {
            let (notes, end) = run(&npy(header, b"pickle"));
            assert_eq!((end, notes.parts().len()), (Ok(()), 1), "{header}");
            assert_eq!(notes.worst(), Some(Severity::Suspicious), "{header}");
        }
    }

    #[test]
    fn texts_of_records_come_out() {
        let header = "{'descr': [('n', '<i4'), ('s', '<U2'), ('p', [('t', '>U1', (2,))])], 'fortran_order': False, 'shape': (1,), }";
        let letters = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        let mut data = vec![0; 4];
        data.extend(letters("hi").iter().flat_map(|c| c.to_le_bytes()));
        data.extend(letters("yo").iter().flat_map(|c| c.to_be_bytes()));
        let (notes, end) = run(&npy(header, &data));
        assert_eq!(end, Ok(()));
        assert_eq!(notes.parts()[0].bytes, b"hi\ny\no\n");
        assert_eq!(run(&npy(header, &data[1..])).1, Err(Unscannable::Corrupt));
    }
}
