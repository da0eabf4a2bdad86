//! What a pickle calls when it is loaded.
//!
//! A pickle is a program. It is followed on symbols: every name it imports is held against a list
//! of names that data files need, every call must be of such a name, and whatever cannot be
//! followed is suspicious or the end of the scan. What stands before a break counts, since a
//! loader has carried it out by then.

mod calls;
mod doers;
pub(super) mod globals;
mod machine;
mod numbers;
mod opcode;
mod states;
mod values;

#[cfg(test)]
mod places_tests;
#[cfg(test)]
mod tests;

use crate::{Budget, Kind, Limit, Limits, Notes, Severity, Unscannable};
use machine::{Halt, Machine};

/// More streams in one file than this are not followed.
const STREAMS_MAX: usize = 4096;

/// What the look for a stream costs at one place, as if so many bytes were read.
const TRY_BYTES: u64 = 256;
/// What all places in raw data where a pickle may begin are followed, in instructions: each may go
/// on to the end of the file. A place costs as much as some of them.
const STEPS_MAX: u64 = 4_000_000;
const PLACE_STEPS: u64 = 8;

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
    notes.copy(own, |finding| {
        let named = matches!(finding.rule, "pickle.unknown_global" | "pickle.reaches");
        !raw || named || finding.severity == Severity::Malicious
    });
}

/// Looks for pickles within the bytes of a container whose readers load them.
pub(crate) fn within(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    hidden(bytes, 0, notes, budget)
}

/// Looks for pickles within raw data behind the streams. The search ends at the file's end or says
/// that it did not: whoever hides one can put any number of decoys before it.
fn hidden(
    bytes: &[u8],
    from: usize,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let tail = &bytes[from..];
    budget.charge(tail.len().max(1) as u64)?;
    let mut left = STEPS_MAX;
    for found in memchr::memchr_iter(0x80, tail) {
        // Columns of small numbers hold such pairs throughout.
        if !matches!(tail.get(found + 1), Some(2..=5)) || opcode::read(tail, found + 2).is_none() {
            continue;
        }
        let mut own = Notes::default();
        match followed(bytes, from + found, &mut left, &mut own, budget) {
            Err(Halt::Spent(reason)) => return Err(reason),
            Err(Halt::Broken) => keep(&own, true, notes),
            Ok(_) => keep(&own, false, notes),
        }
    }
    in_text(bytes, from, &mut left, notes, budget)
}

/// Follows one of many places where a pickle may begin.
fn followed(
    bytes: &[u8],
    at: usize,
    left: &mut u64,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<usize, Halt> {
    budget.charge(TRY_BYTES).map_err(Halt::Spent)?;
    let mut machine = Machine::new(bytes, 0);
    machine.steps_max = *left;
    let end = machine.run(at, notes, budget);
    *left = left.saturating_sub(machine.steps + PLACE_STEPS);
    if *left == 0 {
        return Err(Halt::Spent(Unscannable::Limit(Limit::Nesting)));
    }
    end
}

/// Looks for calls of the oldest form, which is text: `c`, a module, a name, each on a line.
fn in_text(
    bytes: &[u8],
    from: usize,
    left: &mut u64,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let tail = &bytes[from..];
    let name = |text: &[u8]| {
        let letters = text.iter().take(200);
        let length = letters
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
            .count();
        (length > 0 && text.get(length) == Some(&b'\n')).then_some(length)
    };
    for found in memchr::memchr2_iter(b'c', b'i', tail) {
        let module = &tail[found + 1..];
        let named = name(module).and_then(|length| name(&module[length + 1..]));
        if named.is_none() {
            continue;
        }
        let mut own = Notes::default();
        let end = followed(bytes, from + found, left, &mut own, budget);
        if let Err(Halt::Spent(reason)) = end {
            return Err(reason);
        }
        notes.copy(&own, |finding| finding.severity == Severity::Malicious);
    }
    Ok(())
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

/// Whether the bytes are one pickle from their first to their last. Told only of files that say so
/// themselves: a lone number reads like prose.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let (mut scratch, mut budget) = (Notes::default(), Budget::new(Limits::default()));
    let end = Machine::new(bytes, 0).run(0, &mut scratch, &mut budget);
    end.is_ok_and(|end| end == bytes.len())
}

/// Tells what is a pickle that acts and another type at the same time: whoever loads it does not
/// look at what it begins with.
pub(crate) fn lurks(bytes: &[u8], notes: &mut Notes, budget: &mut Budget) {
    let mut at = 0;
    for _ in 0..64 {
        let (mut own, mut machine) = (Notes::default(), Machine::new(bytes, 0));
        let end = machine.run(at, &mut own, budget);
        let has = |rule| own.findings().iter().any(|finding| finding.rule == rule);
        // Loaders stop at a persistent id, by which a zip begins.
        let acts = machine.called && !has("pickle.persistent_id");
        if has("pickle.dangerous_global") || (acts && own.worst() >= Some(Severity::Suspicious)) {
            notes.copy(&own, |finding| finding.severity >= Severity::Suspicious);
        }
        match end {
            Ok(end) if machine.steps > 0 => at = end,
            _ => return,
        }
    }
}

/// Whether the bytes begin as a pickle does, of any protocol. Used to tell types apart, so it
/// does not take prose for a pickle.
pub fn sniff(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut steps = 0;
    for _ in 0..64 {
        match rest {
            [0x80, 2..=5, ..] => return opcode::read(rest, 2).is_some(),
            [
                0x80
                | b'('
                | b')'
                | b']'
                | b'}'
                | b'c'
                | b'N'
                | b'I'
                | b'L'
                | b'F'
                | b'S'
                | b'V'
                | b'K'
                | b'M'
                | b'J'
                | b'G'
                | b'X'
                | b'U'
                | b'T'
                | b'B'
                | b'C'
                | 0x82..=0x84
                | 0x88..=0x8f
                | 0x95
                | 0x96,
                _,
                ..,
            ] => {}
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
