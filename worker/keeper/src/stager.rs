//! Writes the job's inputs, from inside the cell and the job's control group.
//!
//! It runs as the owner of read-only inputs, may write as anyone in the cell, and ends when the
//! worker closes the socket.

use crate::filter;
use crate::init::Ends;
use crate::lock;
use crate::report::{At, Failure, Report, give_up};
use crate::sys::cred::{self, Capabilities};
use crate::sys::file::{self, standard};
use crate::sys::process::exit;
use crate::sys::{Errno, socket};
use kiln_keeper::stage::{Input, PATH_MAX, Staged};
use kiln_keeper::step::Step;
use kiln_keeper::wire::{JOB_ID, OWNER_ID};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const SOCKET: BorrowedFd<'static> = standard(0);
const COPY_BYTES: usize = 16 << 10;
const KEEP: Capabilities = Capabilities::CHOWN
    .and(Capabilities::FOWNER)
    .and(Capabilities::DAC_OVERRIDE);

/// Locks itself and serves until the socket ends.
pub(crate) fn run(ends: &Ends<'_>) -> ! {
    match lock_down(ends) {
        Ok(job) => exit(i32::from(serve(job.as_fd()).is_err())),
        Err(failure) => give_up(ends.events, failure),
    }
}

fn lock_down(ends: &Ends<'_>) -> Result<OwnedFd, Failure> {
    cred::set_name(c"stager").at(Step::Session)?;
    file::place(ends.stage, 0).at(Step::Descriptors)?;
    file::keep_only(&[ends.events]).at(Step::Descriptors)?;
    let job = file::open(c"/job", libc::O_DIRECTORY).at(Step::WorkingDirectory)?;
    lock::lock(OWNER_ID, KEEP)?;
    filter::install_stager().at(Step::JobFilter)?;
    Report::StagerReady
        .send(ends.events, &[])
        .at(Step::SendListener)?;
    file::close(ends.events).at(Step::Descriptors)?;
    Ok(job)
}

fn serve(job: BorrowedFd<'_>) -> Result<(), Errno> {
    loop {
        // One byte more than an input has: a longer one is cut, and that is an error.
        let mut bytes = [0; PATH_MAX + 2];
        let mut received = socket::receive(SOCKET, &mut bytes, 0)?;
        if received.bytes == 0 {
            return Ok(());
        }
        let input = Input::decode(&bytes[..received.bytes]).map_err(|_| Errno(libc::EBADMSG))?;
        if received.count != 1 {
            return Err(Errno(libc::EBADMSG));
        }
        let content = received.take(0)?;
        let staged = stage(job, &input, content.as_fd()).unwrap_or_else(|errno| Staged {
            errno: errno.0.cast_unsigned(),
            ino: 0,
            size: 0,
            mtime_ns: 0,
            ctime_ns: 0,
            mode: 0,
        });
        socket::send(SOCKET, &staged.encode(), &[], 0)?;
    }
}

/// Writes one input; the answer is what the kernel says of it when all is done.
///
/// Not inlined: a stager that waits needs no stack for the copy.
#[inline(never)]
fn stage(job: BorrowedFd<'_>, input: &Input, from: BorrowedFd<'_>) -> Result<Staged, Errno> {
    let mut path = [0; PATH_MAX + 1];
    path[..input.path.len()].copy_from_slice(&input.path);
    if input
        .path
        .split(|&byte| byte == b'/')
        .any(|part| matches!(part, b"" | b"." | b".."))
    {
        return Err(Errno(libc::EINVAL));
    }
    if input.read_only {
        make_sticky(job)?;
    }
    for at in 1..input.path.len() {
        if path[at] == b'/' {
            path[at] = 0;
            make_parent(job, text(&path), input.read_only)?;
            path[at] = b'/';
        }
    }
    let path = text(&path);
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let file = file::open_beneath(job, path, flags, 0o600)?;
    match fill(input, file.as_fd(), from) {
        Ok(staged) => Ok(staged),
        // Half an input is none. The first failure is the one that is told.
        Err(errno) => match file::unlink_at(job, path) {
            Ok(()) | Err(_) => Err(errno),
        },
    }
}

fn text(bytes: &[u8]) -> &CStr {
    CStr::from_bytes_until_nul(bytes).unwrap_or_default()
}

/// Makes a parent directory, or takes one that an earlier input made.
fn make_parent(job: BorrowedFd<'_>, path: &CStr, read_only: bool) -> Result<(), Errno> {
    let made = match file::make_directory_at(job, path, 0o700) {
        Ok(()) => true,
        Err(Errno(libc::EEXIST)) => false,
        Err(errno) => return Err(errno),
    };
    let directory = file::open_beneath(job, path, libc::O_DIRECTORY | libc::O_NOFOLLOW, 0)?;
    if read_only {
        make_sticky(directory.as_fd())
    } else if made {
        file::set_mode(directory.as_fd(), 0o755)?;
        file::set_owner(directory.as_fd(), JOB_ID)
    } else {
        Ok(())
    }
}

/// Lets the job write into a directory but not rename or remove what it does not own in it.
fn make_sticky(directory: BorrowedFd<'_>) -> Result<(), Errno> {
    file::set_owner(directory, OWNER_ID)?;
    file::set_mode(directory, 0o1777)
}

fn fill(input: &Input, file: BorrowedFd<'_>, from: BorrowedFd<'_>) -> Result<Staged, Errno> {
    copy(from, file)?;
    let (owner, mode) = if input.read_only {
        (OWNER_ID, 0o444)
    } else {
        (JOB_ID, 0o644)
    };
    file::set_owner(file, owner)?;
    file::set_mode(file, if input.executable { mode | 0o111 } else { mode })?;
    let status = file::status(file)?;
    Ok(Staged {
        errno: 0,
        ino: status.st_ino,
        size: status.st_size.cast_unsigned(),
        mtime_ns: file::nanoseconds(status.st_mtime, status.st_mtime_nsec),
        ctime_ns: file::nanoseconds(status.st_ctime, status.st_ctime_nsec),
        mode: status.st_mode,
    })
}

fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut bytes = [0; COPY_BYTES];
    let mut at = 0;
    loop {
        match file::read_at(from, &mut bytes, at) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                file::write_all(to, &bytes[..n])?;
                at += n as u64;
            }
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
}
