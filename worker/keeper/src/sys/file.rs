//! Reading, writing and walking files by descriptor.

use super::{Errno, count, descriptor, done};
use std::ffi::CStr;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Opens relative to a directory with ordinary rules: for paths of our own only.
pub(crate) fn open_at(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: libc::c_int,
    mode: libc::mode_t,
) -> Result<OwnedFd, Errno> {
    // SAFETY: `path` is NUL-ended.
    descriptor(unsafe {
        libc::openat(
            directory.as_raw_fd(),
            path.as_ptr(),
            flags | libc::O_CLOEXEC,
            mode,
        )
    })
}

/// Opens an absolute path of our own.
pub(crate) fn open(path: &CStr, flags: libc::c_int) -> Result<OwnedFd, Errno> {
    // SAFETY: `path` is NUL-ended.
    descriptor(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

/// Opens a folder and leaves it open, over an exec too.
#[cfg(feature = "unguarded")]
pub(crate) fn leave(path: &CStr) -> Result<(), Errno> {
    // SAFETY: `path` is NUL-ended; nobody closes the descriptor, which is what is asked for.
    super::check(libc::c_long::from(unsafe {
        libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY)
    }))
    .map(drop)
}

/// Opens beneath a directory and follows no link of any kind.
pub(crate) fn open_beneath(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: libc::c_int,
    mode: u32,
) -> Result<OwnedFd, Errno> {
    // SAFETY: all zeroes is a valid `open_how`.
    let mut how: libc::open_how = unsafe { zeroed() };
    how.flags = u64::from((flags | libc::O_CLOEXEC).cast_unsigned());
    how.mode = mode.into();
    how.resolve = libc::RESOLVE_BENEATH
        | libc::RESOLVE_NO_SYMLINKS
        | libc::RESOLVE_NO_MAGICLINKS
        | libc::RESOLVE_NO_XDEV;
    loop {
        // SAFETY: `path` is NUL-ended; `how` is valid with its size.
        let result = unsafe {
            libc::syscall(
                libc::SYS_openat2,
                directory.as_raw_fd(),
                path.as_ptr(),
                &raw const how,
                size_of::<libc::open_how>(),
            )
        };
        match descriptor(result) {
            // The kernel could not be sure of a `..` in a race with a rename.
            Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
            other => return other,
        }
    }
}

pub(crate) fn make_directory_at(
    directory: BorrowedFd<'_>,
    path: &CStr,
    mode: libc::mode_t,
) -> Result<(), Errno> {
    // SAFETY: `path` is NUL-ended.
    done(unsafe { libc::mkdirat(directory.as_raw_fd(), path.as_ptr(), mode) })
}

pub(crate) fn unlink_at(directory: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    // SAFETY: `path` is NUL-ended.
    done(unsafe { libc::unlinkat(directory.as_raw_fd(), path.as_ptr(), 0) })
}

pub(crate) fn set_mode(file: BorrowedFd<'_>, mode: libc::mode_t) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    done(unsafe { libc::fchmod(file.as_raw_fd(), mode) })
}

pub(crate) fn set_owner(file: BorrowedFd<'_>, id: u32) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    done(unsafe { libc::fchown(file.as_raw_fd(), id, id) })
}

pub(crate) fn status(file: BorrowedFd<'_>) -> Result<libc::stat64, Errno> {
    // SAFETY: all zeroes is a valid `stat64`, which the call overwrites.
    let mut status: libc::stat64 = unsafe { zeroed() };
    // SAFETY: `status` is valid for writing.
    done(unsafe { libc::fstat64(file.as_raw_fd(), &raw mut status) })?;
    Ok(status)
}

/// The status of an entry of a directory, itself and not what it links to.
pub(crate) fn status_at(directory: BorrowedFd<'_>, name: &CStr) -> Result<libc::stat64, Errno> {
    // SAFETY: all zeroes is a valid `stat64`, which the call overwrites.
    let mut status: libc::stat64 = unsafe { zeroed() };
    // SAFETY: `name` is NUL-ended, `status` is valid for writing.
    done(unsafe {
        libc::fstatat64(
            directory.as_raw_fd(),
            name.as_ptr(),
            &raw mut status,
            libc::AT_SYMLINK_NOFOLLOW,
        )
    })?;
    Ok(status)
}

/// Seconds and nanoseconds as nanoseconds.
pub(crate) fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    u64::try_from(seconds)
        .unwrap_or(0)
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(nanoseconds).unwrap_or(0))
}

