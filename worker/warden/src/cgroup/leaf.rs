//! What holds one job, who may place a process in it, and what does the kernel count there?

use super::folder::Folders;
use super::layout::{Controller, Tree};
use super::limits::Limits;
use super::{CgroupError, empty};
use crate::counters::Counter;
use crate::wire::{CellLimits, CgroupVersion};
use kiln_keeper::wire::Placement;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// The group of one job.
#[derive(Debug)]
pub struct Leaf {
    pub(super) tree: Arc<Tree>,
    pub(super) path: PathBuf,
    /// Its folders, while the cell is built: what waits for a job holds none.
    folders: Option<Rc<Folders>>,
}

impl Leaf {
    pub(super) fn make(
        tree: Arc<Tree>,
        path: PathBuf,
        keeper_uid: u32,
        limits: &CellLimits,
    ) -> Result<Self, CgroupError> {
        tree.make(&path)?;
        let folders = tree.folders(&path)?;
        Limits::from(limits).set_new(&tree, &folders)?;
        tree.give(&path, keeper_uid)?;
        Ok(Self {
            tree,
            path,
            folders: Some(Rc::new(folders)),
        })
    }

    /// The folders: those that are held, or opened now.
    fn folders(&self) -> Result<Rc<Folders>, CgroupError> {
        match &self.folders {
            Some(held) => Ok(Rc::clone(held)),
            None => self.tree.folders(&self.path).map(Rc::new),
        }
    }

    /// Holds nothing open any more; whatever is asked for later is opened then.
    pub fn rest(&mut self) {
        self.folders = None;
    }

    /// Writes the limits that differ, then proves all.
    pub fn set(&self, limits: &CellLimits) -> Result<(), CgroupError> {
        Limits::from(limits).set(&self.tree, &self.path)
    }

    /// Reads back every limit and compares it.
    pub fn prove(&self, limits: &CellLimits) -> Result<(), CgroupError> {
        Limits::from(limits).prove(&self.tree, &*self.folders()?)
    }

    /// How the keeper places a process here, with the descriptors of [`Leaf::keeper_fds`].
    #[expect(
        clippy::missing_panics_doc,
        reason = "a tree has one mount for each controller at most, and there are four"
    )]
    pub fn placement(&self) -> Placement {
        match self.tree.version {
            CgroupVersion::V1 => Placement::V1 {
                tasks: u8::try_from(self.tree.dirs(&self.path).len())
                    .expect("four hierarchies at most are in use"),
            },
            CgroupVersion::V2 => Placement::V2,
        }
    }

    /// What the keeper needs to place and to watch a job, in the order of
    /// [`kiln_keeper::wire::FromWarden::Prepare`].
    pub fn keeper_fds(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        let folders = self.folders()?;
        let mut fds = Vec::with_capacity(folders.0.len() + 3);
        match self.tree.version {
            CgroupVersion::V1 => {
                for folder in &folders.0 {
                    fds.push(folder.opened("tasks", OFlags::WRONLY)?);
                }
                let cpuacct = folders.of(Controller::Cpuacct);
                fds.push(cpuacct.opened("cpuacct.usage", OFlags::RDONLY)?);
                let (event, oom_control) = oom_event(&folders)?;
                fds.push(event);
                fds.push(oom_control);
            }
            CgroupVersion::V2 => {
                for folder in &folders.0 {
                    fds.push(folder.opened(".", OFlags::PATH | OFlags::DIRECTORY)?);
                }
                fds.push(
                    folders
                        .of(Controller::Cpu)
                        .opened("cpu.stat", OFlags::RDONLY)?,
                );
            }
        }
        Ok(fds)
    }

    /// The counters of this job, open for reading. Those that older kernels lack are left out.
    pub fn counters(&self) -> Result<Vec<(Counter, OwnedFd)>, CgroupError> {
        use Controller::{Cpu, Cpuacct, Memory, Pids};
        const OPTIONAL: bool = true;
        const ALWAYS: bool = false;
        let files: &[(Counter, Controller, &str, bool)] = match self.tree.version {
            CgroupVersion::V1 => &[
                (
                    Counter::MemoryPeak,
                    Memory,
                    "memory.max_usage_in_bytes",
                    ALWAYS,
                ),
                (Counter::OomKill, Memory, "memory.oom_control", ALWAYS),
                (Counter::CpuUser, Cpuacct, "cpuacct.usage_user", ALWAYS),
                (Counter::CpuSystem, Cpuacct, "cpuacct.usage_sys", ALWAYS),
                (Counter::PidsPeak, Pids, "pids.peak", OPTIONAL),
                (Counter::PidsEvents, Pids, "pids.events", ALWAYS),
                (Counter::Processes, Pids, "cgroup.procs", ALWAYS),
            ],
            CgroupVersion::V2 => &[
                (Counter::MemoryPeak, Memory, "memory.peak", OPTIONAL),
                (Counter::OomKill, Memory, "memory.events", ALWAYS),
                (Counter::CpuStat, Cpu, "cpu.stat", ALWAYS),
                (Counter::PidsPeak, Pids, "pids.peak", OPTIONAL),
                (Counter::PidsEvents, Pids, "pids.events", ALWAYS),
                (Counter::Processes, Pids, "cgroup.procs", ALWAYS),
            ],
        };
        let folders = self.folders()?;
        let mut counters = Vec::with_capacity(files.len());
        for (counter, controller, name, optional) in files {
            match folders.of(*controller).opened(name, OFlags::RDONLY) {
                Ok(fd) => counters.push((*counter, fd)),
                Err(CgroupError::Open { source, .. })
                    if *optional && source.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(counters)
    }

    /// Every process here, over all hierarchies; one that the caller cannot see is `0`.
    pub fn processes(&self) -> Result<Vec<i32>, CgroupError> {
        let mut pids = Vec::new();
        for folder in &self.folders()?.0 {
            pids.extend(folder.numbers("cgroup.procs")?);
        }
        pids.sort_unstable();
        pids.dedup();
        Ok(pids)
    }

    /// Removes the leaf; [`CgroupError::Survivors`] where a process is left in it.
    pub fn remove(&self) -> Result<(), CgroupError> {
        empty::remove_leaf(&self.tree, &self.path)
    }
}

/// v1: an eventfd that counts OOM kills here, and `memory.oom_control`. It also fires when the
/// group is removed, so a reader must look at the `oom_kill` line.
fn oom_event(folders: &Folders) -> Result<(OwnedFd, OwnedFd), CgroupError> {
    let (memory, name) = (folders.of(Controller::Memory), "cgroup.event_control");
    let failed = |e: Errno| CgroupError::Event {
        file: memory.file(name),
        source: e.into(),
    };
    let oom_control = memory.opened("memory.oom_control", OFlags::RDONLY)?;
    let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
    let line = format!("{} {}", event.as_raw_fd(), oom_control.as_raw_fd());
    let control = memory.open(name, OFlags::WRONLY).map_err(failed)?;
    // The kernel takes a line whole or not at all.
    rustix::io::write(&control, line.as_bytes()).map_err(failed)?;
    Ok((event, oom_control))
}
