//! What is a file with holes, of which a tar stores only what lies between them?

use super::header::{Extended, number};
use super::{BLOCK, Sink};
use crate::bytes::{count, index, slice};
use crate::{Limit, Unscannable};

/// Where the data lie: offset and length, one after the other.
pub(super) enum Map {
    Told(Vec<u64>),
    /// In decimal lines before the data, filled up to whole blocks.
    InData,
}

/// More pieces than any file has.
const PIECES_MAX: usize = 1 << 16;

/// Reads the maps of the old form and says where the data start, behind them.
pub(super) fn old(bytes: &[u8], at: usize, extended: &mut Extended) -> Option<usize> {
    let header = slice(bytes, at, BLOCK)?;
    let mut map = Vec::new();
    pieces(&header[386..482], &mut map)?;
    let mut more = header[482] != 0;
    let mut end = at + BLOCK;
    while more {
        let block = slice(bytes, end, BLOCK)?;
        pieces(&block[..504], &mut map)?;
        more = block[504] != 0;
        end += BLOCK;
    }
    extended.real_size = extended.real_size.or(number(&header[483..495]));
    extended.map = Some(map);
    Some(end)
}

fn pieces(fields: &[u8], map: &mut Vec<u64>) -> Option<()> {
    for field in fields.chunks_exact(12) {
        // Unused fields are empty, and the last one may be of no bytes.
        if field[0] == 0 {
            break;
        }
        map.push(number(field)?);
    }
    Some(())
}

/// The file with its holes.
pub(super) fn expand(
    map: Map,
    data: &[u8],
    real_size: Option<u64>,
    sink: &mut dyn Sink,
) -> Result<Vec<u8>, Unscannable> {
    let (map, mut rest) = match map {
        Map::Told(map) => (map, data),
        Map::InData => in_data(data).ok_or(Unscannable::Corrupt)?,
    };
    let end = map
        .chunks_exact(2)
        .map(|piece| piece[0].saturating_add(piece[1]));
    let size = end
        .max()
        .unwrap_or_default()
        .max(real_size.unwrap_or_default());
    if size > sink.budget().limits().member_bytes {
        return Err(Unscannable::Limit(Limit::Memory));
    }
    sink.budget().unpack(size)?;
    let mut bytes = vec![0; index(size)];
    for piece in map.chunks_exact(2) {
        let (at, length) = (index(piece[0]), index(piece[1]));
        let (stored, behind) = rest.split_at_checked(length).ok_or(Unscannable::Corrupt)?;
        bytes
            .get_mut(at..at + length)
            .ok_or(Unscannable::Corrupt)?
            .copy_from_slice(stored);
        rest = behind;
    }
    // What no piece takes up is not lost.
    bytes.extend_from_slice(rest);
    sink.budget().unpack(count(rest.len()))?;
    Ok(bytes)
}

fn in_data(data: &[u8]) -> Option<(Vec<u64>, &[u8])> {
    let mut at = 0;
    let mut line = || -> Option<u64> {
        let rest = data.get(at..)?;
        let end = memchr::memchr(b'\n', &rest[..rest.len().min(24)])?;
        at += end + 1;
        std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
    };
    let pieces = index(line()?);
    if pieces > PIECES_MAX {
        return None;
    }
    let map = (0..2 * pieces)
        .map(|_| line())
        .collect::<Option<Vec<_>>>()?;
    Some((map, data.get(at.next_multiple_of(BLOCK)..)?))
}
