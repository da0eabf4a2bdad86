//! How does a process give up everything but the descriptors it was handed?
//!
//! For a process of ours that reads what a job made: it keeps its socket, and loses files, network,
//! users, capabilities and all system calls that it does not need, for good and before it has read
//! anything. What must hold and does not is an error; what a kernel may lack is told.

mod proxy;
mod worker;

pub use proxy::proxy;
pub use worker::{Holds, User, worker};

use crate::{seccomp, sys};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;

/// The user that a confined process becomes where it may become another.
const NOBODY: u32 = 65_534;
/// Descriptors that it may hold at once.
const FILES: u64 = 64;

/// How much it may have.
#[derive(Clone, Copy, Debug)]
pub struct Confinement {
    /// Of its address space, its program included.
    pub memory_bytes: u64,
}

/// What holds, beyond the filter of system calls and the limits, without which there is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The version of landlock, where the kernel has it.
    pub landlock: Option<u32>,
    /// Whether it has a network of its own, without a device that is up.
    pub network: bool,
    /// Whether it is a user that owns nothing.
    pub nobody: bool,
    /// Whether a control group of its own holds it, which whoever started it has proved.
    #[serde(skip)]
    pub group: bool,
}

/// Why a process is not confined.
#[derive(Debug, thiserror::Error)]
#[error("{step}")]
pub struct ConfineError {
    step: &'static str,
    source: io::Error,
}

impl ConfineError {
    fn at(step: &'static str, source: io::Error) -> Self {
        Self { step, source }
    }
}

/// Closes what was inherited beyond descriptors 0, 1 and 2, and forgets the environment.
///
/// To be called first of all: before any descriptor above 2 is owned, and any thread exists.
///
/// # Errors
///
/// The step that failed.
pub fn begin() -> Result<(), ConfineError> {
    let failed = |step| move |source| ConfineError { step, source };
    sys::close_from(3).map_err(failed("close what was inherited"))?;
    sys::clear_environment().map_err(failed("forget the environment"))
}

/// Gives everything up. The process has one thread.
///
/// # Errors
///
/// The step that failed; the process must end then.
pub fn confine(confinement: Confinement) -> Result<Held, ConfineError> {
    let step = |step| move |source: io::Error| ConfineError { step, source };
    let single = sys::single_threaded().map_err(step("count the threads"))?;
    if !single {
        let source = io::Error::other("the process has more than one thread");
        return Err(step("count the threads")(source));
    }
    let root = rustix::process::geteuid().is_root();
    let apart = UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    // Another user has a network of its own by way of a user namespace, where those are let be.
    let spaces = if root {
        apart
    } else {
        apart | UnshareFlags::NEWUSER
    };
    let network = sys::unshare(spaces).is_ok();
    let nobody = root && become_nobody().is_ok();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| step("hide from tracers")(e.into()))?;
    limits(confinement).map_err(step("set the limits"))?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|e| step("keep privileges from growing")(e.into()))?;
    let landlock = sys::landlock(sys::Tcp::Nothing).map_err(step("give up files by landlock"))?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)
        .map_err(|e| step("give up the capabilities")(e.into()))?;
    let filter = seccomp::scanner_filter();
    sys::filter_calls(&filter.instructions).map_err(step("filter the system calls"))?;
    Ok(Held {
        landlock,
        network,
        nobody,
        group: false,
    })
}

/// Enters control groups by their doors, see [`crate::cgroup::ScanGroup::doors`].
///
/// # Errors
///
/// The process is not in all of them.
pub fn enter(doors: &[OwnedFd]) -> Result<(), ConfineError> {
    for door in doors {
        let entered = rustix::io::write(door, b"0");
        entered.map_err(|e| ConfineError {
            step: "enter the control group",
            source: e.into(),
        })?;
    }
    Ok(())
}

fn become_nobody() -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

fn limits(confinement: Confinement) -> io::Result<()> {
    for (resource, most) in [
        (Resource::As, confinement.memory_bytes),
        (Resource::Nofile, FILES),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        (Resource::Msgqueue, 0),
        (Resource::Memlock, 0),
    ] {
        // Whoever started us may have left less.
        let least = rustix::process::getrlimit(resource).maximum;
        let most = least.map_or(most, |least| least.min(most));
        let wanted = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, wanted)?;
        let held = rustix::process::getrlimit(resource);
        if held != wanted {
            return Err(io::Error::other(format!(
                "{resource:?} is {held:?}, not {most}"
            )));
        }
    }
    Ok(())
}
