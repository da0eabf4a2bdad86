//! Whose user namespace a sandbox lives in: its own host uid's.
//!
//! The kernel charges inotify instances, queued signals, timers and message queues to a user, and
//! then to the owner of each user namespace upwards. A namespace of root's would let one job use
//! up what every other sandbox, and root itself, has. So a short-lived child takes the sandbox's
//! uid and makes the namespace; libcontainer enters it by path, before the child goes.
//!
//! The child keeps root's capabilities: where users without any may not make user namespaces,
//! root still may.

use crate::sys::{self, Side};
use crate::uids::{RANGE, Range};
use rustix::fs::{Gid, Uid};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::{CapabilitiesSecureBits, UnshareFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Why there is no user namespace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserNamespaceError {
    #[error("make a pipe")]
    Pipe(#[source] io::Error),
    #[error("fork")]
    Fork(#[source] io::Error),
    #[error("hear of the user namespace")]
    Hear(#[source] io::Error),
    #[error("leave the host's user namespace as the sandbox's uid")]
    Leave(#[source] io::Error),
    #[error("write `{}`", path.display())]
    Map { path: PathBuf, source: io::Error },
}

/// A user namespace with its ids mapped, held by a child that does nothing else.
#[derive(Debug)]
pub(crate) struct UserNamespace {
    holder: Pid,
    path: PathBuf,
}

impl UserNamespace {
    /// Makes one that the first uid of `range` owns, and maps the range into it.
    pub(crate) fn new(range: Range) -> Result<Self, UserNamespaceError> {
        let (hear, tell) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
            .map_err(|e| UserNamespaceError::Pipe(e.into()))?;
        let holder = match sys::fork().map_err(UserNamespaceError::Fork)? {
            Side::Child => {
                drop(hear);
                hold(range, &tell)
            }
            Side::Parent(holder) => holder,
        };
        let pid = holder.as_raw_nonzero();
        let namespace = Self {
            holder,
            path: format!("/proc/{pid}/ns/user").into(),
        };
        drop(tell);
        made(&hear)?;
        for file in ["uid_map", "gid_map"] {
            let path = PathBuf::from(format!("/proc/{pid}/{file}"));
            std::fs::write(&path, format!("0 {} {RANGE}\n", range.first))
                .map_err(|source| UserNamespaceError::Map { path, source })?;
        }
        Ok(namespace)
    }

    /// Good until this value is dropped.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UserNamespace {
    fn drop(&mut self) {
        // It is this process's child and not reaped before, so the number is still its own.
        if let Err(error) = rustix::process::kill_process(self.holder, Signal::KILL) {
            tracing::error!(%error, "the holder of a user namespace was not killed");
            return;
        }
        while let Err(Errno::INTR) =
            rustix::process::waitpid(Some(self.holder), WaitOptions::empty())
        {}
    }
}

/// Waits for the child's word, which is an error number, or 0.
fn made(hear: &OwnedFd) -> Result<(), UserNamespaceError> {
    let mut word = [0; 4];
    let heard = loop {
        match rustix::io::read(hear, &mut word) {
            Err(Errno::INTR) => {}
            Ok(n) => break n,
            Err(e) => return Err(UserNamespaceError::Hear(e.into())),
        }
    };
    if heard != word.len() {
        let source = io::ErrorKind::UnexpectedEof.into();
        return Err(UserNamespaceError::Hear(source));
    }
    match i32::from_ne_bytes(word) {
        0 => Ok(()),
        errno => Err(UserNamespaceError::Leave(io::Error::from_raw_os_error(
            errno,
        ))),
    }
}

/// The child: leaves the host's user namespace, says so, and waits to be killed.
fn hold(range: Range, tell: &OwnedFd) -> ! {
    let word = match leave(range) {
        Ok(()) => 0,
        Err(e) => e.raw_os_error(),
    };
    let told = rustix::io::write(tell, &word.to_ne_bytes());
    if word != 0 || told.is_err() {
        sys::exit(1);
    }
    sys::wait_for_ever()
}

fn leave(range: Range) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(range.first), Gid::from_raw(range.first));
    rustix::thread::set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    rustix::thread::set_thread_res_gid(None, gid, None)?;
    rustix::thread::set_thread_res_uid(None, uid, None)?;
    sys::unshare(UnshareFlags::NEWUSER).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}
