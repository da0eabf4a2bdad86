//! The folder itself, held by descriptors: names are used beneath it only, and never through a
//! link.

mod commit;

use super::log::{self, Log};
use crate::store::backend::{Durable, Entry, Put, Rule};
use crate::store::syncs::Syncs;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// The folder of what is being written.
pub(super) const TMP: &str = "tmp";
/// What is being written for longer than this was left by a process that ended.
const TMP_AGE_MAX: Duration = Duration::from_hours(1);

/// Bytes that are made room for before a document is read.
const ROOM_MAX: u64 = 64 * 1024;

/// A folder that is a store.
#[derive(Debug)]
pub(super) struct Root {
    top: OwnedFd,
    /// `None` where the store is only read from.
    tmp: Option<OwnedFd>,
    syncs: Syncs,
    /// Which boot of the machine this is; empty where the store is only read from.
    boot: String,
    /// Where this process commits by one.
    log: OnceLock<Log>,
}

/// A file without its name yet; removed where it never gets one.
pub(super) struct Unnamed<'a> {
    tmp: &'a OwnedFd,
    token: String,
    file: File,
}

impl Drop for Unnamed<'_> {
    fn drop(&mut self) {
        // Gone where it was renamed; what is left otherwise is swept at the next start.
        match rustix::fs::unlinkat(self.tmp, &self.token, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => tracing::debug!(%error, "a partial write was left"),
        }
    }
}

