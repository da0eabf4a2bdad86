//! Where are the hierarchies mounted, and which directories and files are a group of ours?

use super::folder::{Folder, Folders};
use super::limits::SOCKETS_V1;
use super::{CgroupError, knob};
use crate::wire::CgroupVersion;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What v2 must enable on the way down to a group of ours; `cpu.stat` there needs no controller.
const V2_CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// A controller that Kiln needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Pids,
    Cpu,
    Cpuacct,
}

impl Controller {
    const ALL: [Self; 4] = [Self::Memory, Self::Pids, Self::Cpu, Self::Cpuacct];

    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
            Self::Cpuacct => "cpuacct",
        }
    }
}

/// A mounted hierarchy and what it controls for us.
#[derive(Debug)]
struct Mount {
    point: PathBuf,
    /// Where it is hidden, the way to it; the point leads through it then.
    dir: Option<OwnedFd>,
    holds: Vec<Controller>,
}

impl Mount {
    /// The group `path`, from a folder that is open.
    fn at<'a>(&'a self, path: &'a Path) -> (BorrowedFd<'a>, Cow<'a, Path>) {
        match &self.dir {
            Some(dir) => (dir.as_fd(), Cow::Borrowed(path)),
            None => (CWD, Cow::Owned(self.point.join(path))),
        }
    }
}

/// The hierarchies in use.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) version: CgroupVersion,
    mounts: Vec<Mount>,
    /// Other v1 hierarchies: the list of devices is in one of them, so removal looks there.
    strays: Vec<PathBuf>,
    #[expect(dead_code, reason = "held open: the paths above lead through them")]
    held: Vec<OwnedFd>,
    known: Known,
}

/// What the same mounts always answer, asked once.
#[derive(Debug, Default)]
struct Known {
    devices: OnceLock<Option<PathBuf>>,
    sockets_apart: OnceLock<bool>,
}

impl Tree {
    /// Reads the text of a `/proc/<pid>/mountinfo`.
    pub(super) fn from_mountinfo(text: &str) -> Result<Self, CgroupError> {
        let mut v1: Vec<(PathBuf, Vec<String>)> = Vec::new();
        let mut v2: Vec<PathBuf> = Vec::new();
        for (point, kind, options) in text.lines().filter_map(mount) {
            match kind {
                "cgroup" if !v1.iter().any(|(known, _)| *known == point) => {
                    v1.push((point, options.split(',').map(String::from).collect()));
                }
                "cgroup2" => v2.push(point),
                _ => {}
            }
        }
        match Self::v1(v1) {
            Ok(tree) => Ok(tree),
            // A hybrid host that lacks one on v1 has it nowhere we could use together.
            Err(missing) if missing.len() < Controller::ALL.len() => {
                Err(CgroupError::Missing { missing })
            }
            Err(_) => Self::v2(&v2),
        }
    }

