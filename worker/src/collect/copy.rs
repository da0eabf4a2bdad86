//! One copy of one file, in a file of our own that the job cannot reach.

use super::CollectError;
use crate::execute::memfd;
use kiln_protocol::outcome::SkipReason;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// Copies up to this size stay in memory; larger ones go to an unlinked file.
const MEMORY_MAX: u64 = 4 * 1024 * 1024;

/// Bytes that left a sandbox, as one sealed or unlinked file. Nobody has looked at them.
#[derive(Debug)]
pub struct RawFile {
    /// Relative to `/job`, printable UTF-8.
    pub path: String,
    pub file: File,
    pub bytes: u64,
    /// Lower-case hex.
    pub sha256: String,
}

/// Copies exactly `size` bytes; a file that has another length by now is left.
pub(super) async fn copy(
    source: File,
    path: String,
    size: u64,
    spool: &Path,
) -> Result<Result<RawFile, SkipReason>, CollectError> {
    let spool = spool.to_owned();
    let name = path.clone();
    let copied = tokio::task::spawn_blocking(move || copy_now(source, path, size, &spool)).await;
    let copied = copied.unwrap_or_else(|panic| Err(io::Error::other(panic)));
    copied.map_err(|source| CollectError::Copy { path: name, source })
}

fn copy_now(
    source: File,
    path: String,
    size: u64,
    spool: &Path,
) -> io::Result<Result<RawFile, SkipReason>> {
    let mut target = if size <= MEMORY_MAX {
        memfd::create("artifact")?
    } else {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        File::from(rustix::fs::open(spool, flags, Mode::RUSR | Mode::WUSR)?)
    };
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    let mut copied = 0;
    // One byte more than agreed is asked for, so that growth is seen.
    let mut source = source.take(size.saturating_add(1));
    loop {
        let n = source.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hash.update(&buffer[..n]);
        target.write_all(&buffer[..n])?;
        copied += n as u64;
    }
    if copied != size {
        return Ok(Err(SkipReason::Changing));
    }
    let file = if size <= MEMORY_MAX {
        File::from(memfd::seal(target)?)
    } else {
        // From here on nobody can write to it, whoever is handed its descriptor.
        File::open(format!("/proc/self/fd/{}", target.as_raw_fd()))?
    };
    let sha256 = kiln_protocol::digest::hex(&hash.finalize());
    Ok(Ok(RawFile {
        path,
        file,
        bytes: size,
        sha256,
    }))
}
