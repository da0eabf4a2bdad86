//! What a document of an office suite does when it is opened.

mod compound;
mod fields;
mod macros;
mod mashup;
mod nested;
mod open;
mod package;
mod queries;

use crate::{Budget, Kind, Notes, Severity, Unscannable};
use compound::Compound;
pub(crate) use fields::{instruction, is_named_by_field, named_by_field};
pub(crate) use open::{check_flat, check_open, is_open_part};

/// One part of a package, unpacked.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// Looks at a package of XML parts: macros, remote templates, DDE, external targets, formulas.
/// `file_name` is the whole file's, for what its ending promises. The parts are scanned on their
/// own, too (XML entities, rules, secrets, pictures): that is not this function's part.
pub fn check_ooxml(
    file_name: &str,
    members: &[Member<'_>],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut end = Ok(());
    for member in members {
        budget.charge(member.bytes.len().max(1) as u64)?;
        let place = member.name;
        if compound::sniff(member.bytes) {
            end = end.and(compound_part(file_name, member, notes, budget));
            continue;
        }
        package::look(place, member.bytes, notes);
        mashup::look(place, member.bytes, notes, budget)?;
        if let Some(text) = package::joined(member.bytes) {
            budget.unpack(text.len() as u64)?;
            let place = format!("text of {place}");
            notes.part(place, None, Some(Kind::Text), text.into_bytes());
        }
    }
    end
}

/// A compound file within a package: a macro project under whatever name, an embedded object.
fn compound_part(
    file_name: &str,
    member: &Member<'_>,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let Some(file) = Compound::open(member.bytes, budget)? else {
        notes.find(
            "office.broken_object",
            Severity::Suspicious,
            member.name,
            "an object of the document cannot be read",
        );
        return Ok(());
    };
    let promised = ends_with(
        file_name,
        &[
            ".docm", ".xlsm", ".pptm", ".dotm", ".xltm", ".potm", ".ppsm", ".xlam", ".ppam",
            ".xlsb",
        ],
    );
    let usual = member.name.to_ascii_lowercase().ends_with("vbaproject.bin");
    macros::look(&file, member.name, !promised || !usual, notes, budget)?;
    objects(&file, member.name, notes);
    Ok(())
}

/// Looks at the old container: macros, and locked documents (`Err(Encrypted)`).
pub fn check_ole(
    _file_name: &str,
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    budget.charge(bytes.len().max(1) as u64)?;
    let Some(file) = Compound::open(bytes, budget)? else {
        return Err(Unscannable::Corrupt);
    };
    macros::look(&file, "", false, notes, budget)?;
    objects(&file, "", notes);
    let mut locked = file.has("EncryptedPackage") || file.has("EncryptedSummary");
    if let Some(text) = file.stream("WordDocument", budget)? {
        // The second flag byte of the head says whether the text is enciphered.
        locked |= text.get(0x0b).is_some_and(|flags| flags & 1 != 0);
        fields::old_text(&text, notes);
    }
    for name in ["Workbook", "Book"] {
        if let Some(book) = file.stream(name, budget)? {
            locked |= sheets(&book, notes);
        }
    }
    if locked {
        Err(Unscannable::Encrypted)
    } else {
        Ok(())
    }
}

/// Embedded objects that run or exploit.
fn objects(file: &Compound<'_>, place: &str, notes: &mut Notes) {
    for name in file.names() {
        let lower = name.to_ascii_lowercase();
        if lower.contains("equation native") {
            notes.find(
                "office.equation",
                Severity::Malicious,
                place,
                "an object for the old equation editor, which is known to be attacked",
            );
        } else if lower.contains("ole10native") {
            notes.find(
                "office.packaged_file",
                Severity::Suspicious,
                place,
                "a file is packed into the document and is opened by a click",
            );
        } else if lower.contains("ocxname") || lower.contains("\u{3}ocx") {
            notes.find(
                "office.activex",
                Severity::Suspicious,
                place,
                "a control of ActiveX is loaded",
            );
        }
    }
}

/// Walks the records of an old workbook: macro sheets and names that start by themselves. True
/// where it is enciphered.
fn sheets(book: &[u8], notes: &mut Notes) -> bool {
    let mut at = 0;
    let mut locked = false;
    let mut macro_sheet = false;
    let mut starts = false;
    while let Some(&[a, b, c, d]) = book.get(at..at + 4).and_then(|head| head.first_chunk()) {
        let (record, length) = (
            u16::from_le_bytes([a, b]),
            usize::from(u16::from_le_bytes([c, d])),
        );
        let body = book
            .get(at + 4..(at + 4 + length).min(book.len()))
            .unwrap_or(&[]);
        match record {
            0x002f => locked = true,
            0x0085 => macro_sheet |= body.get(5) == Some(&1),
            // A built-in name: 1 opens, 2 closes.
            0x0018 => {
                let built_in = body.first().is_some_and(|flags| flags & 0x20 != 0);
                let tail = body.get(14..).unwrap_or(&[]);
                starts |= (built_in && tail.iter().take(3).any(|b| *b == 1))
                    || find_caseless(tail, b"auto_open")
                    || find_caseless(tail, b"auto_close");
            }
            _ => {}
        }
        at += 4 + length;
    }
    if macro_sheet {
        let severity = if starts {
            Severity::Malicious
        } else {
            Severity::Suspicious
        };
        notes.find(
            "office.xlm",
            severity,
            "",
            "a sheet of macros of the old kind",
        );
    }
    locked
}

fn find_caseless(bytes: &[u8], word: &[u8]) -> bool {
    bytes
        .windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word))
}

fn ends_with(name: &str, endings: &[&str]) -> bool {
    let lower = name.to_ascii_lowercase();
    endings.iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests;
