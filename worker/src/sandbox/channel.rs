//! A `SOCK_SEQPACKET` socket whose messages carry descriptors, for a task to wait on.

use kiln_warden::socket;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use tokio::io::unix::AsyncFd;

/// One message as it came.
#[derive(Debug)]
pub struct Message {
    pub bytes: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
}

/// Our end of a socket; sending and receiving wait without holding a thread.
#[derive(Debug)]
pub struct Channel(AsyncFd<OwnedFd>);

impl Channel {
    /// Takes a socket over and makes it non-blocking.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for descriptors that may change under it; this one \
                      is owned and never replaced"
        )]
        let socket = AsyncFd::new(socket)?;
        Ok(Self(socket))
    }

    /// A fresh pair: our end, and the one to hand over (blocking).
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socket::pair()?;
        Ok((Self::new(ours)?, theirs))
    }

    /// Sends one message.
    pub async fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        loop {
            match socket::send(self.0.get_ref(), bytes, descriptors) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.0.writable().await?.clear_ready();
                }
                sent => return sent,
            }
        }
    }

    /// Waits for one message of at most `bytes_max`; `None` where the other end is gone.
    pub async fn recv(&self, bytes_max: usize) -> io::Result<Option<Message>> {
        let mut bytes = vec![0; bytes_max];
        loop {
            match socket::receive(self.0.get_ref(), &mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.0.readable().await?.clear_ready();
                }
                Err(error) => return Err(error),
                Ok(None) => return Ok(None),
                Ok(Some((n, descriptors))) => {
                    bytes.truncate(n);
                    return Ok(Some(Message { bytes, descriptors }));
                }
            }
        }
    }
}
