//! When the keeper must look at a running job again: wall clock and CPU time.

use crate::sys::{Errno, file};
use kiln_keeper::guard::{Guard, off};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Between two looks at the CPU time, at least.
const LOOK_NS_MIN: u64 = 2_000_000;

/// The limits of a `Start`.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) cpus_milli: u64,
    /// The CPUs to run on; 0 for those of the cell.
    pub(crate) affinity: u64,
}

/// The clock of one running job.
pub(crate) struct Clock {
    limits: Limits,
    pub(crate) started_at: u64,
    cpu_base: u64,
    cpu_look_at: u64,
}

/// The limit that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Out {
    Wall,
    Cpu,
}

impl Clock {
    pub(crate) fn start(limits: Limits, now: u64, used: u64) -> Self {
        Self {
            limits,
            started_at: now,
            cpu_base: used,
            cpu_look_at: now.saturating_add(look_after(limits, limits.cpu_ns)),
        }
    }

    /// When to look again.
    pub(crate) fn next_at(&self) -> u64 {
        self.deadline().min(self.cpu_look_at)
    }

    fn deadline(&self) -> u64 {
        self.started_at.saturating_add(self.limits.wall_ns)
    }

    /// Whether a limit has run out. `usage` is read only when it is time to.
    pub(crate) fn look(
        &mut self,
        now: u64,
        usage: impl FnOnce() -> Result<u64, Errno>,
    ) -> Result<Option<Out>, Errno> {
        if now >= self.deadline() && !off(Guard::Deadline) {
            return Ok(Some(Out::Wall));
        }
        if now < self.cpu_look_at {
            return Ok(None);
        }
        let used = usage()?.saturating_sub(self.cpu_base);
        if used >= self.limits.cpu_ns {
            return Ok(Some(Out::Cpu));
        }
        let left = self.limits.cpu_ns - used;
        self.cpu_look_at = now.saturating_add(look_after(self.limits, left));
        Ok(None)
    }
}

/// How long `left` of CPU time lasts at the least.
fn look_after(limits: Limits, left: u64) -> u64 {
    let lasts = u128::from(left) * 1000 / u128::from(limits.cpus_milli.max(1));
    u64::try_from(lasts).unwrap_or(u64::MAX).max(LOOK_NS_MIN)
}

/// Where the CPU time of a job is read.
pub(crate) enum Usage {
    /// `cpuacct.usage`: nanoseconds.
    V1(OwnedFd),
    /// `cpu.stat`: a line `usage_usec N`.
    V2(OwnedFd),
}

impl Usage {
    /// CPU time used by the job's control group, in nanoseconds.
    pub(crate) fn read(&self) -> Result<u64, Errno> {
        let mut bytes = [0; 1024];
        let (file, key, unit): (_, &[u8], _) = match self {
            Self::V1(file) => (file, b"", 1),
            Self::V2(file) => (file, b"usage_usec ", 1000),
        };
        let text = read_start(file.as_fd(), &mut bytes)?;
        number_after(text, key)
            .map(|n| n.saturating_mul(unit))
            .ok_or(Errno(libc::EINVAL))
    }
}

/// The beginning of a small file of the kernel's.
pub(crate) fn read_start<'a>(file: BorrowedFd<'_>, bytes: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let n = file::read_at(file, bytes, 0)?;
    Ok(&bytes[..n])
}

/// The number on the line that begins with `key`.
pub(crate) fn number_after(text: &[u8], key: &[u8]) -> Option<u64> {
    let line = text
        .split(|&byte| byte == b'\n')
        .find_map(|line| line.strip_prefix(key))?;
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        wall_ns: 1_000_000_000,
        cpu_ns: 100_000_000,
        cpus_milli: 2_000,
        affinity: 0,
    };

    #[test]
    fn cpu_time_is_looked_at_when_it_may_have_run_out() {
        let mut clock = Clock::start(LIMITS, 0, 7);
        // Two CPUs use 100 ms in 50 ms; before that nobody needs to look.
        assert_eq!(clock.next_at(), 50_000_000);
        assert_eq!(clock.look(49_999_999, || panic!("not yet")), Ok(None));
        // 60 ms used since the start: 40 ms are left, which last 20 ms.
        assert_eq!(clock.look(50_000_000, || Ok(60_000_007)), Ok(None));
        assert_eq!(clock.next_at(), 70_000_000);
        assert_eq!(clock.look(70_000_000, || Ok(99_999_999)), Ok(None));
        assert_eq!(clock.next_at(), 70_000_000 + LOOK_NS_MIN);
        assert_eq!(
            clock.look(72_000_000, || Ok(100_000_007)),
            Ok(Some(Out::Cpu))
        );
    }

    #[test]
    fn the_wall_clock_comes_first() {
        let mut clock = Clock::start(LIMITS, 5, 0);
        assert_eq!(
            clock.look(1_000_000_005, || Ok(u64::MAX)),
            Ok(Some(Out::Wall))
        );
    }

    #[test]
    fn a_usage_that_cannot_be_read_is_no_usage_of_nought() {
        let mut clock = Clock::start(LIMITS, 0, 0);
        let failed = Err(Errno(libc::EIO));
        assert_eq!(clock.look(50_000_000, || failed), Err(Errno(libc::EIO)));
    }

    #[test]
    fn limits_without_end_do_not_overflow() {
        let limits = Limits {
            wall_ns: u64::MAX,
            cpu_ns: u64::MAX,
            cpus_milli: 0,
            affinity: 0,
        };
        assert_eq!(Clock::start(limits, 9, 9).next_at(), u64::MAX);
    }

    #[test]
    fn numbers_are_found_by_their_line() {
        let text = b"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(number_after(text, b"oom_kill "), Some(3));
        assert_eq!(number_after(text, b"usage_usec "), None);
        assert_eq!(number_after(b"12345\n", b""), Some(12_345));
    }
}
