//! What holds one job, who may place a process in it, and what does the kernel count there?

use super::layout::{Controller, Tree};
use super::limits::Limits;
use super::{CgroupError, empty, knob};
use crate::counters::Counter;
use crate::wire::{CellLimits, CgroupVersion};
use kiln_keeper::wire::Placement;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{Mode, OFlags, open};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The group of one job.
#[derive(Debug)]
pub struct Leaf {
    pub(super) tree: Arc<Tree>,
    pub(super) path: PathBuf,
}

impl Leaf {
    pub(super) fn make(
        tree: Arc<Tree>,
        path: PathBuf,
        keeper_uid: u32,
        limits: &CellLimits,
    ) -> Result<Self, CgroupError> {
        tree.make(&path)?;
        let leaf = Self { tree, path };
        Limits::from(limits).set_new(&leaf.tree, &leaf.path)?;
        leaf.tree.give(&leaf.path, keeper_uid)?;
        Ok(leaf)
    }

    /// Writes the limits that differ, then proves all.
    pub fn set(&self, limits: &CellLimits) -> Result<(), CgroupError> {
        Limits::from(limits).set(&self.tree, &self.path)
    }

    /// Reads back every limit and compares it.
    pub fn prove(&self, limits: &CellLimits) -> Result<(), CgroupError> {
        Limits::from(limits).prove(&self.tree, &self.path)
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
        let dirs = self.tree.dirs(&self.path);
        let mut fds = Vec::with_capacity(dirs.len() + 3);
        match self.tree.version {
            CgroupVersion::V1 => {
                for dir in dirs {
                    fds.push(open_file(&dir.join("tasks"), OFlags::WRONLY)?);
                }
                fds.push(self.read_only(Controller::Cpuacct, "cpuacct.usage")?);
                let (event, oom_control) = self.oom_event()?;
                fds.push(event);
                fds.push(oom_control);
            }
            CgroupVersion::V2 => {
                for dir in dirs {
                    fds.push(open_file(&dir, OFlags::PATH | OFlags::DIRECTORY)?);
                }
                fds.push(self.read_only(Controller::Cpu, "cpu.stat")?);
            }
        }
        Ok(fds)
    }

    /// v1: an eventfd that counts OOM kills here, and `memory.oom_control`. It also fires when the
    /// group is removed, so a reader must look at the `oom_kill` line.
    fn oom_event(&self) -> Result<(OwnedFd, OwnedFd), CgroupError> {
        let file = self
            .tree
            .file(Controller::Memory, &self.path, "cgroup.event_control");
        let failed = |source| CgroupError::Event {
            file: file.clone(),
            source,
        };
        let oom_control = self.read_only(Controller::Memory, "memory.oom_control")?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| failed(e.into()))?;
        let line = format!("{} {}", event.as_raw_fd(), oom_control.as_raw_fd());
        fs::write(&file, line).map_err(failed)?;
        Ok((event, oom_control))
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
        let mut counters = Vec::with_capacity(files.len());
        for (counter, controller, name, optional) in files {
            match self.read_only(*controller, name) {
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
        for dir in self.tree.dirs(&self.path) {
            pids.extend(knob::numbers(&dir.join("cgroup.procs"))?);
        }
        pids.sort_unstable();
        pids.dedup();
        Ok(pids)
    }

    /// Removes the leaf; [`CgroupError::Survivors`] where a process is left in it.
    pub fn remove(&self) -> Result<(), CgroupError> {
        self.tree
            .dirs(&self.path)
            .iter()
            .try_for_each(|dir| empty::remove_leaf(dir))
    }

    fn read_only(&self, controller: Controller, name: &str) -> Result<OwnedFd, CgroupError> {
        open_file(
            &self.tree.file(controller, &self.path, name),
            OFlags::RDONLY,
        )
    }
}

fn open_file(file: &Path, flags: OFlags) -> Result<OwnedFd, CgroupError> {
    open(file, flags | OFlags::CLOEXEC, Mode::empty()).map_err(|e| CgroupError::Open {
        file: file.into(),
        source: e.into(),
    })
}
