//! A log that makes small files durable before the disk has them in their places.
//!
//! ```text
//!  commit   file named ─► record appended ─► one fdatasync of the log for all who wait
//!  later    half full, or 10 s old ─► the other half ─► syncfs ─► the half is free again
//! ```
//!
//! Each file that is new costs a commit of the file system's own journal, several milliseconds; a
//! log whose blocks are there costs a write. A file is whole before it has its name, so that within
//! the life of the machine nobody needs the log. After the next boot whoever opens the store puts
//! back what the disk did not get to ([`replay`]).
//!
//! Records are appended in one order and a sync covers all before it: whoever commits makes
//! durable what was appended for the same job.

mod layout;
mod replay;

use crate::fault::chain;
use crate::store::syncs::Syncs;
pub(super) use layout::BODY_MAX;
use layout::{FIRST, HALF, Header};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) use replay::replay;

/// The folder of logs: one of each process that commits.
pub(super) const LOGS: &str = "log";
/// How long a record waits for its file to be on the disk.
const AGE_MAX: Duration = Duration::from_secs(10);
/// How long the end of a process waits for that.
const END_MAX: Duration = Duration::from_secs(5);

/// The log of this process. Its file is locked as long as it is used.
#[derive(Debug)]
pub(super) struct Log(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    file: File,
    name: String,
    boot: String,
    folder: OwnedFd,
    /// The store, whose file system is synced.
    top: OwnedFd,
    state: Mutex<State>,
    changed: Condvar,
    syncs: Syncs,
}

#[derive(Debug)]
struct State {
    /// The half that is appended to, its next record's place, and when its first came.
    half: usize,
    at: u64,
    since: Option<Instant>,
    rounds: [u64; 2],
    /// The other half holds records whose files are not known to be on the disk.
    full: bool,
    life: Life,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Used,
    /// The disk failed: nothing is appended any more, and nothing forgotten.
    Broken,
    Ending,
    Ended,
}

