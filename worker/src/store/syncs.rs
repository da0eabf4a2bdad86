//! One sync of a folder, or of a log, for all who wait for it.
//!
//! Whoever comes while a sync is on its way cannot be sure that it saw their name, so they wait
//! for the next one, which is made once for all of them.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The syncs of all folders.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    folders: Mutex<HashMap<String, Arc<Folder>>>,
}

/// The syncs of one folder.
#[derive(Debug, Default)]
struct Folder {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Syncs that were begun, and those of them that ended.
    begun: u64,
    ended: u64,
    /// The last that failed.
    failed: u64,
    running: bool,
}

impl Syncs {
    /// Returns when a sync of the folder that began after this call has ended.
    pub(super) fn sync(&self, name: &str, folder: &OwnedFd) -> io::Result<()> {
        self.with(name, || rustix::fs::fsync(folder).map_err(io::Error::from))
    }

    /// Returns when a `sync` under that name that began after this call has ended.
    pub(super) fn with(&self, name: &str, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let shared = self.enter(name);
        let done = shared.wait(sync);
        self.leave(name, shared);
        done
    }

    fn enter(&self, name: &str) -> Arc<Folder> {
        let mut folders = lock(&self.folders);
        match folders.get(name) {
            Some(folder) => Arc::clone(folder),
            None => Arc::clone(folders.entry(name.to_owned()).or_default()),
        }
    }

    /// Forgets a folder that nobody waits for.
    fn leave(&self, name: &str, shared: Arc<Folder>) {
        let mut folders = lock(&self.folders);
        drop(shared);
        if folders
            .get(name)
            .is_some_and(|folder| Arc::strong_count(folder) == 1)
        {
            folders.remove(name);
        }
    }
}

impl Folder {
    fn wait(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = lock(&self.state);
        let mine = state.begun + 1;
        while state.running && state.ended < mine {
            state = self
                .ended
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.ended >= mine {
            return if state.failed >= mine {
                Err(io::Error::other(
                    "the sync of the folder failed for another",
                ))
            } else {
                Ok(())
            };
        }
        state.running = true;
        state.begun += 1;
        let this = state.begun;
        drop(state);
        let done = sync();
        let mut state = lock(&self.state);
        state.running = false;
        state.ended = this;
        if done.is_err() {
            state.failed = this;
        }
        self.ended.notify_all();
        done
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counters and a map, whole between two calls.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn those_who_come_during_a_sync_share_the_next() {
        let syncs = Arc::new(Syncs::default());
        let made = Arc::new(AtomicUsize::new(0));
        let (entered, inside) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        let first = {
            let syncs = Arc::clone(&syncs);
            std::thread::spawn(move || {
                syncs.with("a", || {
                    entered.send(()).expect("the test waits");
                    held.recv().map_err(io::Error::other)
                })
            })
        };
        inside.recv().expect("the first sync began");
        let later: Vec<_> = (0..8)
            .map(|_| {
                let (syncs, made) = (Arc::clone(&syncs), Arc::clone(&made));
                std::thread::spawn(move || {
                    syncs.with("a", || {
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })
                })
            })
            .collect();
        // All of them wait: each holds the folder, beside the map and the first.
        while Arc::strong_count(&lock(&syncs.folders)["a"]) < 10 {
            std::thread::yield_now();
        }
        release.send(()).expect("the first sync waits");
        first.join().expect("no panic").expect("it was released");
        for waiter in later {
            waiter.join().expect("no panic").expect("synced");
        }
        let made = made.load(Ordering::Relaxed);
        assert!((1..8).contains(&made), "{made} syncs for eight");
        assert!(lock(&syncs.folders).is_empty(), "nothing is remembered");
    }

    #[test]
    fn a_failure_is_told_and_the_next_sync_is_a_new_one() {
        let syncs = Syncs::default();
        assert!(syncs.with("a", || Err(io::Error::other("no"))).is_err());
        assert!(syncs.with("a", || Ok(())).is_ok());
    }
}
