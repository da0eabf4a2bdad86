//! What a job reads: sealed bytes, or a pipe that a thread of ours fills.
//!
//! A job never gets a file of this machine itself: it could open it anew by `/proc/self/fd`.

use crate::execute::memfd;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// The descriptor that becomes the job's stdin: `file` as a stream, else `bytes`.
pub(super) fn open(file: Option<File>, bytes: &[u8]) -> io::Result<OwnedFd> {
    let Some(mut file) = file else {
        return memfd::sealed("stdin", bytes);
    };
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            // A job that does not read its input to the end is none of our business.
            if let Err(error) = io::copy(&mut file, &mut File::from(ours)) {
                tracing::debug!(%error, "a job's stdin was not read to its end");
            }
        })?;
    Ok(theirs)
}
