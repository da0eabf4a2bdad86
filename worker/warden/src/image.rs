//! What a sandbox sees as its file system: who prepares it, and how each sandbox gets its own view.
//!
//! An [`Image`] is prepared once for each [`ImageSource`]: a few small folders in the warden's
//! private tmpfs, and a view of the host's `/usr` or of a folder. Each sandbox then gets a
//! [`RootFs`]: read-only overlays of those layers with superblocks of their own, so that neither a
//! lock nor a file watch on a shared file links two sandboxes. All of it happens in the warden's
//! mount namespace, before any user namespace exists.
//!
//! # Layout
//!
//! - `host`: the layers of an image that shows the host's `/usr` under a synthetic `/etc`
//! - `dir`: the layers of an image that is a root file system in a folder
//! - `accounts`: the user database every image has
//! - `tree`: writes and hashes the small folders
//! - `overlay`: mounts layers, and proves the flags afterwards
//!
//! Deliberately absent: a writable layer (a job writes to its cell's tmpfs alone), and what is
//! mounted below a source (views are not recursive).

mod accounts;
mod dir;
mod host;
mod overlay;
mod tree;

pub(crate) use host::HIDDEN;
pub use overlay::OverlayError;

use crate::profile::ImageSource;
use kiln_keeper::guard::{Guard, off};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folders that the mounts of a sandbox and of its cells cover.
const MOUNT_POINTS: [&str; 5] = ["proc", "dev", "job", "home/job", "tmp"];

