//! What the worker and the keeper say to each other.

use super::{Malformed, NOTED_MAX, Words, option_word, word_option, words};

/// Why the keeper ended a job, or that it did not have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// The main process ended by itself.
    Exited = 0,
    /// The wall clock ran out.
    Wall = 1,
    /// The CPU time ran out.
    Cpu = 2,
    /// The kernel killed for want of memory (v1; on v2 the kernel ends the whole job).
    Memory = 3,
    /// The worker asked: the client cancelled, or the worker stops.
    Cancelled = 4,
    /// The worker asked: the output passed every bound.
    Output = 5,
    /// A fatal system call, or too many refused ones.
    Syscall = 6,
    /// The cell broke before the job started.
    Broken = 7,
}

/// From the worker to the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromWorker {
    /// Lets the waiting process become the job. Descriptors: the program (a memfd, see
    /// [`crate::spec`]), stdin, stdout, stderr. `cpus_milli` bounds how fast CPU time can be used.
    /// `affinity` says which CPUs the job runs on, as many as its cell was made for; 0 leaves those.
    /// With `egress` a fifth descriptor: the socket by which the waiter hands out, as one message
    /// of one byte, a listener on the cell's loopback, port [`super::EGRESS_PORT`].
    Start {
        generation: u64,
        wall_ns: u64,
        cpu_ns: u64,
        cpus_milli: u64,
        affinity: u64,
        egress: bool,
    },
    /// Ends the job. `cause` is `Cancelled` or `Output`.
    Kill { generation: u64, cause: Cause },
    /// After `Ended`: forks the collector on the scratch. Descriptor: its socket, see
    /// [`crate::collect`].
    Collect { generation: u64 },
    /// The worker has what it wants: the keeper drops the scratch and ends the collector.
    Finish { generation: u64 },
}

/// How a job ended. Sent when no process of its cell lives any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub generation: u64,
    pub cause: Cause,
    /// The wait status of the main process, as `waitpid` gives it; `None` where it was killed
    /// together with the whole cell before its own end was seen.
    pub status: Option<u32>,
    /// From the start to the end of the main process, or to the kill.
    pub wall_ns: u64,
    /// Refused system calls seen.
    pub noted_total: u64,
    /// Their numbers, each once, the first [`NOTED_MAX`].
    pub noted: [Option<u32>; NOTED_MAX],
    /// The fatal call, where `cause` is `Syscall`.
    pub fatal: Option<u32>,
}

/// From the keeper to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToWorker {
    Ended(Ended),
}

impl Cause {
    /// Every cause, in order of its number.
    pub const ALL: [Self; 8] = [
        Self::Exited,
        Self::Wall,
        Self::Cpu,
        Self::Memory,
        Self::Cancelled,
        Self::Output,
        Self::Syscall,
        Self::Broken,
    ];

    fn from_word(word: u64) -> Result<Self, Malformed> {
        usize::try_from(word)
            .ok()
            .and_then(|n| Self::ALL.get(n).copied())
            .ok_or(Malformed)
    }
}

impl FromWorker {
    /// Descriptors that must come with the message.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        match self {
            Self::Start { egress, .. } => 4 + usize::from(*egress),
            Self::Collect { .. } => 1,
            Self::Kill { .. } | Self::Finish { .. } => 0,
        }
    }

    #[must_use]
    pub fn encode(&self) -> Words {
        match *self {
            Self::Start {
                generation,
                wall_ns,
                cpu_ns,
                cpus_milli,
                affinity,
                egress,
            } => words(&[
                1,
                generation,
                wall_ns,
                cpu_ns,
                cpus_milli,
                affinity,
                u64::from(egress),
            ]),
            Self::Kill { generation, cause } => words(&[2, generation, cause as u64]),
            Self::Collect { generation } => words(&[3, generation]),
            Self::Finish { generation } => words(&[4, generation]),
        }
    }

    pub fn decode(w: &Words) -> Result<Self, Malformed> {
        match w[0] {
            1 => Ok(Self::Start {
                generation: w[1],
                wall_ns: w[2],
                cpu_ns: w[3],
                cpus_milli: w[4],
                affinity: w[5],
                egress: match w[6] {
                    0 => false,
                    1 => true,
                    _ => return Err(Malformed),
                },
            }),
            2 => match Cause::from_word(w[2])? {
                cause @ (Cause::Cancelled | Cause::Output) => Ok(Self::Kill {
                    generation: w[1],
                    cause,
                }),
                _ => Err(Malformed),
            },
            3 => Ok(Self::Collect { generation: w[1] }),
            4 => Ok(Self::Finish { generation: w[1] }),
            _ => Err(Malformed),
        }
    }
}

impl ToWorker {
    #[must_use]
    pub fn encode(&self) -> Words {
        let Self::Ended(e) = *self;
        let mut w = words(&[
            1,
            e.generation,
            e.cause as u64,
            option_word(e.status),
            e.wall_ns,
            e.noted_total,
            option_word(e.fatal),
        ]);
        for (word, noted) in w[7..].iter_mut().zip(e.noted) {
            *word = option_word(noted);
        }
        w
    }

    pub fn decode(w: &Words) -> Result<Self, Malformed> {
        if w[0] != 1 {
            return Err(Malformed);
        }
        let mut noted = [None; NOTED_MAX];
        for (noted, word) in noted.iter_mut().zip(&w[7..]) {
            *noted = word_option(*word)?;
        }
        Ok(Self::Ended(Ended {
            generation: w[1],
            cause: Cause::from_word(w[2])?,
            status: word_option(w[3])?,
            wall_ns: w[4],
            noted_total: w[5],
            fatal: word_option(w[6])?,
            noted,
        }))
    }
}
