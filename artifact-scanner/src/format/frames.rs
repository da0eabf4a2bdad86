//! Whether files of instruments and systems are whole by their frame: MATLAB, netCDF, IDL, FITS,
//! records of Fortran, fonts, time zones, catalogues of messages, icons; TIFF and data of R, which have
//! readers of their own.
//!
//! Their numbers are not looked at. What is packed within, and what stands behind the end, is
//! handed on.

mod icons;
mod messages;

use super::{rdata, tiff, trailing};
use crate::bytes::{be16, be32, be64, count, index, le32, slice};
use crate::{Budget, Notes, Unscannable};

type Frame = Result<usize, Unscannable>;

/// Which frame the bytes begin with, if they begin with one of these.
pub(crate) fn sniff(bytes: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    Some(match bytes {
        _ if starts(b"MATLAB 5.0 MAT-file") => "MATLAB",
        _ if tiff::is_tiff(bytes) => "TIFF",
        _ if rdata::is_rdata(bytes) => "R",
        _ if matches!(bytes, [b'C', b'D', b'F', 1 | 2 | 5, ..]) => "netCDF",
        _ if starts(b"SR\0\x04") || starts(b"SR\0\x06") => "IDL",
        _ if starts(b"SIMPLE  =") => "FITS",
        _ if starts(b"TZif") => "a time zone",
        _ if icons::is_icon(bytes) => "icons",
        _ if messages::is_catalogue(bytes) => "messages",
        _ if is_font(bytes) => "a font",
        _ if matrix(bytes, 0).is_some() => "MATLAB 4",
        _ if records(bytes) => "Fortran",
        _ => return None,
    })
}

/// Walks the frame to its end.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    budget.charge(count(bytes.len()).max(1))?;
    let end = match sniff(bytes).ok_or(Unscannable::Corrupt)? {
        "MATLAB" => matlab(bytes, notes, budget)?,
        "TIFF" => tiff::check(bytes, notes, budget)?,
        "R" => rdata::check(bytes, notes, budget)?,
        "netCDF" => netcdf(bytes, budget)?,
        "IDL" => idl(bytes, budget)?,
        "FITS" => fits(bytes)?,
        "a time zone" => zone(bytes).ok_or(Unscannable::Corrupt)?,
        "icons" => icons::end(bytes, notes, budget)?,
        "messages" => messages::end(bytes, budget)?,
        "a font" => font(bytes).ok_or(Unscannable::Corrupt)?,
        // It was walked to be told.
        "Fortran" => bytes.len(),
        _ => matrices(bytes, budget)?,
    };
    trailing(bytes, end, notes);
    Ok(())
}

/// Elements of type, length and data; a packed one is handed on unpacked.
fn matlab(bytes: &[u8], notes: &mut Notes, budget: &mut Budget) -> Frame {
    const PACKED: u32 = 15;
    let number = match slice(bytes, 126, 2) {
        Some(b"IM") => le32,
        Some(b"MI") => be32,
        _ => return Err(Unscannable::Corrupt),
    };
    let mut at = 128;
    while at < bytes.len() {
        budget.charge(64)?;
        let kind = number(bytes, at).ok_or(Unscannable::Corrupt)?;
        // A small element keeps its length in the upper half of its type.
        let (body, length) = if kind >> 16 == 0 {
            let length = number(bytes, at + 4).ok_or(Unscannable::Corrupt)?;
            (at + 8, index(length))
        } else {
            (at + 4, 4)
        };
        let data = slice(bytes, body, length).ok_or(Unscannable::Corrupt)?;
        if kind == PACKED {
            let inner = crate::archive::unpack::zlib(data, budget);
            let place = format!("element at offset {at}");
            notes.part(place, None, None, inner.bytes);
            inner.end?;
        }
        at = body + length;
        if kind != PACKED {
            at = at.next_multiple_of(8).min(bytes.len());
        }
    }
    Ok(at)
}

