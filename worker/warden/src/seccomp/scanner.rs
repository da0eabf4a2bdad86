//! What may a process do that only reads descriptors it was handed, and answers?
//!
//! It opens nothing, connects to nothing and starts nothing: there is no call for any of it here.

use super::policy::{Line, Test, Verdict, allow, but, when};

const PROT_EXEC: u32 = 4;
const F_GETFD: u32 = 1;

pub(super) const TABLE: &[Line] = &[
    allow(
        "read pread64 lseek fstat close recvmsg sendmsg",
        "what it was handed, and the socket it came by",
    ),
    but(
        "fcntl",
        &[when(&[Test::is_not(1, &[F_GETFD])], Verdict::Kill)],
        "whether a descriptor is one, which a build with checks asks before it closes it",
    ),
    allow(
        "write",
        "a last word of the runtime, to a descriptor that leads nowhere",
    ),
    but(
        "mmap mprotect",
        &[when(&[Test::has(2, PROT_EXEC)], Verdict::Kill)],
        "memory, but no new code",
    ),
    allow("munmap mremap brk madvise", "memory"),
    allow(
        "futex sched_yield clock_gettime getrandom rt_sigprocmask rt_sigaction rt_sigreturn \
         sigaltstack restart_syscall",
        "the runtime: locks, clocks, seeds of tables, the guard below the stack",
    ),
    but(
        "prlimit64",
        &[when(&[Test::is_not(0, &[0])], Verdict::Kill)],
        "its own limit of CPU time, which starts anew with each file",
    ),
    allow("getpid gettid tgkill exit exit_group", "its own end"),
];
