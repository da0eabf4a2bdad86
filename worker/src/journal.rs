//! Which jobs were running here when the worker died?
//!
//! ```text
//!  begin ──► held ──► started ──► dropped: free
//!                        │ the worker dies, or its warden does: keep()
//!                        └─► left() at the next start
//! ```
//!
//! One small file for each job that runs at once, written over again and again: to make and remove
//! a file for each job costs more than the rest of this. So a job's death is told from its
//! neighbours' that had not started. The files are not synced: they outlive the process, and a host
//! that went down has no process to blame.

use kiln_protocol::id::{JobId, Tenant};
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of an entry that are read.
const ENTRY_BYTES_MAX: u64 = 4096;
/// Bytes that are written to see whether any are taken: a block.
const PROBE: [u8; 4096] = [0; 4096];
/// The first byte of an entry: what its job does.
const FREE: u8 = b'-';
const HELD: u8 = b'h';
const STARTED: u8 = b's';

/// Why the state folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("make the folder `{path}`")]
    Make { path: PathBuf, source: io::Error },
    #[error("open the folder `{path}`")]
    Open { path: PathBuf, source: io::Error },
    #[error(
        "use the state folder `{path}`: another worker uses it; give each its own `worker.state`"
    )]
    Taken { path: PathBuf },
    #[error("lock the folder `{path}`")]
    Lock { path: PathBuf, source: io::Error },
    #[error("read the journal `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("write to the journal `{path}`")]
    Write { path: PathBuf, source: io::Error },
}

/// The journal of one worker; the lock on its folder lasts as long as this.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    free: Arc<Mutex<Free>>,
    /// Whether the last note could be written.
    able: AtomicBool,
    _lock: OwnedFd,
}

/// The files that no job uses.
#[derive(Debug, Default)]
struct Free {
    files: Vec<File>,
    /// Files that there are.
    made: usize,
    /// What has started stays written down, whoever drops it.
    kept: bool,
}

/// What is remembered of a job that is about to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub job_id: JobId,
    pub tenant: Tenant,
    /// A token of this one execution.
    pub run: String,
    pub began_unix_ms: u64,
}

/// A job that is running, or about to; dropping it says that it is not any more.
#[derive(Debug)]
#[must_use = "dropping an entry says that the job has ended"]
pub struct Entry {
    /// `None` once it is given back.
    file: Option<File>,
    started: AtomicBool,
    free: Arc<Mutex<Free>>,
}