pub(crate) fn read(file: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: `bytes` is valid for writing with its length.
    count(unsafe { libc::read(file.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) })
}

pub(crate) fn read_at(file: BorrowedFd<'_>, bytes: &mut [u8], at: u64) -> Result<usize, Errno> {
    // SAFETY: `bytes` is valid for writing with its length.
    count(unsafe {
        libc::pread64(
            file.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            at.cast_signed(),
        )
    })
}

/// Fills `bytes`, or fails with `EINVAL` where the file is shorter.
pub(crate) fn read_exactly_at(
    file: BorrowedFd<'_>,
    mut bytes: &mut [u8],
    mut at: u64,
) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match read_at(file, bytes, at) {
            Ok(0) => return Err(Errno(libc::EINVAL)),
            Ok(n) => {
                bytes = &mut bytes[n..];
                at += n as u64;
            }
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

pub(crate) fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        // SAFETY: `bytes` is valid with its length.
        let written = unsafe { libc::write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        match count(written) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// The next entries of a directory, as the kernel lays them out; 0 bytes are the end.
pub(crate) fn list(directory: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: `bytes` is valid for writing with its length.
    count(unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            directory.as_raw_fd(),
            bytes.as_mut_ptr(),
            bytes.len(),
        )
    })
}

/// Makes `number` a copy of `file`, kept over an exec.
pub(crate) fn place(file: BorrowedFd<'_>, number: libc::c_int) -> Result<(), Errno> {
    // SAFETY: takes numbers only; whoever owned `number` before has given it up: callers replace
    // only the standard descriptors, or run in a child that closes all others next.
    done(unsafe { libc::dup2(file.as_raw_fd(), number) })
}

/// Closes every descriptor from `first` on.
///
/// Owners of such descriptors must not be dropped after this: it is for children that end in
/// `exit` or `execute`.
pub(crate) fn close_from(first: libc::c_uint) -> Result<(), Errno> {
    // SAFETY: takes numbers only; see above.
    done(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) })
}

/// Closes every descriptor but the standard ones and those in `keep` (as [`close_from`] does).
pub(crate) fn keep_only(keep: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    const KEEP_MAX: usize = 32;
    let mut numbers = [libc::c_uint::MAX; KEEP_MAX];
    let kept = numbers.get_mut(..keep.len()).ok_or(Errno(libc::EINVAL))?;
    for (number, file) in kept.iter_mut().zip(keep) {
        *number = file.as_raw_fd().cast_unsigned();
    }
    kept.sort_unstable();
    let mut first = 3;
    for &number in &*kept {
        if first < number {
            // SAFETY: takes numbers only; see `close_from`.
            done(unsafe { libc::syscall(libc::SYS_close_range, first, number - 1, 0) })?;
        }
        first = first.max(number + 1);
    }
    close_from(first)
}

/// Closes what `file` borrows, in a child that will never drop its owner.
pub(crate) fn close(file: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: takes a number only; see above.
    done(unsafe { libc::close(file.as_raw_fd()) })
}

/// A counter that one process waits on and another adds to.
pub(crate) fn event() -> Result<OwnedFd, Errno> {
    // SAFETY: takes numbers only.
    descriptor(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })
}

/// A standard descriptor.
pub(crate) const fn standard(number: libc::c_int) -> BorrowedFd<'static> {
    // SAFETY: the standard descriptors are open in every process of this program from its start
    // to its end: they are replaced, never closed.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Changes the working directory.
pub(crate) fn change_directory(path: &CStr) -> Result<(), Errno> {
    // SAFETY: `path` is NUL-ended.
    done(unsafe { libc::chdir(path.as_ptr()) })
}
