//! The process that waits in the cell and becomes the job.

use crate::egress;
use crate::init::Ends;
use crate::lock;
use crate::report::{At, Failure, Report, give_up};
use crate::stager;
use crate::sys::Errno;
use crate::sys::cred::{self, Capabilities};
use crate::sys::file::{self, standard};
use crate::sys::process::{self, Cloned, exit};
use crate::sys::program::Program;
use crate::sys::socket::{self, Received};
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::JOB_ID;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

const EXIT_NOT_FOUND: i32 = 127;
const EXIT_NOT_RUN: i32 = 126;
const PATH_MAX: usize = 4096;
const PATH_DEFAULT: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// The keeper's socket of a locked waiter.
const GO: BorrowedFd<'static> = standard(0);

/// Goes into the job's control group, forks the stager, locks itself, waits, and becomes the job.
pub(crate) fn run(ends: &Ends<'_>, mapped: BorrowedFd<'_>) -> ! {
    if let Err(failure) = prepare(ends, mapped) {
        give_up(ends.go, failure)
    }
    if let Err(failure) = lock_down(ends) {
        give_up(GO, failure)
    }
    let failed = wait();
    exit(failed)
}

fn prepare(ends: &Ends<'_>, mapped: BorrowedFd<'_>) -> Result<(), Failure> {
    for tasks in ends.placing.tasks().filter(|_| !off(Guard::Unplaced)) {
        file::write_all(tasks, b"0").at(Step::Place)?;
    }
    process::unshare(libc::CLONE_NEWCGROUP).at(Step::CgroupNamespace)?;
    let mut word = [0; 8];
    file::read(mapped, &mut word).at(Step::AwaitMap)?;
    // Here, for the stager too. A new user namespace begins with all of them.
    cred::drop_bounding_set(u64::MAX).at(Step::BoundingSet)?;
    match process::clone(libc::CLONE_PARENT, None).at(Step::CloneStager)? {
        Cloned::Child => stager::run(ends),
        Cloned::Parent { .. } => {}
    }
    cred::set_name(c"waiter").at(Step::Session)?;
    process::new_session().at(Step::Session)?;
    file::place(ends.go, 0).at(Step::Descriptors)
}

fn lock_down(ends: &Ends<'_>) -> Result<(), Failure> {
    file::keep_only(&[ends.filter.memfd().as_fd()]).at(Step::Descriptors)?;
    process::set_umask(0o022);
    file::change_directory(c"/job").at(Step::WorkingDirectory)?;
    lock::limit(ends.order)?;
    let kept = if off(Guard::Capabilities) {
        Capabilities::DAC_OVERRIDE
    } else {
        Capabilities::NONE
    };
    lock::lock(JOB_ID, kept)?;
    let listener = ends.filter.install_with_listener().at(Step::JobFilter)?;
    Report::Listener
        .send(GO, &[listener.as_fd()])
        .at(Step::SendListener)?;
    drop(listener);
    // The filter's memfd is all that is left.
    file::close_from(3).at(Step::Descriptors)?;
    #[cfg(feature = "unguarded")]
    if off(Guard::Descriptors) {
        file::leave(c"/").at(Step::Descriptors)?;
    }
    Report::WaiterReady.send(GO, &[]).at(Step::SendListener)
}

/// Waits for the word to go and becomes the job; gives the exit code where it cannot.
fn wait() -> i32 {
    let mut affinity = [0; 8];
    match socket::receive(GO, &mut affinity, 0) {
        Ok(received) if received.bytes == affinity.len() && matches!(received.count, 4 | 5) => {
            become_job(received, u64::from_le_bytes(affinity))
        }
        _ => EXIT_NOT_RUN,
    }
}

fn become_job(mut received: Received, affinity: u64) -> i32 {
    let taken = (|| {
        let memfd = received.take(0)?;
        if received.count == 5 {
            egress::hand_out(&received.take(4)?)?;
        }
        for number in 0..3 {
            let stream = received.take(1 + usize::try_from(number).unwrap_or(0))?;
            file::place(stream.as_fd(), number)?;
        }
        let program = Program::read(memfd.as_fd());
        drop(memfd);
        if !off(Guard::Descriptors) {
            file::close_from(3)?;
        }
        cred::fix_limit(libc::RLIMIT_NOFILE)?;
        if affinity != 0 {
            process::set_affinity(affinity)?;
        }
        program
    })();
    match taken {
        Ok(program) => {
            let errno = search(&program);
            complain(program.name(), errno);
            if errno == Errno(libc::ENOENT) {
                EXIT_NOT_FOUND
            } else {
                EXIT_NOT_RUN
            }
        }
        Err(errno) => {
            complain(c"", errno);
            EXIT_NOT_RUN
        }
    }
}

/// Tries the name itself or, where it has no `/`, each folder of `PATH`.
fn search(program: &Program) -> Errno {
    let name = program.name();
    if name.is_empty() {
        return Errno(libc::ENOENT);
    }
    if name.to_bytes().contains(&b'/') {
        return program.execute(name);
    }
    let folders = program.variable(b"PATH=").unwrap_or(PATH_DEFAULT);
    let mut worst = Errno(libc::ENOENT);
    for folder in folders.split(|&byte| byte == b':') {
        let mut path = [0; PATH_MAX];
        let Some(path) = join(folder, name.to_bytes(), &mut path) else {
            continue;
        };
        match program.execute(path) {
            Errno(libc::ENOENT | libc::ENOTDIR) => {}
            errno @ Errno(libc::EACCES) => worst = errno,
            errno => return errno,
        }
    }
    worst
}

/// `folder/name`, where an empty folder is the working directory.
fn join<'a>(folder: &[u8], name: &[u8], path: &'a mut [u8; PATH_MAX]) -> Option<&'a CStr> {
    let slash: &[u8] = if folder.is_empty() { b"./" } else { b"/" };
    let mut at = 0;
    for part in [folder, slash, name] {
        path.get_mut(at..at + part.len())?.copy_from_slice(part);
        at += part.len();
    }
    CStr::from_bytes_until_nul(path).ok()
}

/// One line on the job's stderr. Where that fails there is nobody to tell.
fn complain(name: &CStr, errno: Errno) {
    for part in [
        b"kiln: exec `",
        name.to_bytes(),
        b"`: ",
        process::reason(errno).to_bytes(),
        b"\n",
    ] {
        if file::write_all(standard(2), part).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_is_the_working_directory() {
        let mut path = [0; PATH_MAX];
        assert_eq!(join(b"/usr/bin", b"sh", &mut path), Some(c"/usr/bin/sh"));
        let mut path = [0; PATH_MAX];
        assert_eq!(join(b"", b"sh", &mut path), Some(c"./sh"));
    }

    #[test]
    fn a_path_that_is_too_long_is_passed_over() {
        let mut path = [0; PATH_MAX];
        assert_eq!(join(&[b'a'; PATH_MAX], b"sh", &mut path), None);
        let mut path = [0; PATH_MAX];
        assert_eq!(join(&[b'a'; PATH_MAX - 3], b"sh", &mut path), None);
    }
}
