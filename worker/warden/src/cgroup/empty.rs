//! Who is left in a tree of groups, how are they killed, and how does the tree go away?

use super::layout::Tree;
use super::{CgroupError, knob};
use crate::wire::CgroupVersion;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a sweep waits for processes to die.
pub(super) const SWEEP_MAX: Duration = Duration::from_secs(2);
/// How long a removal waits for the kernel to let go of dead processes.
const REMOVE_MAX: Duration = Duration::from_millis(500);
/// The same for one leaf in which no process is listed any more.
const LEAF_MAX: Duration = Duration::from_millis(50);
/// Levels of groups at most; ours are three.
const DEPTH_MAX: usize = 16;

/// Kills every process below `path` until none is left, for at most `max`.
pub(super) fn kill(tree: &Tree, path: &Path, max: Duration) -> Result<(), CgroupError> {
    let deadline = Instant::now() + max;
    loop {
        let groups = groups(&tree.all_dirs(path))?;
        let left = members(&groups)?;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(CgroupError::Survivors {
                dir: path.into(),
                pids: left,
            });
        }
        match tree.version {
            CgroupVersion::V1 => kill_listed(path, &groups, &left)?,
            CgroupVersion::V2 => kill_group(&tree.dirs(path))?,
        }
        pause();
    }
}

/// v1: a signal to each. A number may have passed to a stranger since it was listed, so each is
/// held by a pidfd first, and only who is still listed then is killed.
fn kill_listed(path: &Path, groups: &[PathBuf], listed: &[i32]) -> Result<(), CgroupError> {
    let failed = |pid: Pid, e: Errno| CgroupError::Kill {
        dir: path.into(),
        pid: pid.as_raw_nonzero().get(),
        source: e.into(),
    };
    let mut held = Vec::with_capacity(listed.len());
    for pid in listed.iter().copied().filter_map(Pid::from_raw) {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => held.push((pid, fd)),
            Err(Errno::SRCH | Errno::NOENT | Errno::INVAL) => {}
            Err(e) => return Err(failed(pid, e)),
        }
    }
    let still = members(groups)?;
    for (pid, fd) in &held {
        if !still.contains(&pid.as_raw_nonzero().get()) {
            continue;
        }
        match pidfd_send_signal(fd, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(e) => return Err(failed(*pid, e)),
        }
    }
    Ok(())
}

/// v2: the kernel kills all below at once, and no fork escapes it.
fn kill_group(dirs: &[PathBuf]) -> Result<(), CgroupError> {
    for dir in dirs {
        let file = dir.join("cgroup.kill");
        match fs::write(&file, "1") {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(CgroupError::Write {
                    file,
                    wanted: "1".into(),
                    source: e,
                });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Removes every group below `path` and `path` itself, in every hierarchy.
pub(super) fn remove(tree: &Tree, path: &Path) -> Result<(), CgroupError> {
    let deadline = Instant::now() + REMOVE_MAX;
    let mut groups = groups(&tree.all_dirs(path))?;
    groups.reverse();
    groups.iter().try_for_each(|dir| remove_by(dir, deadline))
}

/// Removes one group that should be empty; a process listed in it is an answer, not a wait.
///
/// The kernel removes a group that no process is in, and no other: to ask it is the proof.
pub(super) fn remove_leaf(tree: &Tree, path: &Path) -> Result<(), CgroupError> {
    match tree.unmake(path) {
        Ok(()) => return Ok(()),
        Err((_, Errno::BUSY)) => {}
        Err((dir, e)) => {
            return Err(CgroupError::Remove {
                dir,
                source: e.into(),
            });
        }
    }
    for dir in tree.dirs(path) {
        match knob::numbers(&dir.join("cgroup.procs")) {
            Ok(pids) if pids.is_empty() => remove_by(&dir, Instant::now() + LEAF_MAX)?,
            Ok(pids) => return Err(CgroupError::Survivors { dir, pids }),
            // Removed above.
            Err(CgroupError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The kernel may hold a group for a moment after its last process was reaped (`EBUSY`).
fn remove_by(dir: &Path, deadline: Instant) -> Result<(), CgroupError> {
    loop {
        match fs::remove_dir(dir) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {
                if Instant::now() >= deadline {
                    return Err(CgroupError::Busy { dir: dir.into() });
                }
                pause();
            }
            Err(source) => {
                return Err(CgroupError::Remove {
                    dir: dir.into(),
                    source,
                });
            }
        }
    }
}

/// The groups at and below `roots` that exist, parents before children.
fn groups(roots: &[PathBuf]) -> Result<Vec<PathBuf>, CgroupError> {
    let mut all = Vec::new();
    let mut level = roots.to_vec();
    for _ in 0..DEPTH_MAX {
        let mut next = Vec::new();
        for dir in level {
            match children(&dir) {
                Ok(children) => next.extend(children),
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(CgroupError::Read { file: dir, source }),
            }
            all.push(dir);
        }
        if next.is_empty() {
            return Ok(all);
        }
        level = next;
    }
    Err(CgroupError::Name {
        name: format!("{DEPTH_MAX} levels of groups"),
    })
}

fn children(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut children = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            children.push(entry.path());
        }
    }
    Ok(children)
}

/// Every process in the groups, once; a group that went away has none.
fn members(groups: &[PathBuf]) -> Result<Vec<i32>, CgroupError> {
    let mut pids = Vec::new();
    for dir in groups {
        match knob::numbers(&dir.join("cgroup.procs")) {
            Ok(listed) => pids.extend(listed),
            Err(CgroupError::Read { source, .. })
                if source.kind() == io::ErrorKind::NotFound
                    || source.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {}
            Err(e) => return Err(e),
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// A millisecond, between two looks.
#[expect(
    clippy::disallowed_methods,
    reason = "a control group of v1 has no file to wait on; every caller has a bound"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(1));
}
