//! Whose things are looked for: those of every Kiln that this tree's tests start, or of the workers of one test alone?
//!
//! Kiln is told to keep its things where only these tests look, so that whoever else uses it on this machine is no
//! concern of theirs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The first host uid of sandboxes unless it is told otherwise; above it lies nobody else.
const UID_BASE: u32 = 1_879_048_192;
/// Uids come in blocks; each begins at a multiple of this.
const UID_BLOCK: u32 = 4_194_304;

/// By what a thing of Kiln's is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The runtime folder: instances lie in it, mounts below it, and helpers are told of it.
    pub runtime: PathBuf,
    /// The control group, by its name below the root of every hierarchy.
    pub group: String,
    /// The first uid, and the first that is another's.
    pub uids: (u32, u32),
}

impl Scope {
    /// That of all tests of this tree that are not told another; each is left behind for the next.
    pub fn tree() -> Self {
        let mut hasher = DefaultHasher::new();
        crate::places::home().hash(&mut hasher);
        let hash = hasher.finish();
        // Below those that a Kiln takes that is told nothing.
        let first = UID_BLOCK * (16 + 32 * u32::try_from(hash % 12).unwrap_or(0));
        Self {
            runtime: format!("/run/kiln-test-{hash:x}").into(),
            group: format!("kiln-test-{hash:x}"),
            // A warden takes the next free blocks.
            uids: (first, first + UID_BLOCK * 32),
        }
    }

    /// One that no other test has, with its runtime folder at this place.
    pub fn own(runtime: PathBuf) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        let (pid, n) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Another test may have the same block; each then takes the next free one, by its lock.
        let first = UID_BASE + UID_BLOCK * (64 + (pid * 7 + n) % 500);
        Self {
            runtime,
            group: format!("kiln-test-{pid}-{n}"),
            uids: (first, first + UID_BLOCK),
        }
    }

    /// What tells a Kiln of it, as variables of its environment.
    pub fn env(&self) -> [(&'static str, String); 3] {
        [
            ("KILN_WORKER__RUNTIME", self.runtime.display().to_string()),
            ("KILN_WORKER__CGROUP_PARENT", format!("/{}", self.group)),
            ("KILN_WORKER__UID_BASE", self.uids.0.to_string()),
        ]
    }

    /// The control group in every hierarchy.
    pub(super) fn groups(&self) -> Vec<PathBuf> {
        let root = Path::new("/sys/fs/cgroup");
        let mut groups = vec![root.join(&self.group)];
        for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                groups.push(entry.path().join(&self.group));
            }
        }
        groups
    }

    /// Removes the control groups, as far as nobody is in them.
    pub fn remove(&self) {
        self.groups().iter().for_each(|top| remove(top));
    }

    /// Why a process is of these: by its program, what it was told, its control group or its uid.
    pub(super) fn holds(&self, pid: u32) -> Option<String> {
        let path = format!("/proc/{pid}");
        let read = |file: &str| std::fs::read_to_string(format!("{path}/{file}")).ok();
        let name = read("comm")?.trim_end().to_owned();
        let status = read("status")?;
        let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        let uid: u32 = uid.split_whitespace().next()?.parse().ok()?;
        let below = format!("/{}/", self.group);
        let in_group = read("cgroup")?.lines().any(|line| {
            let group = line.splitn(3, ':').nth(2);
            group.is_some_and(|group| group.starts_with(&below))
        });
        let runtime = self.runtime.display().to_string();
        let told = read("cmdline")?.split('\0').any(|word| word == runtime);
        let by_env = format!("{}={runtime}", self.env()[0].0);
        let told = told || read("environ").is_some_and(|all| all.split('\0').any(|v| v == by_env));
        let is = told || in_group || (self.uids.0..self.uids.1).contains(&uid);
        (is && super::lives(pid)).then(|| format!("{name}, uid {uid}"))
    }
}

fn remove(top: &Path) {
    let mut below = Vec::new();
    super::walk(top, &mut below);
    for group in below.iter().rev() {
        std::fs::remove_dir(group).ok();
    }
}

/// Removes the control groups of tests that were killed.
fn sweep() {
    let root = Path::new("/sys/fs/cgroup");
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let hierarchies = entries(root).map(|entry| entry.path());
    for top in std::iter::once(root.to_owned()).chain(hierarchies) {
        for entry in entries(&top) {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| {
                let (pid, _) = name.strip_prefix("kiln-test-")?.split_once('-')?;
                pid.parse::<u32>().ok()
            });
            if owner.is_some_and(|pid| !super::lives(pid)) {
                remove(&entry.path());
            }
        }
    }
}
