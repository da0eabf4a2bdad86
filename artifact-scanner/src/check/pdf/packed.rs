//! Which objects lie where only a table of offsets finds them?
//!
//! Readers go to the offset that a table names, also where it points into a string, a comment or
//! the content of a stream. So each object is read that could be meant, wherever it stands.

use super::lexer::{Event, Lexer};
use super::value::Value;
use super::{Scan, objects, stream};
use crate::{Limit, Severity, Unscannable};

/// Reads what begins with `obj` and was not read with the others, of which `begun` are the begins.
pub(super) fn hidden(
    bytes: &[u8],
    begun: &[usize],
    scan: &mut Scan<'_>,
) -> Result<(), Unscannable> {
    for start in memchr::memmem::find_iter(bytes, b"obj") {
        let at = start + 3;
        let numbered = start
            .checked_sub(1)
            .is_some_and(|before| matches!(bytes[before], b'0'..=b'9' | b'\t'..=b'\r' | b' ' | 0));
        if numbered && begun.binary_search(&at).is_err() {
            let number = number(&bytes[..start]).unwrap_or(0);
            one(bytes, at, number, true, scan)?;
        }
    }
    Ok(())
}

/// The first of the two numbers that end here.
fn number(before: &[u8]) -> Option<i64> {
    let tail = &before[before.len().saturating_sub(40)..];
    let word = tail
        .rsplit(|byte| !byte.is_ascii_digit())
        .filter(|word| !word.is_empty())
        .nth(1)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

const NUMBERS_MAX: usize = 3;

/// Counts what is read once more.
fn again(bytes: usize, scan: &mut Scan<'_>) -> Result<(), Unscannable> {
    let spent = Unscannable::Limit(Limit::Nesting);
    scan.again = scan.again.checked_sub(bytes + 1).ok_or(spent)?;
    Ok(())
}

/// Reads the object that begins at `at`, and the stream behind it; says where it ends.
fn one(
    bytes: &[u8],
    at: usize,
    number: i64,
    outer: bool,
    scan: &mut Scan<'_>,
) -> Result<usize, Unscannable> {
    let mut lexer = Lexer::within(bytes, at, number);
    let (mut read, mut bare) = (at, 0);
    while let Some(event) = lexer.next()? {
        scan.budget.charge((lexer.at() - read).max(1) as u64)?;
        again(lexer.at() - read, scan)?;
        read = lexer.at();
        match event {
            Event::Dict(dict, top) => {
                scan.actions.look(&dict, Some(number), read, scan.notes);
                if top {
                    if let Some(range) = lexer.stream_behind().filter(|_| outer) {
                        again(range.len(), scan)?;
                        stream(&dict, bytes, range.clone(), scan)?;
                        scan.streams.push((number, dict, range));
                    }
                    break;
                }
            }
            Event::Bare(value) => {
                scan.actions.bare(&value, read, scan.notes);
                // A reference begins as two numbers.
                bare += 1;
                if !matches!(value, Value::Number(_)) || bare > NUMBERS_MAX {
                    break;
                }
            }
            Event::Stream => break,
        }
    }
    Ok(read)
}

/// Reads the objects of a stream of them: those that its head names, and what lies between.
pub(super) fn unpacked(inner: &[u8], first: usize, scan: &mut Scan<'_>) -> Result<(), Unscannable> {
    let head = inner.get(..first).unwrap_or(inner);
    let numbers: Vec<usize> = head
        .split(|byte| !byte.is_ascii_digit())
        .filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
        .collect();
    let mut named: Vec<(usize, usize)> = numbers
        .chunks_exact(2)
        .map(|pair| (first.saturating_add(pair[1]), pair[0]))
        .collect();
    scan.again = scan.again.saturating_add(inner.len().saturating_mul(2));
    named.sort_unstable();
    named.dedup();
    let mut read = first.min(inner.len());
    for (at, number) in named {
        if at > inner.len() {
            scan.notes.find(
                "pdf.packed_objects",
                Severity::Suspicious,
                "",
                "packed objects lie where this reader does not find them",
            );
            break;
        }
        if let Some(between) = inner.get(read..at) {
            objects(between, false, scan)?;
        }
        let number = i64::try_from(number).unwrap_or(0);
        read = one(inner, at, number, false, scan)?.max(read);
    }
    objects(&inner[read..], false, scan).map(|_| ())
}
