//! What the processes of a cell tell the keeper.

use crate::sys::Errno;
use crate::sys::file::standard;
use crate::sys::process::exit;
use crate::sys::socket::{self, Received};
use kiln_keeper::step::Step;
use std::os::fd::BorrowedFd;

/// A step that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) errno: Errno,
}

/// Names the step of a call that may fail.
pub(crate) trait At<T> {
    fn at(self, step: Step) -> Result<T, Failure>;
}

impl<T> At<T> for Result<T, Errno> {
    fn at(self, step: Step) -> Result<T, Failure> {
        self.map_err(|errno| Failure { step, errno })
    }
}

/// A message to the keeper: four words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report {
    /// From the cell's init. Descriptors: the tmpfs' root, the cell's mount namespace.
    Scratch,
    /// From the waiter. Descriptor: the filter's listener.
    Listener,
    /// From the waiter: it is locked and waits.
    WaiterReady,
    /// From the stager: it is locked and waits.
    StagerReady,
    /// From the cell's init, with the wait status.
    StagerEnded(u32),
    /// From the cell's init, with the wait status and when it saw it.
    MainEnded { status: u32, at: u64 },
    /// From any of them.
    Failed { step: u32, errno: u32 },
}

const BYTES: usize = 16;

impl Report {
    pub(crate) fn send(self, socket: BorrowedFd<'_>, fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let words = match self {
            Self::Scratch => [1, 0, 0, 0],
            Self::Listener => [2, 0, 0, 0],
            Self::WaiterReady => [3, 0, 0, 0],
            Self::StagerReady => [4, 0, 0, 0],
            Self::StagerEnded(status) => [5, status, 0, 0],
            Self::MainEnded { status, at } => [6, status, low(at), low(at >> 32)],
            Self::Failed { step, errno } => [7, step, errno, 0],
        };
        let mut bytes = [0; BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        socket::send(socket, &bytes, fds, 0)
    }

    /// The next report, if one is there; the descriptors stay in `Received`.
    pub(crate) fn receive(socket: BorrowedFd<'_>) -> Result<Option<(Self, Received)>, Errno> {
        let mut bytes = [0; BYTES];
        let received = match socket::receive(socket, &mut bytes, libc::MSG_DONTWAIT) {
            Ok(received) if received.bytes == 0 => return Ok(None),
            Ok(received) if received.bytes == BYTES => received,
            Ok(_) => return Err(Errno(libc::EBADMSG)),
            Err(Errno(libc::EAGAIN | libc::ECONNRESET)) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (report, fds) = match word(0) {
            1 => (Self::Scratch, 2),
            2 => (Self::Listener, 1),
            3 => (Self::WaiterReady, 0),
            4 => (Self::StagerReady, 0),
            5 => (Self::StagerEnded(word(4)), 0),
            6 => (
                Self::MainEnded {
                    status: word(4),
                    at: u64::from(word(8)) | u64::from(word(12)) << 32,
                },
                0,
            ),
            7 => (
                Self::Failed {
                    step: word(4),
                    errno: word(8),
                },
                0,
            ),
            _ => return Err(Errno(libc::EBADMSG)),
        };
        if received.count == fds {
            Ok(Some((report, received)))
        } else {
            Err(Errno(libc::EBADMSG))
        }
    }
}

/// The low half of a word.
fn low(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0)
}

/// Tells the keeper what failed and ends this process.
pub(crate) fn give_up(socket: BorrowedFd<'_>, failure: Failure) -> ! {
    let report = Report::Failed {
        step: failure.step as u32,
        errno: failure.errno.0.cast_unsigned(),
    };
    // That the keeper cannot be told either shows in the code: it sees the process end.
    exit(if report.send(socket, &[]).is_ok() {
        1
    } else {
        2
    })
}

/// The descriptor that is `/dev/null` in every process of a cell before the job.
pub(crate) const NULL: BorrowedFd<'static> = standard(1);
