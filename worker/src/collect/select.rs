//! Which of a job's files are its outputs: a pure rule over the listing.

use crate::execute::Manifest;
use crate::secrets::Hidden;
use globset::GlobSet;
use kiln_keeper::collect::{Entry, Kind};
use kiln_protocol::glob::{BadGlob, compile};
use kiln_protocol::limits::Limits;
use kiln_protocol::outcome::{SkipReason, Skipped};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Longest name of one component that a store's file system takes.
const NAME_MAX: usize = 255;
/// Entries listed in the outcome as skipped at most; more are counted.
const SKIPPED_MAX: usize = 1_000;
/// Longest path of an artifact.
const PATH_MAX: usize = 1024;

/// What the job asked to have collected.
#[derive(Debug)]
pub enum Selection {
    /// What its globs match, `*` stopping at `/`.
    Globs(GlobSet),
    /// Everything new or changed, but caches.
    Everything,
}

/// A file that is to be taken.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Its path as the outcome names it.
    pub(super) path: String,
    pub(super) entry: Entry,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) wanted: Vec<Wanted>,
    /// The first [`SKIPPED_MAX`].
    pub(super) skipped: Vec<Skipped>,
    pub(super) skipped_more: usize,
}

impl Selection {
    /// From the job's `artifacts`; `None` is everything.
    pub fn new(globs: Option<&[String]>) -> Result<Self, BadGlob> {
        globs.map_or(Ok(Self::Everything), |globs| {
            compile(globs.iter().map(String::as_str)).map(Self::Globs)
        })
    }

    fn picks(&self, path: &str) -> bool {
        match self {
            Self::Globs(set) => set.is_match(path),
            Self::Everything => !path.split('/').any(is_cache),
        }
    }
}

/// Folders that programs fill for themselves.
fn is_cache(component: &str) -> bool {
    component == "__pycache__"
        || [
            ".cache",
            ".config",
            ".local",
            ".matplotlib",
            ".ipython",
            ".npm",
            ".pytest_cache",
        ]
        .contains(&component)
}

/// The paths of what is taken, and of the folders above: no two files may meet in the store, and
/// none may be where another needs a folder. A job's own names never do; escaped ones can.
#[derive(Debug, Default)]
struct Places {
    files: HashSet<String>,
    folders: HashSet<String>,
}

impl Places {
    /// Takes a place, if it is free.
    fn take(&mut self, path: &str) -> bool {
        let folders = || path.match_indices('/').map(|(at, _)| &path[..at]);
        let free = !self.files.contains(path)
            && !self.folders.contains(path)
            && !folders().any(|folder| self.files.contains(folder));
        if free {
            self.files.insert(path.to_owned());
            self.folders.extend(folders().map(str::to_owned));
        }
        free
    }
}

impl Plan {
    /// Lists an entry as skipped, within bounds: a job may make any number of them, with any names.
    fn skip(&mut self, path: &str, hidden: &Hidden, reason: SkipReason) {
        if self.skipped.len() < SKIPPED_MAX {
            let path = shortened(&hidden.cover(path));
            self.skipped.push(Skipped { path, reason });
        } else {
            self.skipped_more += 1;
        }
    }
}

/// Parts the listing into what is taken, in order of path, and what is listed as skipped.
pub(super) fn plan(
    mut entries: Vec<Entry>,
    selection: &Selection,
    manifest: &Manifest,
    (limits, hidden): (&Limits, &Hidden),
) -> Plan {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let mut plan = Plan::default();
    let mut places = Places::default();
    let mut room = limits.artifact_bytes;
    for entry in entries {
        let path = printable(&entry.path);
        if untouched(&entry, manifest) || !selection.picks(&path) {
            continue;
        }
        let reason = match entry.kind {
            Kind::Directory => continue,
            Kind::Symlink => Some(SkipReason::Symlink),
            Kind::Fifo => Some(SkipReason::Fifo),
            Kind::Socket => Some(SkipReason::Socket),
            Kind::Device => Some(SkipReason::Device),
            Kind::Unreadable => Some(SkipReason::Unreadable),
            Kind::TooDeep => Some(SkipReason::TooDeep),
            Kind::File if !storable(&path) => Some(SkipReason::BadName),
            Kind::File if plan.wanted.len() as u64 >= limits.artifact_count => {
                Some(SkipReason::TooMany)
            }
            Kind::File if entry.size > room => Some(SkipReason::TooLarge),
            Kind::File if hidden.is_in(&path) => Some(SkipReason::BadName),
            Kind::File if !places.take(&path) => Some(SkipReason::BadName),
            Kind::File => None,
        };
        if let Some(reason) = reason {
            plan.skip(&path, hidden, reason);
        } else {
            room -= entry.size;
            plan.wanted.push(Wanted { path, entry });
        }
    }
    plan
}

/// A path for the list of what was skipped: its beginning, where it is long.
fn shortened(path: &str) -> String {
    if path.len() <= NAME_MAX {
        return path.to_owned();
    }
    let end = path.floor_char_boundary(NAME_MAX);
    format!("{}...", &path[..end])
}

/// Whether an entry is an input as it was staged. The kernel alone sets `ctime`.
fn untouched(entry: &Entry, manifest: &Manifest) -> bool {
    manifest.get(&entry.path).is_some_and(|staged| {
        entry.kind == Kind::File
            && (entry.ino, entry.size) == (staged.ino, staged.size)
            && (entry.mtime_ns, entry.ctime_ns) == (staged.mtime_ns, staged.ctime_ns)
    })
}

/// A path as text: bytes that are no UTF-8, and control characters, as `%XX`.
fn printable(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                let mut utf8 = [0; 4];
                for byte in c.encode_utf8(&mut utf8).bytes() {
                    escape(&mut text, byte);
                }
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            escape(&mut text, *byte);
        }
    }
    text
}

