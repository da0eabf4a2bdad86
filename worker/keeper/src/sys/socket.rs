//! How messages and descriptors travel between the processes.

use super::{Errno, count, done};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Descriptors that one message carries at most.
pub(crate) const FDS_MAX: usize = 16;
const CONTROL_WORDS: usize = 16;

/// The descriptors that came with a message, in order.
pub(crate) type Fds = [Option<OwnedFd>; FDS_MAX];

/// What [`receive`] got: bytes and descriptors.
pub(crate) struct Received {
    pub(crate) bytes: usize,
    pub(crate) count: usize,
    pub(crate) fds: Fds,
}

impl Received {
    /// Takes the descriptor at this place.
    pub(crate) fn take(&mut self, place: usize) -> Result<OwnedFd, Errno> {
        self.fds
            .get_mut(place)
            .and_then(Option::take)
            .ok_or(Errno(libc::EBADMSG))
    }

    /// Sends all its descriptors on, with these bytes.
    pub(crate) fn forward(
        &self,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
        flags: libc::c_int,
    ) -> Result<(), Errno> {
        let mut all = [socket; FDS_MAX];
        for (place, fd) in all.iter_mut().zip(self.fds.iter().flatten()) {
            *place = fd.as_fd();
        }
        let all = all.get(..self.count).ok_or(Errno(libc::EBADMSG))?;
        send(socket, bytes, all, flags)
    }
}

/// Sends one message with descriptors. `flags` may be `MSG_DONTWAIT`.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    flags: libc::c_int,
) -> Result<(), Errno> {
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all zeroes is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !fds.is_empty() {
        let length = u32::try_from(size_of::<RawFd>() * fds.len()).unwrap_or(u32::MAX);
        if fds.len() > FDS_MAX {
            return Err(Errno(libc::EINVAL));
        }
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: `CMSG_SPACE` only computes; `FDS_MAX` descriptors fit in `control`, which is
        // aligned for a header, so the first header and its data lie inside it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(length) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length) as usize;
            for (place, fd) in fds.iter().enumerate() {
                let number = fd.as_raw_fd().to_ne_bytes();
                let data = libc::CMSG_DATA(header).add(place * number.len());
                data.copy_from_nonoverlapping(number.as_ptr(), number.len());
            }
        }
    }
    loop {
        // SAFETY: `message` points at `part`, `bytes` and `control`, which outlive the call; the
        // kernel only reads them.
        let sent = unsafe {
            libc::sendmsg(
                socket.as_raw_fd(),
                &raw const message,
                flags | libc::MSG_NOSIGNAL,
            )
        };
        match count(sent) {
            Err(Errno(libc::EINTR)) => {}
            Ok(n) if n == bytes.len() => return Ok(()),
            Ok(_) => return Err(Errno(libc::EMSGSIZE)),
            Err(errno) => return Err(errno),
        }
    }
}

/// Receives one message; 0 bytes are the end. A message that is cut is an error.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    flags: libc::c_int,
) -> Result<Received, Errno> {
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all zeroes is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    let bytes = loop {
        // SAFETY: `message` points at `bytes` and `control` with their true sizes.
        let got = unsafe {
            libc::recvmsg(
                socket.as_raw_fd(),
                &raw mut message,
                flags | libc::MSG_CMSG_CLOEXEC,
            )
        };
        match count(got) {
            Err(Errno(libc::EINTR)) => {}
            other => break other?,
        }
    };
    let mut received = Received {
        bytes,
        count: 0,
        fds: [const { None }; FDS_MAX],
    };
    // SAFETY: the kernel has filled `control` with whole headers up to `msg_controllen`, and each
    // `SCM_RIGHTS` number in it is a new descriptor that is ours alone.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let length = (*header).cmsg_len - libc::CMSG_LEN(0) as usize;
                for place in 0..length / size_of::<RawFd>() {
                    let mut number = [0; size_of::<RawFd>()];
                    let data = libc::CMSG_DATA(header).add(place * number.len());
                    number
                        .as_mut_ptr()
                        .copy_from_nonoverlapping(data, number.len());
                    let fd = OwnedFd::from_raw_fd(RawFd::from_ne_bytes(number));
                    if let Some(slot) = received.fds.get_mut(received.count) {
                        *slot = Some(fd);
                    }
                    received.count += 1;
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    if message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(Errno(libc::EBADMSG));
    }
    Ok(received)
}

/// Lets the reader of this socket see the end once it has read what is queued.
pub(crate) fn end_reading(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    done(unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RD) })
}

/// A socket that listens on the loopback address of this network namespace.
pub(crate) fn listen_on_loopback(port: u16, backlog: libc::c_int) -> Result<OwnedFd, Errno> {
    // SAFETY: takes numbers only.
    let socket = super::descriptor(unsafe {
        libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0)
    })?;
    let address = libc::sockaddr_in {
        sin_family: libc::sa_family_t::try_from(libc::AF_INET)
            .map_err(|_| Errno(libc::EAFNOSUPPORT))?,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: libc::INADDR_LOOPBACK.to_be(),
        },
        sin_zero: [0; 8],
    };
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>())
        .map_err(|_| Errno(libc::EINVAL))?;
    // SAFETY: `address` is a whole address of `length` bytes, which the kernel only reads.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    // SAFETY: takes numbers only.
    done(unsafe { libc::listen(socket.as_raw_fd(), backlog) })?;
    Ok(socket)
}

/// Raises the loopback device of this network namespace.
pub(crate) fn raise_loopback() -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    let socket = super::descriptor(unsafe {
        libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
    })?;
    // SAFETY: all zeroes is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(libc::c_short::MAX);
    // SAFETY: `SIOCSIFFLAGS` reads one `ifreq`, which this is.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
}
