//! What comes out of a stream.

use super::super::decode::nibble;
use super::value::{Dict, Value};
use super::{BOMB_BYTES, RATIO};
use crate::{Budget, Unscannable};
use flate2::{Decompress, FlushDecompress, Status};
use std::borrow::Cow;
use std::ops::Range;

pub(super) enum Unpacked {
    /// The content, as far as it was to be kept.
    Bytes(Vec<u8>),
    Bomb,
    Unknown,
}

/// Applies the filters of a stream. Where nothing is kept, it is only seen how large it becomes.
pub(super) fn unpack(
    dict: &Dict,
    file: &[u8],
    range: Range<usize>,
    keep: usize,
    budget: &mut Budget,
) -> Result<Unpacked, Unscannable> {
    let body = &file[range.clone()];
    let wanted = keep;
    let filters: Vec<&str> = match dict.get("Filter").or_else(|| dict.get("F")) {
        None | Some(Value::Text(_) | Value::Dict(_)) => Vec::new(),
        Some(Value::Name(name)) => vec![name],
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| {
                if let Value::Name(name) = item {
                    name
                } else {
                    ""
                }
            })
            .collect(),
        Some(_) => return Ok(Unpacked::Unknown),
    };
    if filters.len() > 8 {
        return Ok(Unpacked::Bomb);
    }
    let mut bytes = Cow::Borrowed(body);
    budget.charge(body.len().max(1) as u64)?;
    for (at, filter) in filters.iter().enumerate() {
        let last = at + 1 == filters.len();
        // A filter before the last must give its whole output.
        let keep = if last { keep } else { keep.max(64 << 20) };
        let unpacked = match *filter {
            "FlateDecode" | "Fl" => {
                // It knows its end, which may lie behind the word that ends a stream.
                let packed = if at == 0 {
                    &file[range.start..]
                } else {
                    &bytes
                };
                match inflate(packed, body.len(), keep, budget)? {
                    Some(out) => out,
                    None => return Ok(Unpacked::Bomb),
                }
            }
            "ASCIIHexDecode" | "AHx" => {
                let digits: Vec<u8> = bytes
                    .iter()
                    .take_while(|b| **b != b'>')
                    .copied()
                    .filter_map(nibble)
                    .collect();
                digits
                    .chunks(2)
                    .map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0))
                    .collect()
            }
            "ASCII85Decode" | "A85" => ascii85(&bytes),
            "RunLengthDecode" | "RL" => match run_length(&bytes) {
                Some(out) => out,
                None => return Ok(Unpacked::Bomb),
            },
            _ => return Ok(Unpacked::Unknown),
        };
        budget.unpack(unpacked.len().max(1) as u64)?;
        bytes = Cow::Owned(unpacked);
    }
    let mut bytes = bytes.into_owned();
    bytes.truncate(keep);
    if wanted > 0 && !filters.is_empty() {
        return Ok(predicted(dict, bytes).map_or(Unpacked::Unknown, Unpacked::Bytes));
    }
    Ok(Unpacked::Bytes(bytes))
}

/// Adds to each byte what was foretold of it; `None` where it is not said how.
fn predicted(dict: &Dict, bytes: Vec<u8>) -> Option<Vec<u8>> {
    let parameters = match dict.get("DecodeParms").or_else(|| dict.get("DP")) {
        None | Some(Value::Other) => return Some(bytes),
        // Those of the last filter; one before it has none that objects are packed with.
        Some(Value::Array(items)) => match items.as_slice() {
            [.., Value::Dict(last)] => last,
            [.., Value::Other] => return Some(bytes),
            _ => return None,
        },
        Some(Value::Dict(parameters)) => parameters,
        Some(_) => return None,
    };
    let number = |key, otherwise| match parameters.get(key) {
        None => Some(otherwise),
        Some(Value::Number(number)) => usize::try_from(*number).ok(),
        Some(_) => None,
    };
    let predictor = number("Predictor", 1)?;
    if predictor == 1 {
        return Some(bytes);
    }
    let bits = number("Colors", 1)?.checked_mul(number("BitsPerComponent", 8)?)?;
    let row = bits.checked_mul(number("Columns", 1)?)?.div_ceil(8);
    let pixel = bits.div_ceil(8);
    if row == 0 || row > bytes.len().max(1 << 16) {
        return None;
    }
    match predictor {
        2 if bits.is_multiple_of(8) && number("BitsPerComponent", 8)? == 8 => {
            let mut bytes = bytes;
            for row in bytes.chunks_mut(row) {
                for at in pixel..row.len() {
                    row[at] = row[at].wrapping_add(row[at - pixel]);
                }
            }
            Some(bytes)
        }
        10..=15 => rows(&bytes, row, pixel),
        _ => None,
    }
}

