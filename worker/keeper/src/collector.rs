//! Lists and opens what the job left, when nothing of its cell lives any more.
//!
//! A child of the keeper: it may read every file of the spent cell, and nothing else.

use crate::lock;
use crate::report::{At, Failure};
use crate::sys::cred::{self, Capabilities};
use crate::sys::file::{self, standard};
use crate::sys::process::exit;
use crate::sys::{Errno, socket};
use crate::walk::walk;
use kiln_keeper::collect::{Entry, MESSAGE_MAX, Message};
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::KEEPER_CAPABILITIES;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const SOCKET: BorrowedFd<'static> = standard(0);
/// Neither the keeper's id nor one that a job or its inputs had.
pub(crate) const COLLECTOR_ID: u32 = 2;

/// Locks itself, lists, and opens files until the socket ends.
pub(crate) fn run(socket: BorrowedFd<'_>, scratch: BorrowedFd<'_>) -> ! {
    let job = match lock_down(socket, scratch) {
        Ok(job) => job,
        Err(failure) => exit(100 + (failure.step as i32)),
    };
    let served = list(job.as_fd()).and_then(|()| serve(job.as_fd()));
    exit(i32::from(served.is_err()))
}

fn lock_down(socket: BorrowedFd<'_>, scratch: BorrowedFd<'_>) -> Result<OwnedFd, Failure> {
    cred::set_name(c"collector").at(Step::Session)?;
    file::place(socket, 0).at(Step::Descriptors)?;
    let job =
        file::open_beneath(scratch, c"job", libc::O_DIRECTORY, 0).at(Step::WorkingDirectory)?;
    file::keep_only(&[job.as_fd()]).at(Step::Descriptors)?;
    cred::drop_bounding_set(KEEPER_CAPABILITIES).at(Step::BoundingSet)?;
    lock::lock(COLLECTOR_ID, Capabilities::DAC_READ_SEARCH)?;
    Ok(job)
}

fn list(job: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut batch: Vec<Entry> = Vec::new();
    let mut length = 1;
    let truncated = walk(job, &mut |entry| {
        if length + entry.encoded_len() > MESSAGE_MAX {
            send(&Message::List(std::mem::take(&mut batch)))?;
            length = 1;
        }
        length += entry.encoded_len();
        batch.push(entry);
        Ok(())
    })?;
    if !batch.is_empty() {
        send(&Message::List(batch))?;
    }
    send(&Message::End { truncated })
}

fn send(message: &Message) -> Result<(), Errno> {
    socket::send(SOCKET, &message.encode(), &[], 0)
}

fn serve(job: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut bytes = vec![0; MESSAGE_MAX];
    loop {
        let received = socket::receive(SOCKET, &mut bytes, 0)?;
        if received.bytes == 0 {
            return Ok(());
        }
        let Ok(Message::Open { path }) = Message::decode(&bytes[..received.bytes]) else {
            return Err(Errno(libc::EBADMSG));
        };
        match open(job, path) {
            Ok((file, size, mode)) => {
                let opened = Message::Opened {
                    errno: 0,
                    size,
                    mode,
                };
                socket::send(SOCKET, &opened.encode(), &[file.as_fd()], 0)?;
            }
            Err(errno) => send(&Message::Opened {
                errno: errno.0.cast_unsigned(),
                size: 0,
                mode: 0,
            })?,
        }
    }
}

/// Opens a regular file; anything else is an error and is not handed over.
fn open(job: BorrowedFd<'_>, path: Vec<u8>) -> Result<(OwnedFd, u64, u32), Errno> {
    let path = CString::new(path).map_err(|_| Errno(libc::EINVAL))?;
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = if off(Guard::Links) {
        file::open_at(job, &path, libc::O_RDONLY | libc::O_NONBLOCK, 0)?
    } else {
        file::open_beneath(job, &path, flags, 0)?
    };
    let status = file::status(file.as_fd())?;
    match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => Ok((file, status.st_size.cast_unsigned(), status.st_mode)),
        libc::S_IFDIR => Err(Errno(libc::EISDIR)),
        _ => Err(Errno(libc::EINVAL)),
    }
}
