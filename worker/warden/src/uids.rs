//! Which host uids a sandbox uses, and which of them each of its jobs.
//!
//! A sandbox owns 65,536 uids; 64 sandboxes share a block, and a warden holds the lock file of
//! each block it draws from, so that two wardens never use the same uid. Inside its range each
//! job gets a pair of ids that no job of that sandbox had before, by a stride that does not tell
//! how many there were.

use crate::instance::{self, InstanceError};
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The first host uid unless told otherwise.
pub const BASE: u32 = 1_879_048_192;
/// Uids of one sandbox.
pub(crate) const RANGE: u32 = 65_536;
/// Sandboxes of one block.
const BLOCK_SANDBOXES: u32 = 64;
/// Uids of one block; each begins at a multiple of it.
pub const BLOCK: u32 = RANGE * BLOCK_SANDBOXES;
/// Where the lock files of the blocks are: one place for all wardens of the machine.
const LOCKS: &str = "/run/kiln/uids";

/// The first id for jobs, above those of the keeper and the collector.
const JOB_FIRST: u32 = 1024;
/// How many ids for jobs there are: a prime, so that every stride visits each of them.
const JOB_IDS: u32 = 64_499;

/// Why there is no range of uids.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UidsError {
    #[error("use `{0}` as the first uid: it must be a multiple of {BLOCK}, and not 0")]
    Base(u32),
    #[error("lock a block of uids")]
    Lock(#[source] InstanceError),
    #[error("find a free block of uids from `{0}` on")]
    Exhausted(u32),
    #[error("draw random numbers")]
    Random(#[source] io::Error),
}

/// The ranges of one warden.
#[derive(Debug)]
pub(crate) struct Uids {
    base: u32,
    free: BTreeSet<u32>,
    next_block: u32,
    locks: Vec<OwnedFd>,
}

/// One sandbox's range, by its first host uid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u32,
}

impl Range {
    /// The host's uid for an id inside the sandbox.
    pub(crate) fn host(self, id: u32) -> u64 {
        u64::from(self.first) + u64::from(id)
    }

    /// Counts ranges; tells sandboxes apart where work is spread.
    pub(crate) fn slot(self) -> u32 {
        self.first / RANGE
    }
}

impl Uids {
    pub(crate) fn new(base: u32) -> Result<Self, UidsError> {
        if base == 0 || !base.is_multiple_of(BLOCK) {
            return Err(UidsError::Base(base));
        }
        Ok(Self {
            base,
            free: BTreeSet::new(),
            next_block: base / BLOCK,
            locks: Vec::new(),
        })
    }

    /// Takes the lowest free range; locks one more block where none is left.
    pub(crate) fn take(&mut self) -> Result<Range, UidsError> {
        if let Some(first) = self.free.pop_first() {
            return Ok(Range { first });
        }
        instance::folder(Path::new(LOCKS)).map_err(UidsError::Lock)?;
        // The last block would hold uid 4294967295, which means "no user".
        while self.next_block < u32::MAX / BLOCK {
            let block = self.next_block;
            self.next_block += 1;
            let path = Path::new(LOCKS).join(block.to_string());
            if let Some(lock) = instance::lock(&path).map_err(UidsError::Lock)? {
                self.locks.push(lock);
                let first = block * BLOCK;
                self.free
                    .extend((1..BLOCK_SANDBOXES).map(|n| first + n * RANGE));
                return Ok(Range { first });
            }
        }
        Err(UidsError::Exhausted(self.base))
    }

    /// Gives back the range of a sandbox of which nothing is left.
    pub(crate) fn give_back(&mut self, range: Range) {
        self.free.insert(range.first);
    }
}

/// The ids of the jobs of one sandbox, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobIds {
    offset: u32,
    stride: u32,
}

impl JobIds {
    pub(crate) fn draw() -> Result<Self, UidsError> {
        let random = || {
            let mut bytes = [0; 4];
            getrandom(&mut bytes, GetRandomFlags::empty())
                .map_err(|e| UidsError::Random(e.into()))?;
            Ok(u32::from_le_bytes(bytes))
        };
        Ok(Self {
            offset: random()? % JOB_IDS,
            stride: 1 + random()? % (JOB_IDS - 1),
        })
    }

    /// The job's id and the input owner's of a generation (from 1); `None` where all were used.
    pub(crate) fn pair(self, generation: u64) -> Option<(u32, u32)> {
        let turn = generation.checked_sub(1)?;
        if turn >= u64::from(JOB_IDS / 2) {
            return None;
        }
        let at = |n: u64| {
            let step = u64::from(self.offset) + n * u64::from(self.stride);
            let place = u32::try_from(step % u64::from(JOB_IDS)).ok()?;
            Some(JOB_FIRST + place)
        };
        Some((at(turn * 2)?, at(turn * 2 + 1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_job_of_a_sandbox_gets_an_id_twice() {
        let ids = JobIds::draw().expect("draw");
        let mut seen = BTreeSet::new();
        let mut generation = 1;
        while let Some((job, owner)) = ids.pair(generation) {
            assert!(seen.insert(job) && seen.insert(owner), "{generation}");
            assert!(job >= JOB_FIRST && owner < RANGE);
            generation += 1;
        }
        assert_eq!(seen.len(), JOB_IDS as usize - 1);
        assert!(ids.pair(0).is_none());
    }

    #[test]
    fn a_base_that_cuts_a_block_is_refused() {
        assert!(Uids::new(BASE).is_ok());
        assert!(Uids::new(BASE + RANGE).is_err());
        assert!(Uids::new(0).is_err());
    }
}
