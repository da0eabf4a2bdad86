//! How the files of a skeleton are written, and how its content becomes part of an image's id.
//!
//! Nothing here decides what belongs into an image; it only writes entries with fixed owners and
//! modes, takes copies of public files, and hashes each entry in the order in which it was made.

use super::ImageError;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// The most that all files of a skeleton may hold together.
const BYTES_MAX: u64 = 32 << 20;
/// The most entries of a skeleton.
const ENTRIES_MAX: usize = 20_000;

/// A folder that is being filled.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    folders: BTreeSet<PathBuf>,
    entries: usize,
    bytes: u64,
    manifest: Sha256,
}

impl Tree {
    /// Makes the folder `root`, which must not exist.
    pub(super) fn new(root: PathBuf) -> Result<Self, ImageError> {
        let mut tree = Tree {
            root,
            folders: BTreeSet::new(),
            entries: 0,
            bytes: 0,
            manifest: Sha256::new(),
        };
        tree.folder(Path::new(""))?;
        Ok(tree)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A folder of mode 0755, and its parents. Making one twice is fine.
    pub(super) fn folder(&mut self, path: &Path) -> Result<(), ImageError> {
        if self.folders.contains(path) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.folder(parent)?;
        }
        self.count(path, 0)?;
        let made = self.root.join(path);
        fs::create_dir(&made)
            .and_then(|()| fs::set_permissions(&made, Permissions::from_mode(0o755)))
            .map_err(|e| ImageError::Write(made, e))?;
        self.record(b"folder", path, &[]);
        self.folders.insert(path.to_owned());
        Ok(())
    }

    /// A file of mode 0644.
    pub(super) fn file(&mut self, path: &Path, content: &[u8]) -> Result<(), ImageError> {
        self.parent(path)?;
        self.count(path, content.len() as u64)?;
        let made = self.root.join(path);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&made)
            .and_then(|mut file| {
                file.set_permissions(Permissions::from_mode(0o644))?;
                file.write_all(content)
            })
            .map_err(|e| ImageError::Write(made, e))?;
        self.record(b"file", path, content);
        Ok(())
    }

    /// A symbolic link.
    pub(super) fn link(&mut self, path: &Path, target: &Path) -> Result<(), ImageError> {
        self.parent(path)?;
        self.count(path, 0)?;
        let made = self.root.join(path);
        std::os::unix::fs::symlink(target, &made).map_err(|e| ImageError::Write(made, e))?;
        self.record(b"link", path, target.as_os_str().as_encoded_bytes());
        Ok(())
    }

    /// A copy of a public file of the host, symbolic links followed. What is absent, not a regular
    /// file, or not readable by everybody is left out.
    pub(super) fn copy(&mut self, from: &Path, to: &Path) -> Result<(), ImageError> {
        match public(from) {
            Ok(Some(content)) => self.file(to, &content),
            Ok(None) => Ok(()),
            Err(e) => Err(ImageError::Read(from.to_owned(), e)),
        }
    }

    /// Copies of a folder's public files and of those links for which `keep` is true of what they
    /// lead to (absolute, without `..`).
    pub(super) fn copy_folder(
        &mut self,
        from: &Path,
        to: &Path,
        keep: &dyn Fn(&Path) -> bool,
    ) -> Result<(), ImageError> {
        for (name, kind) in sorted(from)? {
            let (from, to) = (from.join(&name), to.join(&name));
            if kind.is_dir() {
                self.copy_folder(&from, &to, keep)?;
            } else if kind.is_symlink() {
                let target = fs::read_link(&from).map_err(|e| ImageError::Read(from.clone(), e))?;
                let parent = from.parent().unwrap_or(Path::new("/"));
                if keep(&normal(&parent.join(&target))) {
                    self.link(&to, &target)?;
                }
            } else if kind.is_file() {
                self.copy(&from, &to)?;
            }
        }
        Ok(())
    }

    /// What all entries say together.
    pub(super) fn digest(self) -> [u8; 32] {
        self.manifest.finalize().into()
    }

    fn parent(&mut self, path: &Path) -> Result<(), ImageError> {
        path.parent().map_or(Ok(()), |parent| self.folder(parent))
    }

    fn count(&mut self, path: &Path, bytes: u64) -> Result<(), ImageError> {
        self.entries += 1;
        self.bytes += bytes;
        if self.entries > ENTRIES_MAX || self.bytes > BYTES_MAX {
            return Err(ImageError::Unfit {
                path: path.to_owned(),
                why: format!("the skeleton may hold {ENTRIES_MAX} entries and {BYTES_MAX} bytes"),
            });
        }
        Ok(())
    }

    fn record(&mut self, kind: &[u8], path: &Path, content: &[u8]) {
        for part in [kind, path.as_os_str().as_encoded_bytes(), content] {
            self.manifest.update((part.len() as u64).to_le_bytes());
            self.manifest.update(part);
        }
    }
}

/// A folder's entries by name; none where there is no such folder.
pub(super) fn sorted(folder: &Path) -> Result<Vec<(std::ffi::OsString, fs::FileType)>, ImageError> {
    let read = |e| ImageError::Read(folder.to_owned(), e);
    let entries = match fs::read_dir(folder) {
        Err(e) if absent(&e) => return Ok(Vec::new()),
        entries => entries.map_err(read)?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.map_err(read)?;
        all.push((entry.file_name(), entry.file_type().map_err(read)?));
        if all.len() > ENTRIES_MAX {
            return Err(ImageError::Unfit {
                path: folder.to_owned(),
                why: format!("it holds more than {ENTRIES_MAX} entries"),
            });
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}

/// The content of a regular file that everybody may read, if there is one.
fn public(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match open(path) {
        Err(e) if absent(&e) => return Ok(None),
        file => file?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() || meta.permissions().mode() & 0o004 == 0 {
        return Ok(None);
    }
    bounded(file, BYTES_MAX).map(Some)
}

/// Opens for reading, without waiting for a pipe's other end.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
        .open(path)
}

/// The whole content, which may be at most `most` bytes.
pub(super) fn bounded(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("more than {most} bytes"),
        ));
    }
    Ok(content)
}

/// Whether an error says that there is no such thing.
pub(super) fn absent(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// An absolute path without `.` and `..`, by its text alone.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(name) => out.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_normal_by_its_text() {
        for (path, expected) in [
            ("/etc/alternatives/../../usr/bin/vi", "/usr/bin/vi"),
            ("/usr/../../etc/./shadow", "/etc/shadow"),
            ("/", "/"),
        ] {
            assert_eq!(normal(Path::new(path)), Path::new(expected));
        }
    }
}
