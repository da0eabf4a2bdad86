//! What must the files of a group hold, on v1 and on v2?

use super::CgroupError;
use super::folder::Folders;
use super::knob::{self, Knob};
use super::layout::{Controller, Tree};
use crate::wire::{CellLimits, CgroupVersion};
use kiln_keeper::guard::{Guard, off};
use std::path::Path;

/// Memory of a keeper's group, which also holds the cell's init and the collector.
pub const KEEPER_MEMORY_BYTES: u64 = 32 << 20;
/// Processes of a keeper's group.
pub const KEEPER_PIDS: u64 = 16;

/// The scheduler's accounting period.
const PERIOD_MICROS: u64 = 100_000;

/// The limits of one group, whichever files they live in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) memory_bytes: u64,
    pub(super) pids: u64,
    /// No quota where it is `None`.
    pub(super) cpus_milli: Option<u64>,
}

impl Limits {
    pub(super) const KEEPER: Self = Self {
        memory_bytes: KEEPER_MEMORY_BYTES,
        pids: KEEPER_PIDS,
        cpus_milli: None,
    };

    /// The files and values, in the order in which a fresh group takes them.
    fn knobs(self, tree: &Tree) -> Vec<Knob> {
        let knob = |controller, name, wanted: String| Knob {
            controller,
            name,
            wanted,
        };
        let page = rustix::param::page_size() as u64;
        // The kernel counts pages, and rounds down.
        let memory = (self.memory_bytes / page * page).to_string();
        let quota = self.cpus_milli.map(|milli| milli * PERIOD_MICROS / 1000);
        let mut knobs = match tree.version {
            CgroupVersion::V1 => vec![
                knob(Controller::Memory, "memory.swappiness", "0".into()),
                knob(Controller::Memory, LIMIT_V1, memory.clone()),
                knob(Controller::Memory, MEMSW_V1, memory.clone()),
            ],
            CgroupVersion::V2 => vec![
                knob(Controller::Memory, "memory.swap.max", "0".into()),
                knob(Controller::Memory, "memory.oom.group", "1".into()),
                knob(Controller::Memory, "memory.max", memory.clone()),
            ],
        };
        // What sockets hold: v2 counts it with the rest, v1 apart, and not at all without a limit.
        if tree.counts_sockets_apart() {
            knobs.push(knob(Controller::Memory, SOCKETS_V1, memory));
        }
        knobs.push(knob(Controller::Pids, "pids.max", self.pids.to_string()));
        match (tree.version, quota) {
            (_, None) => {}
            (CgroupVersion::V1, Some(quota)) => {
                let period = PERIOD_MICROS.to_string();
                knobs.push(knob(Controller::Cpu, "cpu.cfs_period_us", period));
                knobs.push(knob(Controller::Cpu, "cpu.cfs_quota_us", quota.to_string()));
            }
            (CgroupVersion::V2, Some(quota)) => {
                let max = format!("{quota} {PERIOD_MICROS}");
                knobs.push(knob(Controller::Cpu, "cpu.max", max));
            }
        }
        knobs
    }

    /// Writes all to a group that is new, then proves all.
    pub(super) fn set_new(self, tree: &Tree, folders: &Folders) -> Result<(), CgroupError> {
        let knobs = self.knobs(tree);
        let written = knobs.iter().map(|knob| knob.write(folders));
        let written = written.collect::<Result<Vec<_>, _>>()?;
        for (knob, fd) in knobs.iter().zip(&written) {
            knob.prove_by(folders, fd)?;
        }
        prove_oom_killer(tree, folders)
    }

    /// Writes what differs, then proves all.
    pub(super) fn set(self, tree: &Tree, path: &Path) -> Result<(), CgroupError> {
        let folders = tree.folders(path)?;
        let mut knobs = self.knobs(tree);
        if tree.version == CgroupVersion::V1 {
            // memory + swap may never be below memory: whichever gives room goes first.
            let memory = folders.of(Controller::Memory);
            let held = knob::number(memory.read(LIMIT_V1)?, || memory.file(LIMIT_V1))?;
            if self.memory_bytes > held {
                knobs.swap(1, 2);
            }
        }
        for knob in &knobs {
            knob.set(&folders)?;
        }
        self.prove(tree, &folders)
    }

    /// Reads back every value and compares it.
    pub(super) fn prove(self, tree: &Tree, folders: &Folders) -> Result<(), CgroupError> {
        for knob in self.knobs(tree) {
            knob.prove(folders)?;
        }
        prove_oom_killer(tree, folders)
    }
}

/// v1 can switch it off for a group, which then stands still for ever.
fn prove_oom_killer(tree: &Tree, folders: &Folders) -> Result<(), CgroupError> {
    if tree.version == CgroupVersion::V2 {
        return Ok(());
    }
    let (memory, name) = (folders.of(Controller::Memory), "memory.oom_control");
    let held = memory.read(name)?;
    let wanted = "oom_kill_disable 0";
    if held.lines().any(|line| line == wanted) {
        return Ok(());
    }
    Err(CgroupError::Differs {
        file: memory.file(name),
        wanted: wanted.into(),
        held,
    })
}

impl From<&CellLimits> for Limits {
    fn from(limits: &CellLimits) -> Self {
        let more = |guard| if off(guard) { 4 } else { 1 };
        Self {
            memory_bytes: limits.memory_bytes * more(Guard::MemoryLimit),
            pids: limits.pids * more(Guard::PidsLimit),
            cpus_milli: Some(limits.cpus_milli),
        }
    }
}

const LIMIT_V1: &str = "memory.limit_in_bytes";
const MEMSW_V1: &str = "memory.memsw.limit_in_bytes";
/// What v1 counts of sockets apart.
pub(super) const SOCKETS_V1: &str = "memory.kmem.tcp.limit_in_bytes";
