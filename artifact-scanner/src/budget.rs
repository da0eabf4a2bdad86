//! How much a scan may unpack, open and spend, and what happens when it is spent.

use crate::{Limit, Unscannable};
use std::time::{Duration, Instant};

/// The most that the scan of one file may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The file itself.
    pub size_bytes: u64,
    /// All that is unpacked from it, in all layers.
    pub unpacked_bytes: u64,
    /// All members of all archives within.
    pub members: u32,
    /// Containers within containers.
    pub depth: u32,
    /// Unpacked bytes for each packed one, once more than [`Limits::ratio_from_bytes`] came out.
    pub ratio: u32,
    /// Below this much output no ratio is looked at.
    pub ratio_from_bytes: u64,
    /// One unpacked member, as it is held in memory.
    pub member_bytes: u64,
    /// Pixels of one image, by its header.
    pub pixels: u64,
    /// Elements within elements of JSON, XML and the like.
    pub nesting: u32,
    pub wall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            size_bytes: 100 << 20,
            unpacked_bytes: 400 << 20,
            members: 10_000,
            depth: 6,
            ratio: 200,
            ratio_from_bytes: 16 << 20,
            member_bytes: 100 << 20,
            pixels: 50_000_000,
            nesting: 256,
            wall: Duration::from_secs(10),
        }
    }
}

/// What is left of the [`Limits`]. Once an amount is gone it stays gone: every later charge fails
/// as the first did.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    unpacked_bytes: u64,
    packed_bytes: u64,
    members: u32,
    deadline: Instant,
    charged_bytes: u64,
    spent: Option<Unscannable>,
}

/// The clock is read once for so much work.
const BYTES_PER_TICK: u64 = 64 << 10;

impl Budget {
    /// A whole budget; the time runs from here.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            unpacked_bytes: limits.unpacked_bytes,
            packed_bytes: 0,
            members: limits.members,
            deadline: Instant::now() + limits.wall,
            charged_bytes: 0,
            spent: None,
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Pays for having looked at `bytes` more. Cheap; call it once for a step of a loop (a line, a
    /// token, an object), never with 0.
    ///
    /// # Errors
    ///
    /// The time is up, or an earlier charge failed.
    pub fn charge(&mut self, bytes: u64) -> Result<(), Unscannable> {
        self.charged_bytes = self.charged_bytes.saturating_add(bytes);
        if self.charged_bytes >= BYTES_PER_TICK {
            self.charged_bytes = 0;
            if self.spent.is_none() && Instant::now() > self.deadline {
                self.spent = Some(Unscannable::Timeout);
            }
        }
        self.spent.map_or(Ok(()), Err)
    }

    /// Pays for `bytes` that come out of a decoder of any sort (deflate, base64, a decoded view).
    ///
    /// # Errors
    ///
    /// More came out than may, the time is up, or an earlier charge failed.
    pub fn unpack(&mut self, bytes: u64) -> Result<(), Unscannable> {
        match self.unpacked_bytes.checked_sub(bytes) {
            Some(left) => self.unpacked_bytes = left,
            None => self.spend(Unscannable::Limit(Limit::Unpacked)),
        }
        let unpacked = self.limits.unpacked_bytes - self.unpacked_bytes;
        let fair = self.packed_bytes.saturating_mul(self.limits.ratio.into());
        if unpacked > self.limits.ratio_from_bytes && unpacked > fair {
            self.spend(Unscannable::Limit(Limit::Ratio));
        }
        self.charge(bytes)
    }

    /// Says how large the file itself is, which the ratio is measured by.
    pub(crate) fn packed(&mut self, bytes: u64) {
        self.packed_bytes = bytes;
    }

    /// Pays for one member of an archive.
    ///
    /// # Errors
    ///
    /// There were too many, the time is up, or an earlier charge failed.
    pub fn member(&mut self) -> Result<(), Unscannable> {
        match self.members.checked_sub(1) {
            Some(left) => self.members = left,
            None => self.spend(Unscannable::Limit(Limit::Members)),
        }
        self.charge(64)
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Why nothing more is paid for, if so.
    pub fn spent(&self) -> Option<Unscannable> {
        self.spent
    }

    fn spend(&mut self, reason: Unscannable) {
        self.spent.get_or_insert(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_stays_spent() {
        let mut budget = Budget::new(Limits {
            unpacked_bytes: 10,
            ..Limits::default()
        });
        assert_eq!(budget.unpack(10), Ok(()));
        let spent = Err(Unscannable::Limit(Limit::Unpacked));
        assert_eq!(budget.unpack(1), spent);
        assert_eq!(budget.member(), spent);
        assert_eq!(budget.charge(1), spent);
    }

    #[test]
    fn the_time_is_looked_at() {
        let mut budget = Budget::new(Limits {
            wall: Duration::ZERO,
            ..Limits::default()
        });
        assert_eq!(budget.charge(BYTES_PER_TICK), Err(Unscannable::Timeout));
    }

    #[test]
    fn a_small_file_may_not_unpack_to_a_large_one() {
        let mut budget = Budget::new(Limits::default());
        budget.packed(10_000);
        assert_eq!(budget.unpack(16 << 20), Ok(()));
        assert_eq!(budget.unpack(1), Err(Unscannable::Limit(Limit::Ratio)));
    }

    #[test]
    fn members_are_counted() {
        let mut budget = Budget::new(Limits {
            members: 1,
            ..Limits::default()
        });
        assert_eq!(budget.member(), Ok(()));
        assert_eq!(budget.member(), Err(Unscannable::Limit(Limit::Members)));
    }
}
