//! The sandboxes of one profile: who waits, how many live, how many there should be.

use super::Order;
use super::line::Line;
use crate::sandbox::{Sandbox, Warm};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Notify;

/// The pool of one profile. A place is taken before its sandbox is made and freed after its end.
#[derive(Debug)]
pub(super) struct Shelf {
    waiting: VecDeque<Sandbox<Warm>>,
    /// Sandboxes alive or being made.
    alive: usize,
    /// Of these, being made ahead of need.
    coming: usize,
    warm_wanted: usize,
    alive_max: usize,
    closed: bool,
    /// Jobs that wait for one.
    line: Line,
}

/// What a job gets that looks for a sandbox.
#[derive(Debug)]
pub(super) enum Look {
    /// One that waited.
    Found(Box<Sandbox<Warm>>),
    /// A place, to make one in.
    Make,
    /// A number in the line, and what wakes it when it is to look again.
    Joined(u64, Arc<Notify>),
    /// It still waits.
    Wait,
}

impl Shelf {
    /// An empty shelf with places for `alive_max` sandboxes, at least one.
    pub(super) fn new(alive_max: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            alive: 0,
            coming: 0,
            warm_wanted: 0,
            alive_max: alive_max.max(1),
            closed: false,
            line: Line::default(),
        }
    }

    /// Sandboxes that are wanted, and that may live.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.warm_wanted.min(self.alive_max), self.alive_max)
    }

    pub(super) fn keep(&mut self, warm: usize) {
        self.warm_wanted = warm;
    }

    /// Serves a job, which may have joined the line: no other that came before it is passed.
    pub(super) fn look(
        &mut self,
        order: &Order,
        number: Option<u64>,
        suits: impl Fn(&Sandbox<Warm>, &Order) -> bool,
    ) -> Look {
        // The one that was used last: its pages are the warmest.
        let (line, coming) = (&self.line, self.coming > 0);
        let found = self.waiting.iter().rposition(|sandbox| {
            suits(sandbox, order) && line.may_take(number, coming, |other| suits(sandbox, other))
        });
        if let Some(sandbox) = found.and_then(|at| self.waiting.remove(at)) {
            return Look::Found(Box::new(sandbox));
        }
        if self.line.is_first(number) && self.has_place() {
            self.alive += 1;
            return Look::Make;
        }
        let (number, answer) = if let Some(number) = number {
            (number, Look::Wait)
        } else {
            let (number, wake) = self.line.join(order);
            (number, Look::Joined(number, wake))
        };
        if self.coming == 0 && !self.waiting.is_empty() && self.line.take_room(number) {
            self.make_room();
            // What is left is for those behind it.
            self.rouse(suits);
        }
        answer
    }

    /// A job waits no longer.
    pub(super) fn leave(&mut self, number: u64) {
        self.line.leave(number);
    }

    /// Wakes the jobs that what there is now is for.
    pub(super) fn rouse(&self, suits: impl Fn(&Sandbox<Warm>, &Order) -> bool) {
        if self.has_place() {
            self.line.wake_first();
        }
        for sandbox in &self.waiting {
            self.line.wake_for(|order| suits(sandbox, order));
        }
    }

    pub(super) fn put(&mut self, sandbox: Sandbox<Warm>) {
        self.waiting.push_back(sandbox);
    }

    /// Whether a sandbox may be made that a job waits for.
    fn has_place(&self) -> bool {
        // What is already on its way will serve whoever waits.
        !self.closed && self.coming == 0 && self.alive < self.alive_max
    }

    /// Where the ceiling is reached and none of those that wait suits: ends the one that has
    /// waited longest. Its place comes free when it is gone.
    fn make_room(&mut self) {
        if let Some(longest) = self.waiting.pop_front() {
            longest.retire("room");
        }
    }

    /// Takes a place for a sandbox ahead of need, if one is wanted.
    pub(super) fn reserve_ahead(&mut self) -> bool {
        let wanted = !self.closed && self.alive < self.warm_wanted.min(self.alive_max);
        self.alive += usize::from(wanted);
        self.coming += usize::from(wanted);
        wanted
    }

    /// A sandbox that was made ahead is there, or will not be.
    pub(super) fn arrived(&mut self) {
        self.coming = self.coming.saturating_sub(1);
    }

    /// A sandbox is gone, or could not be made.
    pub(super) fn gone(&mut self) {
        self.alive = self.alive.saturating_sub(1);
    }

    /// Makes nothing more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }
}
