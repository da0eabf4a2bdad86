//! PID 1 of a cell: makes the cell's world, reaps in it, and ends it when the job ends.

use crate::cell::Placing;
use crate::filter::Filter;
use crate::report::{At, Failure, NULL, Report, give_up};
use crate::sys::Errno;
use crate::sys::cred::{self, Capabilities};
use crate::sys::file::{self, standard};
use crate::sys::poll::now;
use crate::sys::process::{self, Cloned, exit};
use crate::{masks, mounts, waiter};
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::{JOB_ID, KEEPER_CAPABILITIES, OWNER_ID, Prepare};
use std::ffi::CStr;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};

/// The cell's ends of what the keeper holds the other ends of.
pub(crate) struct Ends<'a> {
    pub(crate) order: &'a Prepare,
    pub(crate) events: BorrowedFd<'a>,
    pub(crate) go: BorrowedFd<'a>,
    pub(crate) stage: BorrowedFd<'a>,
    pub(crate) placing: &'a Placing,
    pub(crate) filter: &'a Filter,
}

/// The waiter's number in the cell: the second process there is.
const WAITER: libc::pid_t = 2;
/// The stager's.
const STAGER: libc::pid_t = 3;

/// The keeper's socket, once the cell is built.
const EVENTS: BorrowedFd<'static> = standard(0);

/// The namespaces that every cell has for itself. That of the network is the keeper's, too: it
/// goes into a new one where the cell needs one.
pub(crate) fn namespaces() -> libc::c_int {
    let ipc = if off(Guard::CellIpc) {
        0
    } else {
        libc::CLONE_NEWIPC
    };
    libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWUTS | ipc
}

/// Builds the cell and stays until the job's main process ends.
pub(crate) fn run(ends: &Ends<'_>) -> ! {
    if let Err(failure) = build(ends) {
        give_up(ends.events, failure)
    }
    match reap() {
        Ok(()) => exit(0),
        Err(_) => exit(1),
    }
}

fn build(ends: &Ends<'_>) -> Result<(), Failure> {
    cred::set_name(c"init").at(Step::CellDescriptors)?;
    leave_keeper(ends).at(Step::CellDescriptors)?;
    process::set_umask(0);
    let built = mounts::build(ends.order)?;
    masks::lay()?;
    let scratch = built.finish()?;
    process::set_host_name(c"kiln").at(Step::HostName)?;
    let own = file::open(c"/proc/self/ns/mnt", libc::O_RDONLY).at(Step::SendScratch)?;
    let mapped = file::event().at(Step::CloneWaiter)?;
    clone_waiter(ends, mapped.as_fd())?;
    map_ids(ends.order).at(Step::MapIds)?;
    file::write_all(mapped.as_fd(), &1u64.to_ne_bytes()).at(Step::MapIds)?;
    Report::Scratch
        .send(ends.events, &[scratch.as_fd(), own.as_fd()])
        .at(Step::SendScratch)?;
    drop((scratch, own, mapped));
    lock(ends)
}

/// Nothing of the keeper's may stay open here: an end of file must be seen by whom it concerns.
fn leave_keeper(ends: &Ends<'_>) -> Result<(), Errno> {
    file::place(NULL, 0)?;
    let fixed = [
        ends.events,
        ends.go,
        ends.stage,
        ends.filter.memfd().as_fd(),
    ];
    let mut keep = [NULL; 32];
    let mut count = 0;
    for fd in fixed.into_iter().chain(ends.placing.descriptors()) {
        *keep.get_mut(count).ok_or(Errno(libc::EINVAL))? = fd;
        count += 1;
    }
    file::keep_only(&keep[..count])
}

/// The cell's mounts belong to the sandbox's user namespace, and the waiter is in one below it:
/// nothing it may ever gain lets it take a mask off. A copy of them for itself would be no safer.
fn clone_waiter(ends: &Ends<'_>, mapped: BorrowedFd<'_>) -> Result<(), Failure> {
    match process::clone(libc::CLONE_NEWUSER, ends.placing.leaf()).at(Step::CloneWaiter)? {
        Cloned::Child => waiter::run(ends, mapped),
        Cloned::Parent { pid: WAITER, .. } => Ok(()),
        Cloned::Parent { .. } => Err(Errno(libc::ESRCH)).at(Step::CloneWaiter),
    }
}

fn map_ids(order: &Prepare) -> Result<(), Errno> {
    let mut text = [0; 64];
    let mut rest = &mut text[..];
    let room = rest.len();
    writeln!(
        rest,
        "{JOB_ID} {} 1\n{OWNER_ID} {} 1",
        order.job_id, order.owner_id
    )
    .map_err(|_| Errno(libc::EOVERFLOW))?;
    let length = room - rest.len();
    let text = &text[..length];
    for path in [c"/proc/2/uid_map", c"/proc/2/gid_map"] {
        write_once(path, text)?;
    }
    Ok(())
}

fn write_once(path: &CStr, text: &[u8]) -> Result<(), Errno> {
    file::write_all(file::open(path, libc::O_WRONLY)?.as_fd(), text)
}

/// From here on it only reaps: one socket, no capabilities.
fn lock(ends: &Ends<'_>) -> Result<(), Failure> {
    file::place(ends.events, 0).at(Step::CellLock)?;
    file::close_from(3).at(Step::CellLock)?;
    let locked = cred::drop_bounding_set(KEEPER_CAPABILITIES)
        .and_then(|()| cred::set_capabilities(Capabilities::NONE))
        .at(Step::CellLock);
    if let Err(failure) = locked {
        give_up(EVENTS, failure)
    }
    Ok(())
}

/// Reaps until the waiter, or what it became, ends; tells the keeper of it and of the stager.
fn reap() -> Result<(), Errno> {
    let mut stager_lives = true;
    loop {
        match process::reap(true)? {
            Some((WAITER, status)) => {
                return Report::MainEnded { status, at: now() }.send(EVENTS, &[]);
            }
            Some((STAGER, status)) if stager_lives => {
                stager_lives = false;
                Report::StagerEnded(status).send(EVENTS, &[])?;
            }
            _ => {}
        }
    }
}
