//! Which CPUs a job runs on: those on which the fewest others run.
//!
//! A job that may use one CPU sees one, so that what it counts agrees with what it may use. Two
//! jobs on the same one while another is idle would each get half of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The CPUs of this process, and how many jobs run on each.
#[derive(Debug)]
pub(super) struct Cpus {
    running: Mutex<Vec<(u32, usize)>>,
}

/// CPUs that a job runs on, until it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    cpus: Arc<Cpus>,
    mask: u64,
}

impl Cpus {
    /// The first 64 CPUs that this process may use.
    pub(super) fn of_this_process() -> std::io::Result<Arc<Self>> {
        let set = rustix::thread::sched_getaffinity(None)?;
        let all = (0..64).filter(|cpu| set.is_set(*cpu));
        Ok(Self::new(all.filter_map(|cpu| u32::try_from(cpu).ok())))
    }

    fn new(cpus: impl Iterator<Item = u32>) -> Arc<Self> {
        let running = Mutex::new(cpus.map(|cpu| (cpu, 0)).collect());
        Arc::new(Self { running })
    }

    /// The `count` CPUs on which the fewest jobs run; none where there are no more than that.
    pub(super) fn take(self: &Arc<Self>, count: u64) -> Taken {
        let mut mask = 0;
        let mut running = self.running();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count < running.len() {
            running.sort_by_key(|&(cpu, jobs)| (jobs, cpu));
            for (cpu, jobs) in running.iter_mut().take(count) {
                *jobs += 1;
                mask |= 1 << *cpu;
            }
        }
        drop(running);
        let cpus = Arc::clone(self);
        Taken { cpus, mask }
    }

    fn running(&self) -> MutexGuard<'_, Vec<(u32, usize)>> {
        // Only counts, whole between two calls.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// As a mask; 0 where it is all that there are.
    pub(super) fn mask(&self) -> u64 {
        self.mask
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for (cpu, jobs) in self.cpus.running().iter_mut() {
            if self.mask & (1 << *cpu) != 0 {
                *jobs = jobs.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_spread_and_places_come_free() {
        let cpus = Cpus::new([0, 1, 5].into_iter());
        let (a, b, c) = (cpus.take(1), cpus.take(1), cpus.take(1));
        assert_eq!([a.mask(), b.mask(), c.mask()], [1, 2, 1 << 5]);
        drop(b);
        assert_eq!(cpus.take(1).mask(), 2);
        assert_eq!(cpus.take(2).mask().count_ones(), 2);
        assert_eq!(cpus.take(3).mask(), 0, "all that there are");
    }
}
