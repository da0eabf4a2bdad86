//! The cell's file systems: one tmpfs behind every writable place, and a proc of its own.
//!
//! ```text
//!   tmpfs (size, nr_inodes)     attached at /tmp while it is bound, then detached
//!     job   1000  0755  ─► /job
//!     home  1000  0755  ─► /home/job
//!     shm         1777  ─► /dev/shm
//!     tmp         1777  ─► /tmp
//! ```
//!
//! The mount points are the image's own; `/tmp` serves as the staging point, so no other is needed.

use crate::report::{At, Failure};
use crate::sys::file::{self};
use crate::sys::mount::{self, Configuration, NODEV, NOEXEC, NOSUID};
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::Prepare;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub(crate) const PROC: &CStr = c"/proc";

/// Mounts the tmpfs at `/tmp` and a fresh proc; gives the tmpfs' root.
pub(crate) fn build(order: &Prepare) -> Result<OwnedFd, Failure> {
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
    proc().at(Step::Proc)?;
    Ok(scratch)
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
    mount::attach(root.as_fd(), c"/tmp")?;
    // A descriptor that can be listed, not only named.
    file::open_at(root.as_fd(), c".", libc::O_DIRECTORY, 0)
}

/// A proc of the cell's pid namespace in place of the sandbox's. It is made before the other goes:
/// the kernel gives a user namespace a proc only where it sees one already.
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
    // What covers the sandbox's, and then it.
    mount::detach(PROC)?;
    mount::detach(PROC)?;
    mount::attach(root.as_fd(), PROC)
}

/// Binds the tmpfs' directories to their places and takes its root out of the tree.
///
/// `/job` comes last: until then the keeper's masks are there.
pub(crate) fn bind_scratch() -> Result<(), Failure> {
    for (from, to) in [
        (c"/tmp/home", c"/home/job"),
        (c"/tmp/shm", c"/dev/shm"),
        (c"/tmp/job", c"/job"),
    ] {
        mount::bind(from, to).at(Step::BindScratch)?;
    }
    let tmp = mount::copy(c"/tmp/tmp").at(Step::BindScratch)?;
    mount::detach(c"/tmp").at(Step::BindScratch)?;
    mount::attach(tmp.as_fd(), c"/tmp").at(Step::BindScratch)
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
