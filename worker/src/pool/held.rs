//! What of the pool is held for one job, and given back by itself wherever the job ends?

use super::Pool;
use super::waiting::Waiting;
use std::sync::Arc;
use tokio::sync::Notify;

/// A job's place in the line for a sandbox, for as long as it waits.
pub(super) struct InLine<'a> {
    pub(super) pool: &'a Pool,
    pub(super) profile: &'a Arc<str>,
    pub(super) number: u64,
    pub(super) wake: Arc<Notify>,
    pub(super) counted: Option<Waiting>,
}

impl InLine<'_> {
    /// Out of the line, but still counted among those that wait.
    pub(super) fn leave(mut self) -> Waiting {
        let waits = || self.pool.waits(self.profile);
        self.counted.take().unwrap_or_else(waits)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.pool
            .shelf(self.profile, |shelf| shelf.leave(self.number));
        // It may have been woken for what it does not take.
        self.pool.rouse(self.profile);
    }
}

/// A place in the pool for a sandbox that is being made; given back where making it fails.
pub(super) struct Reserved<'a> {
    pub(super) pool: &'a Pool,
    pub(super) profile: &'a Arc<str>,
    pub(super) taken: bool,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.pool.free(self.profile);
        }
    }
}
