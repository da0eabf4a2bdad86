//! What a document does when it is opened.
//!
//! All objects are read in the order in which they stand, whether the table of objects knows them
//! or not: readers repair tables, so an object that nobody refers to may still be found. Objects
//! packed in streams are unpacked and read the same way.

mod actions;
mod filters;
mod lexer;
mod text;

use crate::kind::detect;
use crate::{Budget, Kind, Notes, Severity, Unscannable};
use actions::Actions;
use filters::Unpacked;
use lexer::{Dict, Event, Lexer, Value};

/// More unpacked bytes of one stream than this, and more than [`RATIO`] for each packed one, is a
/// bomb.
const BOMB_BYTES: usize = 8 << 20;
const RATIO: usize = 150;
/// Streams whose content is looked at are kept up to this.
const KEPT_BYTES_MAX: usize = 32 << 20;
/// Of a stream that only draws so much is searched for text.
const DRAWN_BYTES_MAX: usize = 4 << 20;

/// Looks at objects, actions and streams; attached files become parts.
pub fn check(bytes: &[u8], notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut actions = Actions::default();
    let ends = [&b"%%EOF"[..], b"startxref"];
    let is_cut = !ends
        .iter()
        .any(|end| memchr::memmem::find(bytes, end).is_some());
    objects(bytes, &mut actions, true, notes, budget)?;
    actions.judge(notes);
    if actions.encrypted {
        Err(Unscannable::Encrypted)
    } else if is_cut {
        // Readers put a table together, of objects that nobody finished.
        Err(Unscannable::Corrupt)
    } else {
        Ok(())
    }
}

fn objects(
    bytes: &[u8],
    actions: &mut Actions,
    outer: bool,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut lexer = Lexer::new(bytes);
    let mut read = 0;
    let mut last: Option<Dict> = None;
    while let Some(event) = lexer.next()? {
        budget.charge((lexer.at() - read).max(1) as u64)?;
        read = lexer.at();
        match event {
            Event::Dict(dict, top) => {
                actions.look(&dict, lexer.at(), notes);
                if top {
                    last = Some(dict);
                }
            }
            Event::Stream(range) if outer => {
                if let Some(dict) = last.take() {
                    stream(&dict, &bytes[range], actions, notes, budget)?;
                }
            }
            Event::Stream(_) => last = None,
        }
    }
    Ok(())
}

fn stream(
    dict: &Dict,
    body: &[u8],
    actions: &mut Actions,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let kind = dict.name("Type").unwrap_or("");
    let objects_within =
        kind == "ObjStm" || (dict.get("First").is_some() && dict.get("N").is_some());
    let attached = kind == "EmbeddedFile";
    let keep = if objects_within || attached {
        KEPT_BYTES_MAX
    } else if text::is_drawn(dict) {
        DRAWN_BYTES_MAX
    } else {
        0
    };
    if dict.get("Filter").is_none() && !attached {
        // Another reader may take a shorter length and find objects here.
        if text::is_drawn(dict) {
            drawn(body, notes, budget)?;
        }
        return objects(body, actions, false, notes, budget);
    }
    match filters::unpack(dict, body, keep, budget)? {
        Unpacked::Bomb => notes.find(
            "pdf.bomb",
            Severity::Suspicious,
            "",
            "a stream grows beyond all proportion when it is unpacked",
        ),
        Unpacked::Unknown if objects_within => {
            notes.find(
                "pdf.packed_objects",
                Severity::Suspicious,
                "",
                "objects are packed in a way that few readers know",
            );
        }
        Unpacked::Bytes(inner) if objects_within && !actions.encrypted => {
            objects(&inner, actions, false, notes, budget)?;
        }
        Unpacked::Bytes(inner) if attached && !actions.encrypted => {
            let program = detect::detect(&inner, None, "") == Kind::Executable;
            let (severity, message) = if program {
                (Severity::Malicious, "a program is attached")
            } else {
                (Severity::Info, "a file is attached")
            };
            notes.find("pdf.attachment", severity, "", message);
            let name = dict.get("F").and_then(Value::text);
            notes.part("attached file", name, None, inner);
        }
        Unpacked::Bytes(inner) if !actions.encrypted => drawn(&inner, notes, budget)?,
        Unpacked::Unknown | Unpacked::Bytes(_) => {}
    }
    Ok(())
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
