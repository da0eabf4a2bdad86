//! What may every program do, whatever the arguments?
//!
//! These act on the job's own process tree, descriptors and namespaces; the kernel's ordinary
//! permission checks, with no capability and one uid, do the rest.

use super::policy::{Line, allow};

pub(super) const FILES: &[Line] = &[
    allow(
        "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 lseek close \
         close_range dup dup2 dup3 fcntl sendfile splice tee vmsplice copy_file_range",
        "plain IO on descriptors it has",
    ),
    allow(
        "open openat openat2 creat truncate ftruncate fallocate fadvise64 readahead flock",
        "files: the mounts say which, and tmpfs how much",
    ),
    allow(
        "fsync fdatasync sync_file_range msync",
        "durability of its own files, a no-op on tmpfs",
    ),
    allow(
        "stat fstat lstat newfstatat statx access faccessat faccessat2 statfs fstatfs readlink \
         readlinkat getdents getdents64 getcwd chdir fchdir umask file_getattr",
        "looking around",
    ),
    allow(
        "mkdir mkdirat rmdir rename renameat renameat2 link linkat unlink unlinkat symlink \
         symlinkat utime utimes utimensat futimesat",
        "names in its writable places",
    ),
    allow(
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat",
        "modes and owners: setuid means nothing under nosuid, and it owns only its own files",
    ),
    allow(
        "setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr \
         flistxattr removexattr lremovexattr fremovexattr setxattrat getxattrat listxattrat \
         removexattrat",
        "extended attributes, which the collector does not carry out",
    ),
    allow(
        "mknod mknodat",
        "FIFOs; the kernel refuses devices without CAP_MKNOD, and nodev ignores them",
    ),
    allow(
        "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch",
        "file watches, on inodes of its own overlay",
    ),
];

pub(super) const WAITING: &[Line] = &[
    allow(
        "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait \
         epoll_pwait2 epoll_ctl_old epoll_wait_old eventfd eventfd2 signalfd signalfd4 \
         timerfd_create timerfd_settime timerfd_gettime",
        "event loops",
    ),
    allow(
        "pipe pipe2 memfd_create mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify \
         mq_getsetattr shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd \
         msgrcv msgctl",
        "messages and shared memory, in an ipc namespace of its own and charged to its group",
    ),
    allow(
        "connect bind listen accept accept4 getsockname getpeername getsockopt recvfrom recvmsg \
         recvmmsg shutdown",
        "sockets of the families that `socket` gives, in a net namespace with lo alone",
    ),
];

pub(super) const MEMORY: &[Line] = &[
    allow(
        "mmap munmap mprotect mremap brk madvise mincore mlock mlock2 munlock mlockall munlockall \
         remap_file_pages mseal map_shadow_stack",
        "its own address space, charged to its group",
    ),
    allow(
        "pkey_alloc pkey_free pkey_mprotect arch_prctl rseq membarrier",
        "its own CPU state",
    ),
    allow(
        "get_mempolicy",
        "OpenBLAS and libnuma ask for the topology on import",
    ),
];

pub(super) const PROCESSES: &[Line] = &[
    allow(
        "fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open \
         pidfd_send_signal",
        "processes, in a pid namespace of its own and counted by its group",
    ),
    allow(
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo \
         rt_tgsigqueueinfo rt_sigsuspend sigaltstack pause restart_syscall",
        "signals",
    ),
    allow(
        "futex futex_waitv futex_wake futex_wait futex_requeue set_robust_list get_robust_list \
         set_tid_address gettid getpid getppid",
        "threads and locks",
    ),
    allow(
        "setpgid getpgid getpgrp setsid getsid getuid geteuid getgid getegid getresuid getresgid \
         getgroups setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid \
         setfsgid capget capset",
        "identity: with one mapped uid and no capability there is nothing to change to",
    ),
    allow(
        "sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler \
         sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_setaffinity \
         sched_getaffinity sched_setattr sched_getattr getpriority setpriority ioprio_get \
         ioprio_set getcpu",
        "scheduling: a rise needs CAP_SYS_NICE, and the quota is the group's",
    ),
    allow(
        "getrlimit getrusage times sysinfo uname getrandom",
        "figures about itself and its machine",
    ),
    allow(
        "time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer \
         setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete",
        "clocks and timers",
    ),
    allow(
        "landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        "restricting itself further",
    ),
    allow(
        "uretprobe uprobe",
        "entered by the kernel's own trampolines; a call by hand ends in SIGILL or SIGSEGV",
    ),
];
