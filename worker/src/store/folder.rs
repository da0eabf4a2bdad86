//! A folder per job, for people: `outcome.json`, `stdout`, `stderr`, `artifacts/<path>`.
//!
//! What the gate withholds goes to `quarantine/`, which its owner alone can read; `stdout` and
//! `stderr` then hold what may be shown of them.
//!
//! Names that a job chose are only ever used beneath `artifacts/`, through a descriptor, and never
//! through a link. The outcome is written last, at once, so that a folder with an outcome is whole.

use super::{StoreError, key};
use crate::screen::table::Fate;
use crate::screen::word::Word;
use crate::screen::{Cleared, Parts, ScreenedFile, ScreenedStream};
use kiln_protocol::outcome::Outcome;
use kiln_protocol::outcome::Skipped;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat2};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What we write in a job's folder.
pub(crate) const OURS: [&str; 5] = [
    "outcome.json",
    "stdout",
    "stderr",
    "artifacts",
    "quarantine",
];

/// Modes of what is let out, and of what is not: files and folders.
const OPEN: (u32, u32) = (0o644, 0o755);
const CLOSED: (u32, u32) = (0o600, 0o700);

/// One artifact in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
    pub word: Word,
    pub fate: Fate,
    /// Relative to the job's folder; nothing where it was dropped.
    pub object: Option<String>,
}

/// One stream in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptStream {
    pub raw: Vec<u8>,
    pub total_bytes: u64,
    pub truncated: bool,
    pub object: Option<String>,
    /// What may be shown in place of `raw`, and why, where it was not let out.
    pub withheld: Option<(Vec<u8>, Word)>,
}

/// What is in the store of one job.
#[derive(Clone, Debug)]
pub struct Kept {
    pub stdout: KeptStream,
    pub stderr: KeptStream,
    pub files: Vec<KeptFile>,
    pub skipped: Vec<Skipped>,
}

/// What writes a file's content.
type Content<'a> = dyn FnMut(&mut File) -> io::Result<()> + 'a;

impl KeptStream {
    /// A stream that is kept there, as the gate decided.
    pub(super) fn new(screened: ScreenedStream, object: Option<String>) -> Self {
        let ScreenedStream {
            captured,
            word,
            fate,
            shown,
        } = screened;
        let withheld = (fate != Fate::Release).then_some((shown, word));
        Self {
            raw: captured.bytes,
            total_bytes: captured.total_bytes,
            truncated: captured.truncated,
            object,
            withheld,
        }
    }
}

/// The folder of one job.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    top: OwnedFd,
}

