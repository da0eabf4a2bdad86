//! Who outlives the warden, to sweep after it.
//!
//! ```text
//!   worker gone (its end of the socket closed) ─► SIGKILL the warden
//!   warden gone (first process of the pool)    ─► the kernel kills every sandbox and job
//!                                                 then: groups and folders removed, exit
//! ```
//!
//! The monitor never reads the socket, and no SIGTERM ends it before the worker ends. Where it is
//! killed itself, the warden dies with it (`PR_SET_PDEATHSIG`), and the next warden's start sweeps.

use crate::cgroup::Hierarchy;
use crate::instance::Instance;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use std::io;
use std::os::fd::AsFd;

/// Why the monitor could not watch.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MonitorError {
    #[error("ignore SIGTERM")]
    Signal(#[source] io::Error),
    #[error("open the warden's process")]
    Open(#[source] io::Error),
    #[error("wait for the worker or the warden")]
    Wait(#[source] io::Error),
    #[error("kill the warden")]
    Kill(#[source] io::Error),
    #[error("reap the warden")]
    Reap(#[source] io::Error),
    #[error("sweep what the warden left")]
    Sweep(#[source] crate::instance::InstanceError),
    #[error("sweep what processes that scan left")]
    SweepScans(#[source] crate::cgroup::CgroupError),
}

/// Watches the worker's socket and the warden; then sweeps. Comes back when nothing is left.
pub(crate) fn watch(
    worker: impl AsFd,
    warden: Pid,
    instance: &Instance,
    hierarchy: &Hierarchy,
    parent: &str,
) -> Result<(), MonitorError> {
    // A service manager sends it to all that it started; the worker then lets its jobs finish.
    crate::sys::ignore_sigterm().map_err(MonitorError::Signal)?;
    let pidfd = rustix::process::pidfd_open(warden, PidfdFlags::empty())
        .map_err(|e| MonitorError::Open(e.into()))?;
    loop {
        let mut fds = [
            PollFd::new(&worker, PollFlags::RDHUP),
            PollFd::new(&pidfd, PollFlags::IN),
        ];
        match rustix::event::poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(MonitorError::Wait(e.into())),
        }
        let [worker, warden] = fds.map(|fd| fd.revents());
        if !warden.is_empty() {
            break;
        }
        if worker.intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR) {
            match rustix::process::pidfd_send_signal(&pidfd, Signal::KILL) {
                Ok(()) | Err(Errno::SRCH) => break,
                Err(e) => return Err(MonitorError::Kill(e.into())),
            }
        }
    }
    // Its death lasts until every process of the pool is dead and reaped.
    loop {
        match rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(e) => return Err(MonitorError::Reap(e.into())),
        }
    }
    // The worker's own processes die with it, and leave their groups.
    let scans = hierarchy.sweep_scans(parent);
    instance
        .sweep(hierarchy, parent)
        .map_err(MonitorError::Sweep)?;
    scans.map(drop).map_err(MonitorError::SweepScans)
}
