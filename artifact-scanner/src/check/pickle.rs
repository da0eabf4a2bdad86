//! What a pickle calls when it is loaded.
//!
//! A pickle is a program. It is followed on symbols: every name it imports is held against a list
//! of names that data files need, every call must be of such a name, and whatever cannot be
//! followed is suspicious or the end of the scan. What stands before a break counts, since a
//! loader has carried it out by then.

mod beside;
mod calls;
mod doers;
pub(super) mod globals;
mod machine;
mod numbers;
mod opcode;
mod templates;
mod values;

#[cfg(test)]
mod tests;

use crate::{Budget, Kind, Limits, Notes, Severity, Unscannable};
pub(crate) use beside::{check_beside, check_within};

use beside::hidden;
use machine::{Halt, Machine};

/// More streams in one file than this are not followed.
const STREAMS_MAX: usize = 4096;

/// Walks one or more pickles, one behind the other, at the start of the bytes; raw array data of
/// joblib and torch may lie between and behind them. Payloads that are pickles or archives again
/// become parts.
pub fn check(bytes: &[u8], notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut at = 0;
    for stream in 0..STREAMS_MAX {
        let mut machine = Machine::new(bytes, 0);
        // Behind the first stream there may be raw data: that it is no pickle says nothing, and
        // what it seems to hold counts only where it names something.
        let mut own = Notes::default();
        let end = machine.run(at, &mut own, budget);
        let raw = stream > 0 && end == Err(Halt::Broken);
        keep(&own, raw, notes);
        for range in &machine.payloads {
            let payload = &bytes[range.clone()];
            if !matches!(payload[0], 0x80 | b'P' | 0x1f) && !sniff(payload) {
                continue;
            }
            budget.unpack(payload.len() as u64)?;
            let kind = sniff(payload).then_some(Kind::Pickle);
            notes.part(
                format!("payload at offset {}", range.start),
                None,
                kind,
                payload.to_vec(),
            );
        }
        match end {
            Ok(end) if end >= bytes.len() => return Ok(()),
            Ok(end) => at = end,
            Err(Halt::Spent(reason)) => return Err(reason),
            Err(Halt::Broken) if stream == 0 && own.worst() < Some(Severity::Suspicious) => {
                return Err(Unscannable::Corrupt);
            }
            Err(Halt::Broken) => return hidden(bytes, at, notes, budget),
        }
    }
    notes.find(
        "pickle.streams",
        Severity::Suspicious,
        "",
        "holds thousands of pickles, one behind the other",
    );
    Ok(())
}

/// Takes over what was seen in a stream; of raw data, only what names something.
fn keep(own: &Notes, raw: bool, notes: &mut Notes) {
    let names = ["pickle.unknown_global", "pickle.dangerous_global"];
    notes.copy(own, |finding| !raw || names.contains(&finding.rule));
}

/// Looks at the Arrow or Parquet file of a table whose columns may name Python types: those are
/// pickles in the schema, loaded when the file is opened.
pub fn check_arrow(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    budget.charge(bytes.len().max(1) as u64)?;
    // Parquet holds the schema in base64, at any of three offsets.
    let marks: [&[u8]; 4] = [
        b"arrow.py_extension_type",
        b"YXJyb3cucHlfZXh0ZW5zaW9uX3R5cG",
        b"Fycm93LnB5X2V4dGVuc2lvbl90eXBl",
        b"hcnJvdy5weV9leHRlbnNpb25fdHlwZ",
    ];
    for mark in marks {
        if let Some(at) = memchr::memmem::find(bytes, mark) {
            notes.find(
                "pickle.arrow_extension",
                Severity::Malicious,
                format!("offset {at}"),
                "a column's type is a pickle, which readers load when they open the table",
            );
            return Ok(());
        }
    }
    Ok(())
}

/// Looks at an array file whose items are objects: those are a pickle behind the header.
pub fn check_npy(bytes: &[u8], notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let Some(rest) = bytes.strip_prefix(b"\x93NUMPY") else {
        return Err(Unscannable::Corrupt);
    };
    let (length, start) = match rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        _ => return Err(Unscannable::Corrupt),
    };
    let header = bytes
        .get(start..start + length)
        .ok_or(Unscannable::Corrupt)?;
    let data = &bytes[start + length..];
    let object = memchr::memmem::find(header, b"'descr'").is_none_or(|at| {
        let descr = &header[at + 7..];
        let end = memchr::memmem::find(descr, b"'fortran_order'").unwrap_or(descr.len());
        memchr::memchr(b'O', &descr[..end]).is_some()
    });
    if object {
        check(data, notes, budget)
    } else {
        Ok(())
    }
}

/// Whether the bytes are one pickle from their first to their last. Told only of files that say so
/// themselves: a lone number reads like prose.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let (mut scratch, mut budget) = (Notes::default(), Budget::new(Limits::default()));
    let end = Machine::new(bytes, 0).run(0, &mut scratch, &mut budget);
    end.is_ok_and(|end| end == bytes.len())
}

/// Whether the bytes begin as a pickle does, of any protocol. Used to tell types apart, so it
/// does not take prose for a pickle.
pub fn sniff(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut steps = 0;
    for _ in 0..64 {
        match rest {
            [0x80, 2..=5, ..] => return opcode::read(rest, 2).is_some(),
            // A persistent id ends the work of a plain loader, and words begin like one.
            [b'P', ..] | [_] => return false,
            _ if opcode::read(rest, 0).is_some() => {}
            _ => return false,
        }
        let mut scratch = Notes::default();
        let mut machine = Machine::new(rest, 0);
        let end = machine.run(0, &mut scratch, &mut Budget::new(Limits::default()));
        if machine.called {
            return true;
        }
        steps += machine.steps;
        match end {
            // A lone number or text is data of no harm, and reads like prose.
            Ok(end) if end + 1 >= rest.len() => return machine.acts || steps >= 4,
            Ok(end) => rest = &rest[end..],
            Err(Halt::Broken) => return false,
            Err(Halt::Spent(_)) => return true,
        }
    }
    true
}
