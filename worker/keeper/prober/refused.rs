//! Which system calls must a job not get through, and does it?

use super::call::{Answer, Call, apart, call, errno_name, int80, make};
use super::{Look, Seen};
use libc::{EACCES, EAFNOSUPPORT, EINVAL, ENOSYS, EPERM, EPROTONOSUPPORT, ESOCKTNOSUPPORT, c_long};

const NONE: [c_long; 6] = [0; 6];
/// No such descriptor.
const BAD: c_long = -1;
/// Answers that are a wall, not an accident of wrong arguments.
const WALLS: &[i32] = &[EPERM, EACCES, ENOSYS];
const NO_FAMILY: &[i32] = &[
    EAFNOSUPPORT,
    EPERM,
    EACCES,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
];

pub(crate) const LOOKS: &[Look] = &[
    ("namespaces", || refused(NAMESPACES, WALLS)),
    ("mounts", || refused(MOUNTS, WALLS)),
    ("kernel-surface", || refused(SURFACE, WALLS)),
    ("io-uring", || refused(IO_URING, WALLS)),
    ("keys", || refused(KEYS, WALLS)),
    ("other-memory", || refused(OTHER_MEMORY, WALLS)),
    ("file-handles", || refused(HANDLES, WALLS)),
    ("administration", || refused(ADMINISTRATION, WALLS)),
    ("rare-calls", || refused(RARE, WALLS)),
    ("terminal", || refused(TERMINAL, &[EPERM])),
    ("priority", || refused(PRIORITY, WALLS)),
    ("socket-families", families),
    ("other-conventions", conventions),
];

/// A flag of `clone` and `unshare` as an argument.
const fn flag(flag: libc::c_int) -> [c_long; 6] {
    [flag as c_long, 0, 0, 0, 0, 0]
}

const NAMESPACES: &[Call] = &[
    call(
        "unshare(NEWUSER)",
        libc::SYS_unshare,
        flag(libc::CLONE_NEWUSER),
    ),
    call("unshare(NEWNS)", libc::SYS_unshare, flag(libc::CLONE_NEWNS)),
    call(
        "unshare(NEWPID)",
        libc::SYS_unshare,
        flag(libc::CLONE_NEWPID),
    ),
    call(
        "unshare(NEWNET)",
        libc::SYS_unshare,
        flag(libc::CLONE_NEWNET),
    ),
    call(
        "unshare(NEWIPC)",
        libc::SYS_unshare,
        flag(libc::CLONE_NEWIPC),
    ),
    call(
        "unshare(NEWUTS)",
        libc::SYS_unshare,
        flag(libc::CLONE_NEWUTS),
    ),
    call(
        "unshare(NEWCGROUP)",
        libc::SYS_unshare,
        flag(libc::CLONE_NEWCGROUP),
    ),
    call("unshare(NEWTIME)", libc::SYS_unshare, flag(0x80)),
    call(
        "clone(NEWUSER)",
        libc::SYS_clone,
        flag(libc::CLONE_NEWUSER | libc::SIGCHLD),
    ),
    call("clone3", libc::SYS_clone3, NONE),
    call("setns", libc::SYS_setns, [0, 0, 0, 0, 0, 0]),
];

const MOUNTS: &[Call] = &[
    call("mount", libc::SYS_mount, NONE),
    call("umount2", libc::SYS_umount2, NONE),
    call("pivot_root", libc::SYS_pivot_root, NONE),
    call("chroot", libc::SYS_chroot, NONE),
    call("move_mount", libc::SYS_move_mount, NONE),
    call("open_tree", libc::SYS_open_tree, NONE),
    call("fsopen", libc::SYS_fsopen, NONE),
    call("fsmount", libc::SYS_fsmount, [BAD, 0, 0, 0, 0, 0]),
    call("fsconfig", libc::SYS_fsconfig, [BAD, 0, 0, 0, 0, 0]),
    call("fspick", libc::SYS_fspick, NONE),
    call("mount_setattr", libc::SYS_mount_setattr, NONE),
];