impl Root {
    /// Removes partial writes of processes that ended, and puts back what the disk had not got to
    /// when a machine went down.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Self::open_at(path, boot.trim_end())
    }

    /// As [`Self::open`], at that boot of the machine.
    pub(super) fn open_at(path: &Path, boot: &str) -> io::Result<Self> {
        let top = rustix::fs::open(path, DIRECTORY, Mode::empty())?;
        let tmp = folder(top.as_fd(), TMP)?;
        let opened = Self {
            top,
            tmp: Some(tmp),
            syncs: Syncs::default(),
            boot: boot.to_owned(),
            log: OnceLock::new(),
        };
        opened.sweep()?;
        log::replay(&opened, &opened.top, boot)?;
        rustix::fs::fsync(&opened.top)?;
        Ok(opened)
    }

    /// To be read from.
    pub(super) fn existing(path: &Path) -> io::Result<Self> {
        Ok(Self {
            top: rustix::fs::open(path, DIRECTORY, Mode::empty())?,
            tmp: None,
            syncs: Syncs::default(),
            boot: String::new(),
            log: OnceLock::new(),
        })
    }

    /// Whether this is the folder that the path leads to.
    pub(super) fn is_at(&self, path: &Path) -> io::Result<bool> {
        let (held, there) = (rustix::fs::fstat(&self.top)?, rustix::fs::stat(path)?);
        Ok((held.st_dev, held.st_ino) == (there.st_dev, there.st_ino))
    }

    /// Whether it is only read from.
    pub(super) fn is_read_only(&self) -> bool {
        self.tmp.is_none()
    }

    /// Bytes that may still be written.
    pub(super) fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::fstatvfs(&self.top)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Writes a whole file.
    pub(super) fn put(
        &self,
        mut unnamed: Unnamed<'_>,
        key: &str,
        content: impl FnOnce(&mut File) -> io::Result<()>,
        (rule, durable): (Rule, Durable),
    ) -> io::Result<Put> {
        content(&mut unnamed.file)?;
        // What is new may have its name first: the kernel then makes both durable at once, and
        // whoever reads a document syncs it before. What is replaced may not be lost for it.
        let named_first = (rule, durable) == (Rule::Create, Durable::Now);
        if durable != Durable::Later && !named_first {
            rustix::fs::fdatasync(&unnamed.file)?;
        }
        self.name(&unnamed, key, rule, durable)
    }

    /// Gives a file its name, and makes that durable.
    fn name(&self, unnamed: &Unnamed, key: &str, rule: Rule, durable: Durable) -> io::Result<Put> {
        let (parents, name) = key.rsplit_once('/').unwrap_or(("", key));
        let parent = self.make_folders(parents)?;
        let put = match rule {
            Rule::Create => {
                let (from, flags) = (&unnamed.token, AtFlags::empty());
                match rustix::fs::linkat(unnamed.tmp, from, &parent, name, flags) {
                    Ok(()) if durable == Durable::Now => {
                        if let Err(error) = rustix::fs::fdatasync(&unnamed.file) {
                            // Nobody is to find what the disk did not take.
                            rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
                            return Err(error.into());
                        }
                        Put::Made
                    }
                    Ok(()) => Put::Made,
                    Err(Errno::EXIST) => Put::Exists,
                    Err(error) => return Err(error.into()),
                }
            }
            Rule::Replace => {
                rustix::fs::renameat(unnamed.tmp, &unnamed.token, &parent, name)?;
                Put::Made
            }
        };
        match (durable, put) {
            (Durable::Now, Put::Made) => self.sync_folders(parents, &parent)?,
            // It may be of another who has not synced it yet.
            (Durable::Now, Put::Exists) => self.sync(key)?,
            (Durable::Content | Durable::Later, _) => {}
        }
        Ok(put)
    }

    /// Makes a file durable that was written to be so later; one that is not there is no failure.
    pub(super) fn sync(&self, key: &str) -> io::Result<()> {
        let Some(file) = self.open_file(key)? else {
            return Ok(());
        };
        rustix::fs::fdatasync(&file)?;
        let (parents, _) = key.rsplit_once('/').unwrap_or(("", key));
        let parent = self.open_folder(parents)?;
        self.sync_folders(parents, &parent)
    }

    /// Makes the names in folders durable.
    pub(super) fn sync_all(&self, folders: &BTreeSet<String>) -> io::Result<()> {
        for folder in folders {
            self.syncs.sync(folder, &self.open_folder(folder)?)?;
        }
        Ok(())
    }

    /// A file's bytes, where it is there and not longer than `bytes_max`.
    pub(super) fn get(&self, key: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((file, long)) = self.open_long(key)? else {
            return Ok(None);
        };
        // One more: the end is then found without asking for more room.
        let mut bytes = Vec::with_capacity(usize::try_from(long.min(ROOM_MAX)).unwrap_or(0) + 1);
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        Ok(Some(bytes))
    }

    /// A regular file, where it is there.
    pub(super) fn open_file(&self, key: &str) -> io::Result<Option<File>> {
        Ok(self.open_long(key)?.map(|(file, _)| file))
    }

    /// The same, and how long it is.
    fn open_long(&self, key: &str) -> io::Result<Option<(File, u64)>> {
        // A pipe that somebody put there does not make us wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat2(&self.top, key, flags, Mode::empty(), BENEATH) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a regular file",
            ));
        }
        Ok(Some((file, metadata.len())))
    }

    /// Every file beneath a folder.
    pub(super) fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let open = match self.open_folder(&folder) {
                Ok(open) => open,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for entry in rustix::fs::Dir::read_from(&open)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().to_str() else {
                    continue;
                };
                if matches!(name, "." | "..") {
                    continue;
                }
                let key = format!("{folder}/{name}");
                let stat = match rustix::fs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => stat,
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                };
                match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
                    rustix::fs::FileType::Directory => folders.push(key),
                    rustix::fs::FileType::RegularFile => found.push(Entry {
                        key,
                        modified: SystemTime::UNIX_EPOCH
                            + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0)),
                    }),
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// Removes a file, and the folders that are empty then but for the topmost.
    pub(super) fn delete(&self, key: &str) -> io::Result<()> {
        let mut path = key;
        let mut flags = AtFlags::empty();
        while let Some((parents, name)) = path.rsplit_once('/') {
            let parent = match self.open_folder(parents) {
                Ok(parent) => parent,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            };
            match rustix::fs::unlinkat(&parent, name, flags) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::NOTEMPTY | Errno::EXIST) if flags == AtFlags::REMOVEDIR => break,
                Err(error) => return Err(error.into()),
            }
            (path, flags) = (parents, AtFlags::REMOVEDIR);
        }
        Ok(())
    }

    /// A new file.
    pub(super) fn unnamed(&self) -> io::Result<Unnamed<'_>> {
        let Some(tmp) = &self.tmp else {
            return Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem));
        };
        let token = uuid::Uuid::now_v7().simple().to_string();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(tmp, &token, flags, mode)?.into();
        Ok(Unnamed { tmp, token, file })
    }

    fn open_folder(&self, folders: &str) -> io::Result<OwnedFd> {
        let path = if folders.is_empty() { "." } else { folders };
        Ok(openat2(&self.top, path, DIRECTORY, Mode::empty(), BENEATH)?)
    }

    fn make_folders(&self, folders: &str) -> io::Result<OwnedFd> {
        match self.open_folder(folders) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let mut parent = self.top.try_clone()?;
        for part in folders.split('/') {
            parent = folder(parent.as_fd(), part)?;
        }
        Ok(parent)
    }

    /// Makes the names in a folder durable, and that of the folder itself.
    fn sync_folders(&self, folders: &str, folder: &OwnedFd) -> io::Result<()> {
        self.syncs.sync(folders, folder)?;
        let mut rest = folders;
        // The topmost folders are few, made once, and stay.
        while let Some((parents, _)) = rest.rsplit_once('/') {
            self.syncs.sync(parents, &self.open_folder(parents)?)?;
            rest = parents;
        }
        Ok(())
    }

    fn sweep(&self) -> io::Result<()> {
        let now = SystemTime::now();
        for entry in self.list(TMP)? {
            let age = now.duration_since(entry.modified);
            if age.is_ok_and(|age| age > TMP_AGE_MAX) {
                rustix::fs::unlinkat(&self.top, &entry.key, AtFlags::empty())?;
            }
        }
        Ok(())
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::RDONLY)
    .union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// A folder in a folder, made where it is not there.
pub(super) fn folder(parent: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat2(parent, name, DIRECTORY, Mode::empty(), BENEATH)?)
}
