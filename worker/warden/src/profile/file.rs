//! Can a configuration file be trusted to say what a sandbox is?
//!
//! Whoever can write it decides what root mounts and what jobs may use, so that must be root alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The largest file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// Why a configuration file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("open `{0}`")]
    Open(PathBuf, #[source] io::Error),
    #[error("read `{0}`")]
    Read(PathBuf, #[source] io::Error),
    #[error("trust `{path}`: {why}")]
    Untrusted { path: PathBuf, why: String },
}

/// The text of a regular file that root alone can change.
pub(super) fn read(path: &Path) -> Result<String, FileError> {
    let untrusted = |why: String| FileError::Untrusted {
        path: path.to_owned(),
        why,
    };
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
        .open(path)
        .map_err(|e| match e.raw_os_error() {
            Some(libc::ELOOP) => untrusted("it is a symbolic link".to_owned()),
            _ => FileError::Open(path.to_owned(), e),
        })?;
    let meta = file
        .metadata()
        .map_err(|e| FileError::Read(path.to_owned(), e))?;
    if !meta.is_file() {
        return Err(untrusted("it is not a regular file".to_owned()));
    }
    if meta.uid() != 0 {
        return Err(untrusted(format!(
            "it belongs to uid {}, not to root: `chown root`",
            meta.uid()
        )));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(untrusted(format!(
            "others than its owner can write to it (mode {:04o}): `chmod go-w`",
            meta.mode() & 0o7777
        )));
    }
    text(file, path)
}

fn text(file: File, path: &Path) -> Result<String, FileError> {
    let mut text = String::new();
    file.take(BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|e| FileError::Read(path.to_owned(), e))?;
    if text.len() as u64 > BYTES_MAX {
        let e = io::Error::from(io::ErrorKind::FileTooLarge);
        return Err(FileError::Read(path.to_owned(), e));
    }
    Ok(text)
}
