//! Which wardens run on this machine, and what the dead ones left.
//!
//! ```text
//!   <runtime>/lock               held while instances are swept and claimed
//!   <runtime>/<instance>/lock    held by the monitor and the warden: both dead, both let go
//!   <runtime>/<instance>/private a mount point; the tmpfs on it is the warden's alone
//! ```

use crate::cgroup::{CgroupError, Hierarchy};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where instances are kept unless told otherwise.
pub const RUNTIME: &str = "/run/kiln";
/// How long another warden may hold the lock on the whole folder.
const CLAIM_MAX: Duration = Duration::from_secs(20);
/// How long a living instance may be without its lock file, while it is made or removed.
const LOCKLESS_MAX: Duration = Duration::from_mins(1);
/// Bytes of the parent group's name at most.
const PARENT_MAX: u64 = 4096;

/// Why an instance could not be made, or one that is dead could not be removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceError {
    #[error("make the folder `{}`", path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("trust the folder `{}`: it must belong to root and be writable by nobody else", path.display())]
    Untrusted { path: PathBuf },
    #[error("lock `{}`", path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("remove `{}`", path.display())]
    Remove { path: PathBuf, source: io::Error },
    #[error("make a name for the instance")]
    Name(#[source] io::Error),
    #[error("remove the control groups of the instance `{instance}`")]
    Sweep {
        instance: String,
        source: CgroupError,
    },
}

/// One running warden, by its folder and its lock.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// Dead instances that were swept before it was claimed.
    pub(crate) swept: u32,
    /// Shared with the forked warden: the lock lasts as long as either lives.
    _lock: OwnedFd,
}