/// The end of the matrix of version 4 that begins at `at`, where one does.
fn matrix(bytes: &[u8], at: usize) -> Option<usize> {
    const ITEM: [usize; 6] = [8, 4, 4, 2, 2, 1];
    let head = |number: fn(&[u8], usize) -> Option<u32>| {
        let fields = [0, 4, 8, 12, 16].map(|field| number(bytes, at + field));
        let [kind, rows, columns, complex, name] = fields;
        let (kind, complex, name) = (index(kind?), complex?, index(name?));
        let (machine, form) = (kind / 1000, kind % 1000);
        let item = *ITEM.get(form / 10)?;
        let fits = machine <= 4 && form % 10 <= 2 && complex <= 1 && (2..=64).contains(&name);
        let label = slice(bytes, at + 20, name)?;
        let (last, letters) = label.split_last()?;
        let named = *last == 0 && letters.iter().all(u8::is_ascii_graphic);
        let cells = index(rows?).checked_mul(index(columns?))?;
        let size = cells.checked_mul(item)?.checked_mul(1 + index(complex))?;
        let end = (at + 20 + name).checked_add(size)?;
        (fits && named && end <= bytes.len()).then_some(end)
    };
    head(le32).or_else(|| head(be32))
}

fn matrices(bytes: &[u8], budget: &mut Budget) -> Frame {
    let mut at = 0;
    while let Some(end) = matrix(bytes, at) {
        budget.charge(64)?;
        at = end;
    }
    Ok(at)
}

/// Whether there are records to the last byte, each between its length and its length again.
fn records(bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        let length = le32(bytes, at).map(index).filter(|length| *length > 0);
        let behind = length.and_then(|length| at.checked_add(length)?.checked_add(4));
        match behind {
            Some(behind) if le32(bytes, behind) == le32(bytes, at) => at = behind + 4,
            _ => return false,
        }
    }
    !bytes.is_empty()
}

/// Reads the header of the classic form: dimensions, attributes, variables.
struct Header<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether sizes, and whether offsets have eight bytes.
    wide: (bool, bool),
}

impl Header<'_> {
    fn number(&mut self, wide: bool) -> Option<u64> {
        let at = self.at;
        self.at += if wide { 8 } else { 4 };
        if wide {
            be64(self.bytes, at)
        } else {
            be32(self.bytes, at).map(u64::from)
        }
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        let to = self
            .at
            .checked_add(index(length))?
            .checked_next_multiple_of(4)?;
        self.at = to;
        (to <= self.bytes.len()).then_some(())
    }

    fn name(&mut self) -> Option<()> {
        let length = self.number(self.wide.0)?;
        self.skip(length)
    }

    /// How many items a list of this tag has.
    fn list(&mut self, tag: u64, budget: &mut Budget) -> Option<u64> {
        let found = self.number(false)?;
        let items = self.number(self.wide.0)?;
        budget.charge(64).ok()?;
        (found == tag || (found == 0 && items == 0)).then_some(items)
    }

    fn attributes(&mut self, budget: &mut Budget) -> Option<()> {
        const SIZE: [u64; 12] = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];
        for _ in 0..self.list(12, budget)? {
            budget.charge(64).ok()?;
            self.name()?;
            let item = *SIZE.get(index(self.number(false)?))?;
            let items = self.number(self.wide.0)?;
            self.skip(items.checked_mul(item)?)?;
        }
        Some(())
    }

    fn read(&mut self, budget: &mut Budget) -> Option<()> {
        self.at = 4;
        self.number(self.wide.0)?;
        for _ in 0..self.list(10, budget)? {
            budget.charge(64).ok()?;
            self.name()?;
            self.number(self.wide.0)?;
        }
        self.attributes(budget)?;
        for _ in 0..self.list(11, budget)? {
            budget.charge(64).ok()?;
            self.name()?;
            for _ in 0..self.number(self.wide.0)? {
                budget.charge(8).ok()?;
                self.number(self.wide.0)?;
            }
            self.attributes(budget)?;
            self.number(false)?;
            self.number(self.wide.0)?;
            let begin = index(self.number(self.wide.1)?);
            if begin > self.bytes.len() {
                return None;
            }
        }
        Some(())
    }
}

