//! The members of a tar, in all its flavours: v7, ustar, pax, GNU.

mod header;
mod sparse;

use super::tree::Tree;
use super::{Sink, aside, path};
use crate::bytes::{count, index, slice};
use crate::{Kind, Part, Severity, Unscannable};
use header::{Extended, name, number, pax, string, sum_is_right};

const BLOCK: usize = 512;

/// Walks the archive; what follows its end is handed on.
pub(crate) fn read(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let mut tree = Tree::default();
    let end = walk(bytes, &mut tree, sink);
    end.and(tree.judge(sink))
}

fn walk(bytes: &[u8], tree: &mut Tree, sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let mut at = 0;
    let mut extended = Extended::default();
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
            _ => extended.size.unwrap_or(own_size),
        };
        let mut start = at + BLOCK;
        if kind == b'S' {
            start = sparse::old(bytes, at, &mut extended).ok_or(Unscannable::Corrupt)?;
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
            b'x' | b'X' | b'g' => {
                aside::search("records", data, sink)?;
                pax(data, &mut extended)?;
                if kind == b'g' {
                    of_all(&extended, sink);
                }
            }
            b'L' => extended.path = Some(string(data)),
            b'K' => extended.link = Some(string(data)),
            _ => {
                let before = std::mem::take(&mut extended);
                member(header, data, before, tree, sink)?;
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

/// What a header says of all members that follow: some readers take it for each, some for the
/// next, some for none.
fn of_all(extended: &Extended, sink: &mut dyn Sink) {
    if extended.changes_members() {
        sink.notes().find(
            "archive.two_views",
            Severity::Suspicious,
            extended.path.as_deref().unwrap_or_default(),
            "one header names all members that follow, or says how long they are",
        );
    }
}

fn member(
    header: &[u8],
    data: &[u8],
    extended: Extended,
    tree: &mut Tree,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    let is_file = matches!(header[156], b'0' | 0 | b'7');
    let is_folder = is_file
        && header[..100]
            .split(|byte| *byte == 0)
            .next()
            .is_some_and(|own| own.ends_with(b"/"));
    let sparse = extended.sparse(header[156]);
    let name = extended.path.unwrap_or_else(|| name(header));
    let target = extended.link.unwrap_or_else(|| string(&header[157..257]));
    let notes = sink.notes();
    path::check(&name, notes);
    tree.named(&name);
    match header[156] {
        b'1' => {
            path::check_hard_link(&name, &target, notes);
            tree.hard_link(&name, &target, notes);
        }
        b'2' => {
            path::check_link(&name, &target, notes);
            tree.link(&name, &target, notes);
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
    if !matches!(header[156], b'1' | b'2') {
        tree.file(&name);
    }
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
    // A folder has no data for some readers, and headers follow it.
    if !data.is_empty() && (is_folder || is_file && name.ends_with('/')) {
        sink.notes().find(
            "archive.odd_member",
            Severity::Suspicious,
            name.as_str(),
            "a folder has data: some unpackers take them for members",
        );
        sink.member(Part {
            place: format!("{name} as members"),
            name: None,
            kind: Some(Kind::Tar),
            bytes: data.to_vec(),
        });
    }
    let mut bytes = data.to_vec();
    if let Some(map) = sparse {
        // Readers that do not know of holes show what is stored.
        sink.member(Part {
            place: format!("{name} as stored"),
            name: None,
            kind: None,
            bytes,
        });
        bytes = sparse::expand(map, data, extended.real_size, sink)?;
    }
    // An empty file has a name, too.
    if !bytes.is_empty() || is_file {
        sink.member(Part {
            place: name.clone(),
            name: Some(name),
            kind: None,
            bytes,
        });
    }
    Ok(())
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

#[cfg(test)]
#[path = "tar_tests.rs"]
mod tests;
