//! Which calls are right or wrong by their arguments?

use super::policy::{Case, Line, Test, Verdict, but, refuse, when};
use libc::{EAFNOSUPPORT, EINVAL, EPERM, EPROTONOSUPPORT, ESOCKTNOSUPPORT};

/// Every flag of `clone` and `unshare` that makes a namespace. (`CLONE_NEWTIME`, 0x80, is part of
/// the exit signal in `clone`, and a flag in `unshare` alone.)
const NEW_NAMESPACES: u32 = 0x7e02_0000;
const CLONE_NEWTIME: u32 = 0x80;
const CLONE_PARENT: u32 = 0x8000;

const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
const SOCK_TYPE: u32 = 0xf;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
const SOCK_RAW: u32 = 3;
const SOCK_PACKET: u32 = 10;
const IPPROTO_TCP: u32 = 6;
const IPPROTO_UDP: u32 = 17;

const RLIMIT_CORE: u32 = 4;

const SECCOMP_SET_MODE_FILTER: u32 = 1;
const SECCOMP_FILTER_FLAG_NEW_LISTENER: u32 = 8;

const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const TIOCCONS: u32 = 0x541d;
const TIOCSETD: u32 = 0x5423;

/// 1-4 death signal and dumpable, 7-8 keepcaps, 15-16 name, 21-23 seccomp and reading the bounding
/// set, 27 securebits, 29-30 timer slack, 34 memory corruption policy, 36-42 subreaper,
/// no-new-privileges, tid address and huge pages, 47 ambient set, 52-53 speculation, 65-66
/// write-xor-execute, last the names of mappings.
const PRCTL_HARMLESS: &[u32] = &[
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    21,
    22,
    23,
    27,
    29,
    30,
    34,
    36,
    37,
    38,
    39,
    40,
    41,
    42,
    47,
    52,
    53,
    65,
    66,
    0x5356_4d41,
];
const PR_SET_MM: u32 = 35;

/// The kind of every ioctl on a namespace's descriptor, in the second byte of its number.
const NAMESPACE_IOCTLS: u32 = 0xb700;
const IOCTL_KIND: u32 = 0xff00;

const IOCTL: &[Case] = &[
    when(
        &[Test::is(1, &[TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD])],
        refuse(EPERM),
    ),
    when(
        &[Test::OneOf(1, IOCTL_KIND, &[NAMESPACE_IOCTLS])],
        refuse(EPERM),
    ),
];

const SOL_SOCKET: u32 = 1;
/// A program on a socket, classic or extended, of its own or of its group.
const SO_ATTACH: &[u32] = &[26, 50, 51, 52];
const SOL_TCP: u32 = 6;
const TCP_ULP: u32 = 31;
const MSG_OOB: u32 = 1;

const SETSOCKOPT: &[Case] = &[
    when(
        &[Test::is(1, &[SOL_SOCKET]), Test::is(2, SO_ATTACH)],
        refuse(EPERM),
    ),
    when(
        &[Test::is(1, &[SOL_TCP]), Test::is(2, &[TCP_ULP])],
        refuse(EPERM),
    ),
];

/// The flags of a `sendmsg`, and those of `sendto` and `sendmmsg`.
const URGENT: [&[Case]; 2] = [
    &[when(&[Test::has(2, MSG_OOB)], refuse(EPERM))],
    &[when(&[Test::has(3, MSG_OOB)], refuse(EPERM))],
];

