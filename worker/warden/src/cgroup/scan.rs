//! Which control group holds one process that scans, and what of dead ones is left?
//!
//! ```text
//!   <parent>/scan-<token>   one process, which enters by itself before it reads anything
//! ```
//!
//! Whoever made a group holds a lock on its folder as long as the group is in use: one that nobody
//! locks is left from somebody who was killed. The lock on the parent keeps a group that is being
//! made from being taken for such.

use super::layout::{Controller, Tree};
use super::limits::Limits;
use super::{CgroupError, Hierarchy, below, empty};
use crate::wire::CgroupVersion;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the name of each begins with.
const PREFIX: &str = "scan-";

/// The groups of processes that scan, below one parent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ScanGroups {
    hierarchy: Hierarchy,
    parent: String,
    limits: Limits,
}

/// The group of one process. It is removed by [`ScanGroup::remove`], when nobody is in it.
#[derive(Debug)]
pub struct ScanGroup {
    tree: Arc<Tree>,
    path: PathBuf,
    limits: Limits,
    /// As long as it is held the group is nobody else's.
    _lock: OwnedFd,
}

impl ScanGroups {
    /// Groups below `parent` that hold a process of so much memory each, and not one more.
    /// What dead ones left is removed.
    pub fn open(parent: &str, memory_bytes: u64) -> Result<Self, CgroupError> {
        let hierarchy = super::detect()?;
        let path = below(parent, PREFIX)?;
        hierarchy.make_parents(&path)?;
        hierarchy.sweep_scans(parent)?;
        Ok(Self {
            hierarchy,
            parent: parent.to_owned(),
            limits: Limits {
                memory_bytes,
                pids: 1,
                cpus_milli: None,
            },
        })
    }

    /// Makes a group, limits it, and reads the limits back.
    pub fn make(&self) -> Result<ScanGroup, CgroupError> {
        let tree = Arc::clone(&self.hierarchy.tree);
        let path = below(&self.parent, &name()?)?;
        let top = folder(&tree, path.parent().unwrap_or(Path::new("")));
        let held = lock(&top, FlockOperation::LockShared)?;
        tree.make(&path)?;
        let made = lock(
            &folder(&tree, &path),
            FlockOperation::NonBlockingLockExclusive,
        );
        drop(held);
        let group = match made {
            Ok(lock) => ScanGroup {
                tree,
                path,
                limits: self.limits,
                _lock: lock,
            },
            Err(error) => {
                empty::remove(&tree, &path)?;
                return Err(error);
            }
        };
        let folders = group.tree.folders(&group.path);
        match folders.and_then(|folders| group.limits.set_new(&group.tree, &folders)) {
            Ok(()) => Ok(group),
            Err(error) => {
                group.remove()?;
                Err(error)
            }
        }
    }
}

