//! Where would the members of an archive lie, after all links of the same archive?
//!
//! A target that stays inside by its letters leads elsewhere where a step of it is a link itself,
//! and a member is not what its name says where a folder above it is one. So nothing is judged
//! before all members are known: unpackers make links first or last, each as it likes.

use super::Sink;
use crate::bytes::count;
use crate::{Notes, Severity, Unscannable, name};
use std::collections::{BTreeMap, HashMap};

/// So many links are followed one after another; no system follows more.
const FOLLOWED_MAX: usize = 40;

/// What a link leads to may be anything: these are the bytes of no harmless settings.
const UNKNOWN: &[u8] = b"\xff";

struct Link {
    name: String,
    target: String,
}

#[derive(Default)]
pub(super) struct Tree {
    /// By where they lie, in small letters: some disks know no others.
    links: BTreeMap<String, Link>,
    hard: Vec<Link>,
    files: Vec<String>,
    told_twice: Vec<String>,
    /// All members by where they lie on a disk that takes `A` for `a`, and those that lie where
    /// another one does.
    names: HashMap<String, String>,
    alike: Vec<String>,
}

#[derive(PartialEq)]
enum Leads {
    Inside,
    Through,
    Out,
    Round,
}

impl Tree {
    pub(super) fn file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// Every member, whatever it is.
    pub(super) fn named(&mut self, path: &str) {
        let path = plain(path);
        let before = self.names.entry(path.to_lowercase());
        if *before.or_insert_with(|| path.clone()) != path {
            self.alike.push(path);
        }
    }

    /// A link's name is one that a file could have, and is obeyed like one.
    pub(super) fn link(&mut self, path: &str, target: &str, notes: &mut Notes) {
        judge_name(path, notes);
        let link = Link {
            name: path.to_owned(),
            target: target.to_owned(),
        };
        let before = self.links.insert(key(path), link);
        if before.is_some_and(|before| before.target != target) {
            self.told_twice.push(path.to_owned());
        }
    }

    /// The target of a hard link is a path from the archive's root.
    pub(super) fn hard_link(&mut self, path: &str, target: &str, notes: &mut Notes) {
        judge_name(path, notes);
        self.hard.push(Link {
            name: path.to_owned(),
            target: target.to_owned(),
        });
    }

    /// Judges all that was told.
    pub(super) fn judge(&self, sink: &mut dyn Sink) -> Result<(), Unscannable> {
        for path in &self.alike {
            sink.notes().find(
                "archive.alike",
                Severity::Active,
                path.as_str(),
                "another member's name differs only in large and small letters: on some systems one of them is lost",
            );
        }
        if self.links.is_empty() {
            return Ok(());
        }
        for path in &self.told_twice {
            sink.notes().find(
                "archive.twice",
                Severity::Suspicious,
                path.as_str(),
                "two links have one name and lead to different places",
            );
        }
        for link in self.links.values() {
            let target = format!("{}/{}", folder(&link.name), link.target);
            self.link_leads(link, &target, sink)?;
            self.member_lies(&link.name, false, sink)?;
        }
        for link in &self.hard {
            self.link_leads(link, &link.target, sink)?;
            self.member_lies(&link.name, true, sink)?;
        }
        for path in &self.files {
            self.member_lies(path, true, sink)?;
        }
        Ok(())
    }

    fn link_leads(&self, link: &Link, path: &str, sink: &mut dyn Sink) -> Result<(), Unscannable> {
        let (severity, message) = match self.leads(path, sink)? {
            Leads::Out => (
                Severity::Malicious,
                "a link leads out of the folder it is unpacked in, by way of other links",
            ),
            Leads::Round => (Severity::Suspicious, "a link leads to itself"),
            Leads::Inside | Leads::Through => return Ok(()),
        };
        sink.notes()
            .find("archive.link", severity, link.name.as_str(), message);
        Ok(())
    }

    fn member_lies(
        &self,
        path: &str,
        is_written: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), Unscannable> {
        let trimmed = path.trim_end_matches('/');
        let own = self.links.get(&key(trimmed));
        let message = if self.leads(folder(trimmed), sink)? != Leads::Inside {
            "the member is written through a link of the same archive"
        } else if is_written && own.is_some_and(|link| plain(&link.name) == plain(trimmed)) {
            "the member has the name of a link of the same archive, and is written through it"
        } else {
            return Ok(());
        };
        sink.notes()
            .find("archive.through_link", Severity::Malicious, path, message);
        Ok(())
    }

    /// Follows the path from the root, over all links on its way.
    fn leads(&self, path: &str, sink: &mut dyn Sink) -> Result<Leads, Unscannable> {
        let mut todo: Vec<&str> = path.rsplit(['/', '\\']).collect();
        let mut here = String::new();
        let mut followed = 0;
        while let Some(step) = todo.pop() {
            sink.budget().charge(count(here.len() + step.len()) + 1)?;
            let before = here.len();
            match kept(step) {
                Step::Up if here.is_empty() => return Ok(Leads::Out),
                Step::Up => here.truncate(here.rfind('/').unwrap_or_default()),
                Step::Stay => {}
                Step::To(step) => {
                    if before > 0 {
                        here.push('/');
                    }
                    here.push_str(&step.to_lowercase());
                    let Some(link) = self.links.get(&here) else {
                        continue;
                    };
                    followed += 1;
                    if followed > FOLLOWED_MAX {
                        return Ok(Leads::Round);
                    }
                    if link.target.starts_with(['/', '\\']) {
                        return Ok(Leads::Out);
                    }
                    here.truncate(before);
                    todo.extend(link.target.rsplit(['/', '\\']));
                }
            }
        }
        Ok(if followed > 0 {
            Leads::Through
        } else {
            Leads::Inside
        })
    }
}

