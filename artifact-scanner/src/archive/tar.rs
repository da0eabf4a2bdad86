//! The members of a tar, in all its flavours: v7, ustar, pax, GNU.

use super::{Sink, aside, path};
use crate::bytes::{count, index, slice};
use crate::{Part, Severity, Unscannable};
use std::collections::HashSet;

const BLOCK: usize = 512;

/// What headers before a member say of it.
#[derive(Default)]
struct Extended {
    path: Option<String>,
    link: Option<String>,
    size: Option<u64>,
    real_size: Option<u64>,
    /// It has holes, and where it says so before its data.
    sparse: bool,
    map_first: bool,
}

impl Extended {
    /// What is said of all members holds where nothing is said of this one.
    fn or(self, all: &Self) -> Self {
        Self {
            path: self.path.or_else(|| all.path.clone()),
            link: self.link.or_else(|| all.link.clone()),
            size: self.size.or(all.size),
            real_size: self.real_size.or(all.real_size),
            sparse: self.sparse || all.sparse,
            map_first: self.map_first || all.map_first,
        }
    }
}

/// Walks the archive; what follows its end is handed on.
pub(crate) fn read(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let mut at = 0;
    let mut extended = Extended::default();
    let mut all = Extended::default();
    let mut links = HashSet::new();
    while let Some(header) = slice(bytes, at, BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            return tail(bytes, at, sink);
        }
        sink.budget().member()?;
        if !sum_is_right(header) {
            return Err(Unscannable::Corrupt);
        }
        let kind = header[156];
        let own_size = number(&header[124..136]).ok_or(Unscannable::Corrupt)?;
        let size = match kind {
            b'x' | b'X' | b'g' | b'L' | b'K' => own_size,
            _ => extended.size.or(all.size).unwrap_or(own_size),
        };
        let mut start = at + BLOCK;
        if kind == b'S' {
            start = sparse_end(bytes, at).ok_or(Unscannable::Corrupt)?;
        }
        // Links and devices have no data, whatever their size says.
        let stored = if matches!(kind, b'1'..=b'6')
            && !(kind == b'1' && size > 0 && extended.size.is_some())
        {
            0
        } else {
            index(size)
        };
        let data = slice(bytes, start, stored).ok_or(Unscannable::Corrupt)?;
        at = start.saturating_add(stored.div_ceil(BLOCK).saturating_mul(BLOCK));
        match kind {
            b'x' | b'X' => {
                aside::search("records", data, sink)?;
                pax(data, &mut extended)?;
            }
            b'g' => {
                aside::search("records", data, sink)?;
                pax(data, &mut all)?;
            }
            b'L' => extended.path = Some(string(data)),
            b'K' => extended.link = Some(string(data)),
            _ => {
                let before = std::mem::take(&mut extended).or(&all);
                member(header, data, before, &mut links, sink);
            }
        }
    }
    // Neither the two empty blocks nor even one: cut, unless it ends on a member's end.
    if at == bytes.len() {
        Ok(())
    } else {
        Err(Unscannable::Corrupt)
    }
}

