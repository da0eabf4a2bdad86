//! Whether memory ran out in the job's control group, as cgroup v1 tells it.
//!
//! The event comes when the group is out of memory, the count of kills a little later: the count
//! is the truth, and it is looked at again for a while.

use crate::clock::{number_after, read_start};
use crate::sys::poll::now;
use crate::sys::{Errno, file};
use std::os::fd::{AsFd, OwnedFd};

const LOOKS: u32 = 20;
const LOOK_NS: u64 = 5_000_000;

pub(crate) struct Oom {
    pub(crate) event: OwnedFd,
    control: OwnedFd,
    looks_left: u32,
    look_at: u64,
}

impl Oom {
    pub(crate) fn new(event: OwnedFd, control: OwnedFd) -> Self {
        Self {
            event,
            control,
            looks_left: 0,
            look_at: 0,
        }
    }

    /// Takes the event and asks for looks at the count.
    pub(crate) fn hear(&mut self) -> Result<(), Errno> {
        let mut count = [0; 8];
        file::read(self.event.as_fd(), &mut count)?;
        self.looks_left = LOOKS;
        self.look_at = now();
        Ok(())
    }

    /// When to look at the count, if at all.
    pub(crate) fn look_at(&self) -> Option<u64> {
        (self.looks_left > 0).then_some(self.look_at)
    }

    /// Looks at the count if it is time to; says whether the kernel has killed.
    pub(crate) fn look(&mut self, time: u64) -> Result<bool, Errno> {
        if self.looks_left == 0 || time < self.look_at {
            return Ok(false);
        }
        let killed = self.has_killed()?;
        self.looks_left = if killed { 0 } else { self.looks_left - 1 };
        self.look_at = time.saturating_add(LOOK_NS);
        Ok(killed)
    }

    /// Whether the kernel has killed in the job's control group.
    pub(crate) fn has_killed(&self) -> Result<bool, Errno> {
        let mut bytes = [0; 256];
        let text = read_start(self.control.as_fd(), &mut bytes)?;
        number_after(text, b"oom_kill ")
            .map(|n| n > 0)
            .ok_or(Errno(libc::EINVAL))
    }
}
