//! Is a folder for outcomes ours to write to, and ours alone while we do?
//!
//! The lock is on the folder itself, so that it leaves no file behind and goes with the process.

use crate::store::folder::OURS;
use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Why a folder cannot be written to.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClaimError {
    #[error("make the folder `{path}`")]
    Make { path: PathBuf, source: io::Error },
    #[error("open the folder `{path}`")]
    Open { path: PathBuf, source: io::Error },
    #[error("write to the folder `{path}`")]
    Write { path: PathBuf, source: io::Error },
    #[error("`{path}`: another run writes to it")]
    Taken { path: PathBuf },
    #[error("lock the folder `{path}`")]
    Lock { path: PathBuf, source: io::Error },
    #[error(
        "`{path}` holds `{name}`, which is not of an earlier run; name another folder by `--out`"
    )]
    Foreign { path: PathBuf, name: &'static str },
}

/// A folder that nobody else of `kiln` writes to as long as this lives. One that was made for it
/// and is still empty goes with it.
#[derive(Debug)]
pub(super) struct Claim {
    lock: OwnedFd,
    /// The innermost first.
    made: Vec<PathBuf>,
}

/// Claims the folder of one job, making it where it is not there. Nothing in it is changed.
pub(super) fn job(path: &Path) -> Result<Claim, ClaimError> {
    let claim = whole(path)?;
    let there =
        |name: &str| rustix::fs::statat(&claim.lock, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    match OURS.into_iter().find(|name| there(name)) {
        Some(name) if !there("outcome.json") => Err(ClaimError::Foreign {
            path: path.into(),
            name,
        }),
        _ => Ok(claim),
    }
}

/// Claims a folder with whatever is in it.
pub(super) fn whole(folder: &Path) -> Result<Claim, ClaimError> {
    let path = || folder.to_path_buf();
    let made = absent(folder);
    std::fs::create_dir_all(folder).map_err(|source| ClaimError::Make {
        path: path(),
        source,
    })?;
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let lock = rustix::fs::open(folder, flags, Mode::empty()).map_err(|e| ClaimError::Open {
        path: path(),
        source: e.into(),
    })?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|e| match e {
        Errno::WOULDBLOCK => ClaimError::Taken { path: path() },
        other => ClaimError::Lock {
            path: path(),
            source: other.into(),
        },
    })?;
    rustix::fs::accessat(&lock, ".", Access::WRITE_OK, AtFlags::empty()).map_err(|e| {
        ClaimError::Write {
            path: path(),
            source: e.into(),
        }
    })?;
    Ok(Claim { lock, made })
}

/// The folder and those above it that are not there yet.
fn absent(path: &Path) -> Vec<PathBuf> {
    path.ancestors()
        .filter(|path| !path.as_os_str().is_empty())
        .take_while(|path| path.symlink_metadata().is_err())
        .map(Path::to_path_buf)
        .collect()
}

impl Drop for Claim {
    fn drop(&mut self) {
        for path in &self.made {
            // It is removed only where nothing is in it.
            if std::fs::remove_dir(path).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;

    #[test]
    fn one_writes_and_the_second_is_told() {
        let dir = Folder::new();
        let path = dir.path().join("a/b");
        let first = job(&path).expect("it is free");
        let error = job(&path).expect_err("it is taken");
        assert_eq!(
            error.to_string(),
            format!("`{}`: another run writes to it", path.display())
        );
        assert!(matches!(whole(&path), Err(ClaimError::Taken { .. })));
        drop(first);
        assert!(!dir.path().join("a").exists(), "made in vain");
        std::fs::create_dir(dir.path().join("a")).expect("scratch");
        drop(job(&path).expect("it is free again"));
        assert!(dir.path().join("a").exists(), "not ours to remove");
    }

    #[test]
    fn what_is_written_stays() {
        let dir = Folder::new();
        let path = dir.path().join("a");
        let claim = job(&path).expect("it is free");
        std::fs::write(path.join("outcome.json"), "{}").expect("scratch");
        drop(claim);
        drop(job(&path).expect("an earlier run's is ours"));
        assert!(path.join("outcome.json").exists(), "nothing is cleared");
    }

    #[test]
    fn the_store_would_refuse_the_same() {
        let dir = Folder::new();
        for name in OURS.into_iter().skip(1) {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.join(name)).expect("scratch");
            assert!(job(&path).is_err(), "{name}");
            assert!(crate::store::folder::Folder::open(&path).is_err(), "{name}");
        }
        let other = dir.path().join("other");
        std::fs::create_dir_all(other.join("notes.txt")).expect("scratch");
        assert!(job(&other).is_ok() && crate::store::folder::Folder::open(&other).is_ok());
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let dir = Folder::new();
        let path = dir.path().join("a");
        std::fs::create_dir(&path).expect("scratch");
        std::fs::write(path.join("stdout"), "mine").expect("scratch");
        assert!(matches!(
            job(&path),
            Err(ClaimError::Foreign { name: "stdout", .. })
        ));
        assert!(matches!(
            job(&path.join("stdout/below")),
            Err(ClaimError::Make { .. })
        ));
        assert!(matches!(
            job(Path::new("/proc/nobody")),
            Err(ClaimError::Make { .. })
        ));
        assert!(path.join("stdout").exists());
    }
}
