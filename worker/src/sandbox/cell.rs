//! What the worker holds of one cell: its scratch, its staging socket, its counters.

use kiln_keeper::wire::SCRATCH_INODES;
use kiln_warden::counters::{Counter, CounterError};
use kiln_warden::wire::CellLimits;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// Tasks in the job's cgroup before its start: who waits to become the job, and the stager, which
/// is gone by then. A peak that is no higher does not tell whether the job had one task or two.
const PIDS_BEFORE: u64 = 2;

/// One cell, waiting for its job, running it, or over.
#[derive(Debug)]
pub struct Cell {
    pub generation: u64,
    /// What the kernel holds, read back by the warden.
    pub limits: CellLimits,
    scratch: Option<OwnedFd>,
    stage: Option<OwnedFd>,
    counters: Vec<(Counter, File)>,
}

/// How much of the cell's one file system is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    pub bytes: u64,
    pub inodes: u64,
    pub bytes_free: u64,
    pub inodes_free: u64,
}

/// What the job's cgroup says after its end. Unknown is `None`, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    pub memory_peak_bytes: Option<u64>,
    pub oom_kills: u64,
    /// `None` where the kernel has no such counter, or it counted no more than our own two.
    pub pids_peak: Option<u64>,
    /// Times a fork was refused for the pids limit.
    pub pids_refused: u64,
}

impl Cell {
    /// From what came with the warden's `Ready`.
    pub(crate) fn new(
        generation: u64,
        limits: CellLimits,
        scratch: OwnedFd,
        stage: OwnedFd,
        counters: Vec<(Counter, File)>,
    ) -> Self {
        Self {
            generation,
            limits,
            scratch: Some(scratch),
            stage: Some(stage),
            counters,
        }
    }

    /// The staging socket, once.
    pub(crate) fn take_stage(&mut self) -> Option<OwnedFd> {
        self.stage.take()
    }

    /// What is in use of the scratch now; `None` once it is released.
    pub fn disk_use(&self) -> io::Result<Option<DiskUse>> {
        let Some(scratch) = &self.scratch else {
            return Ok(None);
        };
        let fs = rustix::fs::fstatfs(scratch)?;
        let block = u64::try_from(fs.f_bsize).unwrap_or(4096);
        Ok(Some(DiskUse {
            bytes: fs.f_blocks.saturating_sub(fs.f_bfree).saturating_mul(block),
            inodes: fs.f_files.saturating_sub(fs.f_ffree),
            bytes_free: fs.f_bfree.saturating_mul(block),
            inodes_free: fs.f_ffree,
        }))
    }

    /// Whether the scratch has nothing but the folders it was made with, which no job can remove.
    pub(crate) fn has_no_file(&self) -> io::Result<bool> {
        let used = self.disk_use()?;
        Ok(used.is_some_and(|used| used.inodes == SCRATCH_INODES))
    }

    /// Whether no process is left in the job's cgroup.
    pub fn is_empty(&self) -> Result<bool, CounterError> {
        let file = self.counter(Counter::Processes)?;
        Counter::Processes.is_empty(file)
    }

    /// The kernel's figures about the job.
    pub fn figures(&self) -> Result<Figures, CounterError> {
        let (cpu_user_us, cpu_system_us) = match self.optional(Counter::CpuStat) {
            Some(file) => (
                Counter::CpuStat.keyed(file, "user_usec")?,
                Counter::CpuStat.keyed(file, "system_usec")?,
            ),
            None => (
                Counter::CpuUser.number(self.counter(Counter::CpuUser)?)? / 1000,
                Counter::CpuSystem.number(self.counter(Counter::CpuSystem)?)? / 1000,
            ),
        };
        let number = |counter: Counter| {
            self.optional(counter)
                .map(|file| counter.number(file))
                .transpose()
        };
        Ok(Figures {
            cpu_user_us,
            cpu_system_us,
            memory_peak_bytes: number(Counter::MemoryPeak)?,
            oom_kills: Counter::OomKill.keyed(self.counter(Counter::OomKill)?, "oom_kill")?,
            pids_peak: number(Counter::PidsPeak)?.filter(|peak| *peak > PIDS_BEFORE),
            pids_refused: Counter::PidsEvents.keyed(self.counter(Counter::PidsEvents)?, "max")?,
        })
    }

    /// Closes every descriptor that leads into the cell.
    pub(crate) fn release(&mut self) {
        self.scratch = None;
        self.stage = None;
        self.counters.clear();
    }

    fn optional(&self, wanted: Counter) -> Option<&File> {
        self.counters
            .iter()
            .find(|(counter, _)| *counter == wanted)
            .map(|(_, file)| file)
    }

    fn counter(&self, wanted: Counter) -> Result<&File, CounterError> {
        self.optional(wanted).ok_or_else(|| {
            CounterError::Read(
                wanted,
                io::Error::new(io::ErrorKind::NotFound, "not handed over"),
            )
        })
    }
}
