//! The members of a zip, as its directory tells them and as its local headers do.
//!
//! Readers differ: some go by the directory, some by the local headers, and an archive can show
//! each another member. Both are walked; what only one of them shows is scanned, and is a finding.

mod around;
mod methods;
mod record;

use super::tree::Tree;
use super::{Sink, aside, path};
use crate::bytes::{count, index, slice};
use crate::{Limit, Part, Severity, Unscannable};
use memchr::memmem;
use methods::{packed, unpack};
use record::{Entry, central, local};
use std::collections::HashSet;

/// Walks the archive. The first failure is the answer, but all members are looked at.
pub(crate) fn read(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Unscannable> {
    let mut walk = Walk {
        bytes,
        taken: Vec::new(),
        end: Ok(()),
        tree: Tree::default(),
    };
    let Some((end, others)) = record::end(bytes) else {
        // No directory: a cut archive, which some unpackers read all the same.
        walk.gaps(0, bytes.len(), sink);
        walk.end?;
        return Err(Unscannable::Corrupt);
    };
    let directory = walk.members(&end, sink);
    walk.gaps(0, directory, sink);
    let first = walk.taken.first().map_or(directory, |(start, _)| *start);
    around::read(bytes, first, &end, sink);
    for other in &others {
        sink.notes().find(
            "archive.two_ends",
            Severity::Suspicious,
            "",
            "the archive ends in two ways: some unpackers show other members than the rest",
        );
        walk.taken.clear();
        walk.members(other, sink);
    }
    let tree = walk.tree.judge(sink);
    walk.end.and(tree)
}

/// How many members are read of an archive whose members lie on one another.
const OVERLAPPING_MAX: usize = 4;

/// One member, as the directory tells of it and as its own header does.
struct Member {
    entry: Entry,
    header: Entry,
}

struct Walk<'a> {
    bytes: &'a [u8],
    /// From where to where each member lies, header and data.
    taken: Vec<(usize, usize)>,
    end: Result<(), Unscannable>,
    tree: Tree,
}

