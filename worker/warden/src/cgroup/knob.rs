//! How is one file of a control group read, written and proved?

use super::CgroupError;
use crate::kernel;
use rustix::fs::{Mode, OFlags, open};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A file and what it must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Knob {
    pub(super) file: PathBuf,
    pub(super) wanted: String,
}

impl Knob {
    /// Writes the value unless it is held already. A proof must follow.
    pub(super) fn set(&self) -> Result<(), CgroupError> {
        if read(&self.file)? == self.wanted {
            return Ok(());
        }
        fs::write(&self.file, &self.wanted).map_err(|source| CgroupError::Write {
            file: self.file.clone(),
            wanted: self.wanted.clone(),
            source,
        })
    }

    /// Writes the value to a group that nobody has used yet, and leaves the file open.
    pub(super) fn write(&self) -> Result<OwnedFd, CgroupError> {
        let failed = |e: rustix::io::Errno| CgroupError::Write {
            file: self.file.clone(),
            wanted: self.wanted.clone(),
            source: e.into(),
        };
        let fd = open(&self.file, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        // The kernel takes a value whole or not at all.
        rustix::io::write(&fd, self.wanted.as_bytes()).map_err(failed)?;
        Ok(fd)
    }

    /// Reads the value back and compares it.
    pub(super) fn prove(&self) -> Result<(), CgroupError> {
        self.compare(read(&self.file)?)
    }

    /// Reads the value back through the open file and compares it.
    pub(super) fn prove_by(&self, fd: &OwnedFd) -> Result<(), CgroupError> {
        let held = kernel::read_at_start(fd.as_fd()).map_err(|source| CgroupError::Read {
            file: self.file.clone(),
            source,
        })?;
        self.compare(trimmed(held))
    }

    fn compare(&self, held: String) -> Result<(), CgroupError> {
        if held == self.wanted {
            return Ok(());
        }
        Err(CgroupError::Differs {
            file: self.file.clone(),
            wanted: self.wanted.clone(),
            held,
        })
    }
}

/// The whole text of a control file, without the last newline.
pub(super) fn read(file: &Path) -> Result<String, CgroupError> {
    let opened = open(file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let text = opened
        .map_err(io::Error::from)
        .and_then(|fd| kernel::read_short(fd.as_fd()))
        .map_err(|source| CgroupError::Read {
            file: file.into(),
            source,
        })?;
    Ok(trimmed(text))
}

fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// A kernel file that is one number; v2's `max` is the largest.
pub(super) fn number(file: &Path) -> Result<u64, CgroupError> {
    let text = read(file)?;
    if text == "max" {
        return Ok(u64::MAX);
    }
    text.parse().map_err(|_| CgroupError::Malformed {
        file: file.into(),
        text,
    })
}

/// A kernel file that is a number a line: `cgroup.procs`, `tasks`.
pub(super) fn numbers(file: &Path) -> Result<Vec<i32>, CgroupError> {
    let text = read(file)?;
    let numbers: Result<Vec<i32>, _> = text.lines().map(str::parse).collect();
    numbers.map_err(|_| CgroupError::Malformed {
        file: file.into(),
        text,
    })
}
