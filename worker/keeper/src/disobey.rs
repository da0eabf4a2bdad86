//! What does a keeper do that somebody has taken over? Only in a program for tests, built with the
//! feature `unguarded`: everything here must be noticed by the warden, and reach nothing.

#![expect(unsafe_code, reason = "it does what no other part of the keeper does")]

use crate::peers::{Stop, tell_warden};
use crate::sys::mount::{self, Configuration};
use crate::sys::process::{self, Cloned};
use crate::sys::{Errno, cred, file};
use kiln_keeper::guard::{Guard, off, take_off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::ToWarden;
use std::ffi::CStr;
use std::os::fd::{AsFd, IntoRawFd};

/// Added to the mask of what was reached, so that nothing reached is told apart from an errno.
const REACHED: u32 = 0x1000_0000;

/// Takes off what the command line says.
pub(crate) fn listen() -> Result<(), Errno> {
    let line = file::open(c"/proc/self/cmdline", libc::O_RDONLY)?;
    let mut bytes = [0; 1024];
    let length = file::read(line.as_fd(), &mut bytes)?;
    for word in bytes[..length]
        .split(|byte| [0, b','].contains(byte))
        .skip(1)
    {
        if !word.is_empty() && !std::str::from_utf8(word).is_ok_and(take_off) {
            return Err(Errno(libc::EINVAL));
        }
    }
    Ok(())
}

/// After a job has ended and before the reset.
pub(crate) fn after_job() -> Result<(), Errno> {
    if off(Guard::LeaveProcess) {
        match process::clone(0, None)? {
            Cloned::Child => loop {
                // SAFETY: takes nothing.
                unsafe { libc::pause() };
            },
            Cloned::Parent { pidfd, .. } => drop(pidfd),
        }
    }
    if off(Guard::LeaveDescriptor) {
        // Nobody closes it any more: that is the point.
        let left = file::open(c"/dev/null", libc::O_RDONLY)?.into_raw_fd();
        debug_assert!(left > 0);
    }
    if off(Guard::LeaveMount) {
        let root = Configuration::new(c"tmpfs")?.create(0)?;
        mount::attach(root.as_fd(), c"/tmp")?;
    }
    if off(Guard::LeaveMemory) {
        let how = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping that nothing else uses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, how, kind, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(Errno(libc::ENOMEM));
        }
    }
    if off(Guard::ChangeLimit) {
        cred::set_limit(libc::RLIMIT_NOFILE, 77)?;
    }
    Ok(())
}

/// Before a cell is built: what is said, or tried, instead.
pub(crate) fn before_cell(generation: u64) -> Result<(), Stop> {
    if off(Guard::Babble) {
        for word in [
            ToWarden::Resized,
            ToWarden::Ready,
            ToWarden::Prepared { generation },
        ] {
            // The warden closes on it, in the middle of a word.
            tell_warden(word, &[]).ok();
        }
    }
    if off(Guard::Silence) {
        loop {
            // SAFETY: takes nothing.
            unsafe { libc::pause() };
        }
    }
    if off(Guard::Reach) {
        tell_warden(
            ToWarden::Failed {
                step: Step::CloneCell as u32,
                errno: REACHED | reached(),
            },
            &[],
        )?;
    }
    Ok(())
}

/// What of the world outside answers, as a mask.
fn reached() -> u32 {
    const PATHS: [&CStr; 6] = [
        c"/proc/1/root/../../etc/shadow",
        c"/etc/shadow",
        c"/sys/fs/cgroup/cgroup.procs",
        c"/run/kiln",
        c"/dev/mem",
        c"/proc/sysrq-trigger",
    ];
    let mut mask = 0;
    for (place, path) in PATHS.iter().enumerate() {
        let opens = file::open(path, libc::O_RDONLY).is_ok();
        mask |= u32::from(opens) << place;
    }
    // SAFETY: each takes numbers, or pointers to constants that the kernel reads.
    let answers = unsafe {
        [
            // Its parent is outside of its pid namespace, and so is every other process.
            libc::kill(2, 0),
            libc::kill(-1, 0),
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0),
            libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
            libc::socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
            libc::mknod(
                c"/tmp/node".as_ptr(),
                libc::S_IFBLK | 0o600,
                libc::makedev(8, 0),
            ),
            libc::setns(0, 0),
            libc::ptrace(libc::PTRACE_ATTACH, 1, 0, 0)
                .try_into()
                .unwrap_or(0),
            mounts(c"cgroup2"),
            mounts(c"cgroup"),
            mounts(c"sysfs"),
            mounts(c"devtmpfs"),
        ]
    };
    for (place, answer) in answers.iter().enumerate() {
        mask |= u32::from(*answer >= 0) << (place + PATHS.len());
    }
    mask
}

/// 0 where a file system of this kind can be made here.
fn mounts(kind: &'static CStr) -> libc::c_int {
    match Configuration::new(kind).and_then(|made| made.create(0)) {
        Ok(_) => 0,
        Err(_) => -1,
    }
}
