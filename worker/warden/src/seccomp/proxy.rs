//! What may the egress proxy do, once it serves?
//!
//! It is one thread that has every file it needs: sockets of the internet, its descriptors, its
//! memory, the time. It opens nothing, starts nothing and looks at nobody. What is not listed is
//! `EPERM`: a library that probes goes on without.

use super::policy::{Line, Test, allow, but, quiet, refuse, when};
use libc::{EACCES, EAFNOSUPPORT, EPERM};

const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const SOCK_TYPE: u32 = 0xf;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
const PROT_EXEC: u32 = 4;
const FIONBIO: u32 = 0x5421;

pub(super) const PROXY: &[Line] = &[
    allow(
        "read write readv writev close fcntl recvfrom sendto recvmsg sendmsg shutdown dup",
        "plain IO on descriptors it has",
    ),
    allow(
        "connect bind accept4 getsockname getpeername setsockopt getsockopt",
        "sockets of the families that `socket` gives, and those it is handed",
    ),
    but(
        "socket",
        &[
            when(
                &[Test::is_not(0, &[AF_INET, AF_INET6])],
                refuse(EAFNOSUPPORT),
            ),
            when(
                &[Test::NoneOf(1, SOCK_TYPE, &[SOCK_STREAM, SOCK_DGRAM])],
                refuse(EPERM),
            ),
        ],
        "connections to hosts, and questions to name servers",
    ),
    but(
        "ioctl",
        &[when(&[Test::is_not(1, &[FIONBIO])], refuse(EPERM))],
        "a socket that does not block",
    ),
    allow(
        "epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd2 poll ppoll \
         restart_syscall",
        "one loop of events",
    ),
    but(
        "mmap mprotect",
        &[when(&[Test::has(2, PROT_EXEC)], refuse(EPERM))],
        "memory, none of it executable",
    ),
    allow("munmap mremap madvise brk", "memory"),
    allow(
        "clock_gettime clock_nanosleep gettimeofday getrandom futex sched_yield getpid gettid \
         rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack tgkill exit exit_group \
         sched_getaffinity",
        "time, chance, locks, and its own end",
    ),
    quiet(
        EACCES,
        "open openat openat2 stat lstat newfstatat statx access faccessat faccessat2 readlink \
         readlinkat",
        "no file is there for it",
    ),
];
