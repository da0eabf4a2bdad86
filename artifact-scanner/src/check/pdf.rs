//! What a document does when it is opened.
//!
//! All objects are read in the order in which they stand, whether the table of objects knows them
//! or not: readers repair tables, so an object that nobody refers to may still be found. Objects
//! packed in streams are unpacked and read the same way. Those that stand within strings, comments
//! and streams come last: a table may point there.

mod actions;
mod filters;
mod lexer;
mod packed;
mod target;
mod text;
mod value;

use crate::kind::detect;
use crate::{Budget, Kind, Notes, Severity, Unscannable};
use actions::Actions;
use filters::Unpacked;
use lexer::{Event, Lexer};
use std::ops::Range;
use value::{Dict, Value};

/// More unpacked bytes of one stream than this, and more than [`RATIO`] for each packed one, is a
/// bomb.
const BOMB_BYTES: usize = 8 << 20;
const RATIO: usize = 150;
/// Streams whose content is looked at are kept up to this.
const KEPT_BYTES_MAX: usize = 32 << 20;
/// Of a stream that only draws so much is searched for text.
const DRAWN_BYTES_MAX: usize = 4 << 20;

/// What is read a second time, as a table of objects may have it, besides what the file has twice:
/// objects may lie within one another, each to the end of the file.
const AGAIN_BYTES_MAX: usize = 4 << 20;

/// The number, the dictionary and the place of a stream.
type Stream = (i64, Dict, Range<usize>);

/// What is carried through all objects.
struct Scan<'a> {
    actions: Actions,
    streams: Vec<Stream>,
    /// How much may still be read a second time.
    again: usize,
    notes: &'a mut Notes,
    budget: &'a mut Budget,
}

/// Looks at objects, actions and streams; attached files become parts.
pub fn check(bytes: &[u8], notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let ends = [&b"%%EOF"[..], b"startxref"];
    let is_cut = !ends
        .iter()
        .any(|end| memchr::memmem::find(bytes, end).is_some());
    let mut scan = Scan {
        actions: Actions::default(),
        streams: Vec::new(),
        again: bytes
            .len()
            .saturating_mul(2)
            .saturating_add(AGAIN_BYTES_MAX),
        notes,
        budget,
    };
    let end = all(bytes, &mut scan);
    scan.actions.judge(scan.notes);
    end?;
    if scan.actions.encrypted {
        Err(Unscannable::Encrypted)
    } else if is_cut {
        // Readers put a table together, of objects that nobody finished.
        Err(Unscannable::Corrupt)
    } else {
        Ok(())
    }
}

fn all(bytes: &[u8], scan: &mut Scan<'_>) -> Result<(), Unscannable> {
    let begun = objects(bytes, true, scan)?;
    packed::hidden(bytes, &begun, scan)?;
    for (own, dict, range) in std::mem::take(&mut scan.streams) {
        // A file is attached by whoever refers to it, whatever it says of itself.
        if scan.actions.attached.contains(&own) && dict.name("Type") != Some("EmbeddedFile") {
            attachment(&dict, bytes, range, scan)?;
        }
    }
    Ok(())
}

/// Reads all objects in turn, and in the file itself what their streams hold; says where they
/// begin.
fn objects(bytes: &[u8], outer: bool, scan: &mut Scan<'_>) -> Result<Vec<usize>, Unscannable> {
    let mut lexer = Lexer::new(bytes);
    let mut read = 0;
    while let Some(event) = lexer.next()? {
        scan.budget.charge((lexer.at() - read).max(1) as u64)?;
        read = lexer.at();
        let own = lexer.own();
        match event {
            Event::Dict(dict, top) => {
                scan.actions.look(&dict, own, read, scan.notes);
                if outer
                    && top
                    && let Some(range) = lexer.stream_behind()
                {
                    stream(&dict, bytes, range.clone(), scan)?;
                    scan.streams.push((own.unwrap_or(0), dict, range));
                }
            }
            Event::Bare(value) => scan.actions.bare(&value, read, scan.notes),
            Event::Stream => {}
        }
    }
    Ok(lexer.into_begun())
}