/// The sizes of records say where the data ends only together; the header is read in full.
fn netcdf(bytes: &[u8], budget: &mut Budget) -> Frame {
    let version = bytes.get(3).copied().unwrap_or_default();
    let mut header = Header {
        bytes,
        at: 0,
        wide: (version == 5, version != 1),
    };
    let end = header.read(budget);
    budget.charge(1)?;
    end.map(|()| bytes.len()).ok_or(Unscannable::Corrupt)
}

/// Records that each say where the next begins, up to the one that ends the file.
fn idl(bytes: &[u8], budget: &mut Budget) -> Frame {
    const END: u32 = 6;
    let mut at = 4;
    loop {
        budget.charge(64)?;
        let kind = be32(bytes, at).ok_or(Unscannable::Corrupt)?;
        if kind == END {
            // Its own head is longer than that of others by nothing.
            return Ok(bytes.len().min(at + 16));
        }
        let low = u64::from(be32(bytes, at + 4).ok_or(Unscannable::Corrupt)?);
        let high = u64::from(be32(bytes, at + 8).ok_or(Unscannable::Corrupt)?);
        let next = index(high << 32 | low);
        if next <= at || next > bytes.len() {
            return Err(Unscannable::Corrupt);
        }
        at = next;
    }
}

/// Blocks of 2880 bytes, with a header that ends.
fn fits(bytes: &[u8]) -> Frame {
    const CARD: usize = 80;
    let whole = bytes.len().is_multiple_of(2880);
    let ends = bytes.chunks(CARD).any(|card| card.starts_with(b"END     "));
    if whole && ends {
        Ok(bytes.len())
    } else {
        Err(Unscannable::Corrupt)
    }
}

/// One or two blocks of counted tables, the second with a rule behind it.
fn zone(bytes: &[u8]) -> Option<usize> {
    let block = |at: usize, wide: usize| {
        let number = |field: usize| be32(bytes, at + 20 + 4 * field).map(index);
        let (utc, wall, leaps) = (number(0)?, number(1)?, number(2)?);
        let (times, types, letters) = (number(3)?, number(4)?, number(5)?);
        let size = times.checked_mul(wide + 1)?;
        let size = size
            .checked_add(types.checked_mul(6)?)?
            .checked_add(letters)?;
        let size = size.checked_add(leaps.checked_mul(wide + 4)?)?;
        let size = size.checked_add(wall)?.checked_add(utc)?;
        slice(bytes, at, 44usize.checked_add(size)?)?;
        Some(at + 44 + size)
    };
    let end = block(0, 4)?;
    if bytes.get(4) == Some(&0) {
        return Some(end);
    }
    slice(bytes, end, 4).filter(|magic| *magic == b"TZif")?;
    let end = block(end, 8)?;
    let rule = bytes.get(end + 1..)?;
    Some(end + 2 + memchr::memchr(b'\n', rule)?)
}

fn is_font(bytes: &[u8]) -> bool {
    const MAGIC: [&[u8]; 6] = [b"OTTO", b"true", b"ttcf", b"wOFF", b"wOF2", b"\x80\x01"];
    let tables = be16(bytes, 4).is_some_and(|tables| (1..=64).contains(&tables));
    bytes.starts_with(b"\0\x01\0\0") && tables
        || MAGIC.iter().any(|magic| bytes.starts_with(magic)) && font(bytes).is_some()
}