const SURFACE: &[Call] = &[
    call("bpf", libc::SYS_bpf, NONE),
    call("perf_event_open", libc::SYS_perf_event_open, NONE),
    call("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0, 0, 0, 0]),
];

const IO_URING: &[Call] = &[
    call(
        "io_uring_setup",
        libc::SYS_io_uring_setup,
        [1, 0, 0, 0, 0, 0],
    ),
    call(
        "io_uring_enter",
        libc::SYS_io_uring_enter,
        [BAD, 0, 0, 0, 0, 0],
    ),
    call(
        "io_uring_register",
        libc::SYS_io_uring_register,
        [BAD, 0, 0, 0, 0, 0],
    ),
    call("io_setup", libc::SYS_io_setup, [1, 0, 0, 0, 0, 0]),
];

const KEYS: &[Call] = &[
    call("keyctl(JOIN_SESSION)", libc::SYS_keyctl, [1, 0, 0, 0, 0, 0]),
    call("add_key", libc::SYS_add_key, NONE),
    call("request_key", libc::SYS_request_key, NONE),
];

const OTHER_MEMORY: &[Call] = &[
    call("ptrace(ATTACH, 1)", libc::SYS_ptrace, [16, 1, 0, 0, 0, 0]),
    call(
        "process_vm_readv(1)",
        libc::SYS_process_vm_readv,
        [1, 0, 0, 0, 0, 0],
    ),
    call(
        "process_vm_writev(1)",
        libc::SYS_process_vm_writev,
        [1, 0, 0, 0, 0, 0],
    ),
    call("pidfd_getfd", libc::SYS_pidfd_getfd, [BAD, 0, 0, 0, 0, 0]),
    call("kcmp", libc::SYS_kcmp, [1, 1, 0, 0, 0, 0]),
    call(
        "process_madvise",
        libc::SYS_process_madvise,
        [BAD, 0, 0, 0, 0, 0],
    ),
];

const HANDLES: &[Call] = &[call("name_to_handle_at", libc::SYS_name_to_handle_at, NONE)];

const ADMINISTRATION: &[Call] = &[
    call("swapon", libc::SYS_swapon, NONE),
    call("acct", libc::SYS_acct, NONE),
    call("quotactl", libc::SYS_quotactl, NONE),
    call("reboot", libc::SYS_reboot, NONE),
    call("kexec_load", libc::SYS_kexec_load, NONE),
    call("syslog", libc::SYS_syslog, [3, 0, 0, 0, 0, 0]),
    call("sethostname", libc::SYS_sethostname, NONE),
    call("settimeofday", libc::SYS_settimeofday, NONE),
    call("clock_settime", libc::SYS_clock_settime, NONE),
    call("vhangup", libc::SYS_vhangup, NONE),
    call("iopl", libc::SYS_iopl, [3, 0, 0, 0, 0, 0]),
    call("ioperm", libc::SYS_ioperm, [0x70, 1, 1, 0, 0, 0]),
];

const RARE: &[Call] = &[
    call("fanotify_init", libc::SYS_fanotify_init, NONE),
    call("migrate_pages", libc::SYS_migrate_pages, NONE),
    call("move_pages", libc::SYS_move_pages, NONE),
    call("modify_ldt", libc::SYS_modify_ldt, NONE),
    call(
        "personality(READ_IMPLIES_EXEC)",
        libc::SYS_personality,
        [0x0040_0000, 0, 0, 0, 0, 0],
    ),
    call(
        "seccomp(NEW_LISTENER)",
        libc::SYS_seccomp,
        [1, 8, 0, 0, 0, 0],
    ),
    call("prctl(PR_SET_MM)", libc::SYS_prctl, [35, 0, 0, 0, 0, 0]),
];

/// On standard input, which is no terminal here: the filter answers before the kernel asks that.
const TERMINAL: &[Call] = &[
    call("ioctl(TIOCSTI)", libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]),
    call("ioctl(TIOCLINUX)", libc::SYS_ioctl, [0, 0x541c, 0, 0, 0, 0]),
    // What the kernel cuts off the number must not hide it from the filter.
    call(
        "ioctl(TIOCSTI + 2^32)",
        libc::SYS_ioctl,
        [0, 0x1_0000_5412, 0, 0, 0, 0],
    ),
];

