//! How many jobs wait for a sandbox?

use super::watch::{News, Watchers};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Jobs that wait, by profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts(Arc<Mutex<HashMap<Arc<str>, usize>>>);

/// A job that waits, for as long as this lives.
#[derive(Debug)]
#[must_use = "dropping it says that the job waits no longer"]
pub(super) struct Waiting {
    counts: Counts,
    profile: Arc<str>,
    watchers: Watchers,
}

impl Waiting {
    pub(super) fn new(counts: &Counts, profile: Arc<str>, watchers: Watchers) -> Self {
        let this = Self {
            counts: counts.clone(),
            profile,
            watchers,
        };
        this.change(|jobs| jobs + 1);
        this
    }

    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = counts.entry(Arc::clone(&self.profile)).or_default();
        *jobs = change(*jobs);
        // Said with the lock held: else an older number could be said last.
        self.watchers.told(&News::Waits {
            profile: &self.profile,
            jobs: *jobs,
        });
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.change(|jobs| jobs.saturating_sub(1));
    }
}