fn escape(text: &mut String, byte: u8) {
    write!(text, "%{byte:02X}").expect("a String takes every write");
}

fn storable(path: &str) -> bool {
    path.len() <= PATH_MAX
        && path
            .split('/')
            .all(|name| !name.is_empty() && name.len() <= NAME_MAX && name != "." && name != "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_keeper::stage::Staged;
    use kiln_protocol::limits::{LimitRequest, LimitTable};

    fn file(path: &[u8], size: u64) -> Entry {
        let kind = Kind::File;
        Entry {
            kind,
            mode: 0o100_644,
            size,
            ino: 7,
            mtime_ns: 1,
            ctime_ns: 1,
            path: path.into(),
        }
    }

    fn limits() -> Limits {
        LimitTable::contract(2)
            .resolve(&LimitRequest::default())
            .expect("defaults are in range")
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.wanted.iter().map(|w| w.path.as_str()).collect()
    }

    #[test]
    fn an_untouched_input_is_no_output_and_a_changed_one_is() {
        let staged = Staged {
            errno: 0,
            ino: 7,
            size: 3,
            mtime_ns: 1,
            ctime_ns: 1,
            mode: 0o100_644,
        };
        let manifest = Manifest::from([(b"a".to_vec(), staged), (b"b".to_vec(), staged)]);
        let changed = Entry {
            ctime_ns: 2,
            ..file(b"b", 3)
        };
        let plan = plan(
            vec![file(b"a", 3), changed],
            &Selection::Everything,
            &manifest,
            (&limits(), &Hidden::default()),
        );
        assert_eq!(names(&plan), ["b"]);
    }

    #[test]
    fn odd_names_stay_apart() {
        let entries = vec![
            file(b"ok\x80", 1),
            file(b"ok\x81", 1),
            file(b"ok%80", 1),
            file(b"a\nb", 1),
        ];
        let plan = plan(
            entries,
            &Selection::Everything,
            &Manifest::new(),
            (&limits(), &Hidden::default()),
        );
        assert_eq!(names(&plan), ["a%0Ab", "ok%80", "ok%81"]);
        assert_eq!(
            plan.skipped,
            [Skipped {
                path: "ok%80".into(),
                reason: SkipReason::BadName
            }]
        );
    }

    #[test]
    fn escaped_names_never_meet() {
        let entries = vec![
            file(b"x\x80%81", 1),
            file(b"x%80\x81", 1),
            file(b"d%80", 1),
            file(b"d\x80/f", 1),
            file(b"e\x80", 1),
            file(b"e%80/f", 1),
        ];
        let plan = plan(
            entries,
            &Selection::Everything,
            &Manifest::new(),
            (&limits(), &Hidden::default()),
        );
        assert_eq!(names(&plan), ["d%80", "e%80/f", "x%80%81"]);
        assert!(plan.skipped.iter().all(|s| s.reason == SkipReason::BadName));
        assert_eq!(plan.skipped.len(), 3);
    }

    #[test]
    fn the_list_of_what_was_skipped_is_bounded() {
        let link = |n: usize| Entry {
            kind: Kind::Symlink,
            ..file(format!("{n:05}{}", "l".repeat(3_000)).as_bytes(), 1)
        };
        let plan = plan(
            (0..1_500).map(link).collect(),
            &Selection::Everything,
            &Manifest::new(),
            (&limits(), &Hidden::default()),
        );
        assert_eq!((plan.skipped.len(), plan.skipped_more), (1_000, 500));
        assert!(plan.skipped.iter().all(|s| s.path.len() <= NAME_MAX + 3));
    }

    #[test]
    fn totals_are_filled_in_order_of_path() {
        let limits = Limits {
            artifact_bytes: 10,
            artifact_count: 2,
            ..limits()
        };
        let entries = vec![file(b"d", 1), file(b"c", 9), file(b"b", 9), file(b"a", 1)];
        let plan = plan(
            entries,
            &Selection::Everything,
            &Manifest::new(),
            (&limits, &Hidden::default()),
        );
        assert_eq!(names(&plan), ["a", "b"]);
        let reasons: Vec<_> = plan.skipped.iter().map(|s| s.reason).collect();
        assert_eq!(reasons, [SkipReason::TooMany, SkipReason::TooMany]);
    }

    #[test]
    fn globs_stop_at_a_slash_and_caches_are_left() {
        let globs = Selection::new(Some(&["*.csv".to_owned(), "plots/**".to_owned()]))
            .expect("sound globs");
        assert!(globs.picks("a.csv") && globs.picks("plots/x/y.png"));
        assert!(!globs.picks("sub/a.csv"));
        assert!(!Selection::Everything.picks("x/__pycache__/y.pyc"));
        assert!(Selection::Everything.picks(".hidden/kept.txt"));
    }

    #[test]
    fn a_name_that_holds_a_secret_is_no_name() {
        let hidden = Hidden::for_test("the-secret-itself");
        let mut link = file(b"the-secret-itself", 1);
        link.kind = Kind::Symlink;
        let entries = vec![file(b"a/the-secret-itself.txt", 1), file(b"b", 1), link];
        let plan = plan(
            entries,
            &Selection::Everything,
            &Manifest::new(),
            (&limits(), &hidden),
        );
        assert_eq!(plan.wanted.len(), 1);
        let skipped: Vec<_> = plan
            .skipped
            .iter()
            .map(|one| (&*one.path, one.reason))
            .collect();
        let cover = "[kiln: withheld: this name holds a secret]";
        assert_eq!(
            skipped,
            [(cover, SkipReason::BadName), (cover, SkipReason::Symlink)]
        );
    }
}
