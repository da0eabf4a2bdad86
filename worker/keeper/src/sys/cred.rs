//! Who a process is and what it may: ids, capabilities, limits, filter.

use super::{Errno, check, descriptor, done};
use std::ffi::CStr;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

/// A set of capabilities, as a mask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities(pub(crate) u32);

impl Capabilities {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const CHOWN: Self = Self(1 << 0);
    pub(crate) const DAC_OVERRIDE: Self = Self(1 << 1);
    pub(crate) const DAC_READ_SEARCH: Self = Self(1 << 2);
    pub(crate) const FOWNER: Self = Self(1 << 3);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn prctl(option: libc::c_int, value: libc::c_ulong) -> Result<(), Errno> {
    let none: libc::c_ulong = 0;
    // SAFETY: only for options whose arguments are numbers, or one pointer that the caller has
    // from a live reference.
    done(unsafe { libc::prctl(option, value, none, none, none) })
}

/// Nobody without `CAP_SYS_PTRACE` may look into this process.
pub(crate) fn hide() -> Result<(), Errno> {
    prctl(libc::PR_SET_DUMPABLE, 0)
}

/// The name in `/proc/<pid>/comm`.
pub(crate) fn set_name(name: &CStr) -> Result<(), Errno> {
    prctl(libc::PR_SET_NAME, name.as_ptr() as libc::c_ulong)
}

pub(crate) fn no_new_privileges() -> Result<(), Errno> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Keeps the permitted capabilities over the next change of uid.
pub(crate) fn keep_capabilities() -> Result<(), Errno> {
    prctl(libc::PR_SET_KEEPCAPS, 1)
}

/// Drops the capabilities of a mask from the bounding set, as far as the kernel knows them.
pub(crate) fn drop_bounding_set(held: u64) -> Result<(), Errno> {
    for capability in (0..64).filter(|capability| held >> capability & 1 == 1) {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(()) => {}
            // The first number that the kernel does not know.
            Err(Errno(libc::EINVAL)) if capability > 37 => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Sets the effective and permitted capabilities, and leaves none to be inherited.
pub(crate) fn set_capabilities(set: Capabilities) -> Result<(), Errno> {
    let header = Header {
        version: 0x2008_0522,
        pid: 0,
    };
    let low = Sets {
        effective: set.0,
        permitted: set.0,
        inheritable: 0,
    };
    let high = Sets {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    };
    let sets = [low, high];
    // SAFETY: version 3 of the call reads one header and two sets.
    done(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) })
}

/// Leaves every group but `id`, and becomes user and group `id`: real, effective and saved.
pub(crate) fn become_id(id: u32) -> Result<(), Errno> {
    // SAFETY: no list is read where its length is 0; the others take numbers only. The raw calls
    // concern this one thread, which is the only one.
    unsafe {
        done(libc::syscall(
            libc::SYS_setgroups,
            0,
            ptr::null::<libc::gid_t>(),
        ))?;
        done(libc::syscall(libc::SYS_setresgid, id, id, id))?;
        done(libc::syscall(libc::SYS_setresuid, id, id, id))
    }
}

/// Does something with another effective uid: without `CAP_KILL`, only a process's own uid may
/// kill it. The uid and the capabilities are then as they were, or this is an error.
pub(crate) fn as_user(id: u32, action: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    const SAME: u32 = u32::MAX;
    let set_effective = |id: u32| {
        // SAFETY: takes numbers only.
        done(unsafe { libc::syscall(libc::SYS_setresuid, SAME, id, SAME) })
    };
    // SAFETY: takes nothing and cannot fail.
    let own = unsafe { libc::geteuid() };
    set_effective(id)?;
    let done = action();
    set_effective(own)?;
    // A change of ids may have undone it.
    hide()?;
    done
}

/// Sets a limit, soft and hard.
pub(crate) fn set_limit(resource: libc::__rlimit_resource_t, limit: u64) -> Result<(), Errno> {
    set_limits(resource, limit, limit)
}

/// Sets the soft and the hard limit.
pub(crate) fn set_limits(
    resource: libc::__rlimit_resource_t,
    soft: u64,
    hard: u64,
) -> Result<(), Errno> {
    let limit = libc::rlimit64 {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: the call reads one `rlimit64`; the old limit is not asked for.
    done(unsafe { libc::prlimit64(0, resource, &raw const limit, ptr::null_mut()) })
}

/// The limit as it is: soft, hard.
fn limit(resource: libc::__rlimit_resource_t) -> Result<libc::rlimit64, Errno> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call writes one `rlimit64`.
    done(unsafe { libc::prlimit64(0, resource, ptr::null(), &raw mut limit) })?;
    Ok(limit)
}

/// Lowers the hard limit to the soft one: it stays what it is now.
pub(crate) fn fix_limit(resource: libc::__rlimit_resource_t) -> Result<(), Errno> {
    set_limit(resource, limit(resource)?.rlim_cur)
}

/// Lowers a limit, soft and hard, to `most` or to what it is already.
pub(crate) fn lower_limit(resource: libc::__rlimit_resource_t, most: u64) -> Result<(), Errno> {
    set_limit(resource, most.min(limit(resource)?.rlim_max))
}

/// Raises the soft limit to the lesser of `wanted` and the hard limit.
pub(crate) fn raise_soft_limit(
    resource: libc::__rlimit_resource_t,
    wanted: u64,
) -> Result<(), Errno> {
    let mut limit = limit(resource)?;
    let soft = wanted.min(limit.rlim_max);
    if limit.rlim_cur == soft {
        return Ok(());
    }
    limit.rlim_cur = soft;
    // SAFETY: the call reads one `rlimit64`.
    done(unsafe { libc::prlimit64(0, resource, &raw const limit, ptr::null_mut()) })
}

/// Puts this process under a filter of the program's own.
pub(crate) fn install_program(instructions: &[libc::sock_filter]) -> Result<(), Errno> {
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).map_err(|_| Errno(libc::EINVAL))?,
        filter: instructions.as_ptr().cast_mut(),
    };
    // SAFETY: `program` points at `instructions`.
    done(unsafe { set_filter(&program, false) })
}

