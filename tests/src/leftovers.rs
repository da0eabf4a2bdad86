//! What of a Kiln is on this machine now: processes, mounts, control groups, folders, namespaces?

mod scope;

pub use scope::Scope;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// One look at the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    found: BTreeSet<String>,
}

impl Snapshot {
    /// Looks at all that the tests of this tree have.
    ///
    /// # Panics
    /// When `/proc` cannot be read.
    pub fn take() -> Self {
        Self::of(&Scope::tree())
    }

    /// Looks at what is in a scope.
    ///
    /// # Panics
    /// When `/proc` cannot be read.
    pub fn of(scope: &Scope) -> Self {
        let mut found = BTreeSet::new();
        for pid in pids() {
            if let Some(what) = scope.holds(pid) {
                found.extend(namespaces(pid));
                found.insert(format!("process {pid} ({what})"));
            }
        }
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("/proc is there");
        let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        let own = points.filter(|point| Path::new(point).starts_with(&scope.runtime));
        found.extend(own.map(|point| format!("mount {point}")));
        for group in groups(scope) {
            found.insert(format!("cgroup {group}"));
        }
        for entry in std::fs::read_dir(&scope.runtime)
            .into_iter()
            .flatten()
            .flatten()
        {
            // Lock files stay for the next start; the folder of an instance, which they guard, does not.
            if entry.path().is_dir() {
                found.insert(format!("folder {}", entry.path().display()));
            }
        }
        Self { found }
    }

    /// What is here and was not there.
    pub fn since(&self, before: &Self) -> Vec<String> {
        self.found.difference(&before.found).cloned().collect()
    }

    /// What is in both.
    #[must_use]
    pub fn shared(&self, other: &Self) -> Self {
        Self {
            found: self.found.intersection(&other.found).cloned().collect(),
        }
    }

    /// Only the things of one kind: `process`, `mount`, `cgroup`, `folder`, `namespace`.
    #[must_use]
    pub fn only(&self, kinds: &[&str]) -> Self {
        let kept = |line: &&String| kinds.iter().any(|kind| line.starts_with(kind));
        Self {
            found: self.found.iter().filter(kept).cloned().collect(),
        }
    }

    /// How many things there are.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// Waits until nothing is left that was not there before; returns how long it took.
///
/// # Panics
/// With what is left, when it stays.
pub fn assert_gone(before: &Snapshot, patience: Duration) -> Duration {
    assert_all_gone(patience, || Snapshot::take().since(before))
}

/// Waits until nothing is left in a scope; returns how long it took.
///
/// # Panics
/// With what is left, when it stays.
pub fn assert_empty(scope: &Scope, patience: Duration) -> Duration {
    assert_all_gone(patience, || Snapshot::of(scope).found.into_iter().collect())
}

fn assert_all_gone(patience: Duration, left: impl Fn() -> Vec<String>) -> Duration {
    let began = Instant::now();
    wait_for(patience, || left().is_empty());
    let left = left();
    assert!(
        left.is_empty(),
        "after {patience:?} there is still:\n{}",
        left.join("\n")
    );
    began.elapsed()
}

/// Looks again and again until something holds or patience ends; says whether it held.
pub fn wait_for(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + patience;
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    while !holds() {
        if Instant::now() >= end {
            return false;
        }
        never.recv_timeout(Duration::from_millis(5)).ok();
    }
    true
}

/// How many descriptors a process holds.
///
/// # Panics
/// When it is gone.
pub fn descriptors(pid: u32) -> usize {
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd"));
    fds.unwrap_or_else(|error| panic!("process {pid}: {error}"))
        .count()
}

/// The processes that descend from one, that one apart.
pub fn descendants(of: u32) -> Vec<u32> {
    let mut found = vec![of];
    let mut next = 0;
    let parents: Vec<_> = pids().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    while next < found.len() {
        let of = found[next];
        found.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == of)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    found.split_off(1)
}

/// The processes below one that run the same program: what `kiln` started of itself.
pub fn helpers(of: u32) -> Vec<u32> {
    let program = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = program(of);
    descendants(of)
        .into_iter()
        .filter(|&pid| own.is_some() && program(pid) == own)
        .collect()
}

/// Whether a process is there and not just waiting to be reaped.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc is there");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn namespaces(pid: u32) -> Vec<String> {
    let own = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).ok();
    let kinds = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];
    let foreign = kinds.iter().filter_map(|kind| {
        let link = std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()?;
        (Some(&link) != own(kind).as_ref()).then(|| format!("namespace {}", link.display()))
    });
    foreign.collect()
}

/// Every control group below that of a scope, in any hierarchy.
fn groups(scope: &Scope) -> Vec<String> {
    let mut found = Vec::new();
    for top in scope.groups() {
        let mut below = Vec::new();
        walk(&top, &mut below);
        found.extend(below.into_iter().filter(|group| Path::new(group) != top));
    }
    found
}

/// A group, where it is there, and then all below it.
fn walk(group: &Path, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(group) else {
        return;
    };
    found.push(group.display().to_string());
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, Snapshot, assert_gone, descendants, lives, wait_for};
    use std::time::Duration;

    #[test]
    fn alone_a_process_of_kiln_is_seen_until_it_is_gone() {
        let folder = crate::places::scratch();
        let program = folder.path().join("kiln");
        std::fs::copy("/usr/bin/sleep", &program).expect("writable");
        let before = Snapshot::take();
        let mut child = std::process::Command::new(&program)
            .arg("60")
            .envs(Scope::tree().env())
            .spawn()
            .expect("sleep is there");
        let pid = child.id();
        let seen = || {
            Snapshot::take()
                .since(&before)
                .iter()
                .any(|line| line.contains(&format!("process {pid} ")))
        };
        assert!(wait_for(Duration::from_secs(5), seen));
        assert!(lives(pid) && descendants(std::process::id()).contains(&pid));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert_gone(&before, Duration::from_secs(1));
    }

    #[test]
    #[should_panic(expected = "there is still")]
    fn alone_what_stays_is_told() {
        let folder = crate::places::scratch();
        let program = folder.path().join("kiln");
        std::fs::copy("/usr/bin/sleep", &program).expect("writable");
        let before = Snapshot::take();
        let _ends = Ends(
            std::process::Command::new(&program)
                .arg("60")
                .envs(Scope::tree().env())
                .spawn()
                .expect("sleep is there"),
        );
        assert!(wait_for(Duration::from_secs(5), || !Snapshot::take()
            .since(&before)
            .is_empty()));
        assert_gone(&before, Duration::from_millis(300));
    }

    struct Ends(std::process::Child);

    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }
}
