//! How inputs get into the cell: by the stager, which writes them in the job's own cgroup.

use super::{ExecuteError, memfd};
use crate::sandbox::channel::Channel;
use kiln_keeper::stage::{Input as Wire, STAGED_BYTES, Staged};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Where an input's content is.
#[derive(Debug)]
pub enum Source {
    Bytes(Vec<u8>),
    File(File),
}

/// One file below `/job`.
#[derive(Debug)]
pub struct Input {
    /// Relative, checked by the protocol.
    pub path: String,
    pub source: Source,
    pub read_only: bool,
    pub executable: bool,
}

/// The errno of an input whose stager was gone.
pub(super) const GONE: u32 = Errno::NOMEM.raw_os_error().cast_unsigned();

/// What was staged, to tell later what the job has changed.
pub type Manifest = HashMap<Vec<u8>, Staged>;

/// The end of a staging.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) manifest: Manifest,
    /// The first input that met a limit of the job, with the kernel's word.
    pub(super) failed: Option<(String, u32)>,
}

/// Writes the inputs, one after another, and closes the socket, which ends the stager.
pub(super) async fn stage(
    socket: Option<OwnedFd>,
    inputs: Vec<Input>,
) -> Result<Outcome, ExecuteError> {
    let mut outcome = Outcome::default();
    let Some(socket) = socket else {
        return Err(ExecuteError::KeeperNonsense("the cell has no stager"));
    };
    if inputs.is_empty() {
        return Ok(outcome);
    }
    let channel = Channel::new(socket).map_err(ExecuteError::Streams)?;
    for input in inputs {
        match one(&channel, &input).await {
            Ok(staged) if staged.errno == 0 => {
                outcome.manifest.insert(input.path.into_bytes(), staged);
            }
            Ok(staged) if over_limit(staged.errno) => {
                outcome.failed = Some((input.path, staged.errno));
                break;
            }
            Ok(staged) => {
                let source = io::Error::from_raw_os_error(staged.errno.cast_signed());
                return Err(ExecuteError::Stage {
                    path: input.path,
                    source,
                });
            }
            // The stager lives in the job's cgroup: want of memory is how it ends, if the kernel's
            // counter says so.
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                outcome.failed = Some((input.path, GONE));
                break;
            }
            Err(source) => {
                return Err(ExecuteError::Stage {
                    path: input.path,
                    source,
                });
            }
        }
    }
    Ok(outcome)
}

fn over_limit(errno: u32) -> bool {
    [Errno::NOSPC, Errno::NOMEM, Errno::DQUOT]
        .iter()
        .any(|e| e.raw_os_error().cast_unsigned() == errno)
}

async fn one(channel: &Channel, input: &Input) -> io::Result<Staged> {
    let content: OwnedFd = match &input.source {
        Source::Bytes(bytes) => memfd::sealed("input", bytes)?,
        Source::File(file) => file.try_clone()?.into(),
    };
    let message = Wire {
        read_only: input.read_only,
        executable: input.executable,
        path: input.path.clone().into_bytes(),
    };
    channel
        .send(&message.encode(), &[content.as_fd()])
        .await
        .map_err(gone)?;
    let answer = channel
        .recv(STAGED_BYTES)
        .await
        .map_err(gone)?
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Staged::decode(&answer.bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the stager spoke nonsense"))
}

/// A socket whose other end was killed says so in several ways.
fn gone(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            io::Error::from(io::ErrorKind::UnexpectedEof)
        }
        _ => error,
    }
}