/// Why an image or a root file system of it could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("write `{0}` of an image")]
    Write(PathBuf, #[source] io::Error),
    #[error("read `{0}` for an image")]
    Read(PathBuf, #[source] io::Error),
    #[error("use `{path}` for an image: {why}")]
    Unfit { path: PathBuf, why: String },
    #[error("show `{0}` in an image")]
    View(PathBuf, #[source] io::Error),
    #[error("mount an image's root file system")]
    Overlay(#[source] OverlayError),
    #[error("prove the mount `{mount}` of an image: it holds `{holds}`")]
    Unproved { mount: PathBuf, holds: String },
    #[error("unmount the root file system `{0}`")]
    Unmount(PathBuf, #[source] io::Error),
    #[error("take back a root file system that could not be made: `{cleanup}`; it failed at first")]
    Twice {
        #[source]
        first: Box<ImageError>,
        cleanup: Box<ImageError>,
    },
}

/// An image whose layers are ready. It lives as long as the warden's mount namespace.
#[derive(Debug)]
pub struct Image {
    id: String,
    /// In the order of mounting: the place below the root, and what lies there, the top first.
    overlays: Vec<(&'static str, Vec<PathBuf>)>,
}

/// Prepares an image in `work`, an empty folder of a private tmpfs that stays as it is while the
/// image is used.
pub fn prepare(source: &ImageSource, work: &Path) -> Result<Image, ImageError> {
    let work = real(work)?;
    match source {
        ImageSource::Host { extra } => host::prepare(extra, &work),
        ImageSource::Dir(folder) => dir::prepare(folder, &work),
    }
}

impl Image {
    fn new(digest: &[u8; 32], overlays: Vec<(&'static str, Vec<PathBuf>)>) -> Self {
        let mut id = String::from("sha256:");
        for byte in digest {
            write!(id, "{byte:02x}").expect("a string takes whatever is written");
        }
        Image { id, overlays }
    }

    /// `sha256:` and 64 hex digits: the same where the same files are shown.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Mounts a root file system of this image at the folder `at`, which is made if it is absent.
    pub fn mount(&self, at: &Path) -> Result<RootFs, ImageError> {
        let made = match fs::create_dir(at) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(ImageError::Write(at.to_owned(), e)),
        };
        let mut root = RootFs {
            path: real(at)?,
            made,
            mounted: false,
        };
        match self.fill(&mut root) {
            Ok(()) => Ok(root),
            Err(first) => Err(match root.unmount() {
                Ok(()) => first,
                Err(cleanup) => ImageError::Twice {
                    first: Box::new(first),
                    cleanup: Box::new(cleanup),
                },
            }),
        }
    }

    fn fill(&self, root: &mut RootFs) -> Result<(), ImageError> {
        let mut places = Vec::new();
        for (place, layers) in &self.overlays {
            let at = if place.is_empty() {
                root.path.clone()
            } else {
                root.path.join(place)
            };
            let layers: Vec<&Path> = layers.iter().map(PathBuf::as_path).collect();
            if off(Guard::Overlay) {
                // The folder itself: its inodes are then shared by every sandbox.
                let shown = if place.is_empty() {
                    layers[0]
                } else {
                    layers[layers.len() - 1]
                };
                let folder = fs::File::open(shown).map_err(|e| ImageError::Write(at.clone(), e))?;
                overlay::view(folder, &at).map_err(|e| ImageError::Write(at.clone(), e))?;
            } else {
                overlay::mount(&layers, &at).map_err(ImageError::Overlay)?;
            }
            root.mounted = true;
            places.push(at);
        }
        let expected: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
        if !off(Guard::Overlay) {
            overlay::prove(&root.path, &expected)?;
        }
        for point in MOUNT_POINTS {
            let flags = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            if !root.has(point, OFlags::DIRECTORY, flags)? {
                return Err(ImageError::Unfit {
                    path: root.path.clone(),
                    why: format!("`/{point}` is not a folder in it"),
                });
            }
        }
        Ok(())
    }
}

/// The read-only root file system of one sandbox, in the warden's mount namespace.
#[derive(Debug)]
pub struct RootFs {
    path: PathBuf,
    made: bool,
    mounted: bool,
}

impl RootFs {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a file at an absolute path, as a process with this root would see it.
    pub fn holds(&self, path: &Path) -> Result<bool, ImageError> {
        let path = path.strip_prefix("/").unwrap_or(path);
        self.has(path, OFlags::empty(), ResolveFlags::IN_ROOT)
    }

    fn has(
        &self,
        path: impl AsRef<Path>,
        kind: OFlags,
        how: ResolveFlags,
    ) -> Result<bool, ImageError> {
        let path = path.as_ref();
        let read = |e: Errno| ImageError::Read(self.path.join(path), e.into());
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let root =
            rustix::fs::open(&self.path, flags | OFlags::DIRECTORY, Mode::empty()).map_err(read)?;
        match openat2(&root, path, flags | kind, Mode::empty(), how) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(false),
            Err(e) => Err(read(e)),
        }
    }

    /// Takes the root file system out of the warden's namespace. A container that was made of it
    /// keeps its copy.
    pub fn unmount(mut self) -> Result<(), ImageError> {
        self.detach()
    }

    fn detach(&mut self) -> Result<(), ImageError> {
        let fail = |e| ImageError::Unmount(self.path.clone(), e);
        if self.mounted {
            unmount(&self.path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
                .map_err(|e| fail(e.into()))?;
            self.mounted = false;
        }
        if self.made {
            fs::remove_dir(&self.path).map_err(fail)?;
            self.made = false;
        }
        Ok(())
    }
}

impl Drop for RootFs {
    fn drop(&mut self) {
        if let Err(e) = self.detach() {
            tracing::error!(path = %self.path.display(), error = %e, "a root file system stays mounted");
        }
    }
}

fn real(path: &Path) -> Result<PathBuf, ImageError> {
    fs::canonicalize(path).map_err(|e| ImageError::Read(path.to_owned(), e))
}

/// Opens a folder that only root can change as the source of a layer.
fn source(path: &Path) -> Result<rustix::fd::OwnedFd, ImageError> {
    let read = |e: Errno| ImageError::Read(path.to_owned(), e.into());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(read)?;
    let stat = rustix::fs::fstat(&folder).map_err(read)?;
    if stat.st_uid != 0 || stat.st_mode & 0o022 != 0 {
        return Err(ImageError::Unfit {
            path: path.to_owned(),
            why: format!(
                "it must belong to root and be writable by nobody else (it belongs to uid {}, mode {:04o})",
                stat.st_uid,
                stat.st_mode & 0o7777
            ),
        });
    }
    Ok(folder)
}

/// Makes an empty folder and shows a source there, without what is mounted below it.
fn view(folder: &rustix::fd::OwnedFd, path: &Path, at: &Path) -> Result<(), ImageError> {
    fs::create_dir(at).map_err(|e| ImageError::Write(at.to_owned(), e))?;
    overlay::view(folder, at).map_err(|e| ImageError::View(path.to_owned(), e))
}
