//! The raw calls of the test: sockets with descriptors, memfds, and the way into a sandbox.

#![expect(unsafe_code, reason = "namespaces and sockets, without the warden")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

pub(crate) fn check(result: impl Into<i64>) -> io::Result<i64> {
    let result = result.into();
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

pub(crate) fn pair() -> (OwnedFd, OwnedFd) {
    let mut fds = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: room for two numbers, which are ours afterwards.
    unsafe {
        check(libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr())).expect("socketpair");
        (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))
    }
}

pub(crate) fn pipe() -> (OwnedFd, OwnedFd) {
    let mut fds = [-1; 2];
    // SAFETY: room for two numbers, which are ours afterwards.
    unsafe {
        check(libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC)).expect("pipe2");
        (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))
    }
}

pub(crate) fn eventfd() -> OwnedFd {
    // SAFETY: a new descriptor that is ours.
    unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) }
}

pub(crate) fn memfd(bytes: &[u8]) -> OwnedFd {
    use std::io::Write;
    // SAFETY: a new descriptor that is ours.
    let fd =
        unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC)) };
    let mut file = std::fs::File::from(fd);
    file.write_all(bytes).expect("write a memfd");
    file.into()
}

pub(crate) fn file_system(fd: &OwnedFd) -> libc::statfs {
    // SAFETY: zeroes are a valid `statfs`, which the call overwrites.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        check(libc::fstatfs(fd.as_raw_fd(), &raw mut stat)).expect("fstatfs");
        stat
    }
}

pub(crate) fn send(socket: &OwnedFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut control = [0u64; 16];
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: zeroes are a valid `msghdr`; the pointers outlive the call; the control buffer has
    // room for 24 descriptors.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            let length = u32::try_from(4 * fds.len()).expect("few");
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(length) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length) as usize;
            for (place, fd) in fds.iter().enumerate() {
                let bytes = fd.as_raw_fd().to_ne_bytes();
                let data = libc::CMSG_DATA(header).add(place * bytes.len());
                data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
        }
        let sent = libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL);
        check(i64::try_from(sent).expect("a size")).map(drop)
    }
}

/// Receives within ten seconds; no bytes are the end.
pub(crate) fn receive(socket: &OwnedFd) -> (Vec<u8>, Vec<OwnedFd>) {
    let mut wait = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut bytes = vec![0; 40_000];
    let mut control = [0u64; 16];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: as in `send`; the received numbers are ours.
    unsafe {
        assert_eq!(
            libc::poll(&raw mut wait, 1, 10_000),
            1,
            "no message in 10 s"
        );
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = 128;
        let got = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        check(i64::try_from(got).expect("a size")).expect("receive");
        bytes.truncate(usize::try_from(got).expect("a size"));
        let mut fds = Vec::new();
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if !header.is_null() {
            let count = ((*header).cmsg_len - libc::CMSG_LEN(0) as usize) / 4;
            for place in 0..count {
                let mut bytes = [0; 4];
                let data = libc::CMSG_DATA(header).add(place * bytes.len());
                bytes
                    .as_mut_ptr()
                    .copy_from_nonoverlapping(data, bytes.len());
                fds.push(OwnedFd::from_raw_fd(RawFd::from_ne_bytes(bytes)));
            }
        }
        (bytes, fds)
    }
}

fn text(path: &str) -> CString {
    CString::new(path).expect("no NUL byte")
}

fn mount(from: &str, to: &str, kind: &str, flags: libc::c_ulong, data: &str) -> io::Result<()> {
    let (from, to, kind, data) = (text(from), text(to), text(kind), text(data));
    // SAFETY: all strings end with a NUL byte.
    let result = unsafe {
        libc::mount(
            from.as_ptr(),
            to.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    };
    check(result).map(drop)
}

/// What a sandbox is made from.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) root: String,
    pub(crate) uid_base: u32,
    /// `tasks` files of the keeper's own groups.
    pub(crate) tasks: Vec<String>,
}

const KEPT: [libc::c_ulong; 7] = [0, 2, 6, 7, 8, 12, 21];

