//! Which system calls the keeper's own code makes: what a filter must leave it.
//!
//! The keeper installs its own filter first, and everything it forks inherits it; the waiter and
//! the stager work under a second one as well, once it is on: the job's, and one of [`STAGER`]
//! alone. So the keeper's filter allows [`UNLOCKED`], [`LOCKED`], [`STAGER`] and whatever jobs need;
//! the job's filter allows [`LOCKED`]. Neither may notify any of them.

use libc::c_long;

/// Calls made before the job's filter is on, or by processes that never have it: the keeper, the
/// cell's init, the waiter and the stager while they lock themselves, the collector.
pub const UNLOCKED: &[c_long] = &[
    libc::SYS_capset,
    libc::SYS_chdir,
    libc::SYS_clock_gettime,
    libc::SYS_clone3,
    libc::SYS_dup2,
    libc::SYS_eventfd2,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_getdents64,
    libc::SYS_geteuid,
    libc::SYS_ioctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_openat,
    libc::SYS_pidfd_send_signal,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_read,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sched_setaffinity,
    libc::SYS_seccomp,
    libc::SYS_setgroups,
    libc::SYS_sethostname,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setsid,
    libc::SYS_shutdown,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_umask,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_wait4,
];

/// Calls made under the job's filter as well, by the waiter (the last is its `execve`).
pub const LOCKED: &[c_long] = &[
    libc::SYS_bind,
    libc::SYS_brk,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup2,
    libc::SYS_execve,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_getrandom,
    libc::SYS_listen,
    libc::SYS_mmap,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_newfstatat,
    libc::SYS_pread64,
    libc::SYS_prlimit64,
    libc::SYS_recvmsg,
    libc::SYS_sched_setaffinity,
    libc::SYS_sendmsg,
    libc::SYS_socket,
    libc::SYS_write,
];

/// Calls of a stager that serves, in the order of their numbers: any other ends it.
///
/// Half of them are the allocator's; `fcntl` is made where the standard library looks at each
/// descriptor that is closed.
pub const STAGER: [c_long; 19] = [
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_brk,
    libc::SYS_pread64,
    libc::SYS_mremap,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_fcntl,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_exit_group,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_unlinkat,
    libc::SYS_getrandom,
    libc::SYS_openat2,
];
