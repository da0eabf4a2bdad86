//! The world that sandboxes are made in, and what all of them share.

use super::{Source, Warden};
use crate::cgroup::{self, CgroupError, Hierarchy};
use crate::container::{ContainerError, Place};
use crate::instance::Instance;
use crate::keeper::{self, KeeperError};
use crate::profile::Profiles;
use crate::proof::network::{Looker, NetworkError};
use crate::proof::process::{LookError, Namespaces, Process};
use crate::sandbox::Shared;
use crate::start::Options;
use crate::sys;
use crate::uids::{Uids, UidsError};
use crate::wire::{CgroupVersion, MESSAGE_MAX};
use rustix::event::epoll;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::net::sockopt::Timeout;
use rustix::process::Signal;
use rustix::thread::UnshareFlags;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

/// How long the worker may leave its socket full before it is taken for dead.
const SEND_MAX: Duration = Duration::from_secs(10);

/// Why the warden cannot begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    #[error("leave the host's namespaces")]
    Unshare(#[source] io::Error),
    #[error("mount `{what}`")]
    Mount {
        what: &'static str,
        source: io::Error,
    },
    #[error("take mounts of the host's at `{what}` out of the warden's view")]
    Prune {
        what: &'static str,
        source: io::Error,
    },
    #[error("keep the control groups to the warden")]
    Groups(#[source] CgroupError),
    #[error("look at the warden's own namespaces")]
    Namespaces(#[source] LookError),
    #[error("share no namespace with the host: `{0:?}` are shared")]
    Shared(Vec<&'static str>),
    #[error("read the profiles: {0}")]
    Profiles(String),
    #[error("look at what a new network namespace is like")]
    Network(#[source] NetworkError),
    #[error("make what every keeper gets")]
    Keeper(#[source] KeeperError),
    #[error("make a place for containers")]
    Place(#[source] ContainerError),
    #[error("find ranges of uids")]
    Uids(#[source] UidsError),
    #[error("find the usable CPUs")]
    Cpus(#[source] io::Error),
    #[error("die with the monitor")]
    Tie(#[source] io::Error),
    #[error("watch the worker")]
    Watch(#[source] io::Error),
}

impl BeginError {
    /// What would let the warden begin.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Unshare(_) | Self::Shared(_) => {
                "let root make mount, network, ipc and uts namespaces: in a container run it with \
                 --privileged"
            }
            Self::Mount { .. } | Self::Prune { .. } => {
                "let root mount: in a container run it with --privileged"
            }
            Self::Profiles(_) => "correct the configuration; `kiln worker --check` explains it",
            Self::Uids(_) => "name a free multiple of 4194304 with --uid-base",
            _ => "this is a defect of kiln; please report it",
        }
    }
}

impl<'a> Warden<'a> {
    /// Makes the pool's world and everything that sandboxes share.
    pub(crate) fn new(
        options: &Options,
        worker: BorrowedFd<'a>,
        instance: Instance,
        hierarchy: &Hierarchy,
        groups: cgroup::Instance,
        host: Namespaces,
    ) -> Result<Self, BeginError> {
        let private = instance.folder.join("private");
        separate(&private)?;
        let hierarchy = hierarchy.hide().map_err(BeginError::Groups)?;
        let groups = groups.by(&hierarchy);
        prune(hierarchy.version())?;
        let own = Process::own()
            .and_then(|process| process.namespaces())
            .map_err(BeginError::Namespaces)?;
        // Neither a user namespace nor a cgroup namespace of its own: it acts on the host's.
        let both = own.shared(&host);
        if both != ["cgroup", "user"] {
            return Err(BeginError::Shared(both));
        }
        let profiles = Profiles::load(options.config.as_deref())
            .map_err(|e| BeginError::Profiles(e.to_string()))?;
        let keeper = BeginError::Keeper;
        let place =
            Place::new(&private, keeper::program().map_err(keeper)?).map_err(BeginError::Place)?;
        let cpus = rustix::thread::sched_getaffinity(None)
            .map_err(|e| BeginError::Cpus(e.into()))
            .map(|set| (0..64).filter(|cpu| set.is_set(*cpu)).collect())?;
        let shared = Shared {
            outside: vec![host, own],
            cpus,
            job_filter: keeper::filter("kiln-job-filter", &crate::seccomp::job_filter())
                .map_err(keeper)?,
            keeper_filter: keeper::filter("kiln-keeper-filter", &crate::seccomp::keeper_filter())
                .map_err(keeper)?,
            networks: Looker::new().map_err(BeginError::Network)?,
        };
        rustix::net::sockopt::set_socket_timeout(worker, Timeout::Send, Some(SEND_MAX))
            .map_err(|e| BeginError::Watch(e.into()))?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .and_then(|poll| {
                let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
                epoll::add(&poll, worker, Source::Worker.data(), flags)?;
                Ok(poll)
            })
            .map_err(|e| BeginError::Watch(e.into()))?;
        Ok(Self {
            worker,
            poll,
            version: hierarchy.version(),
            instance,
            groups,
            profiles,
            images: BTreeMap::new(),
            image_work: private.join("image"),
            place,
            spare: None,
            uids: Uids::new(options.uid_base).map_err(BeginError::Uids)?,
            shared,
            sandboxes: BTreeMap::new(),
            last: 0,
            buffer: vec![0; MESSAGE_MAX].into_boxed_slice(),
        })
    }
}

/// Leaves the host's namespaces: mounts of its own with a proc of its own, no network.
fn separate(private: &Path) -> Result<(), BeginError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| BeginError::Tie(e.into()))?;
    sys::unshare(
        UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS,
    )
    .map_err(BeginError::Unshare)?;
    let failed = |what| {
        move |e: Errno| BeginError::Mount {
            what,
            source: e.into(),
        }
    };
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(failed("/ as private"))?;
    detach("/proc", "/proc")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None).map_err(failed("/proc"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", private, "tmpfs", flags, Some(c"mode=0711"))
        .map_err(failed("the warden's own tmpfs"))
}

/// Takes mounts of the host out of the warden's view that nobody here looks at: libcontainer reads
/// the whole table some twenty times for each sandbox, and the kernel copies it once.
fn prune(version: CgroupVersion) -> Result<(), BeginError> {
    let table =
        std::fs::read_to_string("/proc/self/mountinfo").map_err(|source| BeginError::Prune {
            what: "any place",
            source,
        })?;
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    for point in points.filter(|point| point.starts_with("/dev/")) {
        detach(point, "/dev")?;
    }
    if version == CgroupVersion::V1 {
        // libcontainer asks what kind of file system lies here, and then looks for hierarchies.
        detach("/sys", "/sys")?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let room = Some(c"mode=0755,size=4k,nr_inodes=4");
        let open = Mode::from_raw_mode(0o755);
        rustix::mount::mount("tmpfs", "/sys", "tmpfs", flags, room)
            .and_then(|()| rustix::fs::mkdir("/sys/fs", open))
            .and_then(|()| rustix::fs::mkdir("/sys/fs/cgroup", open))
            .map_err(|e| BeginError::Mount {
                what: "an empty /sys",
                source: e.into(),
            })?;
    }
    Ok(())
}

/// Unmounts everything at and below a place, as often as something lies there.
fn detach(point: &str, what: &'static str) -> Result<(), BeginError> {
    loop {
        match rustix::mount::unmount(point, UnmountFlags::DETACH) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(e) => {
                return Err(BeginError::Prune {
                    what,
                    source: e.into(),
                });
            }
        }
    }
}