impl Folder {
    /// Makes the folder, or clears what an earlier run left in it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |source: io::Error| StoreError::Folder {
            path: path.to_owned(),
            source,
        };
        std::fs::create_dir_all(path).map_err(failed)?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let top = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        let folder = Self {
            path: path.to_owned(),
            top,
        };
        folder.clear()?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps what the gate has let through. Where something cannot be written, what was kept until
    /// then stays, the streams' text is still there to be told, and the error says what failed.
    pub fn keep(&self, cleared: Cleared) -> (Kept, Option<StoreError>) {
        let Parts {
            stdout,
            stderr,
            files,
            skipped,
        } = cleared.into_parts();
        let mut failed = None;
        let mut write = |place: Option<(String, (u32, u32))>, content: &mut Content<'_>| {
            let (name, modes) = place?;
            if failed.is_none() {
                failed = self.write(&name, modes, content).err();
            }
            failed.is_none().then_some(name)
        };
        let mut stream = |name: &str, screened: ScreenedStream| {
            let bytes = &screened.captured.bytes;
            let open = match screened.fate {
                Fate::Release => bytes,
                // Whoever looks for a stream's file finds one.
                Fate::Withhold | Fate::Drop => &screened.shown,
            };
            let shown = write(Some((name.to_owned(), OPEN)), &mut |to| to.write_all(open));
            let object = match screened.fate {
                Fate::Release => shown,
                Fate::Withhold => {
                    let place = (format!("quarantine/~{name}"), CLOSED);
                    write(Some(place), &mut |to| to.write_all(bytes))
                }
                Fate::Drop => None,
            };
            KeptStream::new(screened, object)
        };
        let (stdout, stderr) = (stream("stdout", stdout), stream("stderr", stderr));
        let mut kept = Vec::with_capacity(files.len());
        for ScreenedFile { raw, word, fate } in files {
            let place = match fate {
                Fate::Release => Some((format!("artifacts/{}", raw.path), OPEN)),
                Fate::Withhold => {
                    let name = key::escaped(&raw.path);
                    Some((format!("quarantine/{name}"), CLOSED))
                }
                Fate::Drop => None,
            };
            let object = write(place, &mut |to| io::copy(&mut &raw.file, to).map(drop));
            if object.is_some() || fate == Fate::Drop {
                kept.push(KeptFile {
                    path: raw.path,
                    bytes: raw.bytes,
                    sha256: raw.sha256,
                    word,
                    fate,
                    object,
                });
            }
        }
        let kept = Kept {
            stdout,
            stderr,
            files: kept,
            skipped,
        };
        (kept, failed)
    }

    /// Writes the outcome: all of it, or nothing.
    pub fn commit(&self, outcome: &Outcome) -> Result<(), StoreError> {
        let (name, part) = ("outcome.json", ".outcome.json.part");
        self.write(part, OPEN, |to| {
            to.write_all(outcome.to_json().as_bytes())?;
            to.write_all(b"\n")
        })?;
        rustix::fs::renameat(&self.top, part, &self.top, name)
            .map_err(|e| self.write_error(name, e.into()))
    }

    fn write(
        &self,
        name: &str,
        modes: (u32, u32),
        content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        self.create(name, modes)
            .and_then(|mut file| content(&mut file))
            .map_err(|source| self.write_error(name, source))
    }

    fn write_error(&self, name: &str, source: io::Error) -> StoreError {
        StoreError::Write {
            path: self.path.clone(),
            name: name.to_owned(),
            source,
        }
    }

    /// A new file beneath the folder; parents are made, links are never followed.
    fn create(&self, name: &str, (file, folder): (u32, u32)) -> io::Result<File> {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let mut parent = self.top.try_clone()?;
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(file);
                return Ok(openat2(&parent, part, flags, mode, beneath)?.into());
            }
            match rustix::fs::mkdirat(&parent, part, Mode::from_raw_mode(folder)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
            parent = openat2(&parent, part, flags, Mode::empty(), beneath)?;
        }
        Err(io::Error::from(io::ErrorKind::InvalidFilename))
    }

    /// Removes what an earlier run wrote. A folder that holds our names without an outcome is
    /// somebody else's, and is left alone.
    fn clear(&self) -> Result<(), StoreError> {
        let there =
            |name: &str| rustix::fs::statat(&self.top, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if !there("outcome.json") {
            return match OURS.into_iter().find(|name| there(name)) {
                None => Ok(()),
                Some(name) => Err(StoreError::Foreign {
                    path: self.path.clone(),
                    name: name.to_owned(),
                }),
            };
        }
        // The outcome goes last, so that a clearing that was cut short is taken up again.
        for name in OURS.into_iter().rev().filter(|name| there(name)) {
            let path = self.path.join(name);
            let gone = if matches!(name, "artifacts" | "quarantine") {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            gone.map_err(|source| StoreError::Clear {
                path: self.path.clone(),
                name: name.to_owned(),
                source,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("kiln-folder-{name}-{}", std::process::id()));
        if path.exists() {
            std::fs::remove_dir_all(&path).expect("our own folder");
        }
        path
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let path = scratch("link");
        let folder = Folder::open(&path).expect("a fresh folder");
        std::os::unix::fs::symlink("/tmp", path.join("artifacts")).expect("a link");
        assert!(folder.create("artifacts/kiln-was-here", OPEN).is_err());
        assert!(!Path::new("/tmp/kiln-was-here").exists());
        std::fs::remove_dir_all(path).expect("our own folder");
    }

    #[test]
    fn somebody_elses_folder_is_left_alone() {
        let path = scratch("foreign");
        std::fs::create_dir_all(path.join("artifacts")).expect("a folder");
        assert!(matches!(
            Folder::open(&path),
            Err(StoreError::Foreign { .. })
        ));
        assert!(path.join("artifacts").exists());
        std::fs::remove_dir_all(path).expect("our own folder");
    }

    #[test]
    fn an_earlier_run_is_cleared() {
        let path = scratch("again");
        let folder = Folder::open(&path).expect("a fresh folder");
        for name in ["outcome.json", "artifacts/old.csv", "quarantine/key"] {
            folder
                .write(name, OPEN, |to| to.write_all(b"x"))
                .expect("written");
        }
        Folder::open(&path).expect("ours to clear");
        for name in OURS {
            assert!(!path.join(name).exists(), "{name}");
        }
        std::fs::remove_dir_all(path).expect("our own folder");
    }
}