impl Journal {
    /// Takes the state folder, which is made where it is not there, for this worker alone.
    pub fn open(state: &Path) -> Result<Self, JournalError> {
        let folder = state.join("journal");
        std::fs::create_dir_all(&folder).map_err(|source| JournalError::Make {
            path: folder.clone(),
            source,
        })?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let open = |errno: rustix::io::Errno| JournalError::Open {
            path: folder.clone(),
            source: errno.into(),
        };
        let lock = rustix::fs::open(&folder, flags, Mode::empty()).map_err(open)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|errno| {
            match errno {
                rustix::io::Errno::WOULDBLOCK => JournalError::Taken {
                    path: state.to_owned(),
                },
                other => JournalError::Lock {
                    path: folder.clone(),
                    source: other.into(),
                },
            }
        })?;
        Ok(Self {
            folder,
            free: Arc::default(),
            able: AtomicBool::new(true),
            _lock: lock,
        })
    }

    /// A job is about to be given a sandbox.
    ///
    /// # Panics
    ///
    /// Never: a note always serialises.
    pub fn begin(&self, note: &Note) -> Result<Entry, JournalError> {
        let mut document = vec![HELD];
        serde_json::to_writer(&mut document, note).expect("a note always serialises");
        document.push(b'\n');
        let begun = self.file().and_then(|(file, path)| {
            let written = file.write_all_at(&document, 0);
            let entry = Entry {
                file: Some(file),
                started: AtomicBool::new(false),
                free: Arc::clone(&self.free),
            };
            match written {
                Ok(()) => Ok(entry),
                Err(source) => Err(JournalError::Write { path, source }),
            }
        });
        if begun.is_err() {
            self.able.store(false, Ordering::Relaxed);
        }
        begun
    }

    /// A file that no job uses, made where there is none.
    fn file(&self) -> Result<(File, PathBuf), JournalError> {
        let mut free = locked(&self.free);
        if let Some(file) = free.files.pop() {
            return Ok((file, self.folder.clone()));
        }
        let path = self.folder.join(format!("{}.entry", free.made));
        let file = File::create(&path).map_err(|source| JournalError::Write {
            path: path.clone(),
            source,
        })?;
        free.made += 1;
        Ok((file, path))
    }

    /// What ended this worker ended its jobs with it: those that have started are told of at the next
    /// start, as if it had been killed.
    pub fn keep(&self) {
        locked(&self.free).kept = true;
    }

    /// Whether jobs can be begun, as far as the last one tells.
    pub fn is_able(&self) -> bool {
        self.able.load(Ordering::Relaxed)
    }

    /// Looks again whether jobs can be begun, where the last could not.
    pub fn look_again(&self) {
        if self.is_able() {
            return;
        }
        let probe = self.folder.join("probe");
        if write(&probe, &PROBE).is_ok() {
            self.able.store(true, Ordering::Relaxed);
            remove(&probe);
        }
    }

    /// The jobs that were running when the last worker here died, to be asked before any is begun.
    /// Those that were only about to run are forgotten.
    pub fn left(&self) -> Result<Vec<Note>, JournalError> {
        let mut notes = Vec::new();
        for path in self.entries()? {
            let document = read(&path)?;
            let Some((&STARTED, rest)) = document.split_first() else {
                continue;
            };
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            match serde_json::from_slice(line) {
                Ok(note) => notes.push(note),
                // Cut off by a host that went down: nothing says which job it was.
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "an entry of the journal cannot be read");
                    remove(&path);
                }
            }
        }
        Ok(notes)
    }

    /// The deaths that [`Self::left`] tells of are known to the fleet.
    pub fn told(&self) -> Result<(), JournalError> {
        for path in self.entries()? {
            remove(&path);
        }
        Ok(())
    }

    fn entries(&self) -> Result<Vec<PathBuf>, JournalError> {
        let failed = |source| JournalError::Read {
            path: self.folder.clone(),
            source,
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|ending| ending == "entry") {
                paths.push(path);
            }
        }
        Ok(paths)
    }
}

impl Entry {
    /// The job's code runs from here on.
    pub fn started(&self) -> io::Result<()> {
        self.started.store(true, Ordering::Relaxed);
        match &self.file {
            Some(file) => file.write_all_at(&[STARTED], 0),
            None => Ok(()),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else {
            return;
        };
        let kept = locked(&self.free).kept;
        if kept && self.started.load(Ordering::Relaxed) {
            return;
        }
        match file.write_all_at(&[FREE], 0) {
            Ok(()) => locked(&self.free).files.push(file),
            // Told at the next start as a job that was running; mostly it has its result by then.
            Err(error) => tracing::warn!(%error, "an entry of the journal stays"),
        }
    }
}

fn locked(free: &Mutex<Free>) -> MutexGuard<'_, Free> {
    // A list, whole between two calls of its own.
    free.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(path: &Path) -> Result<Vec<u8>, JournalError> {
    let mut document = Vec::new();
    File::open(path)
        .and_then(|file| file.take(ENTRY_BYTES_MAX).read_to_end(&mut document))
        .map_err(|source| JournalError::Read {
            path: path.to_owned(),
            source,
        })?;
    Ok(document)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    File::create(path).and_then(|mut file| file.write_all(content))
}

/// Takes a file away. One that stays is told again at the next start, which costs its job nothing:
/// a death is counted once for each run.
fn remove(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "an entry of the journal stays");
        }
        Ok(()) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests;