/// Makes `path` a folder of root's, through which others may only pass.
pub(crate) fn folder(path: &Path) -> Result<(), InstanceError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o711)
        .create(path)
        .map_err(|source| InstanceError::Make {
            path: path.to_owned(),
            source,
        })?;
    let stat = fs::symlink_metadata(path).map_err(|source| InstanceError::Read {
        path: path.to_owned(),
        source,
    })?;
    if !stat.is_dir() || stat.uid() != 0 || stat.mode() & 0o022 != 0 {
        return Err(InstanceError::Untrusted {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Opens a lock file and takes its lock; `None` where someone else has it.
pub(crate) fn lock(path: &Path) -> Result<Option<OwnedFd>, InstanceError> {
    let fail = |e: Errno| InstanceError::Lock {
        path: path.to_owned(),
        source: e.into(),
    };
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map_err(fail)?;
    take(file).map_err(fail)
}

/// Takes the lock of an open file; `None` where someone else has it.
fn take(file: OwnedFd) -> Result<Option<OwnedFd>, Errno> {
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Sweeps what dead instances left, and claims a new one whose groups go below `parent`.
///
/// What could not be swept does not stop the new instance; it comes back beside it.
pub(crate) fn claim(
    runtime: &Path,
    hierarchy: &Hierarchy,
    parent: &str,
) -> Result<(Instance, Vec<InstanceError>), InstanceError> {
    folder(runtime)?;
    let held = wait_for(&runtime.join("lock"))?;
    let (mut left, mut swept) = (Vec::new(), 0);
    let entries = fs::read_dir(runtime).map_err(|source| InstanceError::Read {
        path: runtime.to_owned(),
        source,
    })?;
    for entry in entries {
        let one = entry
            .map_err(|source| InstanceError::Read {
                path: runtime.to_owned(),
                source,
            })
            .and_then(|entry| sweep_if_dead(&entry.path(), hierarchy));
        match one {
            Ok(dead) => swept += u32::from(dead),
            Err(error) => left.push(error),
        }
    }
    let name = new_name()?;
    let path = runtime.join(&name);
    folder(&path)?;
    folder(&path.join("private"))?;
    let file = path.join("lock");
    let lock = wait_for(&file)?;
    fs::File::from(lock.try_clone().map_err(InstanceError::Name)?)
        .write_all(parent.as_bytes())
        .map_err(|source| InstanceError::Lock { path: file, source })?;
    drop(held);
    let instance = Instance {
        name,
        folder: path,
        swept,
        _lock: lock,
    };
    Ok((instance, left))
}

impl Instance {
    /// Kills and removes whatever is left of this instance. The warden is dead.
    pub(crate) fn sweep(&self, hierarchy: &Hierarchy, parent: &str) -> Result<(), InstanceError> {
        sweep(&self.folder, &self.name, hierarchy, parent)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a lock can be waited for without a limit or not at all; this one is looked at again"
)]
fn wait_for(path: &Path) -> Result<OwnedFd, InstanceError> {
    let deadline = Instant::now() + CLAIM_MAX;
    loop {
        if let Some(file) = lock(path)? {
            return Ok(file);
        }
        if Instant::now() > deadline {
            return Err(InstanceError::Lock {
                path: path.to_owned(),
                source: io::ErrorKind::TimedOut.into(),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether it was dead and is gone now.
fn sweep_if_dead(path: &Path, hierarchy: &Hierarchy) -> Result<bool, InstanceError> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(false);
    };
    if !name.starts_with("kiln-") {
        return Ok(false);
    }
    let read = |source| InstanceError::Read {
        path: path.to_owned(),
        source,
    };
    let Some(folder) = open_folder(path).map_err(|e| read(e.into()))? else {
        return Ok(false);
    };
    // Not to be waited for, whatever it is.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let held = match rustix::fs::openat(&folder, "lock", flags, Mode::empty()) {
        Ok(file) => take(file),
        // It died between two steps, or is between them right now.
        Err(Errno::NOENT) => {
            let age = age(&folder).map_err(read)?;
            return if age > LOCKLESS_MAX {
                remove(path).map(|()| true)
            } else {
                Ok(false)
            };
        }
        Err(e) => Err(e),
    };
    let fail = |e: Errno| InstanceError::Lock {
        path: path.join("lock"),
        source: e.into(),
    };
    let Some(held) = held.map_err(fail)? else {
        return Ok(false);
    };
    let mut parent = String::new();
    fs::File::from(held.try_clone().map_err(read)?)
        .take(PARENT_MAX)
        .read_to_string(&mut parent)
        .map_err(read)?;
    if parent.is_empty() {
        // It died before it made a group.
        return remove(path).map(|()| true);
    }
    sweep(path, name, hierarchy, &parent).map(|()| true)
}

/// Opens an instance's folder; `None` where there is no folder: a link is not followed.
fn open_folder(path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(e) => Err(e),
    }
}

/// How long ago the folder changed.
fn age(folder: &OwnedFd) -> io::Result<Duration> {
    let folder = fs::File::from(folder.try_clone()?);
    let changed = folder.metadata()?.modified()?;
    Ok(changed.elapsed().unwrap_or_default())
}

fn sweep(
    path: &Path,
    name: &str,
    hierarchy: &Hierarchy,
    parent: &str,
) -> Result<(), InstanceError> {
    hierarchy
        .sweep(parent, name)
        .map_err(|source| InstanceError::Sweep {
            instance: name.to_owned(),
            source,
        })?;
    remove(path)
}

/// Removes an instance's folder: its parts are known, and a part that is not empty stays.
fn remove(path: &Path) -> Result<(), InstanceError> {
    let fail = |name: &str| {
        let path = path.join(name);
        move |error: Errno| match error {
            Errno::NOENT => Ok(()),
            e => Err(InstanceError::Remove {
                path,
                source: e.into(),
            }),
        }
    };
    let Some(folder) = open_folder(path).or_else(|e| fail("")(e).map(|()| None))? else {
        return Ok(());
    };
    for (name, flags) in [("private", AtFlags::REMOVEDIR), ("lock", AtFlags::empty())] {
        rustix::fs::unlinkat(&folder, name, flags).or_else(fail(name))?;
    }
    rustix::fs::rmdir(path).or_else(fail(""))
}

fn new_name() -> Result<String, InstanceError> {
    let mut bytes = [0; 6];
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|e| InstanceError::Name(e.into()))?;
    let mut name = String::from("kiln-");
    for byte in bytes {
        write!(name, "{byte:02x}").expect("a string takes whatever is written");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary() -> PathBuf {
        let path = std::env::temp_dir().join(new_name().expect("name"));
        fs::create_dir(&path).expect("make");
        path
    }

    #[test]
    fn a_lock_is_taken_once() {
        let folder = temporary();
        let path = folder.join("lock");
        let held = lock(&path).expect("lock").expect("free");
        assert!(lock(&path).expect("lock").is_none());
        drop(held);
        assert!(lock(&path).expect("lock").is_some());
        fs::remove_dir_all(folder).expect("remove");
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_trusted() {
        let path = temporary();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&path, mode).expect("mode");
        assert!(matches!(
            folder(&path),
            Err(InstanceError::Untrusted { .. })
        ));
        fs::remove_dir_all(path).expect("remove");
    }

    #[test]
    fn only_an_old_folder_without_a_lock_is_swept_and_no_link_is_followed() {
        let runtime = temporary();
        let hierarchy = crate::cgroup::detect().expect("control groups; this test needs root");
        let make = |name: &str, age: u64| {
            let path = runtime.join(name);
            fs::create_dir_all(path.join("private")).expect("make");
            let changed = std::time::SystemTime::now() - Duration::from_secs(age);
            let folder = fs::File::open(&path).expect("open");
            folder.set_modified(changed).expect("a time");
            path
        };
        let (old, young, other) = (make("kiln-old", 61), make("kiln-young", 30), make("x", 99));
        let link = runtime.join("kiln-link");
        fs::write(other.join("lock"), "").expect("write");
        std::os::unix::fs::symlink(&other, &link).expect("link");
        for (path, dead) in [
            (&old, true),
            (&young, false),
            (&other, false),
            (&link, false),
        ] {
            assert_eq!(sweep_if_dead(path, &hierarchy).expect("sweep"), dead);
        }
        remove(&link).expect("no folder");
        assert!(!old.exists());
        assert!(young.join("private").exists());
        assert!(link.is_symlink());
        assert!(other.join("private").exists() && other.join("lock").exists());
        fs::remove_dir_all(runtime).expect("remove");
    }

    #[test]
    fn what_is_unknown_in_a_folder_is_not_removed() {
        let path = temporary();
        fs::create_dir(path.join("private")).expect("make");
        fs::write(path.join("private/precious"), "x").expect("write");
        assert!(remove(&path).is_err());
        assert!(path.join("private/precious").exists());
        fs::remove_dir_all(path).expect("remove");
    }
}
