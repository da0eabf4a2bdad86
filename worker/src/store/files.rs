//! A store in a folder of this machine: every write is whole, and durable when it is answered.
//!
//! ```text
//! commit       tmp/<token> written ─► link ─► appended to the log ─► fdatasync of the log
//! create-only  tmp/<token> written ─► link ─► fdatasync ─► fsync of the folders
//! else         tmp/<token> written ─► fdatasync ─► rename ─► fsync of the folders
//! ```
//!
//! Without a log a new document has its name before its bytes are on the disk, and a host that goes down between
//! the two leaves one that is empty or torn; those who read say that it was never there.
//!
//! The folders are synced for all who wait at once ([`Syncs`](super::syncs::Syncs)). The folder is
//! held by a descriptor; one that was deleted and made again is found again by its path.

mod log;
mod root;

use super::backend::{Durable, Entry, Put, Rule};
use root::{Root, TMP, Unnamed};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// A folder that is a store.
#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    root: RwLock<Arc<Root>>,
}

impl Files {
    /// Makes the folder where it is not there, and removes partial writes of processes that ended.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Ok(Self::at(path, Root::open(path)?))
    }

    /// A folder that is there, to be read from.
    pub(super) fn existing(path: &Path) -> io::Result<Self> {
        Ok(Self::at(path, Root::existing(path)?))
    }

    fn at(path: &Path, root: Root) -> Self {
        Self {
            path: path.to_owned(),
            root: RwLock::new(Arc::new(root)),
        }
    }

    fn root(&self) -> Arc<Root> {
        Arc::clone(&self.root.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folder as it is now at the path. It is not made: what is mounted there may be away.
    fn reopened(&self) -> io::Result<Arc<Root>> {
        let root = Arc::new(if self.root().is_read_only() {
            Root::existing(&self.path)?
        } else {
            Root::open(&self.path)?
        });
        if self.root().has_log() {
            root.log_ahead();
        }
        let mut held = self.root.write().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::clone(&root);
        drop(held);
        tracing::warn!(path = %self.path.display(), "the store's folder is another; it is opened again");
        Ok(root)
    }

    /// The folder for files without a name.
    pub(super) fn tmp(&self) -> PathBuf {
        self.path.join(TMP)
    }

    /// Bytes that may still be written. Here it is seen whether the folder is still at its path.
    pub(super) fn free_bytes(&self) -> io::Result<u64> {
        let root = self.root();
        if root.is_at(&self.path)? {
            root.free_bytes()
        } else {
            self.reopened()?.free_bytes()
        }
    }

    /// Commits by a log from here on.
    pub(super) fn log_ahead(&self) {
        self.root().log_ahead();
    }

    pub(super) fn has_log(&self) -> bool {
        self.root().has_log()
    }

    /// Whether a file of so many bytes is made durable by the next commit.
    pub(super) fn is_logged(&self, bytes: u64) -> bool {
        self.root().is_logged(bytes)
    }

    /// Writes a whole file.
    pub(super) fn put(
        &self,
        key: &str,
        content: impl FnOnce(&mut File) -> io::Result<()>,
        rule: Rule,
        durable: Durable,
    ) -> io::Result<Put> {
        self.write(|root, unnamed| root.put(unnamed, key, content, (rule, durable)))
    }

    /// Writes a whole small file, which the next commit makes durable.
    pub(super) fn put_logged(&self, key: &str, content: &[u8]) -> io::Result<()> {
        self.write(|root, unnamed| root.put_logged(unnamed, key, content))
    }

    /// Writes a document that is new; it is durable when this returns, and so are another that may
    /// be there and all that was logged.
    pub(super) fn commit(&self, key: &str, document: &[u8], other: &str) -> io::Result<Put> {
        self.write(|root, unnamed| root.commit(unnamed, (key, document), other))
    }

    fn write<T>(&self, write: impl FnOnce(&Root, Unnamed<'_>) -> io::Result<T>) -> io::Result<T> {
        let root = self.root();
        match root.unnamed() {
            // A folder that was deleted takes nothing.
            Err(error) if is_gone(&error) => {
                let root = self.reopened()?;
                write(&root, root.unnamed()?)
            }
            unnamed => write(&root, unnamed?),
        }
    }

    /// Makes a file durable that was written to be so later; one that is not there is no failure.
    pub(super) fn sync(&self, key: &str) -> io::Result<()> {
        self.root().sync(key)
    }

    /// Makes the names in folders durable.
    pub(super) fn sync_all(&self, folders: &BTreeSet<String>) -> io::Result<()> {
        self.root().sync_all(folders)
    }

    /// A file's bytes, where it is there and not longer than `bytes_max`.
    pub(super) fn get(&self, key: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        self.root().get(key, bytes_max)
    }

    /// A regular file, where it is there.
    pub(super) fn open_file(&self, key: &str) -> io::Result<Option<File>> {
        self.root().open_file(key)
    }

    /// Every file beneath a folder.
    pub(super) fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.root().list(folder)
    }

    /// Removes a file, and the folders that are empty then but for the topmost.
    pub(super) fn delete(&self, key: &str) -> io::Result<()> {
        self.root().delete(key)
    }
}

fn is_gone(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::STALE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;
    use std::io::Write as _;

    fn put(files: &Files, key: &str) -> io::Result<Put> {
        let write = |to: &mut File| to.write_all(b"x");
        files.put(key, write, Rule::Create, Durable::Now)
    }

    #[test]
    fn a_folder_that_is_made_again_is_found_again() {
        let dir = Folder::new();
        let path = dir.path().join("store");
        let files = Files::open(&path).expect("it is made");
        put(&files, "results/a.json").expect("it is there");

        std::fs::remove_dir_all(&path).expect("scratch");
        assert!(put(&files, "results/b.json").is_err(), "it is not made");
        assert!(files.free_bytes().is_err());
        assert!(!path.exists());

        std::fs::create_dir(&path).expect("scratch");
        put(&files, "results/c.json").expect("a write finds it");
        assert!(path.join("results/c.json").exists());

        std::fs::rename(&path, dir.path().join("old")).expect("scratch");
        std::fs::create_dir(&path).expect("scratch");
        files.free_bytes().expect("a probe finds it");
        put(&files, "results/d.json").expect("it is there");
        assert!(path.join("results/d.json").exists());
    }

    #[test]
    fn a_folder_for_partial_writes_is_made_again() {
        let dir = Folder::new();
        let files = Files::open(dir.path()).expect("it is there");
        std::fs::remove_dir(files.tmp()).expect("scratch");
        put(&files, "results/a.json").expect("it is made");
    }
}
