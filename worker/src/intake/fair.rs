//! Whose job is next? The queue's that has had the least CPU time for its share.
//!
//! Each queue has a clock that runs by the CPU time of its jobs, slower the greater its share; the
//! one whose clock is behind is next. A job is charged when it starts, by what the last ones of its
//! queue took, and the charge is put right when it has ended. A queue that was idle begins where
//! the others are: it saves nothing up, and its single job is next, whatever waits elsewhere.
//!
//! The broker hands out no more than the slots, so a queue whose jobs hold all of them has none
//! waiting here at the moment one ends; its next is on its way. If it is that queue's turn, the
//! slot is kept free for it, for [`ON_ITS_WAY`] at most.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A job is charged at least this: one that sleeps holds a slot all the same.
const CHARGE_MIN_US: u64 = 1_000;
/// How long the broker takes to send the next job of a queue when one was answered.
const ON_ITS_WAY: Duration = Duration::from_millis(3);
/// What a queue of share 1 is charged a microsecond, in parts; a multiple of every usual share.
const PARTS: u64 = 5_040;

/// The queues and what waits in them.
#[derive(Debug)]
pub struct Fair<T> {
    queues: Vec<Queue<T>>,
    /// Counts starts, to tell who was served last.
    starts: u64,
}

#[derive(Debug)]
struct Queue<T> {
    waiting: VecDeque<T>,
    running: usize,
    share: u64,
    /// CPU time for its share, in parts of a microsecond.
    clock: u64,
    /// What the next job is thought to take.
    estimate_us: u64,
    served_at: u64,
    /// Until when its next job may be on its way.
    expected: Option<Instant>,
}

/// What a started job was charged; to be put right by [`Fair::settle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a charge is put right when the job has ended"]
pub struct Charge {
    queue: usize,
    us: u64,
}

/// What is to be done with a free slot.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// This job starts.
    Start(Charge, T),
    /// It is kept free until then, for a job that is on its way.
    Keep(Instant),
    /// Nothing waits.
    Nothing,
}

impl<T> Fair<T> {
    /// A queue for each share; a share of 0 counts as 1.
    pub fn new(shares: &[u32]) -> Self {
        let queue = |share: &u32| Queue {
            waiting: VecDeque::new(),
            running: 0,
            share: u64::from((*share).max(1)),
            clock: 0,
            estimate_us: CHARGE_MIN_US,
            served_at: 0,
            expected: None,
        };
        Self {
            queues: shares.iter().map(queue).collect(),
            starts: 0,
        }
    }

    /// A job waits in a queue.
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn push(&mut self, queue: usize, job: T) {
        let now = self.now();
        let queue = &mut self.queues[queue];
        if queue.is_idle() {
            queue.clock = queue.clock.max(now);
        }
        queue.expected = None;
        queue.waiting.push_back(job);
    }

    /// How many jobs wait.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(|queue| queue.waiting.len()).sum()
    }

    /// What is to be done with a free slot.
    ///
    /// # Panics
    ///
    /// Never: only a queue in which something waits is chosen.
    pub fn next(&mut self, at: Instant) -> Next<T> {
        for queue in &mut self.queues {
            // What did not come in time was not on its way: the queue is idle.
            queue.expected = queue.expected.filter(|until| *until > at);
        }
        let order = |n: &usize| (self.queues[*n].clock, self.queues[*n].served_at);
        let all = 0..self.queues.len();
        let waiting = all.clone().filter(|n| !self.queues[*n].waiting.is_empty());
        let Some(first) = waiting.min_by_key(order) else {
            return Next::Nothing;
        };
        let expected = all.filter(|n| self.queues[*n].clock < self.queues[first].clock);
        let expected = expected.filter_map(|n| self.queues[n].expected);
        if let Some(until) = expected.max() {
            return Next::Keep(until);
        }
        self.starts += 1;
        let queue = &mut self.queues[first];
        let job = queue
            .waiting
            .pop_front()
            .expect("it is of those that have one");
        let us = queue.estimate_us;
        queue.clock += queue.parts(us);
        queue.running += 1;
        queue.served_at = self.starts;
        Next::Start(Charge { queue: first, us }, job)
    }

    /// A started job has ended, after so much CPU time; `None` where it did not run.
    pub fn settle(&mut self, charge: Charge, cpu_us: Option<u64>, at: Instant) {
        let queue = &mut self.queues[charge.queue];
        let took = cpu_us.map_or(0, |us| us.max(CHARGE_MIN_US));
        queue.clock = queue.clock.saturating_sub(queue.parts(charge.us)) + queue.parts(took);
        if cpu_us.is_some() {
            queue.estimate_us = (queue.estimate_us * 3 + took) / 4;
        }
        queue.running = queue.running.saturating_sub(1);
        queue.expected = queue.waiting.is_empty().then_some(at + ON_ITS_WAY);
    }

    /// Forgets those that wait for nothing.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for queue in &mut self.queues {
            queue.waiting.retain(&mut keep);
        }
    }

    /// Everything that waits, which is then gone from here.
    pub fn drain(&mut self) -> Vec<T> {
        let queues = self.queues.iter_mut();
        queues.flat_map(|queue| queue.waiting.drain(..)).collect()
    }

    /// Where the clocks of those stand that have something to do: the least of them.
    fn now(&self) -> u64 {
        let busy = self.queues.iter().filter(|queue| !queue.is_idle());
        busy.map(|queue| queue.clock).min().unwrap_or(0)
    }
}

impl<T> Queue<T> {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running == 0 && self.expected.is_none()
    }

    fn parts(&self, us: u64) -> u64 {
        us.saturating_mul(PARTS) / self.share
    }
}

#[cfg(test)]
#[path = "fair/tests.rs"]
mod tests;
