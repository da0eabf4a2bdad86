//! How is one file of a control group read, written and proved?

use super::CgroupError;
use super::folder::{Folder, Folders};
use super::layout::Controller;
use crate::kernel;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A file of a group and what it must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Knob {
    pub(super) controller: Controller,
    pub(super) name: &'static str,
    pub(super) wanted: String,
}

impl Knob {
    fn folder<'a>(&self, folders: &'a Folders) -> &'a Folder {
        folders.of(self.controller)
    }

    /// Writes the value unless it is held already. A proof must follow.
    pub(super) fn set(&self, folders: &Folders) -> Result<(), CgroupError> {
        if self.folder(folders).read(self.name)? == self.wanted {
            return Ok(());
        }
        let flags = OFlags::WRONLY | OFlags::TRUNC;
        self.write_by(folders, flags).map(drop)
    }

    /// Writes the value to a group that nobody has used yet, and leaves the file open.
    pub(super) fn write(&self, folders: &Folders) -> Result<OwnedFd, CgroupError> {
        self.write_by(folders, OFlags::RDWR)
    }

    fn write_by(&self, folders: &Folders, flags: OFlags) -> Result<OwnedFd, CgroupError> {
        let folder = self.folder(folders);
        let failed = |e: Errno| CgroupError::Write {
            file: folder.file(self.name),
            wanted: self.wanted.clone(),
            source: e.into(),
        };
        let fd = folder.open(self.name, flags).map_err(failed)?;
        // The kernel takes a value whole or not at all.
        rustix::io::write(&fd, self.wanted.as_bytes()).map_err(failed)?;
        Ok(fd)
    }

    /// Reads the value back and compares it.
    pub(super) fn prove(&self, folders: &Folders) -> Result<(), CgroupError> {
        self.compare(folders, self.folder(folders).read(self.name)?)
    }

    /// Reads the value back through the open file and compares it.
    pub(super) fn prove_by(&self, folders: &Folders, fd: &OwnedFd) -> Result<(), CgroupError> {
        let held = kernel::read_at_start(fd.as_fd()).map_err(|source| CgroupError::Read {
            file: self.folder(folders).file(self.name),
            source,
        })?;
        self.compare(folders, trimmed(held))
    }

    fn compare(&self, folders: &Folders, held: String) -> Result<(), CgroupError> {
        if held == self.wanted {
            return Ok(());
        }
        Err(CgroupError::Differs {
            file: self.folder(folders).file(self.name),
            wanted: self.wanted.clone(),
            held,
        })
    }
}

/// The whole text of a control file, without the last newline.
pub(super) fn read(file: &Path) -> Result<String, CgroupError> {
    let opened = open(file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    text(opened, || file.into())
}

/// [`read`] of a file that was opened.
pub(super) fn text(
    opened: Result<OwnedFd, Errno>,
    file: impl FnOnce() -> PathBuf,
) -> Result<String, CgroupError> {
    opened
        .map_err(io::Error::from)
        .and_then(|fd| kernel::read_short(fd.as_fd()))
        .map(trimmed)
        .map_err(|source| CgroupError::Read {
            file: file(),
            source,
        })
}

fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// The text of a kernel file that is one number; v2's `max` is the largest.
pub(super) fn number(text: String, file: impl FnOnce() -> PathBuf) -> Result<u64, CgroupError> {
    if text == "max" {
        return Ok(u64::MAX);
    }
    text.parse()
        .map_err(|_| CgroupError::Malformed { file: file(), text })
}

/// A kernel file that is a number a line: `cgroup.procs`, `tasks`.
pub(super) fn numbers(file: &Path) -> Result<Vec<i32>, CgroupError> {
    list(read(file)?, || file.into())
}

/// The numbers of such a file's text.
pub(super) fn list(text: String, file: impl FnOnce() -> PathBuf) -> Result<Vec<i32>, CgroupError> {
    let numbers: Result<Vec<i32>, _> = text.lines().map(str::parse).collect();
    numbers.map_err(|_| CgroupError::Malformed { file: file(), text })
}
