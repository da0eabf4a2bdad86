//! Making, ending and becoming processes.

use super::{Errno, check, done};
use std::ffi::CStr;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// What [`clone`] returns in.
pub(crate) enum Cloned {
    Child,
    Parent { pid: libc::pid_t, pidfd: OwnedFd },
}

/// Clones this process. The pidfd is for the parent; `cgroup` is a leaf's directory (cgroup v2).
///
/// Nothing of libc is told: sound because there is one thread, and because a child only makes
/// system calls and uses the memory it has.
pub(crate) fn clone(flags: libc::c_int, cgroup: Option<BorrowedFd<'_>>) -> Result<Cloned, Errno> {
    let mut pidfd: RawFd = -1;
    // SAFETY: all zeroes is a valid `clone_args`.
    let mut args: libc::clone_args = unsafe { zeroed() };
    args.flags = u64::from((flags | libc::CLONE_PIDFD).cast_unsigned());
    args.pidfd = &raw mut pidfd as u64;
    // With CLONE_PARENT the signal is that of the caller's own parent.
    if flags & libc::CLONE_PARENT == 0 {
        args.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    }
    if let Some(leaf) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = u64::from(leaf.as_raw_fd().cast_unsigned());
    }
    // SAFETY: `args` is valid with its size, and asks for a copy of the address space, so parent
    // and child both go on from here with a stack of their own.
    let pid = check(unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw mut args,
            size_of::<libc::clone_args>(),
        )
    })?;
    if pid == 0 {
        return Ok(Cloned::Child);
    }
    Ok(Cloned::Parent {
        pid: libc::pid_t::try_from(pid).map_err(|_| Errno(libc::ESRCH))?,
        // SAFETY: the kernel has stored a new descriptor that is ours alone.
        pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) },
    })
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Moves this process into new namespaces.
pub(crate) fn unshare(flags: libc::c_int) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    done(unsafe { libc::unshare(flags) })
}

/// Ends this process at once.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: takes a number only and does not return.
    unsafe { libc::_exit(code) }
}

/// Kills the process behind a pidfd; that it has ended already is no error.
pub(crate) fn kill(pidfd: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: takes numbers and a null pointer, which means no further information.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    match done(result) {
        Err(Errno(libc::ESRCH)) => Ok(()),
        other => other,
    }
}

/// An ended child and its wait status. Without `wait` it may be that none has ended yet.
pub(crate) fn reap(wait: bool) -> Result<Option<(libc::pid_t, u32)>, Errno> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        let pid = unsafe {
            libc::waitpid(
                -1,
                &raw mut status,
                libc::__WALL | if wait { 0 } else { libc::WNOHANG },
            )
        };
        match check(pid.into()) {
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some((pid, status.cast_unsigned()))),
        }
    }
}

/// Sets every signal to its default action and blocks none.
pub(crate) fn clear_signals() -> Result<(), Errno> {
    // The kernel's own layout: handler, flags, restorer, mask. libc's call would leave out two.
    let default = [0u64; 4];
    let none = 0u64;
    let size = size_of::<u64>();
    for signal in (1..=64).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
        // SAFETY: the call reads one action; the handlers that are replaced are nobody's, as this
        // program installs none.
        done(unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                ptr::null_mut::<u64>(),
                size,
            )
        })?;
    }
    // SAFETY: the call reads one mask.
    done(unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            ptr::null_mut::<u64>(),
            size,
        )
    })
}

/// Makes a session and a process group of this process's own.
pub(crate) fn new_session() -> Result<(), Errno> {
    // SAFETY: takes nothing.
    done(unsafe { libc::setsid() })
}

/// Sets the mask of modes for new files.
pub(crate) fn set_umask(mask: libc::mode_t) {
    // SAFETY: takes a number only and cannot fail.
    unsafe { libc::umask(mask) };
}

/// Sets the host name of this UTS namespace.
pub(crate) fn set_host_name(name: &CStr) -> Result<(), Errno> {
    // SAFETY: `name` is valid with its length.
    done(unsafe { libc::sethostname(name.as_ptr(), name.count_bytes()) })
}

/// Binds this process to the CPUs of the mask.
pub(crate) fn set_affinity(mask: u64) -> Result<(), Errno> {
    // SAFETY: the mask is valid with its size.
    done(unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            0,
            size_of::<u64>(),
            &raw const mask,
        )
    })
}

/// The kernel's words for an error.
pub(crate) fn reason(errno: Errno) -> &'static CStr {
    // SAFETY: `strerror` gives a NUL-ended string; this process has one thread and asks once.
    unsafe { CStr::from_ptr(libc::strerror(errno.0)) }
}
