//! How are the files of one group reached without a walk to it for each?
//!
//! A group is opened once in each hierarchy; its files are one step from there. Nothing of it stays
//! open for a sandbox that waits.

use super::layout::Controller;
use super::{CgroupError, knob};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The folder of a group in one hierarchy, open.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) dir: OwnedFd,
    /// Its path, for people.
    pub(super) path: PathBuf,
    pub(super) holds: Vec<Controller>,
}

/// The folders of a group, one for each hierarchy in use.
#[derive(Debug)]
pub(super) struct Folders(pub(super) Vec<Folder>);

impl Folders {
    /// The one in the hierarchy of `controller`.
    pub(super) fn of(&self, controller: Controller) -> &Folder {
        self.0
            .iter()
            .find(|folder| folder.holds.contains(&controller))
            .expect("a tree is only built with every controller in one of its mounts")
    }
}

impl Folder {
    /// The path of a file in it, for people.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn open(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat(&self.dir, name, flags | OFlags::CLOEXEC, Mode::empty())
    }

    /// [`Folder::open`], whose failure says which file it was.
    pub(super) fn opened(&self, name: &str, flags: OFlags) -> Result<OwnedFd, CgroupError> {
        self.open(name, flags).map_err(|e| CgroupError::Open {
            file: self.file(name),
            source: e.into(),
        })
    }

    /// The whole text of a control file, without the last newline.
    pub(super) fn read(&self, name: &str) -> Result<String, CgroupError> {
        knob::text(self.open(name, OFlags::RDONLY), || self.file(name))
    }

    /// A control file that is a number a line: `cgroup.procs`, `tasks`.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<i32>, CgroupError> {
        knob::list(self.read(name)?, || self.file(name))
    }
}