/// # Safety
///
/// `program` must point at as many instructions as it says; they are only read.
unsafe fn set_filter(program: &libc::sock_fprog, listen: bool) -> libc::c_long {
    let flags = if listen {
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
    } else {
        0
    };
    // SAFETY: the caller's, and `program` outlives the call.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            ptr::from_ref(program),
        )
    }
}

/// Installs the filter of a memfd (`kiln_keeper::spec::Filter`), with a listener or without.
///
/// The instructions are mapped, not copied, so that no memory is touched for them.
pub(crate) fn install_filter(
    memfd: BorrowedFd<'_>,
    instructions: u32,
    bytes: usize,
    listen: bool,
) -> Result<Option<OwnedFd>, Errno> {
    let length = u16::try_from(instructions).map_err(|_| Errno(libc::EINVAL))?;
    if length == 0 || bytes < 8 + usize::from(length) * size_of::<libc::sock_filter>() {
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: a new private mapping of a sealed memfd.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            memfd.as_raw_fd(),
            0,
        )
    };
    check(memory as libc::c_long)?;
    let program = libc::sock_fprog {
        len: length,
        // SAFETY: the mapping holds at least 8 bytes more than the instructions.
        filter: unsafe { memory.byte_add(8) }.cast(),
    };
    // SAFETY: the mapping holds the `length` instructions that `program` points at: checked above.
    let result = unsafe { set_filter(&program, listen) };
    let listener = if listen {
        descriptor(result).map(Some)
    } else {
        done(result).map(|()| None)
    };
    // SAFETY: the mapping is ours, with this size, and nothing points at it any more.
    let unmapped = done(unsafe { libc::munmap(memory, bytes) });
    let listener = listener?;
    unmapped?;
    Ok(listener)
}