/// Rows as PNG has them, each behind the number of its filter.
fn rows(bytes: &[u8], row: usize, pixel: usize) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    for line in bytes.chunks(row + 1) {
        let (filter, line) = line.split_first()?;
        let start = out.len();
        for (at, byte) in line.iter().enumerate() {
            let left = if at >= pixel {
                out[start + at - pixel]
            } else {
                0
            };
            let above = (start + at).checked_sub(row).map_or(0, |up| out[up]);
            let corner = (start + at)
                .checked_sub(row + pixel)
                .filter(|_| at >= pixel)
                .map_or(0, |up| out[up]);
            let foretold = match filter {
                0 => 0,
                1 => left,
                2 => above,
                3 => left.midpoint(above),
                4 => nearest(left, above, corner),
                _ => return None,
            };
            out.push(byte.wrapping_add(foretold));
        }
    }
    Some(out)
}

/// Which of three neighbours is nearest to left + above - corner.
fn nearest(left: u8, above: u8, corner: u8) -> u8 {
    let sum = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |neighbour: u8| (sum - i16::from(neighbour)).abs();
    let (l, a, c) = (distance(left), distance(above), distance(corner));
    if l <= a && l <= c {
        left
    } else if a <= c {
        above
    } else {
        corner
    }
}

/// Inflates; `None` where it grows beyond proportion to the stream as it lies in the file.
fn inflate(
    packed: &[u8],
    lies: usize,
    keep: usize,
    budget: &mut Budget,
) -> Result<Option<Vec<u8>>, Unscannable> {
    let mut out = Vec::new();
    let mut window = vec![0; 32 << 10];
    let mut inflater = Decompress::new(true);
    loop {
        let (read, written) = (inflater.total_in(), inflater.total_out());
        let rest = packed
            .get(usize::try_from(read).unwrap_or(usize::MAX)..)
            .unwrap_or(&[]);
        let status = inflater.decompress(rest, &mut window, FlushDecompress::None);
        let fresh = usize::try_from(inflater.total_out() - written).unwrap_or(0);
        budget.charge(fresh.max(1) as u64)?;
        let room = keep.saturating_sub(out.len()).min(fresh);
        out.extend_from_slice(&window[..room]);
        let total = usize::try_from(inflater.total_out()).unwrap_or(usize::MAX);
        if total > BOMB_BYTES && total / RATIO > lies.max(1) {
            return Ok(None);
        }
        let stuck = fresh == 0 && inflater.total_in() == read;
        match status {
            Ok(Status::Ok | Status::BufError) if !stuck => {}
            // A stream that breaks is shown as far as it goes.
            _ => return Ok(Some(out)),
        }
    }
}

fn ascii85(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 5 * 4 + 4);
    let (mut group, mut count) = (0_u32, 0);
    for byte in bytes.iter().take_while(|b| **b != b'~') {
        match byte {
            b'z' if count == 0 => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                count += 1;
                if count == 5 {
                    out.extend_from_slice(&group.to_be_bytes());
                    (group, count) = (0, 0);
                }
            }
            _ => {}
        }
    }
    if count > 1 {
        for _ in count..5 {
            group = group.wrapping_mul(85).wrapping_add(84);
        }
        out.extend_from_slice(&group.to_be_bytes()[..count - 1]);
    }
    out
}

fn run_length(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&length) = bytes.get(at) {
        at += 1;
        match length {
            128 => break,
            0..=127 => {
                let end = (at + usize::from(length) + 1).min(bytes.len());
                out.extend_from_slice(&bytes[at..end]);
                at = end;
            }
            _ => {
                let byte = *bytes.get(at).unwrap_or(&0);
                out.resize(out.len() + 257 - usize::from(length), byte);
                at += 1;
            }
        }
        if out.len() > 64 << 20 {
            return None;
        }
    }
    Some(out)
}
