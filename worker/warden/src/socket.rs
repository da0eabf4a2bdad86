//! How one message, with its descriptors, gets through a `SOCK_SEQPACKET` socket.
//!
//! A message that does not fit the buffer, or whose descriptors do not fit the control buffer, is
//! an error: half a message is none. Received descriptors are close-on-exec from birth.

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Descriptors beside one message at most.
pub const DESCRIPTORS_MAX: usize = 32;

const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX));

/// Two connected sockets, close-on-exec, blocking.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Sends one message. A socket whose other end is gone is `EPIPE`, never a signal.
pub fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if descriptors.len() > DESCRIPTORS_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "too many descriptors for one message",
        ));
    }
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the descriptors do not fit the control buffer",
        ));
    }
    let sent = retry(|| {
        rustix::net::sendmsg(
            socket.as_fd(),
            &[IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        )
    })?;
    if sent == bytes.len() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::WriteZero,
            "the message was sent in part",
        ))
    }
}

/// Receives one message into `buffer`: its length and its descriptors; `None` where the other end
/// is gone.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<(usize, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = retry(|| {
        rustix::net::recvmsg(
            socket.as_fd(),
            &mut [IoSliceMut::new(buffer)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )
    });
    let message = match received {
        Ok(message) => message,
        // The other end went before it had read everything.
        Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut descriptors = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            descriptors.extend(received);
        }
    }
    if message
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the message or its descriptors were cut",
        ));
    }
    if message.bytes == 0 {
        return Ok(None);
    }
    Ok(Some((message.bytes, descriptors)))
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::FdFlags;

    fn null() -> OwnedFd {
        std::fs::File::open("/dev/null").expect("open").into()
    }

    #[test]
    fn descriptors_arrive_closed_on_exec() {
        let (a, b) = pair().expect("pair");
        let file = null();
        send(&a, b"x", &[file.as_fd(), file.as_fd()]).expect("send");
        let (n, fds) = receive(&b, &mut [0; 8]).expect("receive").expect("open");
        assert_eq!((n, fds.len()), (1, 2));
        for fd in fds {
            let flags = rustix::io::fcntl_getfd(&fd).expect("flags");
            assert!(flags.contains(FdFlags::CLOEXEC));
        }
    }

    #[test]
    fn a_message_that_does_not_fit_is_an_error() {
        let (a, b) = pair().expect("pair");
        send(&a, b"four", &[]).expect("send");
        let error = receive(&b, &mut [0; 3]).expect_err("cut");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn descriptors_that_do_not_fit_are_an_error() {
        let (a, b) = pair().expect("pair");
        let file = null();
        let many = vec![file.as_fd(); DESCRIPTORS_MAX + 8];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&many)));
        rustix::net::sendmsg(&a, &[IoSlice::new(b"x")], &mut control, SendFlags::empty())
            .expect("send");
        let error = receive(&b, &mut [0; 8]).expect_err("cut");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(send(&a, b"x", &many).is_err());
    }

    #[test]
    fn a_gone_end_is_none_to_read_and_an_error_to_write() {
        let (a, b) = pair().expect("pair");
        send(&b, b"unread", &[]).expect("send");
        drop(a);
        assert!(receive(&b, &mut [0; 8]).expect("receive").is_none());
        assert!(send(&b, b"x", &[]).is_err());
    }
}
