//! What does this worker have of the machine: control groups, processes, namespaces, mounts, disks?
//!
//! Counted from outside, from the kernel's own lists, so that a leak shows whatever the pool
//! believes. Nobody waits for it: a worker of a thousand sandboxes is looked at in the background.

use super::metric::{Disk, Holding, Metrics};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// How often is looked at the disks.
const EVERY: Duration = Duration::from_secs(1);
/// Looks at the disks for each look at the kernel's lists.
const SELDOM: u32 = 10;
/// Where control groups are mounted: one hierarchy of many, or the only one.
const HIERARCHIES: [&str; 3] = [
    "/sys/fs/cgroup/pids",
    "/sys/fs/cgroup/memory",
    "/sys/fs/cgroup",
];
/// The kinds of namespaces that are counted.
const NAMESPACES: [&str; 6] = ["user", "pid", "mnt", "net", "ipc", "uts"];

/// What is counted.
#[derive(Clone, Debug)]
pub struct Holdings {
    /// The process that all sandboxes descend from.
    pub monitor: u32,
    /// The control group of this instance, from the root of a hierarchy.
    pub group: PathBuf,
    /// Folders that need room.
    pub disks: Vec<(Disk, PathBuf)>,
}

/// Counts until it is dropped.
#[derive(Debug)]
pub struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Holdings {
    /// Counts from time to time.
    pub fn watch(self, metrics: Arc<Metrics>) -> Watching {
        let (this, metrics) = (Arc::new(self), metrics);
        Watching(tokio::spawn(async move {
            let mut every = tokio::time::interval(EVERY);
            every.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for look in 0_u32.. {
                every.tick().await;
                let all = look.is_multiple_of(SELDOM);
                let (this, metrics) = (Arc::clone(&this), Arc::clone(&metrics));
                let counted = tokio::task::spawn_blocking(move || this.count(&metrics, all));
                if let Err(error) = counted.await {
                    tracing::debug!(%error, "what the worker has was not counted");
                }
            }
        }))
    }

    fn count(&self, metrics: &Metrics, all: bool) {
        for (disk, folder) in &self.disks {
            metrics.disk(*disk, room(folder));
        }
        if !all {
            return;
        }
        let processes = family(Path::new("/proc"), self.monitor).ok();
        let namespaces = processes.as_deref().and_then(namespaces);
        let warden = processes.as_deref().and_then(|all| all.get(1));
        let mounts = warden.and_then(|pid| mounts(*pid).ok());
        metrics.holds(Holding::Process, processes.as_ref().map(Vec::len));
        metrics.holds(Holding::Namespace, namespaces);
        metrics.holds(Holding::Mount, mounts);
        metrics.holds(Holding::Cgroup, groups(&HIERARCHIES, &self.group));
    }
}

/// A process and all its descendants, itself first, each before its children.
fn family(proc: &Path, first: u32) -> io::Result<Vec<u32>> {
    let mut all = vec![first];
    let mut next = 0;
    while let Some(pid) = all.get(next).copied() {
        match children(proc, pid) {
            Ok(found) => all.extend(found),
            // One that has just ended has none; the first must be there.
            Err(_) if next > 0 => {}
            Err(error) => return Err(error),
        }
        next += 1;
    }
    Ok(all)
}

fn children(proc: &Path, pid: u32) -> io::Result<Vec<u32>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(proc.join(pid.to_string()).join("task"))? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        all.extend(
            text.split_ascii_whitespace()
                .filter_map(|it| it.parse::<u32>().ok()),
        );
    }
    Ok(all)
}

/// Namespaces that these are in and we are not; none where one may not be looked at.
fn namespaces(processes: &[u32]) -> Option<usize> {
    let own: BTreeSet<PathBuf> = NAMESPACES
        .iter()
        .filter_map(|kind| fs::read_link(format!("/proc/self/ns/{kind}")).ok())
        .collect();
    let mut found = BTreeSet::new();
    for pid in processes {
        for kind in NAMESPACES {
            match fs::read_link(format!("/proc/{pid}/ns/{kind}")) {
                Ok(namespace) => drop(found.insert(namespace)),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
                // It has ended.
                Err(_) => {}
            }
        }
    }
    Some(found.difference(&own).count())
}

/// Mounts in the view of the warden, whose child all sandboxes are.
fn mounts(pid: u32) -> io::Result<usize> {
    let text = fs::read(format!("/proc/{pid}/mountinfo"))?;
    Ok(text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .count())
}

/// Control groups of an instance in the first hierarchy that has it, the topmost included.
fn groups(hierarchies: &[&str], group: &Path) -> Option<usize> {
    let below = group.strip_prefix("/").unwrap_or(group);
    let mut found = hierarchies.iter().map(|root| Path::new(root).join(below));
    found.find(|path| path.is_dir()).map(|path| folders(&path))
}

fn folders(path: &Path) -> usize {
    // A group that has just gone has nothing below.
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    1 + below.map(|entry| folders(&entry.path())).sum::<usize>()
}

/// Free bytes and size of the disk under a folder, or under the first above it that is there.
fn room(folder: &Path) -> Option<(u64, u64)> {
    let there = folder.ancestors().find(|path| path.is_dir())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Some((bytes(stat.f_bavail), bytes(stat.f_blocks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_family_is_counted_with_its_namespaces() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & sleep 60 & wait"])
            .spawn()
            .expect("there is a shell");
        let proc = Path::new("/proc");
        let patience = std::time::Instant::now() + Duration::from_secs(10);
        let mut all = Vec::new();
        while all.len() != 3 && std::time::Instant::now() < patience {
            all = family(proc, shell.id()).expect("it lives");
        }
        assert_eq!(all.len(), 3, "{all:?}");
        assert_eq!(all[0], shell.id());
        assert_eq!(namespaces(&all), Some(0), "they are where we are");
        assert!(mounts(all[1]).expect("it lives") > 1);
        for pid in all.iter().rev().filter_map(|pid| i32::try_from(*pid).ok()) {
            let pid = rustix::process::Pid::from_raw(pid).expect("not nought");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it lives");
        }
        shell.wait().expect("it ends");
        assert!(family(proc, shell.id()).is_err(), "it is gone");
    }

    #[test]
    fn folders_are_counted_and_what_is_not_there_is_not_nought() {
        let root = std::env::temp_dir().join(format!("kiln-holdings-{}", std::process::id()));
        let group = root.join("kiln/instance");
        fs::create_dir_all(group.join("sbx-1/job-1")).expect("writable");
        fs::create_dir_all(group.join("sbx-2")).expect("writable");
        fs::write(group.join("tasks"), "").expect("writable");
        let root_text = root.to_str().expect("text");
        let count = |group| groups(&["/nowhere", root_text], Path::new(group));
        assert_eq!(count("/kiln/instance"), Some(4));
        assert_eq!(count("/kiln/other"), None);
        let (free, size) = room(&group.join("not/there")).expect("a disk");
        assert!(free > 0 && free <= size);
        fs::remove_dir_all(root).expect("ours");
    }
}
