//! How long has the oldest delivery waited for its answer?

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The deliveries that are to be answered, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Ages(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    /// When each came; the number tells those of one moment apart.
    since: BTreeSet<(Instant, u64)>,
    next: u64,
}

/// A delivery that is to be answered, for as long as this lives. It goes a long way with its
/// delivery, so it is no larger than it must be.
#[derive(Debug)]
#[must_use = "dropping it says that the delivery is answered"]
pub struct Held(Box<Since>);

#[derive(Debug)]
struct Since {
    key: (Instant, u64),
    ages: Arc<Ages>,
}

impl Ages {
    pub(super) fn hold(self: &Arc<Self>) -> Held {
        let mut open = self.open();
        let key = (Instant::now(), open.next);
        open.next += 1;
        open.since.insert(key);
        let ages = Arc::clone(self);
        Held(Box::new(Since { key, ages }))
    }

    /// Nought where none waits.
    pub(super) fn oldest(&self) -> Duration {
        let oldest = self.open().since.first().copied();
        oldest.map_or(Duration::ZERO, |(since, _)| since.elapsed())
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.ages.open().since.remove(&self.0.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_counts_until_it_is_answered() {
        let ages = Arc::<Ages>::default();
        assert_eq!(ages.oldest(), Duration::ZERO);
        let first = ages.hold();
        let second = ages.hold();
        let all = ages.open().since.clone();
        assert_eq!(all.first(), Some(&first.0.key));
        drop(first);
        let left = ages.open().since.clone();
        assert_eq!(left.into_iter().collect::<Vec<_>>(), [second.0.key]);
        drop(second);
        assert_eq!(ages.oldest(), Duration::ZERO);
    }
}