fn member(
    header: &[u8],
    data: &[u8],
    extended: Extended,
    links: &mut HashSet<String>,
    sink: &mut dyn Sink,
) {
    let name = extended.path.unwrap_or_else(|| name(header));
    let target = extended.link.unwrap_or_else(|| string(&header[157..257]));
    let notes = sink.notes();
    path::check(&name, notes);
    if links.iter().any(|link| {
        name.strip_prefix(link.as_str())
            .is_some_and(|rest| rest.starts_with('/'))
    }) {
        notes.find(
            "archive.through_link",
            Severity::Malicious,
            name.as_str(),
            "the member is written through a link of the same archive",
        );
    }
    match header[156] {
        b'1' => path::check_hard_link(&name, &target, notes),
        b'2' => {
            path::check_link(&name, &target, notes);
            links.insert(name.trim_end_matches('/').to_owned());
        }
        b'3' | b'4' => notes.find(
            "archive.device",
            Severity::Malicious,
            name.as_str(),
            "the member is a device",
        ),
        b'6' => notes.find(
            "archive.fifo",
            Severity::Suspicious,
            name.as_str(),
            "the member is a pipe: what reads it waits for ever",
        ),
        b'M' | b'V' | b'N' => notes.find(
            "archive.odd_member",
            Severity::Suspicious,
            name.as_str(),
            "the member is of a kind that unpackers treat each in its own way",
        ),
        _ => {}
    }
    let is_folder = header[156] == b'5' || header[156] == 0 && name.ends_with('/');
    if is_folder && !data.is_empty() {
        notes.find(
            "archive.two_views",
            Severity::Suspicious,
            name.as_str(),
            "a folder has data, which some unpackers read as members",
        );
    }
    let is_sparse = extended.sparse || header[156] == b'S';
    if is_sparse {
        notes.find(
            "archive.sparse",
            Severity::Suspicious,
            name.as_str(),
            "the member has holes: its content is not what stands in the archive",
        );
    }
    let data = match map_end(data).filter(|_| extended.map_first) {
        Some(end) => data.get(end..).unwrap_or_default(),
        None => data,
    };
    // A folder whose group is inherited is common and harmless.
    let guarded = if header[156] == b'5' { 0o4000 } else { 0o6000 };
    if number(&header[100..108]).is_some_and(|mode| mode & guarded != 0) {
        notes.find(
            "archive.setuid",
            Severity::Suspicious,
            name.as_str(),
            "the member runs with the rights of its owner",
        );
    }
    if extended
        .real_size
        .is_some_and(|real| real > sink.budget().limits().unpacked_bytes)
    {
        sink.notes().find(
            "bomb.sparse",
            Severity::Suspicious,
            name.as_str(),
            "the member has holes and grows past every limit",
        );
    }
    // An empty file has a name, too.
    if !data.is_empty() || matches!(header[156], b'0' | 0 | b'7') {
        sink.member(Part {
            place: name.clone(),
            name: Some(name),
            kind: None,
            bytes: data.to_vec(),
        });
    }
}

/// What follows the first empty block: only more of them.
fn tail(bytes: &[u8], at: usize, sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let rest = &bytes[at..];
    sink.budget().charge(count(rest.len()) + 1)?;
    let Some(first) = rest.iter().position(|byte| *byte != 0) else {
        return Ok(());
    };
    let offset = at + first;
    sink.notes().find(
        "polyglot.trailing",
        Severity::Suspicious,
        format!("offset {offset}"),
        "bytes follow the end of the archive",
    );
    sink.member(Part {
        place: format!("offset {offset}"),
        name: None,
        kind: None,
        bytes: rest[first..].to_vec(),
    });
    Ok(())
}

fn sum_is_right(header: &[u8]) -> bool {
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
fn number(field: &[u8]) -> Option<u64> {
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

fn string(field: &[u8]) -> String {
    let end = field
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn name(header: &[u8]) -> String {
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

/// Where the data of an old GNU sparse member starts: behind the continued maps.
fn sparse_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut more = *bytes.get(at + 482)? != 0;
    let mut end = at + BLOCK;
    while more {
        more = *bytes.get(end + 504)? != 0;
        end += BLOCK;
    }
    Some(end)
}

/// Where the map of a sparse member ends that stands before its data: a number of pieces, and of each
/// its place and its length, a line each.
fn map_end(data: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut line = || {
        let rest = data.get(at..)?;
        let length = memchr::memchr(b'\n', rest)?;
        at += length + 1;
        let number = std::str::from_utf8(&rest[..length]).ok()?;
        Some((number.parse::<usize>().ok()?, at))
    };
    let (pieces, mut end) = line()?;
    for _ in 0..pieces.checked_mul(2)? {
        end = line()?.1;
    }
    Some(end.div_ceil(BLOCK) * BLOCK)
}

/// Records `length key=value\n`.
fn pax(mut data: &[u8], extended: &mut Extended) -> Result<(), Unscannable> {
    while data.first().is_some_and(|byte| *byte != 0) {
        let record = record(data).ok_or(Unscannable::Corrupt)?;
        let (key, value) = (record.0, String::from_utf8_lossy(record.1).into_owned());
        match key {
            b"path" | b"GNU.sparse.name" => extended.path = Some(value),
            b"linkpath" => extended.link = Some(value),
            b"size" => extended.size = Some(value.parse().map_err(|_| Unscannable::Corrupt)?),
            b"GNU.sparse.major" => (extended.sparse, extended.map_first) = (true, value != "0"),
            b"GNU.sparse.map" | b"GNU.sparse.offset" => extended.sparse = true,
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => extended.real_size = value.parse().ok(),
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

#[cfg(test)]
#[path = "tar_tests.rs"]
mod tests;
