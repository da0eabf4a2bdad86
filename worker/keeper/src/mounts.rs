//! The cell's file systems: one tmpfs behind every writable place, and a proc of its own.
//!
//! ```text
//!   tmpfs (size, nr_inodes)     attached at /proc/scratch while it is bound, then detached
//!     job   1000  0755  ─► /job
//!     home  1000  0755  ─► /home/job
//!     shm         1777  ─► /dev/shm
//!     tmp         1777  ─► /tmp
//! ```
//!
//! The mount points are the image's own. The keeper's `/proc` is a folder with what a cell does not
//! keep, see [`crate::masks`]: the keeper's proc is attached in it, and the tmpfs too while its
//! places are made. So one call takes out all of it: the kernel waits for every reader of mounts
//! in each such call.

use crate::report::{At, Failure};
use crate::sys::file::{self};
use crate::sys::mount::{self, Configuration, NODEV, NOEXEC, NOSUID};
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::Prepare;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub(crate) const PROC: &CStr = c"/proc";

/// The staging point of the tmpfs.
const STAGING: &CStr = c"/proc/scratch";

/// The cell's file systems, where all but `/job` lies at its place.
pub(crate) struct Built {
    /// The tmpfs' root.
    pub(crate) scratch: OwnedFd,
    /// What belongs to `/job`, where the keeper's masks still are.
    job: OwnedFd,
}

/// Makes the tmpfs, binds its directories to their places, and replaces the keeper's `/proc`.
pub(crate) fn build(order: &Prepare) -> Result<Built, Failure> {
    mount::make_all_private().at(Step::PrivateMounts)?;
    let scratch = tmpfs(order).at(Step::Scratch)?;
    for (name, mode, owner) in [
        (c"job", 0o755, Some(order.job_id)),
        (c"home", 0o755, Some(order.job_id)),
        (c"tmp", 0o1777, None),
        (c"shm", 0o1777, None),
    ] {
        file::make_directory_at(scratch.as_fd(), name, mode).at(Step::ScratchDirectories)?;
        if let Some(owner) = owner {
            file::open_at(scratch.as_fd(), name, libc::O_DIRECTORY, 0)
                .and_then(|directory| file::set_owner(directory.as_fd(), owner))
                .at(Step::ScratchDirectories)?;
        }
    }
    for (from, to) in [
        (c"/proc/scratch/home", c"/home/job"),
        (c"/proc/scratch/shm", c"/dev/shm"),
        (c"/proc/scratch/tmp", c"/tmp"),
    ] {
        mount::bind(from, to).at(Step::BindScratch)?;
    }
    let job = mount::copy(c"/proc/scratch/job").at(Step::BindScratch)?;
    proc().at(Step::Proc)?;
    Ok(Built { scratch, job })
}

impl Built {
    /// Covers the keeper's masks, once they are laid, with the job's folder; gives the tmpfs' root.
    pub(crate) fn finish(self) -> Result<OwnedFd, Failure> {
        mount::attach(self.job.as_fd(), c"/job").at(Step::BindScratch)?;
        Ok(self.scratch)
    }
}

fn tmpfs(order: &Prepare) -> Result<OwnedFd, crate::sys::Errno> {
    let tmpfs = Configuration::new(c"tmpfs")?;
    let more = if off(Guard::DiskLimit) { 4 } else { 1 };
    tmpfs.set_number(c"size", order.disk_bytes * more)?;
    tmpfs.set_number(c"nr_inodes", order.inodes)?;
    tmpfs.set(c"mode", c"0755")?;
    let flags = if off(Guard::MountFlags) {
        0
    } else {
        NOSUID | NODEV
    };
    let root = tmpfs.create(flags)?;
    mount::attach(root.as_fd(), STAGING)?;
    // A descriptor that can be listed, not only named.
    file::open_at(root.as_fd(), c".", libc::O_DIRECTORY, 0)
}

/// A proc of the cell's pid namespace in place of all that is at the keeper's `/proc`. It is made
/// before the other goes: the kernel gives a user namespace a proc only where it sees one already.
///
/// Processes of another uid (the cell's init) are invisible to the job; `gid=0`, which only the
/// cell's init is in, may see all.
fn proc() -> Result<(), crate::sys::Errno> {
    let proc = Configuration::new(c"proc")?;
    if !off(Guard::HiddenProcesses) {
        proc.set(c"hidepid", c"invisible")?;
    }
    proc.set(c"gid", c"0")?;
    let root = proc.create(NOSUID | NODEV | NOEXEC)?;
    mount::detach(PROC)?;
    mount::attach(root.as_fd(), PROC)
}

/// Changes the size of the tmpfs whose root this is.
pub(crate) fn resize(root: BorrowedFd<'_>, bytes: u64, inodes: u64) -> Result<(), Failure> {
    let change = || {
        let tmpfs = Configuration::of(root)?;
        let more = if off(Guard::DiskLimit) { 4 } else { 1 };
        tmpfs.set_number(c"size", bytes * more)?;
        tmpfs.set_number(c"nr_inodes", inodes)?;
        tmpfs.reconfigure()
    };
    change().at(Step::Resize)
}