/// Between fork and exec: becomes PID 1 of a sandbox. Runs where nothing else runs.
pub(crate) fn enter(plan: &Plan) -> io::Result<()> {
    for tasks in &plan.tasks {
        std::fs::write(tasks, "0")?;
    }
    // SAFETY: raw calls of a process with one thread, each on valid NUL-ended strings.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        check(libc::unshare(libc::CLONE_NEWNS))?;
        build_root(plan)?;
        let mut start = [-1; 2];
        check(libc::pipe(start.as_mut_ptr()))?;
        let me = libc::getpid();
        let mapper = libc::fork();
        if mapper == 0 {
            let mut byte = 0u8;
            libc::close(start[1]);
            libc::read(start[0], (&raw mut byte).cast(), 1);
            let map = format!("0 {} 65536\n", plan.uid_base);
            let done = std::fs::write(format!("/proc/{me}/uid_map"), &map)
                .and_then(|()| std::fs::write(format!("/proc/{me}/gid_map"), &map));
            libc::_exit(i32::from(done.is_err()));
        }
        check(libc::unshare(
            libc::CLONE_NEWUSER
                | libc::CLONE_NEWNS
                | libc::CLONE_NEWPID
                | libc::CLONE_NEWNET
                | libc::CLONE_NEWIPC
                | libc::CLONE_NEWUTS,
        ))?;
        libc::write(start[1], b"x".as_ptr().cast(), 1);
        let mut status = 0;
        libc::waitpid(mapper, &raw mut status, 0);
        if status != 0 {
            return Err(io::Error::other("map the ids"));
        }
        libc::close(start[0]);
        libc::close(start[1]);
        let child = libc::fork();
        if child > 0 {
            libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
            libc::waitpid(child, &raw mut status, 0);
            libc::_exit(if libc::WIFEXITED(status) {
                libc::WEXITSTATUS(status)
            } else {
                99
            });
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        check(libc::setresgid(0, 0, 0))?;
        check(libc::setresuid(0, 0, 0))?;
        check(libc::syscall(
            libc::SYS_setgroups,
            0,
            ptr::null::<libc::gid_t>(),
        ))?;
        let root = &plan.root;
        // The mount that came from outside is locked; a bind of it is not.
        mount(root, root, "", libc::MS_BIND | libc::MS_REC, "")?;
        mount(
            "proc",
            &format!("{root}/proc"),
            "proc",
            libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
            "",
        )?;
        check(libc::chdir(text(root).as_ptr()))?;
        let here = c".".as_ptr();
        check(libc::syscall(libc::SYS_pivot_root, here, here))?;
        check(libc::umount2(here, libc::MNT_DETACH))?;
        check(libc::chdir(c"/".as_ptr()))?;
        for capability in (0..=40).filter(|c| !KEPT.contains(c)) {
            check(libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0))?;
        }
    }
    Ok(())
}

fn build_root(plan: &Plan) -> io::Result<()> {
    let root = &plan.root;
    mount("none", "/", "", libc::MS_REC | libc::MS_PRIVATE, "")?;
    mount("root", root, "tmpfs", 0, "mode=755")?;
    for directory in [
        "usr", "proc", "dev", "dev/shm", "tmp", "job", "home", "home/job", "etc",
    ] {
        std::fs::create_dir(format!("{root}/{directory}"))?;
    }
    for link in ["bin", "lib", "lib64"] {
        std::os::unix::fs::symlink(format!("usr/{link}"), format!("{root}/{link}"))?;
    }
    for device in ["null", "zero", "urandom"] {
        let path = format!("{root}/dev/{device}");
        std::fs::write(&path, "")?;
        mount(&format!("/dev/{device}"), &path, "", libc::MS_BIND, "")?;
    }
    mount("/usr", &format!("{root}/usr"), "", libc::MS_BIND, "")?;
    let read_only =
        libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV;
    mount("none", &format!("{root}/usr"), "", read_only, "")?;
    mount("none", root, "", read_only, "")
}