/// Rules for jobs.
pub(super) const JOB: &[Line] = &[
    but(
        "clone",
        &[
            when(&[Test::has(0, NEW_NAMESPACES)], Verdict::Noted),
            when(&[Test::has(0, CLONE_PARENT)], refuse(EINVAL)),
        ],
        "processes and threads, but no namespaces and no siblings under the cell's init",
    ),
    but(
        "unshare",
        &[when(
            &[Test::has(0, NEW_NAMESPACES | CLONE_NEWTIME)],
            Verdict::Noted,
        )],
        "its own tables of files, but no namespaces",
    ),
    but(
        "socket",
        &[
            when(
                &[Test::is_not(0, &[AF_UNIX, AF_INET, AF_INET6])],
                refuse(EAFNOSUPPORT),
            ),
            when(
                &[Test::OneOf(1, SOCK_TYPE, &[SOCK_RAW, SOCK_PACKET])],
                refuse(EPERM),
            ),
            when(
                &[
                    Test::is(0, &[AF_INET, AF_INET6]),
                    Test::NoneOf(1, SOCK_TYPE, &[SOCK_STREAM, SOCK_DGRAM]),
                ],
                refuse(ESOCKTNOSUPPORT),
            ),
            when(
                &[
                    Test::is(0, &[AF_INET, AF_INET6]),
                    Test::is_not(2, &[0, IPPROTO_TCP, IPPROTO_UDP]),
                ],
                refuse(EPROTONOSUPPORT),
            ),
        ],
        "local sockets, TCP and UDP; other families and protocols load modules of the host, and \
         AF_ALG could write to the page cache of shared files",
    ),
    but(
        "socketpair",
        &[
            when(&[Test::is_not(0, &[AF_UNIX])], refuse(EAFNOSUPPORT)),
            when(
                &[Test::OneOf(1, SOCK_TYPE, &[SOCK_RAW, SOCK_PACKET])],
                refuse(EPERM),
            ),
        ],
        "pairs of local sockets",
    ),
    but(
        "setsockopt",
        SETSOCKOPT,
        "options of its own sockets, but no program on one, and no protocol above TCP in the kernel \
         (kTLS, espintcp, SMC)",
    ),
    but(
        "sendmsg",
        URGENT[0],
        "messages, but no urgent bytes, whose code for local sockets has let sandboxes out",
    ),
    but("sendto sendmmsg", URGENT[1], "as sendmsg"),
    but(
        "ioctl",
        IOCTL,
        "devices it has, but no typing into a terminal, console or line discipline, and no step \
         from one namespace to its parent, owner or neighbour",
    ),
    but(
        "prctl",
        &[
            when(&[Test::is(0, &[PR_SET_MM])], refuse(EPERM)),
            when(&[Test::is_not(0, PRCTL_HARMLESS)], refuse(EINVAL)),
        ],
        "its own attributes; what is not listed looks as on a kernel that lacks it",
    ),
    but(
        "prlimit64",
        &[when(
            &[Test::is(1, &[RLIMIT_CORE]), Test::NotNull(2)],
            refuse(EPERM),
        )],
        "a core limit of 0 would let a core_pattern helper run as the host's root on a crash",
    ),
    but(
        "setrlimit",
        &[when(&[Test::is(0, &[RLIMIT_CORE])], refuse(EPERM))],
        "as prlimit64",
    ),
    but(
        "seccomp",
        &[
            when(
                &[
                    Test::is(0, &[SECCOMP_SET_MODE_FILTER]),
                    Test::has(1, SECCOMP_FILTER_FLAG_NEW_LISTENER),
                ],
                refuse(EPERM),
            ),
            when(&[Test::is_not(0, &[0, 1, 2, 3])], refuse(EINVAL)),
        ],
        "stricter filters of its own, but no listener, which could answer for the kernel",
    ),
    but(
        "personality",
        &[when(
            &[Test::is_not(0, &[0, 0x0008, u32::MAX])],
            refuse(EPERM),
        )],
        "queries and the 32-bit uname; READ_IMPLIES_EXEC and the like weaken a process",
    ),
];

/// What the keeper and its helpers do beyond what jobs may: they make cells.
pub(super) const KEEPER: &[Line] = &[
    but(
        "clone clone3 unshare mount umount2 move_mount open_tree open_tree_attr mount_setattr \
         fsopen fsconfig fsmount fspick sethostname",
        &[],
        "builds the namespaces and mounts of a cell",
    ),
    but(
        "prctl prlimit64 setrlimit seccomp",
        &[],
        "locks a process down before it becomes a job: bounding set, core limit, filter",
    ),
    but(
        "socket",
        &[when(
            &[Test::is_not(0, &[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])],
            Verdict::Absent,
        )],
        "raises lo in the cell; no other family",
    ),
    but(
        "socketpair",
        &[when(&[Test::is_not(0, &[AF_UNIX])], Verdict::Absent)],
        "staging and go sockets",
    ),
    but(
        "ioctl",
        &[when(
            &[Test::is(1, &[TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD])],
            Verdict::Absent,
        )],
        "the listener of a filter, and lo's flags",
    ),
];
