//! What the rows of an `SQLite` database hold: texts and blobs, on every page, used or not.

use super::trailing;
use crate::bytes::{be16, be32, count, index, le16, slice};
use crate::{Budget, Notes, Unscannable};
use std::collections::HashSet;

/// Walks all pages. Blobs are handed on one by one, texts all together.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let page_bytes = match be16(bytes, 16) {
        Some(1) => 1 << 16,
        Some(size) if size.is_power_of_two() && size >= 512 => usize::from(size),
        _ => return Err(Unscannable::Corrupt),
    };
    let reserved = usize::from(*bytes.get(20).ok_or(Unscannable::Corrupt)?);
    // An old writer leaves the count at nought.
    let pages = match index(be32(bytes, 28).ok_or(Unscannable::Corrupt)?) {
        0 => bytes.len() / page_bytes,
        pages => pages,
    };
    let end = pages
        .checked_mul(page_bytes)
        .filter(|end| *end <= bytes.len())
        .ok_or(Unscannable::Corrupt)?;
    if !matches!(bytes.get(21..24), Some([64, 32, 32])) || page_bytes - reserved < 480 {
        return Err(Unscannable::Corrupt);
    }
    let database = Database {
        bytes: &bytes[..end],
        page_bytes,
        usable: page_bytes - reserved,
    };
    let mut texts = Vec::new();
    for page in 0..pages {
        budget.charge(count(page_bytes))?;
        database.page(page, &mut texts, notes, budget)?;
    }
    if !texts.is_empty() {
        // Texts of two bytes a letter are told by the head alone.
        if let Some(number) = database.wide() {
            budget.unpack(count(texts.len()))?;
            texts = utf16(&texts, number).into_bytes();
        }
        notes.part("texts of all rows", None, None, texts);
    }
    trailing(bytes, end, notes);
    Ok(())
}

struct Database<'a> {
    bytes: &'a [u8],
    page_bytes: usize,
    usable: usize,
}

/// What reads two bytes as a number.
type Number = fn(&[u8], usize) -> Option<u16>;

impl Database<'_> {
    /// How letters of two bytes are read, where texts are made of them.
    fn wide(&self) -> Option<Number> {
        match be32(self.bytes, 56) {
            Some(2) => Some(le16),
            Some(3) => Some(be16),
            _ => None,
        }
    }

    fn line_end(&self) -> &'static [u8] {
        match be32(self.bytes, 56) {
            Some(2) => b"\n\0",
            Some(3) => b"\0\n",
            _ => b"\n",
        }
    }

    fn page(
        &self,
        number: usize,
        texts: &mut Vec<u8>,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        let start = number * self.page_bytes;
        let page = &self.bytes[start..start + self.page_bytes];
        let header = if number == 0 { 100 } else { 0 };
        // Leaves of tables; indices, which may be the whole table. Others hold numbers, overflow
        // or nothing.
        let (pointers, skipped, is_index) = match page[header] {
            0x0d => (8, 0, false),
            0x0a => (8, 0, true),
            0x02 => (12, 4, true),
            _ => return Ok(()),
        };
        let cells = usize::from(be16(page, header + 3).unwrap_or_default());
        let mut seen = HashSet::new();
        for cell in 0..cells {
            let Some(at) = be16(page, header + pointers + 2 * cell) else {
                break;
            };
            // No sound page has one cell twice, and one cell may be a whole page.
            if !seen.insert(at) {
                continue;
            }
            let at = usize::from(at) + skipped;
            if let Some(record) = self.record(page, at, is_index, budget)? {
                let place = format!("page {}, row {cell}", number + 1);
                let end = self.line_end();
                columns(&record, &place, end, texts, notes, budget)?;
            }
        }
        Ok(())
    }

    /// The payload of a cell, with what overflows to other pages.
    fn record(
        &self,
        page: &[u8],
        at: usize,
        is_index: bool,
        budget: &mut Budget,
    ) -> Result<Option<Vec<u8>>, Unscannable> {
        let Some((length, mut at)) = varint(page, at) else {
            return Ok(None);
        };
        // The number of a row, which an index has none of.
        if !is_index {
            let Some((_, next)) = varint(page, at) else {
                return Ok(None);
            };
            at = next;
        }
        let length = index(length);
        let most = if is_index {
            (self.usable - 12) * 64 / 255 - 23
        } else {
            self.usable - 35
        };
        if length <= most {
            budget.charge(count(length) + 1)?;
            return Ok(slice(page, at, length).map(<[u8]>::to_vec));
        }
        if length > self.bytes.len() {
            return Ok(None);
        }
        budget.unpack(count(length))?;
        let least = (self.usable - 12) * 32 / 255 - 23;
        let spill = least + (length - least) % (self.usable - 4);
        let local = if spill <= most { spill } else { least };
        let Some(head) = slice(page, at, local) else {
            return Ok(None);
        };
        let (mut record, mut next) = (head.to_vec(), be32(page, at + local));
        while let Some(number) = next.filter(|number| *number > 0 && record.len() < length) {
            budget.charge(count(self.page_bytes))?;
            let start = (index(number) - 1).saturating_mul(self.page_bytes);
            let Some(page) = slice(self.bytes, start, self.page_bytes) else {
                break;
            };
            let take = (length - record.len()).min(self.usable - 4);
            record.extend_from_slice(&page[4..4 + take]);
            next = be32(page, 0);
        }
        Ok(Some(record))
    }
}

