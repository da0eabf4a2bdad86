//! Making, moving and changing mounts.

use super::{Errno, descriptor, done};
use std::ffi::{CStr, c_char};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

pub(crate) const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
pub(crate) const NODEV: u64 = libc::MOUNT_ATTR_NODEV;
pub(crate) const NOEXEC: u64 = libc::MOUNT_ATTR_NOEXEC;
pub(crate) const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;

const EMPTY: &CStr = c"";

/// A file system being configured.
pub(crate) struct Configuration(OwnedFd);

impl Configuration {
    /// Starts a new file system of a type.
    pub(crate) fn new(kind: &CStr) -> Result<Self, Errno> {
        // SAFETY: `kind` is NUL-ended.
        descriptor(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), libc::FSOPEN_CLOEXEC) })
            .map(Self)
    }

    /// Starts to change the file system whose root this is.
    pub(crate) fn of(root: BorrowedFd<'_>) -> Result<Self, Errno> {
        // SAFETY: the path is NUL-ended.
        descriptor(unsafe {
            libc::syscall(
                libc::SYS_fspick,
                root.as_raw_fd(),
                EMPTY.as_ptr(),
                libc::FSPICK_CLOEXEC | libc::FSPICK_EMPTY_PATH,
            )
        })
        .map(Self)
    }

    fn command(
        &self,
        command: libc::fsconfig_command,
        key: Option<&CStr>,
        value: Option<&CStr>,
    ) -> Result<(), Errno> {
        let pointer = |text: Option<&CStr>| text.map_or(ptr::null::<c_char>(), CStr::as_ptr);
        // SAFETY: key and value are null or NUL-ended, as the command wants them.
        done(unsafe {
            libc::syscall(
                libc::SYS_fsconfig,
                self.0.as_raw_fd(),
                command,
                pointer(key),
                pointer(value),
                0,
            )
        })
    }

    pub(crate) fn set(&self, key: &CStr, value: &CStr) -> Result<(), Errno> {
        self.command(libc::FSCONFIG_SET_STRING, Some(key), Some(value))
    }

    /// Sets a number, written in decimal.
    pub(crate) fn set_number(&self, key: &CStr, value: u64) -> Result<(), Errno> {
        let mut digits = [0; 21];
        self.set(key, decimal(value, &mut digits))
    }

    pub(crate) fn reconfigure(&self) -> Result<(), Errno> {
        self.command(libc::FSCONFIG_CMD_RECONFIGURE, None, None)
    }

    /// Makes the file system, and a mount of it that is in no tree yet.
    pub(crate) fn create(&self, attributes: u64) -> Result<OwnedFd, Errno> {
        self.command(libc::FSCONFIG_CMD_CREATE, None, None)?;
        // SAFETY: takes numbers only.
        descriptor(unsafe {
            libc::syscall(
                libc::SYS_fsmount,
                self.0.as_raw_fd(),
                libc::FSMOUNT_CLOEXEC,
                attributes,
            )
        })
    }
}

/// Writes a number in decimal, with its NUL byte.
fn decimal(mut value: u64, digits: &mut [u8; 21]) -> &CStr {
    let mut at = digits.len() - 1;
    digits[at] = 0;
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    CStr::from_bytes_until_nul(&digits[at..]).unwrap_or_default()
}

/// A copy of the mount at a path (that one mount, nothing below it), in no tree yet.
pub(crate) fn copy(path: &CStr) -> Result<OwnedFd, Errno> {
    // SAFETY: `path` is NUL-ended.
    descriptor(unsafe {
        libc::syscall(
            libc::SYS_open_tree,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC,
        )
    })
}

/// Puts a mount that is in no tree at a path.
pub(crate) fn attach(mount: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths are NUL-ended.
    done(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            EMPTY.as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::MOVE_MOUNT_F_EMPTY_PATH,
        )
    })
}

/// Binds one file or directory to another, with the flags of the mount it comes from.
pub(crate) fn bind(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths are NUL-ended; type and data may be null for a bind.
    done(unsafe {
        libc::mount(
            from.as_ptr(),
            to.as_ptr(),
            ptr::null(),
            libc::MS_BIND,
            ptr::null(),
        )
    })
}

/// Sets and clears attributes of one mount.
pub(crate) fn change(mount: BorrowedFd<'_>, set: u64, clear: u64) -> Result<(), Errno> {
    // SAFETY: all zeroes is a valid `mount_attr`.
    let mut attributes: libc::mount_attr = unsafe { zeroed() };
    attributes.attr_set = set;
    attributes.attr_clr = clear;
    // SAFETY: the path is NUL-ended; `attributes` is valid with its size.
    done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            EMPTY.as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    })
}

/// Takes every mount of this namespace out of its peer groups.
pub(crate) fn make_all_private() -> Result<(), Errno> {
    // SAFETY: the path is NUL-ended; the rest may be null for a change of propagation.
    done(unsafe {
        libc::mount(
            ptr::null(),
            c"/".as_ptr(),
            ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            ptr::null(),
        )
    })
}

/// Takes the topmost mount at a path out of the tree.
pub(crate) fn detach(path: &CStr) -> Result<(), Errno> {
    // SAFETY: `path` is NUL-ended.
    done(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        for (value, text) in [
            (0, c"0"),
            (40_960, c"40960"),
            (u64::MAX, c"18446744073709551615"),
        ] {
            assert_eq!(decimal(value, &mut [0; 21]), text);
        }
    }
}
