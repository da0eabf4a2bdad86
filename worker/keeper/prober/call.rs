//! What does the kernel answer to one call, made raw?

#![expect(unsafe_code, reason = "calls that the standard library does not make")]

use std::ffi::CStr;
use std::io;

/// A call by number, with up to six arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) number: libc::c_long,
    pub(crate) arguments: [libc::c_long; 6],
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Done(libc::c_long),
    Refused(i32),
    /// The process that made the call was ended by this signal.
    Killed(i32),
}

pub(crate) const fn call(
    name: &'static str,
    number: libc::c_long,
    arguments: [libc::c_long; 6],
) -> Call {
    Call {
        name,
        number,
        arguments,
    }
}

/// Makes the call in this process.
pub(crate) fn make(call: &Call) -> Answer {
    let all = call.arguments;
    // SAFETY: the kernel checks every pointer that it is given. Those of the tables are null, or
    // lead to constants of this program that the call reads; none is one that a call writes to.
    let result =
        unsafe { libc::syscall(call.number, all[0], all[1], all[2], all[3], all[4], all[5]) };
    if result < 0 {
        let errno = io::Error::last_os_error().raw_os_error();
        return Answer::Refused(errno.unwrap_or(0));
    }
    Answer::Done(result)
}

/// Where a constant lies, as an argument of a call that reads it.
pub(crate) fn text(constant: &'static CStr) -> libc::c_long {
    constant.as_ptr() as libc::c_long
}

/// A limit of nought, as an argument of a call that reads it.
pub(crate) fn no_limit() -> libc::c_long {
    static NONE: libc::rlimit64 = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    &raw const NONE as libc::c_long
}

/// Makes a child that only waits for its end; says whether there is one.
pub(crate) fn breed() -> bool {
    // SAFETY: this program has one thread, so the child may go on; it makes one call for ever.
    match unsafe { libc::fork() } {
        -1 => false,
        0 => loop {
            // SAFETY: takes nothing.
            unsafe { libc::pause() };
        },
        _ => true,
    }
}

/// Asks for the process id by the 32-bit entry.
pub(crate) fn int80() -> Answer {
    let mut answer: libc::c_ulong = 20;
    // SAFETY: 20 is getpid of the 32-bit convention, which touches no memory; the kernel clears
    // r8 to r11.
    unsafe {
        std::arch::asm!("int 0x80", inout("rax") answer,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    Answer::Done(answer.cast_signed())
}

/// Does something in a child, so that what it changes or ends is the child's.
pub(crate) fn apart(action: impl FnOnce() -> Answer) -> Answer {
    let mut pipe = [0; 2];
    // SAFETY: `pipe` takes two descriptors.
    if unsafe { libc::pipe(pipe.as_mut_ptr()) } != 0 {
        return Answer::Done(-1);
    }
    // SAFETY: this program has one thread, so the child may go on with all of its memory.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let word = match action() {
            Answer::Done(value) => [0, value],
            Answer::Refused(errno) => [1, libc::c_long::from(errno)],
            Answer::Killed(signal) => [2, libc::c_long::from(signal)],
        };
        // SAFETY: `word` is 16 bytes; the process ends here.
        unsafe {
            libc::write(pipe[1], word.as_ptr().cast(), 16);
            libc::_exit(0);
        }
    }
    let mut word: [libc::c_long; 2] = [0, -1];
    let mut status = 0;
    // SAFETY: `word` takes 16 bytes and `status` one int; the descriptors are this function's.
    let read = unsafe {
        libc::close(pipe[1]);
        let read = libc::read(pipe[0], word.as_mut_ptr().cast(), 16);
        libc::close(pipe[0]);
        libc::waitpid(child, &raw mut status, 0);
        read
    };
    if read != 16 && libc::WIFSIGNALED(status) {
        return Answer::Killed(libc::WTERMSIG(status));
    }
    let number = |word: libc::c_long| i32::try_from(word).unwrap_or(0);
    match word {
        [1, errno] => Answer::Refused(number(errno)),
        [2, signal] => Answer::Killed(number(signal)),
        [_, value] => Answer::Done(value),
    }
}

/// The name of an errno as people know it.
pub(crate) fn errno_name(errno: i32) -> String {
    match errno {
        libc::EPERM => "EPERM".to_owned(),
        libc::EACCES => "EACCES".to_owned(),
        libc::ENOSYS => "ENOSYS".to_owned(),
        libc::EROFS => "EROFS".to_owned(),
        libc::EAFNOSUPPORT => "EAFNOSUPPORT".to_owned(),
        libc::ENOENT => "ENOENT".to_owned(),
        libc::EINVAL => "EINVAL".to_owned(),
        other => format!("errno {other}"),
    }
}
