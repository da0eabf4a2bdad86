//! What the caller's process hands down, and would reach every job.

use super::{Refusal, refusal};
use crate::sys;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Open files that a warden with many sandboxes, and libcontainer, may need.
const FILES: u64 = 65_536;
/// Open files below which it does not start: the most that a job may have, and room beside.
const FILES_LEAST: u64 = 8192;
/// A core file's limit that keeps a helper of the host's from running; jobs get this one.
const CORE: u64 = 1;

/// Gives this process limits, signals, a personality and a priority that do not depend on the
/// caller.
pub(super) fn reset() -> Result<(), Refusal> {
    let broken = |e: io::Error| refusal(&e, "this is a defect of kiln; please report it");
    sys::default_child_signal().map_err(broken)?;
    // An address space that is not randomised, for one.
    sys::default_personality().map_err(broken)?;
    usual_priority().map_err(broken)?;
    raise(Resource::Core, CORE, CORE).map_err(|hard| Refusal {
        message: format!(
            "the hard limit on core files (RLIMIT_CORE) is {hard}, and may not be raised; jobs \
             need {CORE}, which keeps a crash from starting the host's helper"
        ),
        remedy: "start kiln with `ulimit -Hc unlimited`, or LimitCORE=infinity in its unit",
    })?;
    let most = raise(Resource::Nofile, files_most(), FILES_LEAST).map_err(|hard| Refusal {
        message: format!(
            "the hard limit on open files (RLIMIT_NOFILE) is {hard}, and may not be raised; the \
             warden needs {FILES_LEAST}"
        ),
        remedy: "start kiln with `ulimit -Hn 65536`, or LimitNOFILE=65536 in its unit",
    })?;
    let all = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, all).map_err(|e| broken(e.into()))
}

/// [`FILES`], or what the kernel gives any process at most.
fn files_most() -> u64 {
    std::fs::read_to_string("/proc/sys/fs/nr_open")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .map_or(FILES, |most: u64| most.min(FILES))
}

/// The hard limit, after it was raised to `wanted` where it was below and the kernel lets it; an
/// error with what it is where that is less than `least`.
fn raise(resource: Resource, wanted: u64, least: u64) -> Result<Option<u64>, u64> {
    let held = getrlimit(resource);
    let Some(hard) = held.maximum.filter(|hard| *hard < wanted) else {
        return Ok(held.maximum);
    };
    let raised = Rlimit {
        current: held.current,
        maximum: Some(wanted),
    };
    match setrlimit(resource, raised) {
        Ok(()) => Ok(Some(wanted)),
        Err(_) if hard >= least => Ok(Some(hard)),
        Err(_) => Err(hard),
    }
}

/// The usual scheduling and niceness. A rise may take a capability that root lacks.
fn usual_priority() -> io::Result<()> {
    match sys::default_scheduling() {
        Err(e) if e.kind() != io::ErrorKind::PermissionDenied => return Err(e),
        Ok(()) | Err(_) => {}
    }
    match rustix::process::setpriority_process(None, 0) {
        Ok(()) | Err(Errno::ACCESS | Errno::PERM) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
