//! Which devices a sandbox shows, and which its processes may use.
//!
//! libcontainer binds the nodes of `/dev` into a sandbox. They are the sandbox's own: a lock or a
//! file watch on a node of the host's would link all sandboxes, and the host. They lie in one file
//! system with the folder that becomes the sandbox's `/dev`, which libcontainer fills, and which
//! is closed when it has: read-only as a whole, and owned by no sandbox's user namespace.
//!
//! On cgroup v1, libcontainer has a list of its own that also allows to make any device node, and `tun`; it is
//! not asked for one (the spec has no resources), and the list is made, and read back, before it
//! puts the keeper into the group. On cgroup v2 there is no such list: there a sandbox has the
//! nodes that are bound into it, and its user namespace can make none.

use rustix::fs::{CWD, FileType, Gid, Mode, Uid, makedev};
use rustix::mount::{MountFlags, UnmountFlags};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// null, zero, full, random, urandom, and the controlling terminal, of which jobs have none.
const NODES: [(&str, u32, u32); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];

/// What becomes a sandbox's `/dev`: here libcontainer makes what it binds the nodes to.
pub(crate) const FOLDER: &str = "/dev/sandbox";

/// Where a cell puts its shared memory; empty.
const SHM: &str = "/dev/sandbox/shm";

const FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NOEXEC);

/// [`NODES`] as the controller lists them.
const ALLOWED: [&str; 6] = [
    "c 1:3 rw", "c 1:5 rw", "c 1:7 rw", "c 1:8 rw", "c 1:9 rw", "c 5:0 rw",
];

/// Why the devices could not be limited.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DevicesError {
    #[error("mount a folder of devices")]
    Mount(#[source] io::Error),
    #[error("make the folder of devices read-only")]
    Close(#[source] io::Error),
    #[error("make the device `{name}`")]
    Node {
        name: &'static str,
        source: io::Error,
    },
    #[error("make the group `{}`", path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("write `{entry}` to `{}`", file.display())]
    Write {
        file: PathBuf,
        entry: &'static str,
        source: io::Error,
    },
    #[error("read `{}`", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("prove `{}`: it holds `{held:?}`", file.display())]
    Differs { file: PathBuf, held: Vec<String> },
}

/// New nodes over the warden's own `/dev`, until it is dropped or [`Nodes::hide`] is called.
#[derive(Debug)]
pub(crate) struct Nodes {
    shown: bool,
}

impl Nodes {
    /// `owner` is the uid and gid that may fill the sandbox's folder.
    pub(crate) fn show(owner: u32) -> Result<Self, DevicesError> {
        rustix::mount::mount(
            "tmpfs",
            "/dev",
            "tmpfs",
            FLAGS,
            Some(c"mode=0755,size=64k,nr_inodes=48"),
        )
        .map_err(|e| DevicesError::Mount(e.into()))?;
        let nodes = Self { shown: true };
        for folder in [FOLDER, SHM] {
            rustix::fs::mkdirat(CWD, folder, Mode::from_raw_mode(0o755))
                .map_err(|e| DevicesError::Mount(e.into()))?;
        }
        let (uid, gid) = (Uid::from_raw(owner), Gid::from_raw(owner));
        rustix::fs::chown(FOLDER, Some(uid), Some(gid))
            .map_err(|e| DevicesError::Mount(e.into()))?;
        let mode = Mode::from_raw_mode(0o666);
        for (name, major, minor) in NODES {
            let path = Path::new("/dev").join(name);
            rustix::fs::mknodat(
                CWD,
                &path,
                FileType::CharacterDevice,
                mode,
                makedev(major, minor),
            )
            .and_then(|()| rustix::fs::chmod(&path, mode))
            .map_err(|e| DevicesError::Node {
                name,
                source: e.into(),
            })?;
        }
        Ok(nodes)
    }

    /// Closes the folder, and takes all away again; a container to which it is bound keeps it.
    pub(crate) fn hide(mut self) -> Result<(), DevicesError> {
        let flags = FLAGS | MountFlags::RDONLY;
        rustix::mount::mount_remount("/dev", flags, c"")
            .map_err(|e| DevicesError::Close(e.into()))?;
        self.detach()
    }

    fn detach(&mut self) -> Result<(), DevicesError> {
        if self.shown {
            rustix::mount::unmount("/dev", UnmountFlags::DETACH)
                .map_err(|e| DevicesError::Mount(e.into()))?;
            self.shown = false;
        }
        Ok(())
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if let Err(e) = self.detach() {
            tracing::error!(
                error = crate::chain(&e),
                "a folder of devices stays mounted"
            );
        }
    }
}

/// Makes a group of the hierarchy that lists devices, and allows its processes a few.
pub(crate) fn limit(path: &Path) -> Result<(), DevicesError> {
    fs::create_dir_all(path).map_err(|source| DevicesError::Make {
        path: path.to_owned(),
        source,
    })?;
    let write = |name: &str, entry: &'static str| {
        let file = path.join(name);
        fs::write(&file, entry).map_err(|source| DevicesError::Write {
            file,
            entry,
            source,
        })
    };
    write("devices.deny", "a")?;
    for entry in ALLOWED {
        write("devices.allow", entry)?;
    }
    let file = path.join("devices.list");
    let text = fs::read_to_string(&file).map_err(|source| DevicesError::Read {
        file: file.clone(),
        source,
    })?;
    let mut held: Vec<String> = text.lines().map(str::to_owned).collect();
    held.sort_unstable();
    if held == ALLOWED {
        Ok(())
    } else {
        Err(DevicesError::Differs { file, held })
    }
}
