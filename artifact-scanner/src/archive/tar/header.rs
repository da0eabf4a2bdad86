//! What the headers of a tar say, those of pax among them.

use super::sparse;
use crate::Unscannable;

/// What headers before a member say of it.
#[derive(Default)]
pub(super) struct Extended {
    pub(super) path: Option<String>,
    pub(super) link: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) real_size: Option<u64>,
    /// Where data lies in a file with holes, and how much: one number after the other.
    pub(super) map: Option<Vec<u64>>,
    /// The same stands before the data.
    pub(super) has_map_in_data: bool,
}

impl Extended {
    /// Whether a member shows otherwise with these than without.
    pub(super) fn changes_members(&self) -> bool {
        self.path.is_some()
            || self.link.is_some()
            || self.size.is_some()
            || self.real_size.is_some()
            || self.map.is_some()
            || self.has_map_in_data
    }

    /// Where the member has its holes, if it is a file that has some.
    pub(super) fn sparse(&self, kind: u8) -> Option<sparse::Map> {
        if !matches!(kind, b'0' | 0 | b'7' | b'S') {
            return None;
        }
        if self.has_map_in_data {
            return Some(sparse::Map::InData);
        }
        self.map.clone().map(sparse::Map::Told)
    }
}

pub(super) fn sum_is_right(header: &[u8]) -> bool {
    let Some(stated) = number(&header[148..156]) else {
        return false;
    };
    let bytes = || {
        header
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { *byte })
    };
    let unsigned: u64 = bytes().map(u64::from).sum();
    let signed: i64 = bytes().map(|byte| i64::from(byte.cast_signed())).sum();
    stated == unsigned || i64::try_from(stated) == Ok(signed)
}

/// A number in octal digits, or in base 256 where the first bit is set.
pub(super) fn number(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|first| first & 0x80 != 0) {
        let mut digits = field.iter().copied();
        let top = u64::from(digits.next()? & 0x7f);
        return digits.try_fold(top, |sum, digit| {
            Some(sum.checked_mul(256)? | u64::from(digit))
        });
    }
    let digits = std::str::from_utf8(field).ok()?;
    let digits = digits.trim_start_matches([' ', '\0']);
    let digits = &digits[..digits.find([' ', '\0']).unwrap_or(digits.len())];
    if digits.is_empty() {
        Some(0)
    } else {
        u64::from_str_radix(digits, 8).ok()
    }
}

pub(super) fn string(field: &[u8]) -> String {
    let end = field
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

pub(super) fn name(header: &[u8]) -> String {
    let name = string(&header[..100]);
    let prefix = if &header[257..263] == b"ustar\0" {
        string(&header[345..500])
    } else {
        String::new()
    };
    if prefix.is_empty() {
        name
    } else {
        format!("{prefix}/{name}")
    }
}

/// Records `length key=value\n`.
pub(super) fn pax(mut data: &[u8], extended: &mut Extended) -> Result<(), Unscannable> {
    while data.first().is_some_and(|byte| *byte != 0) {
        let record = record(data).ok_or(Unscannable::Corrupt)?;
        let (key, value) = (record.0, String::from_utf8_lossy(record.1).into_owned());
        match key {
            b"path" | b"GNU.sparse.name" => extended.path = Some(value),
            b"linkpath" => extended.link = Some(value),
            b"size" => extended.size = Some(value.parse().map_err(|_| Unscannable::Corrupt)?),
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => extended.real_size = value.parse().ok(),
            b"GNU.sparse.major" => extended.has_map_in_data = value.trim() != "0",
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => {
                let number = value.parse().map_err(|_| Unscannable::Corrupt)?;
                extended.map.get_or_insert_default().push(number);
            }
            b"GNU.sparse.map" => {
                let numbers = value.split(',').map(str::parse).collect::<Result<_, _>>();
                extended.map = Some(numbers.map_err(|_| Unscannable::Corrupt)?);
            }
            _ => {}
        }
        data = &data[record.2..];
    }
    Ok(())
}

fn record(data: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let space = data.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&data[..space]).ok()?.parse().ok()?;
    let body = data.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    Some((&body[..equals], &body[equals + 1..], length))
}
