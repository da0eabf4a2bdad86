//! Waiting for descriptors and the clock.

use super::{Errno, check};

/// By a system call: the kernel's page of code for it is unmapped, see `sys::memory`.
fn clock(which: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing; the clocks asked for always exist.
    unsafe { libc::syscall(libc::SYS_clock_gettime, which, &raw mut time) };
    time
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn now() -> u64 {
    let time = clock(libc::CLOCK_MONOTONIC);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// When the machine was booted, in seconds since 1970.
pub(crate) fn booted_at_seconds() -> u64 {
    let since = clock(libc::CLOCK_REALTIME).tv_sec - clock(libc::CLOCK_BOOTTIME).tv_sec;
    u64::try_from(since).unwrap_or(0)
}

/// Waits until one of `fds` is ready or `wait_ns` have passed; `None` waits for ever.
pub(crate) fn poll(fds: &mut [libc::pollfd], wait_ns: Option<u64>) -> Result<(), Errno> {
    let wait = wait_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    });
    let wait = wait.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `fds` is valid with its length; `wait` is null or valid; no signal mask is given.
    let ready = unsafe {
        libc::ppoll(
            fds.as_mut_ptr(),
            fds.len() as libc::nfds_t,
            wait,
            std::ptr::null(),
        )
    };
    match check(ready.into()) {
        Ok(_) => Ok(()),
        Err(Errno(libc::EINTR)) => {
            for fd in fds {
                fd.revents = 0;
            }
            Ok(())
        }
        Err(errno) => Err(errno),
    }
}
