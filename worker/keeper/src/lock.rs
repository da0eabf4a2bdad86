//! What the waiter, the stager and the collector give up before they serve.

use crate::report::{At, Failure};
use crate::sys::cred::{self, Capabilities};
use crate::sys::process;
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::Prepare;

/// One id, these capabilities, no way to gain any, and no looking in.
///
/// The bounding set has gone before: dropping from it needs `CAP_SETPCAP`, which this ends.
pub(crate) fn lock(id: u32, keep: Capabilities) -> Result<(), Failure> {
    if keep != Capabilities::NONE {
        cred::keep_capabilities().at(Step::Capabilities)?;
    }
    cred::become_id(id).at(Step::Ids)?;
    cred::set_capabilities(keep).at(Step::Capabilities)?;
    cred::no_new_privileges().at(Step::NoNewPrivileges)?;
    // A change of ids has set it to what the host's `fs.suid_dumpable` says.
    cred::hide().at(Step::Capabilities)
}

/// Bytes that a job may lock into memory; they count against its memory limit anyway.
const LOCKED_BYTES: u64 = 8 << 20;
/// Bytes of message queues: the kernel's own default.
const QUEUE_BYTES: u64 = 819_200;
/// Signals queued and POSIX timers, each of which holds one: no group counts them.
const PENDING_SIGNALS: u64 = 4096;
/// Bytes that the main thread's stack may grow to, and that libc gives other threads.
const STACK_BYTES: u64 = 8 << 20;

/// The resource limits and CPUs of the job.
pub(crate) fn limit(order: &Prepare) -> Result<(), Failure> {
    for (resource, limit) in [
        // 0 would not keep a `|helper` of the host's from running on a crash; 1 does.
        (libc::RLIMIT_CORE, u64::from(!off(Guard::CoreLimit))),
        (libc::RLIMIT_NICE, 0),
        (libc::RLIMIT_RTPRIO, 0),
    ] {
        cred::set_limit(resource, limit).at(Step::ResourceLimits)?;
    }
    // The hard limit follows as the job starts: until then the warden may raise the soft one.
    cred::set_limits(libc::RLIMIT_NOFILE, order.open_files, order.open_files_max)
        .at(Step::ResourceLimits)?;
    cred::lower_limit(libc::RLIMIT_MSGQUEUE, QUEUE_BYTES).at(Step::ResourceLimits)?;
    cred::lower_limit(libc::RLIMIT_SIGPENDING, PENDING_SIGNALS).at(Step::ResourceLimits)?;
    cred::lower_limit(libc::RLIMIT_MEMLOCK, LOCKED_BYTES).at(Step::ResourceLimits)?;
    cred::raise_soft_limit(libc::RLIMIT_STACK, STACK_BYTES).at(Step::ResourceLimits)?;
    // What the control group or the disk limit bounds needs no second bound: as far as the
    // warden's hard limits go.
    for resource in [
        libc::RLIMIT_AS,
        libc::RLIMIT_DATA,
        libc::RLIMIT_RSS,
        libc::RLIMIT_FSIZE,
        libc::RLIMIT_CPU,
        libc::RLIMIT_NPROC,
        libc::RLIMIT_LOCKS,
    ] {
        cred::raise_soft_limit(resource, libc::RLIM_INFINITY).at(Step::ResourceLimits)?;
    }
    process::set_affinity(order.affinity).at(Step::Affinity)
}