fn columns(
    record: &[u8],
    place: &str,
    end: &[u8],
    texts: &mut Vec<u8>,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let Some((header, mut at)) = varint(record, 0) else {
        return Ok(());
    };
    let (header, mut column) = (index(header), 0);
    let mut data = header;
    while at < header {
        let Some((serial, next)) = varint(record, at) else {
            break;
        };
        at = next;
        column += 1;
        budget.charge(8)?;
        let length = match serial {
            0 | 8 | 9 => 0,
            1..=4 => index(serial),
            5 => 6,
            6 | 7 => 8,
            _ => index(serial.saturating_sub(12) / 2),
        };
        let Some(value) = slice(record, data, length) else {
            break;
        };
        data += length;
        if serial < 12 || value.is_empty() {
            continue;
        }
        budget.unpack(count(length) + 1)?;
        if serial % 2 == 1 {
            texts.extend_from_slice(value);
            texts.extend(end);
        } else if length >= 4 {
            notes.part(
                format!("{place}, column {column}"),
                None,
                None,
                value.to_vec(),
            );
        }
    }
    Ok(())
}

/// Text of two bytes a letter.
fn utf16(texts: &[u8], number: Number) -> String {
    let letters = (0..texts.len() / 2).filter_map(|at| number(texts, 2 * at));
    char::decode_utf16(letters)
        .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Seven bits a byte, the ninth whole; and where it ends.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for step in 0..9 {
        let byte = *bytes.get(at + step)?;
        if step == 8 {
            return Some((value << 8 | u64::from(byte), at + 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + step + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    /// One page with one row: a text and a blob.
    fn database() -> Vec<u8> {
        let mut page = vec![0; 512];
        page[..16].copy_from_slice(b"SQLite format 3\0");
        page[16..18].copy_from_slice(&512u16.to_be_bytes());
        page[21..24].copy_from_slice(&[64, 32, 32]);
        page[28..32].copy_from_slice(&1u32.to_be_bytes());
        page[100] = 0x0d;
        page[104] = 1;
        page[108..110].copy_from_slice(&400u16.to_be_bytes());
        let row = b"\x0c\x01\x03\x17\x14hello\xde\xad\xbe\xef";
        page[400..400 + row.len()].copy_from_slice(row);
        page
    }

    #[test]
    fn texts_and_blobs_come_out() {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        check(&database(), &mut notes, &mut budget).expect("sound");
        let parts: Vec<_> = notes
            .parts()
            .iter()
            .map(|part| part.bytes.as_slice())
            .collect();
        assert_eq!(parts, [&b"\xde\xad\xbe\xef"[..], b"hello\n"]);
    }

    /// A table without row numbers is an index, with or without more pages.
    #[test]
    fn rows_of_an_index_come_out() {
        let row = b"\x0c\x03\x17\x14hello\xde\xad\xbe\xef";
        for (kind, pointers, before) in [(0x0a, 108, 0), (0x02, 112, 4)] {
            let mut page = database();
            page[100] = kind;
            page[pointers..pointers + 2].copy_from_slice(&400u16.to_be_bytes());
            page[400..400 + before].fill(0);
            page[400 + before..400 + before + row.len()].copy_from_slice(row);
            let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
            check(&page, &mut notes, &mut budget).expect("sound");
            assert_eq!(notes.parts()[1].bytes, b"hello\n", "{kind}");
        }
        let mut page = database();
        page[59] = 3;
        page[400..413].copy_from_slice(b"\x0b\x01\x03\x15\x14\0h\0ixxxx");
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        check(&page, &mut notes, &mut budget).expect("sound");
        assert_eq!(notes.parts()[1].bytes, b"hi\n");
    }

    /// Each was once read anew, column by column, for each place that names it.
    #[test]
    fn a_cell_that_is_named_often_is_read_once() {
        let mut page = vec![0x80; 1 << 16];
        page[..108].fill(0);
        page[..16].copy_from_slice(b"SQLite format 3\0");
        page[16..18].copy_from_slice(&1u16.to_be_bytes());
        page[21..24].copy_from_slice(&[64, 32, 32]);
        page[28..32].copy_from_slice(&1u32.to_be_bytes());
        page[100] = 0x0d;
        let (cells, at) = (16_000u16, 32_200u16);
        page[103..105].copy_from_slice(&cells.to_be_bytes());
        for cell in 0..usize::from(cells) {
            page[108 + 2 * cell..110 + 2 * cell].copy_from_slice(&at.to_be_bytes());
        }
        let start = usize::from(at);
        page[start..].fill(0);
        // 33,000 bytes of record, all of them the header.
        page[start..start + 7].copy_from_slice(b"\x82\x81\x68\x01\x82\x81\x68");
        let start = std::time::Instant::now();
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        check(&page, &mut notes, &mut budget).expect("sound");
        assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
    }

    #[test]
    fn a_cut_database_is_corrupt() {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let end = check(&database()[..511], &mut notes, &mut budget);
        assert_eq!(end, Err(Unscannable::Corrupt));
    }
}
