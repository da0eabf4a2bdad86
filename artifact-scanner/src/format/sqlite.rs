//! What the rows of an `SQLite` database hold: texts and blobs, on every page, used or not.

use super::trailing;
use crate::bytes::{be16, be32, count, index, slice};
use crate::{Budget, Limit, Notes, Unscannable};

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
        notes.part("texts of all rows", None, None, texts);
    }
    trailing(bytes, end, notes);
    Ok(())
}

/// The rows of a page hold no more than it has room for, were it not that they lie on one another.
const PAGE_ROWS_BYTES: usize = 4;

struct Database<'a> {
    bytes: &'a [u8],
    page_bytes: usize,
    usable: usize,
}

impl Database<'_> {
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
        // Leaves of tables; other pages hold keys, overflow or nothing.
        if page[header] != 0x0d {
            return Ok(());
        }
        let cells = usize::from(be16(page, header + 3).unwrap_or_default());
        // Each may point to the same row.
        let mut room = PAGE_ROWS_BYTES * self.page_bytes;
        for cell in 0..cells {
            let Some(at) = be16(page, header + 8 + 2 * cell) else {
                break;
            };
            if let Some(record) = self.record(page, usize::from(at), budget)? {
                room = room
                    .checked_sub(record.len().min(self.page_bytes))
                    .ok_or(Unscannable::Limit(Limit::Ratio))?;
                let place = format!("page {}, row {cell}", number + 1);
                columns(&record, &place, texts, notes, budget)?;
            }
        }
        Ok(())
    }

    /// The payload of a cell, with what overflows to other pages.
    fn record(
        &self,
        page: &[u8],
        at: usize,
        budget: &mut Budget,
    ) -> Result<Option<Vec<u8>>, Unscannable> {
        let Some((length, at)) = varint(page, at) else {
            return Ok(None);
        };
        let Some((_, at)) = varint(page, at) else {
            return Ok(None);
        };
        let (length, most) = (index(length), self.usable - 35);
        if length <= most {
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
            texts.push(b'\n');
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

    #[test]
    fn a_cut_database_is_corrupt() {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let end = check(&database()[..511], &mut notes, &mut budget);
        assert_eq!(end, Err(Unscannable::Corrupt));
    }
}