enum Step<'a> {
    Up,
    Stay,
    To(&'a str),
}

/// Some systems drop dots and spaces at the end of a name.
fn kept(step: &str) -> Step<'_> {
    match step.trim_end_matches([' ', '.']) {
        "" if step.trim_end() == ".." => Step::Up,
        "" => Step::Stay,
        kept => Step::To(kept),
    }
}

/// The path without steps that lead nowhere.
fn plain(path: &str) -> String {
    let mut steps = Vec::new();
    for step in path.split(['/', '\\']) {
        match kept(step) {
            Step::Up => steps.truncate(steps.len().saturating_sub(1)),
            Step::Stay => {}
            Step::To(step) => steps.push(step),
        }
    }
    steps.join("/")
}

fn key(path: &str) -> String {
    plain(path).to_lowercase()
}

fn folder(path: &str) -> &str {
    path.rsplit_once(['/', '\\'])
        .map_or("", |(folder, _)| folder)
}

fn judge_name(path: &str, notes: &mut Notes) {
    let mut own = Notes::default();
    name::check(path, UNKNOWN, &mut own);
    notes.absorb(path, own);
}

#[cfg(test)]
mod tests {
    use super::super::tests::Kept;
    use super::*;
    use crate::Limits;

    fn judged(links: &[(&str, &str)], files: &[&str]) -> Vec<&'static str> {
        let mut kept = Kept::new(Limits::default());
        let mut tree = Tree::default();
        for (path, target) in links {
            tree.link(path, target, &mut kept.notes);
        }
        for path in files {
            tree.file(path);
        }
        tree.judge(&mut kept).expect("few");
        kept.rules()
    }

    #[test]
    fn links_are_followed_over_links() {
        let up = ("a/b/c/up", "../../..");
        assert_eq!(judged(&[up, ("q", "a/b/c/up/..")], &[]), ["archive.link"]);
        // Whichever comes first.
        assert_eq!(judged(&[("q", "a/b/c/up/.."), up], &[]), ["archive.link"]);
        assert_eq!(judged(&[("a", "b"), ("b", "a")], &[]).len(), 2);
        assert_eq!(judged(&[("a", "x"), ("A", "y")], &[]), ["archive.twice"]);
    }

    #[test]
    fn members_are_found_behind_links_however_they_are_spelled() {
        for path in [
            "q/x", "./q/x", ".//q/x", "Q/x", "z/../q/x", "q\\x", "q./x", "q",
        ] {
            assert_eq!(
                judged(&[("q", "sub")], &[path]),
                ["archive.through_link"],
                "{path}"
            );
        }
    }

    #[test]
    fn the_name_of_a_link_is_judged_as_that_of_a_file() {
        assert_eq!(
            judged(&[(".git/hooks/post-checkout", "../../a")], &[]),
            ["name.obeyed"]
        );
        assert_eq!(judged(&[(".bashrc", "a")], &[]), ["name.obeyed"]);
    }

    #[test]
    fn names_that_differ_in_letters_are_told_and_the_same_name_is_not() {
        let judged = |names: &[&str]| {
            let mut kept = Kept::new(Limits::default());
            let mut tree = Tree::default();
            for name in names {
                tree.named(name);
            }
            tree.judge(&mut kept).expect("few");
            (kept.rules(), kept.notes.worst())
        };
        let alike = (vec!["archive.alike"], Some(Severity::Active));
        for names in [
            &["data.csv", "DATA.csv"][..],
            &["a/É.csv", "./A/é.csv"],
            &["a/x", "b", "a\\X"],
        ] {
            assert_eq!(judged(names), alike, "{names:?}");
        }
        for names in [
            &["a", "a"][..],
            &["a/", "a"],
            &["a/b", "A/c"],
            &["a.csv", "b.csv"],
        ] {
            assert_eq!(judged(names), (vec![], None), "{names:?}");
        }
    }

    #[test]
    fn links_of_ordinary_archives_are_fine() {
        let links = [
            ("A.framework/Versions/Current", "A"),
            ("A.framework/Headers", "Versions/Current/Headers"),
            ("lib/libx.so", "libx.so.1"),
            ("lib/libx.so.1", "libx.so.1.2"),
            ("bin/X11", "."),
            ("node_modules/.bin/x", "../x/cli.js"),
        ];
        let files = [
            "A.framework/Versions/A/Headers/a.h",
            "lib/libx.so.1.2",
            "bin/x",
            "node_modules/x/cli.js",
            "Lib",
        ];
        assert_eq!(judged(&links, &files), Vec::<&str>::new());
    }
}
