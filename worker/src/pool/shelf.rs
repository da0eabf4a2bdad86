//! The sandboxes of one profile: who waits, how many live, how many there should be.

use crate::sandbox::{Sandbox, Warm};
use std::collections::VecDeque;

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
        }
    }

    /// Sandboxes that are wanted, and that may live.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.warm_wanted.min(self.alive_max), self.alive_max)
    }

    pub(super) fn keep(&mut self, warm: usize) {
        self.warm_wanted = warm;
    }

    /// The waiting sandbox that was used last and suits: its pages are the warmest.
    pub(super) fn take(&mut self, suits: impl Fn(&Sandbox<Warm>) -> bool) -> Option<Sandbox<Warm>> {
        let at = self.waiting.iter().rposition(suits)?;
        self.waiting.remove(at)
    }

    pub(super) fn put(&mut self, sandbox: Sandbox<Warm>) {
        self.waiting.push_back(sandbox);
    }

    /// Takes a place for a sandbox that a job waits for.
    pub(super) fn reserve(&mut self) -> bool {
        // What is already on its way will serve whoever waits.
        let free = !self.closed && self.coming == 0 && self.alive < self.alive_max;
        self.alive += usize::from(free);
        free
    }

    /// Where the ceiling is reached and none of those that wait suits: ends the one that has
    /// waited longest. Its place comes free when it is gone.
    pub(super) fn make_room(&mut self) {
        if self.coming == 0
            && let Some(longest) = self.waiting.pop_front()
        {
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
