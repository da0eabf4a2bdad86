//! How long is waited before the next attempt?

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(250);
/// What held for this long counts as mended.
const MENDED: Duration = Duration::from_secs(10);

/// Doubles with each failure that follows soon on another.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
    since: Instant,
}

impl Backoff {
    pub(crate) fn new(longest: Duration) -> Self {
        Self {
            next: FIRST.min(longest),
            longest,
            since: Instant::now(),
        }
    }

    /// How long to wait now: between half and all of it, so that many do not come at once.
    fn step(&mut self, held: Duration) -> Duration {
        if held >= MENDED {
            self.next = FIRST.min(self.longest);
        }
        let full = self.next;
        self.next = (full * 2).min(self.longest);
        let random = RandomState::new().build_hasher().finish() % 1000;
        full / 2 + full * u32::try_from(random).expect("below 1000") / 2000
    }

    /// Waits.
    pub(crate) async fn wait(&mut self) {
        let wait = self.step(self.since.elapsed());
        tokio::time::sleep(wait).await;
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(4);

    #[test]
    fn it_doubles_to_its_longest_and_begins_again_when_mended() {
        let mut backoff = Backoff::new(LONGEST);
        let mut full = FIRST;
        for _ in 0..10 {
            let wait = backoff.step(Duration::ZERO);
            assert!((full / 2..=full).contains(&wait), "{wait:?} of {full:?}");
            full = (full * 2).min(LONGEST);
        }
        assert!(backoff.step(Duration::ZERO) >= LONGEST / 2);
        assert!(backoff.step(MENDED) <= FIRST);
    }
}
