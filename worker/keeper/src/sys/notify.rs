//! Receiving and answering the notifications of a system call filter.

use super::{Errno, done};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A call that waits for an answer.
pub(crate) struct Notification {
    id: u64,
    pub(crate) number: u32,
}

/// The next notification; `None` where its process has died meanwhile.
pub(crate) fn next(listener: BorrowedFd<'_>) -> Result<Option<Notification>, Errno> {
    // SAFETY: all zeroes is a valid `seccomp_notif`, and what the kernel asks for.
    let mut got: libc::seccomp_notif = unsafe { zeroed() };
    // SAFETY: the request writes one `seccomp_notif`.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut got,
        )
    };
    match done(result) {
        Ok(()) => Ok(Some(Notification {
            id: got.id,
            number: got.data.nr.cast_unsigned(),
        })),
        Err(Errno(libc::ENOENT | libc::EINTR)) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Lets the call fail with `EPERM`. That its process has died meanwhile is no error.
pub(crate) fn refuse(listener: BorrowedFd<'_>, notification: &Notification) -> Result<(), Errno> {
    let answer = libc::seccomp_notif_resp {
        id: notification.id,
        val: 0,
        error: -libc::EPERM,
        flags: 0,
    };
    // SAFETY: the request reads one `seccomp_notif_resp`.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw const answer,
        )
    };
    match done(result) {
        Err(Errno(libc::ENOENT)) => Ok(()),
        other => other,
    }
}
