//! What may no job do, and how loudly is it told?

use super::policy::{Line, fatal, noted, quiet};
use libc::{ENOSYS, EPERM};

/// Libraries ask for these and go on without; the answer leaves no trace.
pub(super) const QUIET: &[Line] = &[
    quiet(
        ENOSYS,
        "clone3",
        "its flags are behind a pointer, where no filter can see; libc falls back to clone",
    ),
    quiet(
        ENOSYS,
        "io_uring_setup io_uring_enter io_uring_register",
        "its operations pass by the filter; libuv and others fall back to epoll",
    ),
    quiet(
        ENOSYS,
        "io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents",
        "the machine has one count of its requests (`fs.aio-max-nr`), which one job could take; \
         libaio's users fall back to threads",
    ),
    quiet(
        ENOSYS,
        "memfd_secret process_madvise cachestat statmount listmount listns lsm_get_self_attr \
         lsm_list_modules file_setattr set_mempolicy_home_node",
        "new calls that libraries probe, with a fallback for older kernels",
    ),
    quiet(
        EPERM,
        "set_mempolicy mbind kcmp name_to_handle_at",
        "allocators, drivers and mount tools try these and live without",
    ),
    quiet(
        0,
        "sync syncfs",
        "a job has nothing on a disk, and the host's own dirty pages are not its to flush",
    ),
    quiet(
        ENOSYS,
        "_sysctl create_module get_kernel_syms query_module nfsservctl getpmsg putpmsg \
         afs_syscall tuxcall security vserver uselib sysfs ustat set_thread_area get_thread_area",
        "gone from the kernel, or never there on this machine",
    ),
];

/// No ordinary program needs these. A probe tries many in one run, so the job goes on, but the
/// outcome says so.
pub(super) const NOTED: &[Line] = &[
    noted(
        "bpf perf_event_open userfaultfd",
        "kernel surface with a long record of escapes",
    ),
    noted(
        "ptrace process_vm_readv process_vm_writev pidfd_getfd process_mrelease",
        "reaching into other processes",
    ),
    noted(
        "keyctl add_key request_key",
        "keys outlive their process, and their quota is the uid's",
    ),
    noted(
        "mount umount2 pivot_root chroot move_mount open_tree open_tree_attr mount_setattr fsopen \
         fsconfig fsmount fspick",
        "the cell's mounts are its walls",
    ),
    noted("setns", "the cell's namespaces are its walls"),
    noted(
        "sethostname setdomainname settimeofday clock_settime adjtimex clock_adjtime",
        "the machine's own state",
    ),
    noted(
        "swapon swapoff acct quotactl quotactl_fd reboot kexec_load kexec_file_load vhangup syslog",
        "administration of the host",
    ),
    noted(
        "iopl ioperm modify_ldt",
        "ports and segments: rare, and a source of kernel bugs",
    ),
    noted(
        "fanotify_init fanotify_mark lookup_dcookie migrate_pages move_pages lsm_set_self_attr",
        "rare calls that widen the kernel's surface",
    ),
];

/// Nothing but an attack calls these.
pub(super) const FATAL: &[Line] = &[
    fatal(
        "init_module finit_module delete_module",
        "code for the kernel itself",
    ),
    fatal(
        "open_by_handle_at",
        "opens files outside its mounts by a guessed handle",
    ),
];
