//! How does the egress proxy give up what it does not need, before it meets a job?
//!
//! It keeps the machine's network, which is what it is for, and becomes a user of its own where it
//! starts as root: no capability, no new privilege, no core, no file that it does not hold
//! already, and its own list of system calls. Each is asked back from the kernel; one that cannot
//! be had ends the process. Landlock is a second lock on a door that the filter shuts already, so
//! a kernel without it is no hindrance.

use super::ConfineError;
use crate::{seccomp, sys};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid};
use std::io;

/// Address space at most.
const MEMORY: u64 = 2 << 30;
/// The last capability that a kernel may have.
const CAPABILITY_MAX: u32 = 63;

/// Confines this process, which has one thread. `uid` is who it becomes where it is root. Gives
/// the version of landlock that holds, where the kernel has it.
///
/// # Errors
///
/// The step that failed; the process must end then.
pub fn proxy(uid: u32) -> Result<Option<u32>, ConfineError> {
    let single = sys::single_threaded().map_err(step("count the threads"))?;
    so(single, "count the threads", "there is more than one")?;
    limits().map_err(step("set the limits"))?;
    done(
        rustix::thread::set_no_new_privs(true),
        "keep privileges from growing",
    )?;
    let landlock = sys::landlock(sys::Tcp::Connect).map_err(step("give up files by landlock"))?;
    if rustix::process::geteuid().is_root() {
        become_user(uid)?;
    }
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    done(hidden, "hide from tracers")?;
    seen()?;
    let filter = seccomp::proxy_filter();
    sys::filter_calls(&filter.instructions).map_err(step("filter the system calls"))?;
    so(
        std::fs::File::open("/").is_err(),
        "see it confined",
        "it can open a folder",
    )?;
    Ok(landlock)
}

fn step(step: &'static str) -> impl Fn(io::Error) -> ConfineError {
    move |source| ConfineError { step, source }
}

fn done(done: Result<(), Errno>, what: &'static str) -> Result<(), ConfineError> {
    done.map_err(|errno| step(what)(errno.into()))
}

fn so(so: bool, what: &'static str, not: &'static str) -> Result<(), ConfineError> {
    if so {
        Ok(())
    } else {
        Err(step(what)(io::Error::other(not)))
    }
}

fn limits() -> io::Result<()> {
    for (resource, most) in [
        (Resource::Nofile, getrlimit(Resource::Nofile).maximum),
        (Resource::Fsize, Some(0)),
        (Resource::As, Some(MEMORY)),
        // 0 would not keep a `|helper` of the host's from running on a crash; 1 does.
        (Resource::Core, Some(1)),
    ] {
        // Whoever started us may have left less.
        let least = getrlimit(resource).maximum;
        let most = match (least, most) {
            (Some(least), Some(most)) => Some(least.min(most)),
            (least, most) => least.or(most),
        };
        let wanted = Rlimit {
            current: most,
            maximum: most,
        };
        setrlimit(resource, wanted)?;
    }
    Ok(())
}

/// Leaves nothing in the bounding set but what is kept.
pub(super) fn bound(kept: CapabilitySet) -> Result<(), Errno> {
    for number in 0..=CAPABILITY_MAX {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(one) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(one) {
            // Past the last one of this kernel.
            Err(Errno::INVAL) => break,
            given => given?,
        }
    }
    Ok(())
}

/// Another user, in no group but its own, who can gain nothing.
fn become_user(uid: u32) -> Result<(), ConfineError> {
    done(bound(CapabilitySet::empty()), "give up a capability")?;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(uid));
    done(
        rustix::thread::set_thread_groups(&[]),
        "leave root's groups",
    )?;
    let gids = rustix::thread::set_thread_res_gid(gid, gid, gid);
    done(gids, "leave root's group")?;
    let uids = rustix::thread::set_thread_res_uid(uid, uid, uid);
    done(uids, "be root no more")?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    done(
        rustix::thread::set_capabilities(None, none),
        "give up the capabilities",
    )
}

/// Asks the kernel what has become of it.
fn seen() -> Result<(), ConfineError> {
    const SEEN: &str = "see it confined";
    let user = rustix::process::geteuid();
    so(!user.is_root(), SEEN, "it is root")?;
    so(user == rustix::process::getuid(), SEEN, "it has two users")?;
    let none = rustix::thread::capabilities(None)
        .is_ok_and(|sets| (sets.effective | sets.permitted | sets.inheritable).is_empty());
    so(none, SEEN, "it has capabilities")?;
    let nothing_new = rustix::thread::no_new_privs() == Ok(true);
    so(nothing_new, SEEN, "it can gain privileges")?;
    let hidden = rustix::process::dumpable_behavior() == Ok(DumpableBehavior::NotDumpable);
    so(hidden, SEEN, "it can be looked into")
}
