//! What the warden and the keeper say to each other.

use super::{Malformed, TASKS_MAX, Words, narrow, words};

/// How a placed process gets into the job's cgroup leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// cgroup v1: write `0` into each of this many `tasks` files.
    V1 { tasks: u8 },
    /// cgroup v2: `clone3` with `CLONE_INTO_CGROUP` and the leaf's directory.
    V2,
}

impl Placement {
    /// Descriptors that go with it.
    #[must_use]
    pub fn descriptors(self) -> usize {
        match self {
            Self::V1 { tasks } => usize::from(tasks) + 3,
            Self::V2 => 2,
        }
    }
}

/// Sockets for a new cell, which would be seen in the cell's network namespace if the keeper made
/// them: both ends for the reports, both for the streams of the job, one for staging.
pub const CELL_SOCKETS: usize = 5;

/// What a cell is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// Counts the cells of this sandbox from 1.
    pub generation: u64,
    pub placement: Placement,
    /// The sandbox's id that is [`JOB_ID`] inside the cell (user and group alike).
    pub job_id: u32,
    /// The sandbox's id that is [`OWNER_ID`] inside the cell.
    pub owner_id: u32,
    /// Size of the cell's one tmpfs, in bytes.
    pub disk_bytes: u64,
    /// Inodes of the cell's one tmpfs.
    pub inodes: u64,
    /// `RLIMIT_NOFILE`: the soft limit, which becomes the hard one as the job starts.
    pub open_files: u64,
    /// The hard limit until then: the soft one can be raised so far from outside.
    pub open_files_max: u64,
    /// CPUs the job may run on, as a mask of the first 64.
    pub affinity: u64,
    /// The network namespace that the keeper is in, which the warden found as it was made, is the
    /// cell's; else the keeper goes into a new one first.
    pub network_kept: bool,
}

/// From the warden to the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromWarden {
    /// Descriptors: the worker's control socket; the job's filter (a sealed memfd, see
    /// [`crate::spec::Filter`]); the keeper's own filter (the same format).
    Init,
    /// Descriptors on v1: the `tasks` files, `cpuacct.usage`, an eventfd for OOM, `memory.oom_control`.
    /// On v2: the leaf's directory (`O_PATH`), `cpu.stat`. Then [`CELL_SOCKETS`].
    Prepare(Prepare),
    /// Re-sizes the tmpfs of the waiting cell. No descriptors.
    Resize { disk_bytes: u64, inodes: u64 },
}

/// From the keeper to the warden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToWarden {
    /// The keeper has taken its `Init` and locked itself down.
    Ready,
    /// A process waits in a cell. Descriptor: the scratch's root directory.
    Prepared {
        generation: u64,
    },
    Resized,
    /// A step failed; the sandbox is of no use any more. `step` is the keeper's own number
    /// (`keeper/src/step.rs`), `errno` the kernel's.
    Failed {
        step: u32,
        errno: u32,
    },
}

impl FromWarden {
    /// Descriptors that must come with the message.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        match self {
            Self::Init => 3,
            Self::Prepare(prepare) => prepare.placement.descriptors() + CELL_SOCKETS,
            Self::Resize { .. } => 0,
        }
    }

    #[must_use]
    pub fn encode(&self) -> Words {
        match *self {
            Self::Init => words(&[1]),
            Self::Prepare(p) => {
                let (version, tasks) = match p.placement {
                    Placement::V1 { tasks } => (1, u64::from(tasks)),
                    Placement::V2 => (2, 0),
                };
                words(&[
                    2,
                    p.generation,
                    version,
                    tasks,
                    u64::from(p.job_id),
                    u64::from(p.owner_id),
                    p.disk_bytes,
                    p.inodes,
                    p.open_files,
                    p.open_files_max,
                    p.affinity,
                    u64::from(p.network_kept),
                ])
            }
            Self::Resize { disk_bytes, inodes } => words(&[3, disk_bytes, inodes]),
        }
    }

    pub fn decode(w: &Words) -> Result<Self, Malformed> {
        match w[0] {
            1 => Ok(Self::Init),
            2 => Ok(Self::Prepare(Prepare {
                generation: w[1],
                placement: match w[2] {
                    1 => Placement::V1 {
                        tasks: u8::try_from(w[3])
                            .ok()
                            .filter(|tasks| usize::from(*tasks) <= TASKS_MAX)
                            .ok_or(Malformed)?,
                    },
                    2 => Placement::V2,
                    _ => return Err(Malformed),
                },
                job_id: narrow(w[4])?,
                owner_id: narrow(w[5])?,
                disk_bytes: w[6],
                inodes: w[7],
                open_files: w[8],
                open_files_max: w[9],
                affinity: w[10],
                network_kept: match w[11] {
                    0 => false,
                    1 => true,
                    _ => return Err(Malformed),
                },
            })),
            3 => Ok(Self::Resize {
                disk_bytes: w[1],
                inodes: w[2],
            }),
            _ => Err(Malformed),
        }
    }
}

impl ToWarden {
    /// Descriptors that must come with the message.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        match self {
            Self::Prepared { .. } => 1,
            Self::Ready | Self::Resized | Self::Failed { .. } => 0,
        }
    }

    #[must_use]
    pub fn encode(&self) -> Words {
        match *self {
            Self::Ready => words(&[1]),
            Self::Prepared { generation } => words(&[2, generation]),
            Self::Resized => words(&[3]),
            Self::Failed { step, errno } => words(&[4, u64::from(step), u64::from(errno)]),
        }
    }

    pub fn decode(w: &Words) -> Result<Self, Malformed> {
        match w[0] {
            1 => Ok(Self::Ready),
            2 => Ok(Self::Prepared { generation: w[1] }),
            3 => Ok(Self::Resized),
            4 => Ok(Self::Failed {
                step: narrow(w[1])?,
                errno: narrow(w[2])?,
            }),
            _ => Err(Malformed),
        }
    }
}