const PRIORITY: &[Call] = &[
    call(
        "setpriority(-5)",
        libc::SYS_setpriority,
        [0, 0, -5, 0, 0, 0],
    ),
    call(
        "ioprio_set(real time)",
        libc::SYS_ioprio_set,
        [1, 0, 1 << 13, 0, 0, 0],
    ),
];

/// Makes every call in a child of its own.
fn refused(calls: &[Call], walls: &[i32]) -> Seen {
    let mut seen = Vec::new();
    for one in calls {
        match apart(|| make(one)) {
            Answer::Refused(errno) if walls.contains(&errno) => {
                seen.push(format!("{} {}", one.name, errno_name(errno)));
            }
            Answer::Killed(libc::SIGSYS) => seen.push(format!("{} killed", one.name)),
            Answer::Refused(errno) => {
                return Err(format!(
                    "`{}` reached the kernel ({})",
                    one.name,
                    errno_name(errno)
                ));
            }
            Answer::Done(value) => return Err(format!("`{}` went through: {value}", one.name)),
            Answer::Killed(signal) => {
                return Err(format!("cannot tell: `{}` died of {signal}", one.name));
            }
        }
    }
    Ok(seen.join(", "))
}

/// Every family but UNIX, IPv4 and IPv6, and every raw type.
fn families() -> Seen {
    const STREAM: c_long = 1;
    const RAW: c_long = 3;
    let (unix, inet, inet6) = (1, 2, 10);
    let mut tried = 0;
    for family in (0..64).filter(|family| ![unix, inet, inet6].contains(family)) {
        for kind in [STREAM, 2, RAW, 5] {
            let one = call("socket", libc::SYS_socket, [family, kind, 0, 0, 0, 0]);
            match make(&one) {
                Answer::Refused(errno) if NO_FAMILY.contains(&errno) => tried += 1,
                other => return Err(format!("family {family}, type {kind}: {other:?}")),
            }
        }
    }
    for (family, protocol) in [(inet, 1), (inet, 255), (inet6, 58), (unix, 0)] {
        let one = call("socket", libc::SYS_socket, [family, RAW, protocol, 0, 0, 0]);
        match make(&one) {
            Answer::Refused(errno) if NO_FAMILY.contains(&errno) => tried += 1,
            // The kernel makes a datagram socket of a raw UNIX one; the filter must not let it.
            other => return Err(format!("raw, family {family}: {other:?}")),
        }
    }
    Ok(format!(
        "{tried} combinations refused, AF_ALG, VSOCK, PACKET and NETLINK among them"
    ))
}

/// The 32-bit entry and the x32 numbers, which pass by a filter that knows only one convention.
fn conventions() -> Seen {
    const X32: c_long = 0x4000_0000;
    let x32 = apart(|| make(&call("x32 getpid", X32 + libc::SYS_getpid, NONE)));
    if !matches!(x32, Answer::Killed(libc::SIGSYS) | Answer::Refused(ENOSYS)) {
        return Err(format!("an x32 call is answered: {x32:?}"));
    }
    match apart(int80) {
        // Where the kernel has no 32-bit entry the instruction itself faults.
        Answer::Killed(signal @ (libc::SIGSYS | libc::SIGSEGV)) => {
            Ok(format!("x32 {x32:?}; int 0x80 ends in signal {signal}"))
        }
        other => Err(format!("a 32-bit call is answered: {other:?}")),
    }
}

/// A call after which the job must not go on; coming back is the finding.
pub(crate) fn fatal(name: &str) -> Seen {
    let (number, arguments) = match name {
        "open_by_handle_at" => (
            libc::SYS_open_by_handle_at,
            [libc::AT_FDCWD.into(), 0, 0, 0, 0, 0],
        ),
        "init_module" => (libc::SYS_init_module, NONE),
        "delete_module" => (libc::SYS_delete_module, NONE),
        _ => return Err(format!("cannot tell: no call `{name}` is known ({EINVAL})")),
    };
    let answer = make(&call("fatal", number, arguments));
    Err(format!("`{name}` came back: {answer:?}"))
}
