//! How a worker starts its warden and speaks to it.
//!
//! Nothing here waits: the socket that [`spawn`] returns is non-blocking, so [`send`] and [`recv`]
//! fail with [`io::ErrorKind::WouldBlock`] where they would have to, and an asynchronous caller
//! waits for readiness itself.

use crate::socket;
use crate::wire::{Event, MESSAGE_MAX, Request};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// What the warden is told on its command line.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program to run; this very one where `None`.
    pub program: Option<PathBuf>,
    /// `--config`: profiles, read by the warden itself.
    pub config: Option<PathBuf>,
    /// `--runtime`: the folder for locks and state.
    pub runtime: Option<PathBuf>,
    /// `--cgroup-parent`: the group below which everything is made.
    pub cgroup_parent: Option<String>,
    /// `--uid-base`: the first host uid for sandboxes.
    pub uid_base: Option<u32>,
}

/// A warden that was started. Closing the socket ends it and every sandbox it has.
#[derive(Debug)]
pub struct Spawned {
    /// Non-blocking.
    pub socket: OwnedFd,
    /// The monitor; it ends after the last sandbox. To be waited for.
    pub child: Child,
}

/// Why a message did not come.
#[derive(Debug, thiserror::Error)]
pub enum RecvError {
    /// [`io::ErrorKind::WouldBlock`] where no message waits.
    #[error("receive from the warden")]
    Receive(#[source] io::Error),
    #[error("understand the warden")]
    Decode(#[source] serde_json::Error),
    #[error("take `{found}` descriptors with an event that has `{wanted}`")]
    Descriptors { wanted: usize, found: usize },
}

/// Starts a warden with an empty environment and one socket to it.
pub fn spawn(options: &Options) -> io::Result<Spawned> {
    let (ours, theirs) = socket::pair()?;
    let flags = rustix::fs::fcntl_getfl(&ours)?;
    rustix::fs::fcntl_setfl(&ours, flags | rustix::fs::OFlags::NONBLOCK)?;
    let program = options
        .program
        .clone()
        .unwrap_or_else(|| PathBuf::from("/proc/self/exe"));
    let mut command = Command::new(program);
    command
        .arg0("kiln")
        .arg("warden")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    if let Some(path) = &options.config {
        command.arg("--config").arg(path);
    }
    if let Some(path) = &options.runtime {
        command.arg("--runtime").arg(path);
    }
    if let Some(group) = &options.cgroup_parent {
        command.arg("--cgroup-parent").arg(group);
    }
    if let Some(uid) = options.uid_base {
        command.arg("--uid-base").arg(uid.to_string());
    }
    #[cfg(feature = "unguarded")]
    for word in std::env::var("KILN_WITHOUT").unwrap_or_default().split(',') {
        if !word.is_empty() {
            command.arg("--without").arg(word);
        }
    }
    let child = command.spawn()?;
    Ok(Spawned {
        socket: ours,
        child,
    })
}

/// Sends one request.
pub fn send(socket: &OwnedFd, request: &Request) -> io::Result<()> {
    let bytes = serde_json::to_vec(request)?;
    if bytes.len() > MESSAGE_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the request is longer than a message",
        ));
    }
    socket::send(socket.as_fd(), &bytes, &[])
}

/// Receives one event with its descriptors; `None` where the warden is gone.
pub fn recv(socket: &OwnedFd) -> Result<Option<(Event, Vec<OwnedFd>)>, RecvError> {
    let mut buffer = vec![0; MESSAGE_MAX];
    let Some((n, descriptors)) =
        socket::receive(socket.as_fd(), &mut buffer).map_err(RecvError::Receive)?
    else {
        return Ok(None);
    };
    let event: Event = serde_json::from_slice(&buffer[..n]).map_err(RecvError::Decode)?;
    let wanted = event.descriptors();
    if wanted != descriptors.len() {
        return Err(RecvError::Descriptors {
            wanted,
            found: descriptors.len(),
        });
    }
    Ok(Some((event, descriptors)))
}

impl RecvError {
    /// Whether no message waits yet.
    pub fn would_block(&self) -> bool {
        matches!(self, Self::Receive(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}
