//! Whose user namespace a sandbox lives in: its own host uid's.
//!
//! The kernel charges inotify instances, queued signals, timers and message queues to a user, and
//! then to the owner of each user namespace upwards. A namespace of root's would let one job use
//! up what every other sandbox, and root itself, has. So a child takes the sandbox's uid, makes
//! the namespace and ends; the warden maps its ids while the child is not reaped, and holds the
//! namespace by a descriptor. libcontainer enters it by that descriptor's path.
//!
//! The child keeps root's capabilities: where users without any may not make user namespaces,
//! root still may. It borrows the warden's memory: to copy it for two system calls cost 1 ms.

use crate::sys;
use crate::uids::{RANGE, Range};
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use rustix::thread::{CapabilitiesSecureBits, UnshareFlags};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// Why there is no user namespace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserNamespaceError {
    #[error("make a child")]
    Child(#[source] io::Error),
    #[error("leave the host's user namespace as the sandbox's uid")]
    Leave(#[source] io::Error),
    #[error("write `{}`", path.display())]
    Map { path: PathBuf, source: io::Error },
    #[error("open `{}`", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("reap the child")]
    Reap(#[source] io::Error),
}

/// A user namespace with its ids mapped; it lasts as long as this, or a process in it.
#[derive(Debug)]
pub(crate) struct UserNamespace(OwnedFd);

impl UserNamespace {
    /// Makes one that the first uid of `range` owns, and maps the range into it.
    pub(crate) fn new(range: Range) -> Result<Self, UserNamespaceError> {
        let mut left = Ok(());
        let child = sys::ended_child(|| left = leave(range)).map_err(UserNamespaceError::Child)?;
        let made = left
            .map_err(|e| UserNamespaceError::Leave(e.into()))
            .and_then(|()| map(child, range));
        // Not before: with the child its number, and the way to its namespace, goes.
        rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()))
            .map_err(|e| UserNamespaceError::Reap(e.into()))?;
        made
    }

    /// Good in this process, and in what it forks, until this value is dropped.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// Maps the ids of an ended child's namespace, and takes hold of it.
fn map(child: Pid, range: Range) -> Result<UserNamespace, UserNamespaceError> {
    let pid = child.as_raw_nonzero();
    for file in ["uid_map", "gid_map"] {
        let path = PathBuf::from(format!("/proc/{pid}/{file}"));
        std::fs::write(&path, format!("0 {} {RANGE}\n", range.first))
            .map_err(|source| UserNamespaceError::Map { path, source })?;
    }
    let path = PathBuf::from(format!("/proc/{pid}/ns/user"));
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, &path, flags, Mode::empty()) {
        Ok(namespace) => Ok(UserNamespace(namespace)),
        Err(e) => Err(UserNamespaceError::Open {
            path,
            source: e.into(),
        }),
    }
}

/// In the child: takes the sandbox's uid and gid, and leaves the host's user namespace.
fn leave(range: Range) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(range.first), Gid::from_raw(range.first));
    rustix::thread::set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    rustix::thread::set_thread_res_gid(None, gid, None)?;
    rustix::thread::set_thread_res_uid(None, uid, None)?;
    sys::unshare(UnshareFlags::NEWUSER).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}