impl ScanGroup {
    /// Files by which a process of one thread puts itself here, writing `0` to each; the kernel
    /// asks for the rights of who opened them.
    pub fn doors(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        let name = match self.tree.version {
            // Which, unlike `cgroup.procs`, waits for nobody's fork.
            CgroupVersion::V1 => "tasks",
            CgroupVersion::V2 => "cgroup.procs",
        };
        let dirs = self.tree.dirs(&self.path).into_iter();
        dirs.map(|dir| {
            let file = dir.join(name);
            let opened = open(&file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
            opened.map_err(|e| CgroupError::Open {
                file,
                source: e.into(),
            })
        })
        .collect()
    }

    /// Proves that this process, and nothing else, is here, and that the limits hold.
    pub fn prove(&self, pid: i32) -> Result<(), CgroupError> {
        let folders = self.tree.folders(&self.path)?;
        for folder in &folders.0 {
            let held = folder.numbers("cgroup.procs")?;
            if held != [pid] {
                return Err(CgroupError::Differs {
                    file: folder.file("cgroup.procs"),
                    wanted: format!("[{pid}]"),
                    held: format!("{held:?}"),
                });
            }
        }
        self.limits.prove(&self.tree, &folders)
    }

    /// Removes the group; its process is dead and reaped.
    pub fn remove(self) -> Result<(), CgroupError> {
        empty::remove(&self.tree, &self.path)
    }
}

impl Hierarchy {
    /// Kills and removes what processes that scan left below `parent` when whoever asked them was
    /// killed; gives how many groups went.
    pub fn sweep_scans(&self, parent: &str) -> Result<u32, CgroupError> {
        let path = below(parent, PREFIX)?;
        let path = path.parent().unwrap_or(Path::new(""));
        let top = folder(&self.tree, path);
        // Whoever makes one just now is not waited for: another sweep comes.
        let held = match lock(&top, FlockOperation::NonBlockingLockExclusive) {
            Ok(held) => held,
            Err(CgroupError::Lock { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::NotFound
                ) =>
            {
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        let entries = fs::read_dir(&top).map_err(|source| CgroupError::Read {
            file: top.clone(),
            source,
        })?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let dead: Vec<_> = names
            .filter(|name| name.starts_with(PREFIX))
            .filter_map(|name| {
                let path = path.join(name);
                let free = FlockOperation::NonBlockingLockExclusive;
                let held = lock(&folder(&self.tree, &path), free).ok()?;
                Some((path, held))
            })
            .collect();
        drop(held);
        let mut swept = 0;
        for (path, _held) in dead {
            empty::kill(&self.tree, &path, empty::SWEEP_MAX)?;
            empty::remove(&self.tree, &path)?;
            swept += 1;
        }
        Ok(swept)
    }
}

/// The folder of a group that locks are held on.
fn folder(tree: &Tree, path: &Path) -> PathBuf {
    tree.file(Controller::Memory, path, "")
}

fn lock(folder: &Path, how: FlockOperation) -> Result<OwnedFd, CgroupError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let locked = open(folder, flags, Mode::empty()).and_then(|dir| {
        flock(&dir, how)?;
        Ok(dir)
    });
    locked.map_err(|e: Errno| CgroupError::Lock {
        dir: folder.into(),
        source: e.into(),
    })
}

fn name() -> Result<String, CgroupError> {
    let mut bytes = [0; 6];
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|e| CgroupError::Token(e.into()))?;
    let mut name = PREFIX.to_owned();
    for byte in bytes {
        write!(name, "{byte:02x}").expect("a string takes whatever is written");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    fn groups(parent: &str) -> ScanGroups {
        let opened = ScanGroups::open(parent, 64 << 20);
        opened.expect("control groups; this test needs root")
    }

    #[test]
    fn a_group_holds_one_process_and_goes_with_it() {
        let groups = groups("/kiln-scan-test-one");
        let group = groups.make().expect("a group");
        group.prove(1).expect_err("nobody is in it");
        let mut child = Command::new("sleep")
            .arg("100")
            .stdin(Stdio::null())
            .spawn()
            .expect("it starts");
        let pid = child.id();
        for dir in group.tree.dirs(&group.path) {
            fs::write(dir.join("cgroup.procs"), pid.to_string()).expect("root may");
        }
        group.prove(pid.cast_signed()).expect("it is in it, alone");
        // A limit that somebody loosens is seen.
        let file = group.tree.file(Controller::Pids, &group.path, "pids.max");
        fs::write(&file, "2").expect("root may");
        let error = group.prove(pid.cast_signed()).expect_err("it is another");
        assert!(matches!(error, CgroupError::Differs { .. }), "{error}");
        // Nobody who lives is swept.
        let hierarchy = groups.hierarchy.clone();
        assert_eq!(hierarchy.sweep_scans(&groups.parent).expect("a sweep"), 0);
        child.kill().expect("ours");
        child.wait().expect("ours");
        let dirs = group.tree.dirs(&group.path);
        group.remove().expect("it is empty");
        assert!(dirs.iter().all(|dir| !dir.exists()));
        empty::remove(
            &hierarchy.tree,
            &below("/", "kiln-scan-test-one").expect("a name"),
        )
        .expect("ours");
    }

    #[test]
    fn what_a_killed_one_left_is_swept_with_who_is_in_it() {
        let groups = groups("/kiln-scan-test-left");
        let group = groups.make().expect("a group");
        let mut child = Command::new("sleep")
            .arg("100")
            .stdin(Stdio::null())
            .spawn()
            .expect("it starts");
        let dirs = group.tree.dirs(&group.path);
        for dir in &dirs {
            fs::write(dir.join("cgroup.procs"), child.id().to_string()).expect("root may");
        }
        drop(group);
        let reaped = std::thread::spawn(move || child.wait());
        // A child that was just forked holds the group's lock until its exec has closed it.
        let end = Instant::now() + Duration::from_secs(5);
        let mut swept = 0;
        while swept == 0 && Instant::now() < end {
            swept = groups
                .hierarchy
                .sweep_scans(&groups.parent)
                .expect("a sweep");
        }
        assert_eq!(swept, 1);
        assert!(dirs.iter().all(|dir| !dir.exists()));
        assert!(!reaped.join().expect("ours").expect("ours").success());
        let tree = &groups.hierarchy.tree;
        empty::remove(tree, &below("/", "kiln-scan-test-left").expect("a name")).expect("ours");
    }
}
