//! Every call into the kernel: the only place of the keeper that says `unsafe`.
//!
//! A function here takes and gives owned or borrowed descriptors, turns `-1` into an [`Errno`], and
//! does nothing else. The process has one thread, so no call can race another.

#![expect(
    unsafe_code,
    reason = "raw system calls; each block states why it is sound"
)]

pub(crate) mod cred;
pub(crate) mod file;
pub(crate) mod memory;
pub(crate) mod mount;
pub(crate) mod notify;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod socket;

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// An error number of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    /// The number of the last call that failed.
    fn last() -> Self {
        // SAFETY: the pointer is to this thread's `errno` and always valid.
        Self(unsafe { *libc::__errno_location() })
    }
}

/// `-1` is an error, anything else a result.
fn check(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result == -1 {
        Err(Errno::last())
    } else {
        Ok(result)
    }
}

/// As [`check`], for calls whose result is 0.
fn done(result: impl Into<libc::c_long>) -> Result<(), Errno> {
    check(result.into()).map(drop)
}

/// As [`check`], for calls that make a descriptor.
fn descriptor(result: impl Into<libc::c_long>) -> Result<OwnedFd, Errno> {
    let number = check(result.into())?;
    let number = RawFd::try_from(number).map_err(|_| Errno(libc::EBADF))?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns the number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// As [`check`], for calls that count bytes.
fn count(result: impl TryInto<usize>) -> Result<usize, Errno> {
    result.try_into().map_err(|_| Errno::last())
}