fn stream(
    dict: &Dict,
    bytes: &[u8],
    range: Range<usize>,
    scan: &mut Scan<'_>,
) -> Result<(), Unscannable> {
    let kind = dict.name("Type").unwrap_or("");
    if kind == "EmbeddedFile" {
        return attachment(dict, bytes, range, scan);
    }
    let objects_within =
        kind == "ObjStm" || (dict.get("First").is_some() && dict.get("N").is_some());
    let keep = if objects_within {
        KEPT_BYTES_MAX
    } else if text::is_drawn(dict) {
        DRAWN_BYTES_MAX
    } else {
        0
    };
    let range = stated(dict, bytes, range);
    if dict.get("Filter").is_none() {
        let body = &bytes[range];
        // Another reader may take a shorter length and find objects here.
        if text::is_drawn(dict) {
            drawn(body, scan.notes, scan.budget)?;
        }
        return if objects_within {
            unpacked(dict, body, scan)
        } else {
            objects(body, false, scan).map(|_| ())
        };
    }
    match filters::unpack(dict, bytes, range, keep, scan.budget)? {
        Unpacked::Bomb => bomb(scan.notes),
        Unpacked::Unknown if objects_within => unread(scan.notes),
        Unpacked::Bytes(inner) if objects_within && !scan.actions.encrypted => {
            unpacked(dict, &inner, scan)?;
        }
        Unpacked::Bytes(inner) if !scan.actions.encrypted => {
            drawn(&inner, scan.notes, scan.budget)?;
        }
        Unpacked::Unknown | Unpacked::Bytes(_) => {}
    }
    Ok(())
}

/// The stream ends where it says, if it does end there: its content may hold the word.
fn stated(dict: &Dict, bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let Some(Value::Number(length)) = dict.get("Length") else {
        return range;
    };
    let end = usize::try_from(*length)
        .ok()
        .and_then(|length| range.start.checked_add(length))
        .filter(|end| {
            let rest = bytes.get(*end..).unwrap_or_default();
            rest.trim_ascii_start().starts_with(b"endstream")
        });
    range.start..end.unwrap_or(range.end)
}

fn unpacked(dict: &Dict, inner: &[u8], scan: &mut Scan<'_>) -> Result<(), Unscannable> {
    match dict.get("First") {
        Some(Value::Number(first)) if *first >= 0 => {
            let first = usize::try_from(*first).unwrap_or(usize::MAX);
            packed::unpacked(inner, first, scan)
        }
        _ => {
            unread(scan.notes);
            objects(inner, false, scan).map(|_| ())
        }
    }
}

/// Hands on an attached file.
fn attachment(
    dict: &Dict,
    bytes: &[u8],
    range: Range<usize>,
    scan: &mut Scan<'_>,
) -> Result<(), Unscannable> {
    let range = stated(dict, bytes, range);
    let inner = match filters::unpack(dict, bytes, range, KEPT_BYTES_MAX, scan.budget)? {
        Unpacked::Bytes(inner) => inner,
        Unpacked::Bomb => {
            bomb(scan.notes);
            return Ok(());
        }
        Unpacked::Unknown => {
            unread(scan.notes);
            return Ok(());
        }
    };
    if scan.actions.encrypted {
        return Ok(());
    }
    let program = detect::detect(&inner, None, "") == Kind::Executable;
    let (severity, message) = if program {
        (Severity::Malicious, "a program is attached")
    } else {
        (Severity::Info, "a file is attached")
    };
    scan.notes.find("pdf.attachment", severity, "", message);
    let name = dict.get("F").and_then(Value::text);
    scan.notes.part("attached file", name, None, inner);
    Ok(())
}

fn bomb(notes: &mut Notes) {
    notes.find(
        "pdf.bomb",
        Severity::Suspicious,
        "",
        "a stream grows beyond all proportion when it is unpacked",
    );
}

fn unread(notes: &mut Notes) {
    notes.find(
        "pdf.packed_objects",
        Severity::Suspicious,
        "",
        "objects or files are packed in a way that few readers know",
    );
}

/// Hands on the text that a stream draws.
fn drawn(content: &[u8], notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let Some(text) = text::drawn(content) else {
        return Ok(());
    };
    budget.unpack(text.len().max(1) as u64)?;
    notes.part("text", None, Some(Kind::Text), text);
    Ok(())
}

#[cfg(test)]
mod tests;
