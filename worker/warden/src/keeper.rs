//! How the warden speaks to one keeper, and what it starts as one.

use crate::{memfd, socket};
use kiln_keeper::spec::Filter;
use kiln_keeper::wire::{self, BYTES, FromWarden, ToWarden};
use rustix::fs::MemfdFlags;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The keeper's program, static, as the build script made it.
const PROGRAM: &[u8] = include_bytes!(env!("KILN_KEEPER"));

/// Why a keeper could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeeperError {
    #[error("make a sealed file in memory for `{what}`")]
    Seal {
        what: &'static str,
        source: io::Error,
    },
    #[error("send `{what}` to the keeper")]
    Send {
        what: &'static str,
        source: io::Error,
    },
    #[error("receive from the keeper")]
    Receive(#[source] io::Error),
    #[error("hear from the keeper: it closed its socket")]
    Gone,
    #[error("understand the keeper: the message is malformed")]
    Malformed,
}

/// A sealed, close-on-exec file in memory.
fn sealed(what: &'static str, bytes: &[u8], flags: MemfdFlags) -> Result<OwnedFd, KeeperError> {
    let fail = |source| KeeperError::Seal { what, source };
    let flags = flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create(what, flags).map_err(|e| fail(e.into()))?;
    let mut file = std::fs::File::from(fd);
    file.write_all(bytes).map_err(fail)?;
    memfd::seal(&file).map_err(fail)?;
    Ok(file.into())
}

/// The keeper's program as a sealed file that `execveat` can start.
pub(crate) fn program() -> Result<OwnedFd, KeeperError> {
    match sealed("kiln-keeper", PROGRAM, MemfdFlags::EXEC) {
        // Kernels before 6.3 know no `MFD_EXEC`; there every such file may be executed.
        Err(KeeperError::Seal { source, .. }) if source.raw_os_error() == Some(libc::EINVAL) => {
            sealed("kiln-keeper", PROGRAM, MemfdFlags::empty())
        }
        other => other,
    }
}

/// A filter as a sealed file.
pub(crate) fn filter(what: &'static str, filter: &Filter) -> Result<OwnedFd, KeeperError> {
    sealed(what, &filter.encode(), MemfdFlags::empty())
}

/// Sends one message with the descriptors that belong to it.
pub(crate) fn send(
    socket: &OwnedFd,
    message: &FromWarden,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), KeeperError> {
    let what = match message {
        FromWarden::Init => "Init",
        FromWarden::Prepare(_) => "Prepare",
        FromWarden::Resize { .. } => "Resize",
    };
    let fail = |source| KeeperError::Send { what, source };
    if message.descriptors() != descriptors.len() {
        return Err(fail(io::Error::other(format!(
            "the message goes with {} descriptors, not {}",
            message.descriptors(),
            descriptors.len()
        ))));
    }
    socket::send(socket, &wire::to_bytes(&message.encode()), descriptors).map_err(fail)
}

/// Receives one message; never waits (the socket is non-blocking). `None` where none is there.
pub(crate) fn receive(socket: &OwnedFd) -> Result<Option<(ToWarden, Vec<OwnedFd>)>, KeeperError> {
    let mut buffer = [0; BYTES];
    let (n, descriptors) = match socket::receive(socket.as_fd(), &mut buffer) {
        Ok(Some(message)) => message,
        Ok(None) => return Err(KeeperError::Gone),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(e) => return Err(KeeperError::Receive(e)),
    };
    let message = wire::from_bytes(&buffer[..n])
        .and_then(|words| ToWarden::decode(&words))
        .map_err(|_| KeeperError::Malformed)?;
    if message.descriptors() != descriptors.len() {
        return Err(KeeperError::Malformed);
    }
    Ok(Some((message, descriptors)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_static(elf: &[u8]) -> bool {
        let word = |at: usize, n: usize| {
            elf[at..at + n]
                .iter()
                .rev()
                .fold(0_usize, |value, byte| value << 8 | usize::from(*byte))
        };
        let (table, size, count) = (word(32, 8), word(54, 2), word(56, 2));
        // PT_INTERP is 3.
        (0..count).all(|n| word(table + n * size, 4) != 3)
    }

    #[test]
    fn the_keeper_is_a_static_program() {
        assert_eq!(&PROGRAM[..4], b"\x7fELF");
        assert!(is_static(PROGRAM), "the keeper asks for a loader");
        let own = std::fs::read("/proc/self/exe").expect("read");
        assert!(!is_static(&own), "this test could not tell");
    }

    #[test]
    fn the_program_cannot_be_written() {
        let file = std::fs::File::from(program().expect("seal"));
        let error = (&file).write_all(b"x").expect_err("sealed");
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }
}
