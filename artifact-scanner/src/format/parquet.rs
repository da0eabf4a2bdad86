//! Whether a Parquet file is sound, how large its rows grow, and what its texts say.

use super::thrift::{self, Value};
use crate::archive::unpack::{inflate, pump};
use crate::bytes::{count, index, le32, slice};
use crate::{Budget, Notes, Severity, Unscannable};

/// Walks the footer, the column chunks and their pages. Texts are unpacked and handed on.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    if bytes.starts_with(b"PARE") || bytes.ends_with(b"PARE") {
        return Err(Unscannable::Encrypted);
    }
    let end = bytes.len().checked_sub(8).ok_or(Unscannable::Corrupt)?;
    let length = index(le32(bytes, end).ok_or(Unscannable::Corrupt)?);
    let start = end
        .checked_sub(length)
        .filter(|start| *start >= 4)
        .ok_or(Unscannable::Corrupt)?;
    if !bytes.ends_with(b"PAR1") {
        return Err(Unscannable::Corrupt);
    }
    let (footer, _) = thrift::read(&bytes[start..end], budget)?;
    if footer.list(2).is_empty() || footer.number(3).is_none() {
        return Err(Unscannable::Corrupt);
    }
    for pair in footer.list(5) {
        if let Some(value) = pair.bytes(2) {
            let key = String::from_utf8_lossy(pair.bytes(1).unwrap_or_default());
            notes.part(format!("metadata `{key}`"), None, None, value.to_vec());
        }
    }
    let mut rows_bytes = 0u64;
    for group in footer.list(4) {
        for column in group.list(1) {
            let meta = column.field(3).ok_or(Unscannable::Encrypted)?;
            let grown = chunk(&bytes[..start], meta, notes, budget)?;
            rows_bytes = rows_bytes.saturating_add(grown);
        }
    }
    let fair = count(bytes.len()).saturating_mul(budget.limits().ratio.into());
    if rows_bytes > budget.limits().unpacked_bytes && rows_bytes > fair {
        notes.find(
            "bomb.rows",
            Severity::Suspicious,
            "",
            format!(
                "the rows grow to {} MiB when they are read",
                rows_bytes >> 20
            ),
        );
    }
    Ok(())
}

/// One column chunk; says how many bytes its values take once they are read.
fn chunk(
    bytes: &[u8],
    meta: &Value<'_>,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<u64, Unscannable> {
    let size = |id| meta.size(id).ok_or(Unscannable::Corrupt);
    let (values, packed, first) = (size(5)?, index(size(7)?), index(size(9)?));
    let start = meta.size(11).map_or(first, |dictionary| {
        if dictionary == 0 {
            first
        } else {
            index(dictionary).min(first)
        }
    });
    let pages = slice(bytes, start, packed).ok_or(Unscannable::Corrupt)?;
    let is_text = matches!(meta.number(1), Some(6 | 7));
    let mut value_bytes = if is_text { 0 } else { 8 };
    let mut at = 0;
    while at < pages.len() {
        budget.charge(64)?;
        let (header, length) = thrift::read(&pages[at..], budget)?;
        let packed = index(header.size(3).ok_or(Unscannable::Corrupt)?);
        let body = slice(pages, at + length, packed).ok_or(Unscannable::Corrupt)?;
        at += length + packed;
        if let Some(dictionary) = header.field(7) {
            let entries = dictionary.size(1).unwrap_or(1).max(1);
            value_bytes = value_bytes.max(header.size(2).unwrap_or_default().div_ceil(entries));
        }
        if is_text {
            page(&header, body, meta, start + at, notes, budget)?;
        }
    }
    Ok(values.saturating_mul(value_bytes).max(size(6)?))
}

fn page(
    header: &Value<'_>,
    body: &[u8],
    meta: &Value<'_>,
    end: usize,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    // In pages of the second form the levels stand before the packed data, not packed.
    let second = header.field(8);
    let levels = second.map_or(0, |head| {
        head.size(5).unwrap_or_default() + head.size(6).unwrap_or_default()
    });
    let body = body.get(index(levels)..).ok_or(Unscannable::Corrupt)?;
    let plain = second.is_some_and(|head| head.number(7) == Some(0));
    let codec = if plain {
        0
    } else {
        meta.number(4).unwrap_or(-1)
    };
    let unpacked = unpack(
        codec,
        body,
        index(header.size(2).unwrap_or_default()),
        budget,
    )?;
    let place = format!("page before offset {end}");
    if header.field(7).is_some() {
        values(&unpacked, &place, notes);
    }
    notes.part(place, None, None, unpacked);
    Ok(())
}

/// The entries of a dictionary; those that are no text are handed on by themselves.
fn values(mut page: &[u8], place: &str, notes: &mut Notes) {
    while let Some(value) = le32(page, 0).and_then(|length| slice(page, 4, index(length))) {
        if value.len() >= 8 && std::str::from_utf8(value).is_err() || value.starts_with(b"X5O") {
            notes.part(
                format!("a value of the {place}"),
                None,
                None,
                value.to_vec(),
            );
        }
        page = &page[4 + value.len()..];
    }
}

fn unpack(
    codec: i64,
    body: &[u8],
    size: usize,
    budget: &mut Budget,
) -> Result<Vec<u8>, Unscannable> {
    let unpacked = match codec {
        0 => pump(body, budget),
        1 => {
            let length = snap::raw::decompress_len(body).map_err(|_| Unscannable::Corrupt)?;
            budget.unpack(count(length))?;
            return snap::raw::Decoder::new()
                .decompress_vec(body)
                .map_err(|_| Unscannable::Corrupt);
        }
        2 if body.starts_with(b"\x1f\x8b") => pump(flate2::bufread::GzDecoder::new(body), budget),
        2 => inflate(body, budget),
        6 => {
            let decoder =
                ruzstd::decoding::StreamingDecoder::new(body).map_err(|_| Unscannable::Corrupt)?;
            pump(decoder, budget)
        }
        7 => {
            budget.unpack(count(size))?;
            return lz4_flex::block::decompress(body, size).map_err(|_| Unscannable::Corrupt);
        }
        // LZO, Brotli, and the old LZ4 of Hadoop.
        _ => return Err(Unscannable::Unsupported),
    };
    unpacked.end.map(|()| unpacked.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn run(bytes: &[u8]) -> Result<(), Unscannable> {
        check(
            bytes,
            &mut Notes::default(),
            &mut Budget::new(Limits::default()),
        )
    }

    #[test]
    fn a_footer_that_is_not_there_is_corrupt() {
        assert_eq!(run(b"PAR1\xff\xff\xff\x7fPAR1"), Err(Unscannable::Corrupt));
        assert_eq!(run(b"PAR1"), Err(Unscannable::Corrupt));
        assert_eq!(run(b"PAR1\0\x01\0\0\0PAR1"), Err(Unscannable::Corrupt));
        assert_eq!(run(b"PARExxxxPARE"), Err(Unscannable::Encrypted));
    }

    #[test]
    fn a_footer_without_groups_is_sound() {
        // 2: list<struct> [{}], 3: i64 0
        let footer = [0x29, 0x1c, 0, 0x16, 0, 0];
        let length = u32::try_from(footer.len()).expect("small").to_le_bytes();
        assert_eq!(
            run(&[&b"PAR1"[..], &footer, &length, b"PAR1"].concat()),
            Ok(())
        );
    }
}