impl Walk<'_> {
    /// Reads what one directory tells of; says where it starts.
    fn members(&mut self, end: &record::End, sink: &mut dyn Sink) -> usize {
        let (directory, mut members) = self.directory(end, sink);
        if self.overlaps(sink) {
            // A few show what the rest is; all of them would be the bomb.
            members.truncate(OVERLAPPING_MAX);
            self.fail(Unscannable::Limit(Limit::Ratio));
        }
        for member in &members {
            if sink.budget().spent().is_none() {
                self.pair(&member.entry, &member.header, sink);
            }
        }
        directory
    }

    fn fail(&mut self, reason: Unscannable) {
        if self.end.is_ok() {
            self.end = Err(reason);
        }
    }

    /// Reads the directory; says where it starts, and what it tells of.
    fn directory(&mut self, end: &record::End, sink: &mut dyn Sink) -> (usize, Vec<Member>) {
        let size = index(end.directory_bytes);
        // What stands before the archive moves every offset.
        let start = end.directory_to.saturating_sub(size);
        let shift = count(start).wrapping_sub(end.directory_offset);
        if end.directory_offset > count(start) {
            self.fail(Unscannable::Corrupt);
        }
        let (mut at, mut names, mut seen) = (start, HashSet::new(), 0);
        let mut members = Vec::new();
        while at < end.directory_to {
            let Some(entry) = central(self.bytes, at) else {
                self.fail(Unscannable::Corrupt);
                break;
            };
            at = entry.end;
            seen += 1;
            if let Err(spent) = sink.budget().member() {
                self.fail(spent);
                break;
            }
            self.tree.named(&entry.name);
            if !names.insert(entry.name.clone()) {
                sink.notes().find(
                    "archive.twice",
                    Severity::Suspicious,
                    entry.name.as_str(),
                    "two members have one name: unpackers differ in which they keep",
                );
            }
            let offset = index(entry.offset.wrapping_add(shift));
            match local(self.bytes, offset) {
                Some(header) => {
                    let packed = index(packed(&entry, &header));
                    self.taken.push((offset, header.end.saturating_add(packed)));
                    members.push(Member { entry, header });
                }
                None => self.fail(Unscannable::Corrupt),
            }
        }
        if self.end.is_ok() && seen != end.entries {
            sink.notes().find(
                "archive.count",
                Severity::Suspicious,
                "",
                "the directory holds another number of members than it says",
            );
        }
        self.taken.sort_unstable();
        (start, members)
    }

    /// One member, told twice.
    fn pair(&mut self, entry: &Entry, header: &Entry, sink: &mut dyn Sink) {
        let notes = sink.notes();
        let mut odd = |message: &str| {
            notes.find(
                "archive.two_views",
                Severity::Suspicious,
                entry.name.as_str(),
                message,
            );
        };
        if header.name != entry.name {
            odd(&format!(
                "the local header calls the member `{}`",
                header.name
            ));
            path::check(&header.name, sink.notes());
        } else if header.method != entry.method {
            odd("directory and local header differ in the method of compression");
        } else if header.is_encrypted() != entry.is_encrypted() {
            odd("directory and local header differ in whether the member is locked");
        } else if !header.has_descriptor()
            && (header.packed, header.size) != (entry.packed, entry.size)
        {
            odd("directory and local header differ in the member's size");
        } else if [&entry.other_name, &header.other_name]
            .into_iter()
            .flatten()
            .any(|other| *other != entry.name)
        {
            odd("a second name of the member differs from the first");
        }
        for other in [&entry.other_name, &header.other_name]
            .into_iter()
            .flatten()
        {
            path::check(other, sink.notes());
        }
        for (from, to) in [entry.aside, header.aside] {
            let field = self.bytes.get(from..to).unwrap_or_default();
            if let Err(spent) = aside::search(&entry.name, field, sink) {
                self.fail(spent);
            }
        }
        let packed = packed(entry, header);
        let names = [
            Some(&entry.name),
            Some(&header.name).filter(|name| **name != entry.name),
        ];
        self.member(entry, header.end, packed, sink, &names);
        if header.method != entry.method {
            self.member(header, header.end, packed, sink, &names);
        }
    }

    fn member(
        &mut self,
        entry: &Entry,
        start: usize,
        packed: u64,
        sink: &mut dyn Sink,
        names: &[Option<&String>],
    ) {
        path::check(&entry.name, sink.notes());
        let Some(data) = slice(self.bytes, start, index(packed)) else {
            self.fail(Unscannable::Corrupt);
            return;
        };
        let unpacked = unpack(entry, data, sink);
        let whole = unpacked.end.is_ok() && crc32fast::hash(&unpacked.bytes) == entry.crc;
        if entry.is_encrypted() {
            if !whole || entry.method == 99 {
                self.fail(Unscannable::Encrypted);
                return;
            }
            sink.notes().find(
                "archive.lies",
                Severity::Suspicious,
                entry.name.as_str(),
                "the member says that it is locked, and is not",
            );
        }
        if let Err(reason) = unpacked.end {
            self.fail(reason);
        } else if !whole {
            self.fail(Unscannable::Corrupt);
        } else if count(unpacked.bytes.len()) != entry.size {
            sink.notes().find(
                "archive.size",
                Severity::Suspicious,
                entry.name.as_str(),
                "the member unpacks to another size than it says",
            );
        }
        self.mode(entry, &unpacked.bytes, sink);
        if unpacked.bytes.is_empty() && entry.name.ends_with('/') {
            return;
        }
        let mut content = Some(unpacked.bytes);
        let mut names = names.iter().flatten().peekable();
        while let Some(name) = names.next() {
            // The last name takes it; most members have only one.
            let bytes = match names.peek() {
                Some(_) => content.clone(),
                None => content.take(),
            };
            sink.member(Part {
                place: (*name).clone(),
                name: Some((*name).clone()),
                kind: None,
                bytes: bytes.unwrap_or_default(),
            });
        }
    }

    fn mode(&mut self, entry: &Entry, content: &[u8], sink: &mut dyn Sink) {
        let notes = sink.notes();
        if entry.mode & 0o170_000 == 0o120_000 {
            let target = String::from_utf8_lossy(content);
            path::check_link(&entry.name, &target, notes);
            self.tree.link(&entry.name, &target, notes);
        } else {
            self.tree.file(&entry.name);
        }
        match entry.mode & 0o170_000 {
            0o020_000 | 0o060_000 => notes.find(
                "archive.device",
                Severity::Malicious,
                entry.name.as_str(),
                "the member is a device",
            ),
            0o010_000 | 0o140_000 => notes.find(
                "archive.fifo",
                Severity::Suspicious,
                entry.name.as_str(),
                "the member is a pipe or a socket",
            ),
            _ => {}
        }
        if entry.mode & 0o6000 != 0 {
            notes.find(
                "archive.setuid",
                Severity::Suspicious,
                entry.name.as_str(),
                "the member runs with the rights of its owner",
            );
        }
    }

    /// Members that lie on one another unpack to more than the archive has room for.
    fn overlaps(&mut self, sink: &mut dyn Sink) -> bool {
        let overlap = self.taken.windows(2).any(|pair| pair[0].1 > pair[1].0);
        if overlap {
            sink.notes().find(
                "bomb.overlap",
                Severity::Malicious,
                "",
                "members lie on one another: a few bytes unpack to a great many",
            );
        }
        overlap
    }

    /// Local headers between what the directory tells of.
    fn gaps(&mut self, from: usize, to: usize, sink: &mut dyn Sink) {
        let mut at = from;
        let taken = self.taken.clone();
        for (start, end) in taken.into_iter().chain([(to, to)]) {
            if at < start {
                self.gap(at, start.min(to), sink);
            }
            at = at.max(end);
        }
    }

    fn gap(&mut self, mut at: usize, to: usize, sink: &mut dyn Sink) {
        while let Some(found) =
            slice(self.bytes, at, to - at).and_then(|gap| memmem::find(gap, b"PK\x03\x04"))
        {
            at += found;
            let Some(header) = local(self.bytes, at) else {
                at += 4;
                continue;
            };
            if let Err(spent) = sink.budget().member() {
                return self.fail(spent);
            }
            sink.notes().find(
                "archive.hidden",
                Severity::Suspicious,
                header.name.as_str(),
                "the directory does not tell of this member, and some unpackers show it",
            );
            let rest = to.saturating_sub(header.end);
            let packed = if header.has_descriptor() && header.packed == 0 {
                rest
            } else {
                index(header.packed).min(rest)
            };
            let data = slice(self.bytes, header.end, packed).unwrap_or_default();
            if header.is_encrypted() {
                self.fail(Unscannable::Encrypted);
            }
            path::check(&header.name, sink.notes());
            self.tree.file(&header.name);
            let unpacked = unpack(&header, data, sink);
            if let Err(reason) = unpacked.end {
                self.fail(reason);
            }
            sink.member(Part {
                place: header.name.clone(),
                name: Some(header.name.clone()),
                kind: None,
                bytes: unpacked.bytes,
            });
            at = if header.has_descriptor() {
                header.end
            } else {
                header.end + packed
            };
            if at >= to {
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "zip/tests.rs"]
mod tests;