impl Log {
    /// Makes a log of its own in the store. What it writes to is allocated and on the disk.
    pub(super) fn open(top: &OwnedFd, boot: &str) -> io::Result<Self> {
        let folder = super::root::folder(top.as_fd(), LOGS)?;
        let name = uuid::Uuid::now_v7().simple().to_string();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR)?;
        let file = File::from(file);
        let made = fill(&file, boot).and_then(|()| Ok(rustix::fs::fsync(&folder)?));
        if let Err(error) = made {
            remove(&folder, &name)?;
            return Err(error);
        }
        let shared = Arc::new(Shared {
            file,
            name,
            boot: boot.to_owned(),
            folder,
            top: top.try_clone()?,
            state: Mutex::new(State {
                half: 0,
                at: FIRST,
                since: None,
                rounds: [1, 1],
                full: false,
                life: Life::Used,
            }),
            changed: Condvar::new(),
            syncs: Syncs::default(),
        });
        let keeper = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("kiln-store-log".into())
            .spawn(move || keeper.keep())?;
        Ok(Self(shared))
    }

    /// Whether a file of so many bytes goes by the log.
    pub(super) fn takes(bytes: u64) -> bool {
        bytes <= BODY_MAX as u64
    }

    /// Appends files that have their names. Whether it did: a log may have no room for a moment.
    pub(super) fn append(&self, files: &[(&str, &[u8])]) -> io::Result<bool> {
        self.0.append(files)
    }

    /// Makes durable what was appended before this call.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let shared = &self.0;
        let mut state = shared.lock();
        if state.life == Life::Used {
            state.life = Life::Ending;
        }
        shared.changed.notify_all();
        let ends = Instant::now() + END_MAX;
        // A disk that does not answer is not waited for: the next process removes the log.
        while state.life == Life::Ending && Instant::now() < ends {
            let left = ends.saturating_duration_since(Instant::now());
            let waited = shared.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Whatever is changed in it is changed at once.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, files: &[(&str, &[u8])]) -> io::Result<bool> {
        let mut state = self.lock();
        if state.life == Life::Broken || files.iter().any(|(_, body)| body.len() > BODY_MAX) {
            return Ok(false);
        }
        let encode = |round| -> Vec<u8> {
            let records = files.iter();
            records
                .flat_map(|(key, body)| layout::record(round, key, body))
                .collect()
        };
        let mut bytes = encode(state.rounds[state.half]);
        if state.at + bytes.len() as u64 > HALF {
            if state.full {
                return Ok(false);
            }
            self.turn(&mut state);
            bytes = encode(state.rounds[state.half]);
        }
        // Under the lock: no sync may cover a record and not the one before it.
        let place = layout::base(state.half) + state.at;
        if let Err(error) = self.file.write_all_at(&bytes, place) {
            state.life = Life::Broken;
            return Err(error);
        }
        state.at += bytes.len() as u64;
        if state.since.is_none() {
            state.since = Some(Instant::now());
            self.changed.notify_all();
        }
        Ok(true)
    }

    fn sync(&self) -> io::Result<()> {
        let synced = self.syncs.with("", || {
            rustix::fs::fdatasync(&self.file).map_err(io::Error::from)
        });
        if synced.is_err() {
            self.lock().life = Life::Broken;
        }
        synced
    }

    /// Goes on in the other half, which is free.
    fn turn(&self, state: &mut State) {
        state.half ^= 1;
        state.at = FIRST;
        state.since = None;
        state.full = true;
        self.changed.notify_all();
    }

    /// Frees halves whose files are on the disk, until the log is not used any more.
    fn keep(&self) {
        let mut state = self.lock();
        while state.life == Life::Used {
            if state.full {
                drop(state);
                let freed = self.free();
                state = self.lock();
                if let Err(error) = freed {
                    tracing::warn!(
                        error = chain(&error),
                        "the store's log cannot be emptied; each commit waits for the disk itself"
                    );
                    state.life = Life::Broken;
                }
                continue;
            }
            let waited = match state
                .since
                .map(|since| AGE_MAX.checked_sub(since.elapsed()))
            {
                None => self.changed.wait(state),
                Some(Some(left)) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.map(|(state, _)| state).map_err(|poisoned| {
                        let (state, _) = poisoned.into_inner();
                        PoisonError::new(state)
                    })
                }
                Some(None) => {
                    self.turn(&mut state);
                    Ok(state)
                }
            };
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        // A log that broke stays, for the next who opens the store.
        if state.life != Life::Ending {
            return;
        }
        drop(state);
        if let Err(error) = self.end() {
            tracing::debug!(error = chain(&error), "the store's log was left");
        }
        self.lock().life = Life::Ended;
        self.changed.notify_all();
    }

    /// The half that is not appended to is free, once its files are on the disk.
    fn free(&self) -> io::Result<()> {
        rustix::fs::syncfs(&self.top)?;
        let (half, round) = {
            let state = self.lock();
            (state.half ^ 1, state.rounds[state.half ^ 1] + 1)
        };
        let header = Header {
            round,
            boot: self.boot.clone(),
        };
        header.write(&self.file, half)?;
        rustix::fs::fdatasync(&self.file)?;
        let mut state = self.lock();
        state.rounds[half] = round;
        state.full = false;
        self.changed.notify_all();
        Ok(())
    }

    fn end(&self) -> io::Result<()> {
        rustix::fs::syncfs(&self.top)?;
        remove(&self.folder, &self.name)
    }
}

/// Allocates what is written to later, so that no sync of it has anything but bytes to write.
fn fill(file: &File, boot: &str) -> io::Result<()> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)?;
    let zeros = vec![0; 256 * 1024];
    let mut at = 0;
    while at < 2 * HALF {
        file.write_all_at(&zeros, at)?;
        at += zeros.len() as u64;
    }
    for half in [0, 1] {
        let header = Header {
            round: 1,
            boot: boot.to_owned(),
        };
        header.write(file, half)?;
    }
    Ok(rustix::fs::fsync(file)?)
}

fn remove(folder: &OwnedFd, name: &str) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
