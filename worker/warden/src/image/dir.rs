//! What an image named `dir:/path` shows: a root file system in a folder, completed where needed.
//!
//! The folder itself is never written to. Above it lie the few files that a sandbox counts on (the
//! job's account, the host name); below it the mount points that it may lack.

use super::tree::{self, Tree};
use super::{Image, ImageError, MOUNT_POINTS, accounts, source, view};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat2, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The largest user database that is read.
const DATABASE_BYTES_MAX: u64 = 1 << 20;

pub(super) fn prepare(folder: &Path, work: &Path) -> Result<Image, ImageError> {
    if !folder.is_absolute() {
        return Err(unfit(folder, "its path must be absolute"));
    }
    let root = source(folder)?;
    if !["usr", "bin"].iter().any(|name| exists(&root, name)) {
        return Err(unfit(folder, "it holds neither `usr` nor `bin`"));
    }
    let base = work.join("base");
    view(&root, folder, &base)?;

    let mut points = Tree::new(work.join("points"))?;
    for point in MOUNT_POINTS {
        points.folder(Path::new(point))?;
    }
    let mut top = Tree::new(work.join("top"))?;
    match openat2(
        &root,
        "etc",
        OFlags::PATH,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    ) {
        Ok(_) | Err(Errno::NOENT) => {}
        Err(e) => return Err(ImageError::Read(folder.join("etc"), e.into())),
    }
    top.file(Path::new("etc/hosts"), accounts::HOSTS.as_bytes())?;
    top.file(Path::new("etc/hostname"), accounts::HOSTNAME.as_bytes())?;
    for (name, ours) in [("passwd", accounts::PASSWD), ("group", accounts::GROUP)] {
        let path = Path::new("etc").join(name);
        let theirs = database(&root, folder, &path)?;
        if let Some(content) = accounts::with_job(&theirs, ours) {
            top.file(&path, content.as_bytes())?;
        }
    }
    let layers = vec![top.root().to_owned(), base, points.root().to_owned()];

    let mut manifest = Sha256::new();
    manifest.update(b"dir\0");
    manifest.update(folder.as_os_str().as_encoded_bytes());
    manifest.update(top.digest());
    manifest.update(points.digest());
    contents(&mut manifest, folder)?;
    Ok(Image::new(&manifest.finalize().into(), vec![("", layers)]))
}

/// What the first two levels of the folder say about themselves: enough to see that something was
/// added, removed or replaced there, and cheap enough for every start.
fn contents(manifest: &mut Sha256, folder: &Path) -> Result<(), ImageError> {
    entry(manifest, folder)?;
    for (name, kind) in tree::sorted(folder)? {
        let path = folder.join(name);
        entry(manifest, &path)?;
        if kind.is_dir() {
            for (name, _) in tree::sorted(&path)? {
                entry(manifest, &path.join(name))?;
            }
        }
    }
    Ok(())
}

fn entry(manifest: &mut Sha256, path: &Path) -> Result<(), ImageError> {
    let meta = fs::symlink_metadata(path).map_err(|e| ImageError::Read(path.to_owned(), e))?;
    let name = path.as_os_str().as_encoded_bytes();
    manifest.update((name.len() as u64).to_le_bytes());
    manifest.update(name);
    for figure in [u64::from(meta.mode()), meta.ino(), meta.size()] {
        manifest.update(figure.to_le_bytes());
    }
    manifest.update(meta.mtime().to_le_bytes());
    manifest.update(meta.mtime_nsec().to_le_bytes());
    Ok(())
}

/// A text file of the image, its links followed inside the image alone; empty where there is none.
fn database(root: &OwnedFd, folder: &Path, path: &Path) -> Result<String, ImageError> {
    let full = folder.join(path);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(String::new()),
        Err(e) => return Err(ImageError::Read(full, e.into())),
    };
    let content =
        tree::bounded(file, DATABASE_BYTES_MAX).map_err(|e| ImageError::Read(full.clone(), e))?;
    String::from_utf8(content).map_err(|_| unfit(&full, "it is not text"))
}

fn exists(root: &OwnedFd, name: &str) -> bool {
    statat(root, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn unfit(path: &Path, why: &str) -> ImageError {
    ImageError::Unfit {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}
