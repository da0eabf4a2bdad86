//! The records of a zip: local headers, the directory, its end.

use crate::bytes::{index, le16, le32, le64, slice};
use memchr::memmem;

/// What one header says of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) size: u64,
    /// Mode bits of Unix, where the directory has them.
    pub(super) mode: u32,
    /// Where the local header stands, as the directory says.
    pub(super) offset: u64,
    /// Where the record itself ends.
    pub(super) end: usize,
    /// Another name in the extra field.
    pub(super) other_name: Option<String>,
    /// From where to where the extra field lies, and the comment behind it.
    pub(super) aside: (usize, usize),
}

impl Entry {
    pub(super) fn is_encrypted(&self) -> bool {
        self.flags & 1 != 0 || self.flags & 0x2040 != 0 || self.method == 99
    }

    /// The sizes stand behind the data.
    pub(super) fn has_descriptor(&self) -> bool {
        self.flags & 8 != 0
    }
}

/// The local header at `at`.
pub(super) fn local(bytes: &[u8], at: usize) -> Option<Entry> {
    let record = slice(bytes, at, 30)?;
    if !record.starts_with(b"PK\x03\x04") {
        return None;
    }
    let (name, extra) = (
        usize::from(le16(record, 26)?),
        usize::from(le16(record, 28)?),
    );
    let name_bytes = slice(bytes, at + 30, name)?;
    let extra_bytes = slice(bytes, at + 30 + name, extra)?;
    let mut entry = Entry {
        name: decode(name_bytes),
        flags: le16(record, 6)?,
        method: le16(record, 8)?,
        crc: le32(record, 14)?,
        packed: le32(record, 18)?.into(),
        size: le32(record, 22)?.into(),
        mode: 0,
        offset: 0,
        end: at + 30 + name + extra,
        other_name: None,
        aside: (at + 30 + name, at + 30 + name + extra),
    };
    extras(&mut entry, extra_bytes);
    Some(entry)
}

/// The record of the directory at `at`.
pub(super) fn central(bytes: &[u8], at: usize) -> Option<Entry> {
    let record = slice(bytes, at, 46)?;
    if !record.starts_with(b"PK\x01\x02") {
        return None;
    }
    let length = |field| le16(record, field).map(usize::from);
    let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
    let name_bytes = slice(bytes, at + 46, name)?;
    let extra_bytes = slice(bytes, at + 46 + name, extra)?;
    let end = at + 46 + name + extra + comment;
    if end > bytes.len() {
        return None;
    }
    let unix = matches!(record[5], 3 | 19);
    let mut entry = Entry {
        name: decode(name_bytes),
        flags: le16(record, 8)?,
        method: le16(record, 10)?,
        crc: le32(record, 16)?,
        packed: le32(record, 20)?.into(),
        size: le32(record, 24)?.into(),
        mode: if unix { le32(record, 38)? >> 16 } else { 0 },
        offset: le32(record, 42)?.into(),
        end,
        other_name: None,
        aside: (at + 46 + name, end),
    };
    extras(&mut entry, extra_bytes);
    Some(entry)
}

/// Sizes of 64 bits, and the name in Unicode.
fn extras(entry: &mut Entry, mut extra: &[u8]) {
    while let (Some(id), Some(length)) = (le16(extra, 0), le16(extra, 2)) {
        let Some(body) = slice(extra, 4, usize::from(length)) else {
            return;
        };
        match id {
            1 => {
                let mut at = 0;
                for field in [&mut entry.size, &mut entry.packed, &mut entry.offset] {
                    if *field == 0xffff_ffff {
                        let Some(value) = le64(body, at) else { break };
                        *field = value;
                        at += 8;
                    }
                }
            }
            0x7075 if body.len() > 5 => entry.other_name = Some(decode(&body[5..])),
            _ => {}
        }
        extra = &extra[4 + usize::from(length)..];
    }
}

/// The end of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) entries: u64,
    pub(super) directory_bytes: u64,
    pub(super) directory_offset: u64,
    /// Where the directory ends: here stands the end record, or that of 64 bits.
    pub(super) directory_to: usize,
    pub(super) comment: (usize, usize),
    /// Where the whole archive ends.
    pub(super) archive_to: usize,
}

/// The last end record whose comment fits, and what other readers take for the end in its place.
pub(super) fn end(bytes: &[u8]) -> Option<(End, Vec<End>)> {
    let from = bytes.len().saturating_sub(22 + 0xffff + (1 << 16));
    memmem::rfind_iter(&bytes[from..], b"PK\x05\x06").find_map(|at| end_at(bytes, from + at))
}

/// Some readers follow a locator of a record of 64 bits wherever one stands, some only where a field
/// asks for it; some look where it points, some right before it.
fn end_at(bytes: &[u8], at: usize) -> Option<(End, Vec<End>)> {
    let record = slice(bytes, at, 22)?;
    let comment = usize::from(le16(record, 20)?);
    let plain = End {
        entries: le16(record, 10)?.into(),
        directory_bytes: le32(record, 12)?.into(),
        directory_offset: le32(record, 16)?.into(),
        directory_to: at,
        comment: (at + 22, (at + 22 + comment).min(bytes.len())),
        archive_to: (at + 22 + comment).min(bytes.len()),
    };
    let asks = plain.entries == 0xffff
        || plain.directory_bytes == 0xffff_ffff
        || plain.directory_offset == 0xffff_ffff;
    let Some(locator) = at
        .checked_sub(20)
        .and_then(|at| slice(bytes, at, 20))
        .filter(|locator| locator.starts_with(b"PK\x06\x07"))
    else {
        return Some((plain, Vec::new()));
    };
    let pointed_at = wide(bytes, index(le64(locator, 8)?), &plain);
    let before = at.checked_sub(20 + 56);
    let before = before.and_then(|at| wide(bytes, at, &plain));
    let mut others: Vec<End> = Vec::new();
    let mut agreeing = None;
    for (end, whole) in pointed_at.into_iter().chain(before) {
        // A field that does not ask says the same, or some readers keep it.
        if !whole && asks {
            others.push(plain.clone());
        }
        if whole {
            agreeing = agreeing.or(Some(end.clone()));
        }
        if !others.contains(&end) {
            others.push(end);
        }
    }
    let end = match agreeing {
        _ if asks && !others.is_empty() => others.remove(0),
        // It says the same, and where the directory ends, too.
        Some(end) => end,
        None => plain,
    };
    // The same directory told once more is no other end.
    others.retain(|other| {
        (other.entries, other.directory_bytes, other.directory_offset)
            != (end.entries, end.directory_bytes, end.directory_offset)
    });
    Some((end, others))
}

/// The end record of 64 bits that stands here, and whether the plain one says the same as far as it
/// can.
fn wide(bytes: &[u8], at: usize, plain: &End) -> Option<(End, bool)> {
    let record = slice(bytes, at, 56)?;
    if !record.starts_with(b"PK\x06\x06") {
        return None;
    }
    let end = End {
        entries: le64(record, 32)?,
        directory_bytes: le64(record, 40)?,
        directory_offset: le64(record, 48)?,
        directory_to: at,
        ..plain.clone()
    };
    let agrees = [
        (plain.entries, end.entries, 0xffff),
        (plain.directory_bytes, end.directory_bytes, 0xffff_ffff),
        (plain.directory_offset, end.directory_offset, 0xffff_ffff),
    ]
    .iter()
    .all(|(narrow, wide, asks)| narrow == asks || narrow == wide);
    Some((end, agrees))
}

/// Names are UTF-8 by flag or by custom; other bytes show as what they are not.
fn decode(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
