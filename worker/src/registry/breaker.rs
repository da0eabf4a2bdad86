//! When is a server that failed asked again?

use std::time::{Duration, Instant};

/// Failures in a row after which a server is taken for away.
const FAILURES_MAX: u32 = 3;

/// The pace before that.
const AGAIN: Duration = Duration::from_millis(100);

/// Counts failures, and says when the next try may be.
#[derive(Debug)]
pub(super) struct Breaker {
    failures: u32,
    probe: Duration,
    next: Option<Instant>,
}

impl Breaker {
    pub(super) fn new(probe: Duration) -> Self {
        Self {
            failures: 0,
            probe,
            next: None,
        }
    }

    /// Says whether this was the failure that opened it.
    pub(super) fn failed(&mut self, now: Instant) -> bool {
        self.failures = self.failures.saturating_add(1);
        let pace = if self.is_open() {
            self.probe
        } else {
            AGAIN.min(self.probe)
        };
        self.next = Some(now + pace);
        self.failures == FAILURES_MAX
    }

    /// Says whether it was open.
    pub(super) fn succeeded(&mut self) -> bool {
        let open = self.is_open();
        self.failures = 0;
        self.next = None;
        open
    }

    pub(super) fn is_open(&self) -> bool {
        self.failures >= FAILURES_MAX
    }

    /// When the next try may be; `None` is at once.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_failure_opens_it_and_a_success_closes_it() {
        let (now, probe) = (Instant::now(), Duration::from_secs(1));
        let mut breaker = Breaker::new(probe);
        assert_eq!(breaker.next(), None);
        assert!(!breaker.failed(now) && !breaker.failed(now) && !breaker.is_open());
        assert_eq!(breaker.next(), Some(now + AGAIN));
        assert!(breaker.failed(now) && breaker.is_open());
        assert_eq!(breaker.next(), Some(now + probe));
        assert!(!breaker.failed(now), "it opens once");
        assert!(breaker.succeeded());
        assert!(!breaker.is_open() && !breaker.succeeded());
    }
}
