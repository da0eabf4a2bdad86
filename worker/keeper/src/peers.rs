//! The keeper's two sockets: a message from the warden or the worker, a word to them, and when the
//! keeper must end.

use crate::report::Failure;
use crate::sys::Errno;
use crate::sys::file::standard;
use crate::sys::socket::{self, Received};
use kiln_keeper::wire::{self, BYTES, Malformed, ToWarden};
use std::os::fd::BorrowedFd;

pub(crate) const WARDEN: BorrowedFd<'static> = standard(0);

/// Why the keeper ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The warden or the worker is gone.
    Gone,
    /// A message that may not be sent.
    Violation,
    /// A step failed; the warden has been told where there was a way to.
    Failed,
}

impl From<Malformed> for Stop {
    fn from(_: Malformed) -> Self {
        Self::Violation
    }
}

impl From<Errno> for Stop {
    fn from(_: Errno) -> Self {
        Self::Failed
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        let word = ToWarden::Failed {
            step: failure.step as u32,
            errno: failure.errno.0.cast_unsigned(),
        };
        match tell_warden(word, &[]) {
            Ok(()) => Self::Failed,
            Err(stop) => stop,
        }
    }
}

/// The next message, if one is there.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    flags: libc::c_int,
) -> Result<Option<(wire::Words, Received)>, Stop> {
    let mut bytes = [0; BYTES + 1];
    let received = match socket::receive(socket, &mut bytes, flags) {
        Ok(received) if received.bytes == 0 => return Err(Stop::Gone),
        Ok(received) => received,
        Err(Errno(libc::EAGAIN)) => return Ok(None),
        Err(Errno(libc::ECONNRESET)) => return Err(Stop::Gone),
        Err(_) => return Err(Stop::Violation),
    };
    Ok(Some((
        wire::from_bytes(&bytes[..received.bytes])?,
        received,
    )))
}

/// A peer that does not read its few messages is as good as gone.
pub(crate) fn tell(
    socket: BorrowedFd<'_>,
    words: &wire::Words,
    fds: &[BorrowedFd<'_>],
) -> Result<(), Stop> {
    socket::send(socket, &wire::to_bytes(words), fds, libc::MSG_DONTWAIT).map_err(|_| Stop::Gone)
}

pub(crate) fn tell_warden(message: ToWarden, fds: &[BorrowedFd<'_>]) -> Result<(), Stop> {
    tell(WARDEN, &message.encode(), fds)
}
