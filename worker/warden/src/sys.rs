//! The few system calls that no safe wrapper has, each with the invariant that makes it sound.
#![expect(
    unsafe_code,
    reason = "fork, unshare, execveat, signals and the process's own environment have no safe form"
)]

use rustix::fs::Uid;
use rustix::process::Pid;
use rustix::thread::UnshareFlags;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Which of the two processes after a fork runs on.
#[derive(Debug)]
pub(crate) enum Side {
    Parent(Pid),
    Child,
}

/// Whether this process has one thread, read from the kernel.
pub(crate) fn single_threaded() -> io::Result<bool> {
    Ok(std::fs::read_dir("/proc/self/task")?.count() == 1)
}

/// Forks a process that has one thread; refuses where there are more.
pub(crate) fn fork() -> io::Result<Side> {
    if !single_threaded()? {
        return Err(io::Error::other("the process has more than one thread"));
    }
    // SAFETY: the process has one thread (looked up above, and this crate starts none), so no
    // lock can be held by a thread that the child does not have.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => Pid::from_raw(pid)
            .map(Side::Parent)
            .ok_or_else(|| io::Error::other("fork gave no pid")),
    }
}

/// Has this process, and what it starts from now on, not end by SIGTERM.
pub(crate) fn ignore_sigterm() -> io::Result<()> {
    // SAFETY: no handler is installed.
    match unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Bytes of a borrowing child's stack.
const CHILD_STACK: usize = 64 << 10;

/// Lets a child do `act` and end, in this process's own memory and with its descriptors, while
/// this process waits. The child is to be reaped by the caller.
///
/// `act` may only make system calls and write to what it borrows. What it changes of its
/// credentials and namespaces is the child's alone.
pub(crate) fn ended_child(mut act: impl FnMut()) -> io::Result<Pid> {
    extern "C" fn run<F: FnMut()>(act: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `act` is the closure below, and its owner waits until this process has ended.
        unsafe { (*act.cast::<F>())() };
        0
    }
    fn entry<F: FnMut()>(_: &F) -> extern "C" fn(*mut libc::c_void) -> libc::c_int {
        run::<F>
    }
    if !single_threaded()? {
        return Err(io::Error::other("the process has more than one thread"));
    }
    let mut stack = vec![std::mem::MaybeUninit::<u128>::uninit(); CHILD_STACK / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::SIGCHLD;
    // SAFETY: the stack is the child's own, aligned, and outlives it: with CLONE_VFORK the call
    // comes back when the child has ended. Until then nothing else runs in this memory, as the
    // process has one thread (looked up above), so neither a lock nor a borrow is met halfway.
    let pid = unsafe {
        libc::clone(
            entry(&act),
            stack.as_mut_ptr_range().end.cast(),
            flags,
            (&raw mut act).cast(),
        )
    };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        pid => Pid::from_raw(pid).ok_or_else(|| io::Error::other("clone gave no pid")),
    }
}

/// Leaves namespaces of the parent.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    if flags.contains(UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the table of descriptors, on which owners rely, stays shared (checked above).
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    Ok(())
}

/// Removes every variable from the environment, so that nothing that reads it later (libcontainer
/// obeys `LISTEN_FDS`) finds what a careless parent put there. To be called with one thread only.
#[expect(
    clippy::disallowed_methods,
    reason = "this process is single-threaded, and must not rely on its parent"
)]
pub(crate) fn clear_environment() -> io::Result<()> {
    if !single_threaded()? {
        return Err(io::Error::other("the process has more than one thread"));
    }
    for (name, _) in std::env::vars_os() {
        // SAFETY: no other thread exists (looked up above) that could read the environment
        // meanwhile.
        unsafe { std::env::remove_var(name) };
    }
    Ok(())
}

/// Closes every descriptor from `first` up.
///
/// To be called before the process owns any of them: at the very start of `main`.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    let first = libc::c_uint::try_from(first).map_err(io::Error::other)?;
    // SAFETY: called at the start of the process, before any owned descriptor of that range
    // exists (the caller's duty), so no owner is left with a closed number.
    let result = unsafe { libc::close_range(first, libc::c_uint::MAX, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// What the end of a child does is the kernel's usual again: where a parent had it ignored, no
/// child could be waited for.
pub(crate) fn default_child_signal() -> io::Result<()> {
    // SAFETY: no handler is installed, so nothing of this process can be called by it.
    match unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The usual execution domain, for this process and its descendants.
pub(crate) fn default_personality() -> io::Result<()> {
    // SAFETY: the call takes no memory; no mapping that exists changes.
    match unsafe { libc::personality(0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The usual scheduling policy, for this process and its descendants.
pub(crate) fn default_scheduling() -> io::Result<()> {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: `none` is a whole sched_param that outlives the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const none) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Becomes the program behind `program`, with `name` as its only argument and no environment.
/// Comes back only with an error.
pub(crate) fn execveat(program: BorrowedFd<'_>, name: &CStr) -> io::Error {
    let argv = [name.as_ptr(), std::ptr::null()];
    let envp = [std::ptr::null::<libc::c_char>()];
    // SAFETY: both lists end with a null pointer, and they and their strings outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            envp.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
    }
    io::Error::last_os_error()
}

/// A limit of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    OpenFiles,
    Core,
}

impl Resource {
    /// What `/proc/<pid>/limits` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenFiles => "Max open files",
            Self::Core => "Max core file size",
        }
    }

    fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Self::OpenFiles => libc::RLIMIT_NOFILE,
            Self::Core => libc::RLIMIT_CORE,
        }
    }
}