/// The end of the last table, or what the header says.
fn font(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'w', b'O', b'F', ..] => be32(bytes, 8).map(index),
        [b't', b't', b'c', b'f', ..] => {
            let fonts = be32(bytes, 8).filter(|fonts| (1..=64).contains(fonts))?;
            let ends = (0..index(fonts)).map(|n| tables(bytes, index(be32(bytes, 12 + 4 * n)?)));
            ends.collect::<Option<Vec<_>>>()?.into_iter().max()
        }
        [0x80, ..] => {
            let mut at = 0;
            while let Some([0x80, 1 | 2]) = bytes.get(at..at + 2) {
                at = (at + 6).checked_add(index(le32(bytes, at + 2)?))?;
            }
            matches!(bytes.get(at..at + 2), Some([0x80, 3])).then_some(at + 2)
        }
        _ => tables(bytes, 0),
    }
    .filter(|end| *end <= bytes.len())
}

fn tables(bytes: &[u8], at: usize) -> Option<usize> {
    let tables = usize::from(be16(bytes, at.checked_add(4)?)?);
    let ends = (0..tables).map(|n| {
        let record = at + 12 + 16 * n;
        let named = slice(bytes, record, 4)?
            .iter()
            .all(|b| (0x20..0x7f).contains(b));
        let (from, length) = (be32(bytes, record + 8)?, be32(bytes, record + 12)?);
        let end = index(from).checked_add(index(length))?;
        (named && end <= bytes.len()).then_some(end)
    });
    let end = ends.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some(end.next_multiple_of(4).min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn end(bytes: &[u8]) -> Result<(), Unscannable> {
        let mut notes = Notes::default();
        check(bytes, &mut notes, &mut Budget::new(Limits::default()))?;
        if notes.worst().is_some() {
            return Err(Unscannable::Unsupported);
        }
        Ok(())
    }

    /// A frame is whole, is not when its last bytes are gone, and more behind it is told.
    #[track_caller]
    fn judge(bytes: &[u8]) {
        assert_eq!(end(bytes), Ok(()));
        assert_eq!(end(&bytes[..bytes.len() - 3]), Err(Unscannable::Corrupt));
        let longer = [bytes, b"more than this"].concat();
        assert!(end(&longer).is_err());
        for cut in 0..bytes.len() {
            assert_ne!(end(&bytes[cut..]), Err(Unscannable::EngineError));
        }
    }

    #[test]
    fn frames_are_walked_to_their_end() {
        let mut matlab = b"MATLAB 5.0 MAT-file".to_vec();
        matlab.resize(124, b' ');
        matlab.extend(b"\0\x01IM\x09\0\0\0\x08\0\0\0abcdefgh");
        judge(&matlab);
        let matrix = b"\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0a\0abcdefgh";
        assert_eq!(end(matrix), Ok(()));
        assert!(sniff(&matrix[..28]).is_none());
        let saved =
            b"SR\0\x04\0\0\0\x0e\0\0\0\x14\0\0\0\0\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(end(saved), Ok(()));
        assert_eq!(end(&saved[..20]), Err(Unscannable::Corrupt));
        let mut zone = b"TZif\0".to_vec();
        zone.resize(44, 0);
        zone[39] = 1;
        zone.extend(b"\0\0\0\0\0\0");
        judge(&zone);
        let mut font = b"\0\x01\0\0\0\x01\0\0\0\0\0\0cmap\0\0\0\0\0\0\0\x1c\0\0\0\x04".to_vec();
        font.extend(b"abcd");
        judge(&font);
    }

    #[test]
    fn the_header_of_netcdf_is_read() {
        let mut file = b"CDF\x01\0\0\0\0".to_vec();
        file.extend(b"\0\0\0\x0a\0\0\0\x01\0\0\0\x01x\0\0\0\0\0\0\x02");
        file.extend(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(end(&file), Ok(()));
        file[11] = 0x0b;
        assert_eq!(end(&file), Err(Unscannable::Corrupt));
    }
}