    /// The v1 hierarchies, or the controllers that no v1 hierarchy holds.
    fn v1(all: Vec<(PathBuf, Vec<String>)>) -> Result<Self, Vec<&'static str>> {
        let mut missing: Vec<_> = Controller::ALL.to_vec();
        let (mut mounts, mut strays) = (Vec::new(), Vec::new());
        for (point, options) in all {
            let (holds, rest) = missing
                .iter()
                .partition(|c| options.iter().any(|option| option == c.name()));
            missing = rest;
            if Vec::is_empty(&holds) {
                strays.push(point);
            } else {
                mounts.push(Mount {
                    point,
                    dir: None,
                    holds,
                });
            }
        }
        if missing.is_empty() {
            Ok(Self {
                version: CgroupVersion::V1,
                mounts,
                strays,
                held: Vec::new(),
                known: Known::default(),
            })
        } else {
            Err(missing.into_iter().map(Controller::name).collect())
        }
    }

    /// The unified hierarchy, where it has what we need.
    fn v2(points: &[PathBuf]) -> Result<Self, CgroupError> {
        let mut missing = V2_CONTROLLERS.to_vec();
        for point in points {
            let held = knob::read(&point.join("cgroup.controllers"))?;
            missing = V2_CONTROLLERS.to_vec();
            missing.retain(|name| !held.split_whitespace().any(|held| held == *name));
            if missing.is_empty() {
                return Ok(Self {
                    version: CgroupVersion::V2,
                    mounts: vec![Mount {
                        point: point.clone(),
                        dir: None,
                        holds: Controller::ALL.to_vec(),
                    }],
                    strays: Vec::new(),
                    held: Vec::new(),
                    known: Known::default(),
                });
            }
        }
        Err(CgroupError::Missing { missing })
    }

    /// The same hierarchies, reached through descriptors, with their v1 mounts taken out of this
    /// process's mount namespace: whoever looks for them there finds none.
    pub(super) fn hide(&self) -> Result<Self, CgroupError> {
        let hide = |point: &PathBuf| {
            let failed = |source: Errno| CgroupError::Hide {
                dir: point.clone(),
                source: source.into(),
            };
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let dir = rustix::fs::open(point, flags, Mode::empty()).map_err(failed)?;
            rustix::mount::unmount(point, UnmountFlags::DETACH).map_err(failed)?;
            let path = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()));
            Ok((path, dir))
        };
        let mut mounts = Vec::with_capacity(self.mounts.len());
        for Mount { point, holds, .. } in &self.mounts {
            let (point, dir) = match self.version {
                CgroupVersion::V1 => hide(point).map(|(point, dir)| (point, Some(dir)))?,
                CgroupVersion::V2 => (point.clone(), None),
            };
            let holds = holds.clone();
            mounts.push(Mount { point, dir, holds });
        }
        let hidden = self.strays.iter().map(hide);
        let (strays, held) = hidden
            .collect::<Result<Vec<_>, CgroupError>>()?
            .into_iter()
            .unzip();
        Ok(Self {
            version: self.version,
            mounts,
            strays,
            held,
            known: Known::default(),
        })
    }

    /// The group `path` where v1 lists devices, if it does.
    pub(super) fn devices(&self, path: &Path) -> Option<PathBuf> {
        let lists = |point: &&PathBuf| point.join("devices.list").exists();
        let find = || self.strays.iter().find(lists).cloned();
        let point = self.known.devices.get_or_init(find).as_ref();
        point.map(|point| point.join(path))
    }

    /// Whether what sockets hold is counted apart, as v1 does where the kernel can count it.
    pub(super) fn counts_sockets_apart(&self) -> bool {
        let counts = || {
            let file = self.file(Controller::Memory, Path::new(""), SOCKETS_V1);
            self.version == CgroupVersion::V1 && file.exists()
        };
        *self.known.sockets_apart.get_or_init(counts)
    }

    /// The file `name` of the group `path`, in the hierarchy of `controller`.
    pub(super) fn file(&self, controller: Controller, path: &Path, name: &str) -> PathBuf {
        let mount = self
            .mounts
            .iter()
            .find(|mount| mount.holds.contains(&controller))
            .expect("a tree is only built with every controller in one of its mounts");
        mount.point.join(path).join(name)
    }

    /// The group `path` in each hierarchy in use.
    pub(super) fn dirs(&self, path: &Path) -> Vec<PathBuf> {
        self.mounts.iter().map(|m| m.point.join(path)).collect()
    }

    /// [`Tree::dirs`], and the places in other hierarchies where libcontainer may have been.
    pub(super) fn all_dirs(&self, path: &Path) -> Vec<PathBuf> {
        let strays = self.strays.iter().map(|point| point.join(path));
        self.dirs(path).into_iter().chain(strays).collect()
    }

    /// The group `path` in each hierarchy in use, opened: it must exist.
    pub(super) fn folders(&self, path: &Path) -> Result<Folders, CgroupError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |mount: &Mount| {
            let (dir, place) = mount.at(path);
            let file = mount.point.join(path);
            match openat(dir, &*place, flags, Mode::empty()) {
                Ok(dir) => Ok(Folder {
                    dir,
                    path: file,
                    holds: mount.holds.clone(),
                }),
                Err(e) => Err(CgroupError::Open {
                    file,
                    source: e.into(),
                }),
            }
        };
        self.mounts
            .iter()
            .map(open)
            .collect::<Result<_, _>>()
            .map(Folders)
    }

    /// Makes a group that must not exist yet.
    pub(super) fn make(&self, path: &Path) -> Result<(), CgroupError> {
        for mount in &self.mounts {
            let (dir, place) = mount.at(path);
            mkdirat(dir, &*place, Mode::from_raw_mode(0o777)).map_err(|e| CgroupError::Make {
                dir: mount.point.join(path),
                source: e.into(),
            })?;
        }
        Ok(())
    }

    /// Removes a group that is empty and has none below it, in each hierarchy that is tried until
    /// one refuses. Where it was gone already, that is fine.
    pub(super) fn unmake(&self, path: &Path) -> Result<(), (PathBuf, Errno)> {
        for mount in &self.mounts {
            let (dir, place) = mount.at(path);
            match unlinkat(dir, &*place, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err((mount.point.join(path), e)),
            }
        }
        Ok(())
    }

    /// Makes a group that others may use too.
    pub(super) fn make_if_absent(&self, path: &Path) -> Result<(), CgroupError> {
        for dir in self.dirs(path) {
            match fs::create_dir(&dir) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(CgroupError::Make { dir, source: e });
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// v2: lets the children of a group have the controllers. A group with processes of its own
    /// cannot (`EBUSY`), the root apart. v1: nothing to do.
    pub(super) fn enable(&self, path: &Path) -> Result<(), CgroupError> {
        match self.version {
            CgroupVersion::V1 => Ok(()),
            CgroupVersion::V2 => self.dirs(path).iter().try_for_each(|dir| enable_v2(dir)),
        }
    }

    /// v2: lets `uid` place processes into and out of the group, and nothing else. v1: nothing to
    /// do, descriptors opened by the warden carry its rights.
    pub(super) fn give(&self, path: &Path, uid: u32) -> Result<(), CgroupError> {
        if self.version == CgroupVersion::V2 {
            for dir in self.dirs(path) {
                let file = dir.join("cgroup.procs");
                std::os::unix::fs::chown(&file, Some(uid), None)
                    .map_err(|source| CgroupError::Give { file, uid, source })?;
            }
        }
        Ok(())
    }
}

/// Enables what `dir` does not yet pass to its children, and reads it back.
fn enable_v2(dir: &Path) -> Result<(), CgroupError> {
    let file = dir.join("cgroup.subtree_control");
    let absent = |held: &str| -> Vec<&'static str> {
        let held: Vec<&str> = held.split_whitespace().collect();
        let mut absent = V2_CONTROLLERS.to_vec();
        absent.retain(|name| !held.contains(name));
        absent
    };
    let missing = absent(&knob::read(&file)?);
    if missing.is_empty() {
        return Ok(());
    }
    let wanted = missing
        .iter()
        .map(|name| format!("+{name}"))
        .collect::<Vec<_>>()
        .join(" ");
    if let Err(source) = fs::write(&file, &wanted) {
        return Err(CgroupError::Enable {
            file,
            wanted,
            source,
        });
    }
    let held = knob::read(&file)?;
    if absent(&held).is_empty() {
        Ok(())
    } else {
        Err(CgroupError::Differs { file, wanted, held })
    }
}

/// Mount point, type and super options of a line of mountinfo.
fn mount(line: &str) -> Option<(PathBuf, &str, &str)> {
    let (left, right) = line.split_once(" - ")?;
    let point = left.split(' ').nth(4)?;
    let mut right = right.split(' ');
    let kind = right.next()?;
    let options = right.nth(1)?;
    Some((PathBuf::from(unescape(point)), kind, options))
}

/// The kernel writes space, tab, newline and backslash as `\` and three octal digits.
fn unescape(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (code, plain)| {
        text.replace(code, plain)
    })
}

#[cfg(test)]
mod tests;