/// Does something with the effective uid of another user, and becomes root again.
///
/// The owner of a user namespace has every capability in it, also where root itself lacks one.
/// The kernel forgets, with each change of uid, what is to happen when the parent dies.
pub(crate) fn as_user<T>(uid: u32, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let at_parents_death = rustix::process::parent_process_death_signal()?;
    rustix::thread::set_thread_res_uid(None, Uid::from_raw(uid), None)?;
    let done = act();
    rustix::thread::set_thread_res_uid(None, Uid::ROOT, None)?;
    rustix::process::set_parent_process_death_signal(at_parents_death)?;
    done
}

/// Sets the soft and hard limit of another process.
pub(crate) fn set_limit(pid: Pid, resource: Resource, (soft, hard): (u64, u64)) -> io::Result<()> {
    let wanted = libc::rlimit64 {
        rlim_cur: soft,
        rlim_max: hard,
    };
    let pid = pid.as_raw_nonzero().get();
    // SAFETY: `wanted` is a whole rlimit64 that outlives the call; a null old limit is allowed.
    let result = unsafe {
        libc::prlimit64(
            pid,
            resource.number(),
            &raw const wanted,
            std::ptr::null_mut(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Puts this process below a filter of system calls; it must not be able to gain privileges.
pub(crate) fn filter_calls(instructions: &[[u8; 8]]) -> io::Result<()> {
    let instruction = |bytes: &[u8; 8]| {
        let [c0, c1, jt, jf, k0, k1, k2, k3] = *bytes;
        libc::sock_filter {
            code: u16::from_le_bytes([c0, c1]),
            jt,
            jf,
            k: u32::from_le_bytes([k0, k1, k2, k3]),
        }
    };
    let program: Vec<_> = instructions.iter().map(instruction).collect();
    let whole = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: `whole` and the instructions it points to outlive the call, which only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const whole,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `struct landlock_ruleset_attr`.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scoped: u64,
}

/// What a process under landlock may still do with TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tcp {
    Nothing,
    /// Make connections, from no port of its choice.
    Connect,
}

/// Takes from this process every right that landlock knows, but for what `tcp` leaves: no file by
/// its name, no port, no signal to others. Gives the version that held, or none where the kernel
/// has no landlock.
pub(crate) fn landlock(tcp: Tcp) -> io::Result<Option<u32>> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no memory.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Ruleset>(),
            0_usize,
            VERSION,
        )
    };
    let Ok(version @ 1..) = u32::try_from(version) else {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EOPNOTSUPP) => Ok(None),
            _ => Err(error),
        };
    };
    let rights = match version {
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    let ruleset = Ruleset {
        files: (1 << rights) - 1,
        network: match tcp {
            _ if version < 4 => 0,
            Tcp::Nothing => 3,
            Tcp::Connect => 1,
        },
        scoped: if version >= 6 { 3 } else { 0 },
    };
    let known = match version {
        1..=3 => 8_usize,
        4 | 5 => 16,
        _ => 24,
    };
    // SAFETY: `ruleset` outlives the call, and is at least as long as is said.
    let made = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const ruleset,
            known,
            0_u32,
        )
    };
    let made = i32::try_from(made).unwrap_or(-1);
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor, and nobody else has it.
    let made = unsafe { OwnedFd::from_raw_fd(made) };
    // SAFETY: the call takes no memory.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, made.as_raw_fd(), 0_u32) };
    if result == 0 {
        Ok(Some(version))
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, parent_process_death_signal, set_parent_process_death_signal};

    #[test]
    fn a_change_of_user_keeps_the_tie_to_the_parent() {
        set_parent_process_death_signal(Some(Signal::CHILD)).expect("set");
        as_user(12_345, || Ok(())).expect("this test needs root");
        let held = parent_process_death_signal().expect("get");
        assert_eq!(held, Some(Signal::CHILD));
        set_parent_process_death_signal(None).expect("reset");
    }
}
