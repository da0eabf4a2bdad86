//! Does this worker take jobs, and is its loop alive?

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A loop that has not ticked for so long is not alive.
const TICK_MAX: Duration = Duration::from_secs(10);

/// What must hold for jobs to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Every queue is consumed from, and outcomes can be published.
    Broker,
    /// It answers.
    Store,
    /// It can be written down which jobs run.
    State,
    /// Sandboxes can be made.
    Pool,
    /// Holds where the worker does not drain.
    Draining,
}

/// What is known of a worker's readiness. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<State>);

#[derive(Debug)]
struct State {
    /// Why a condition does not hold, and since when; those that hold are not in it.
    broken: Mutex<BTreeMap<Condition, Broken>>,
    born: Instant,
    /// Milliseconds from `born` to the last tick.
    ticked: AtomicU64,
}

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) why: String,
    pub(super) since: Instant,
    /// Nobody has said yet whether it holds.
    pub(super) unknown: bool,
}

/// Says for as long as it is held that a worker lives that has not begun to serve.
#[derive(Debug)]
#[must_use = "dropping it leaves the saying to the worker's loop"]
pub struct Starting(tokio::task::JoinHandle<()>);

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub ready: bool,
    /// `<condition>: <why>` for each that does not hold.
    pub reasons: Vec<String>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self::new()
    }
}

impl Readiness {
    /// Not ready: nobody has said yet that anything holds. Alive from now on.
    pub fn new() -> Self {
        let unknown = [Condition::Broker, Condition::Store, Condition::Pool];
        let born = Instant::now();
        let broken = unknown.map(|condition| {
            let broken = Broken {
                why: "not known yet".to_owned(),
                since: born,
                unknown: true,
            };
            (condition, broken)
        });
        Self(Arc::new(State {
            broken: Mutex::new(broken.into()),
            born,
            ticked: AtomicU64::new(0),
        }))
    }

    /// Says whether a condition holds, and if not, why. `why` goes to whoever asks: it must hold
    /// no secret.
    pub fn set(&self, what: Condition, ok: bool, why: &str) {
        let mut broken = self.0.broken.lock().unwrap_or_else(PoisonError::into_inner);
        if ok {
            broken.remove(&what);
            return;
        }
        let known = broken.get(&what).filter(|known| !known.unknown);
        let since = known.map_or_else(Instant::now, |known| known.since);
        let now = Broken {
            why: why.to_owned(),
            since,
            unknown: false,
        };
        broken.insert(what, now);
    }

    /// What does not hold.
    pub(super) fn broken(&self) -> BTreeMap<Condition, Broken> {
        let broken = self.0.broken.lock().unwrap_or_else(PoisonError::into_inner);
        broken.clone()
    }

    /// Says that the worker's loop goes round; to be said more often than every 10 s.
    pub fn tick(&self) {
        let now = u64::try_from(self.0.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.ticked.fetch_max(now, Ordering::Relaxed);
    }

    /// Ticks until the loop does: what a worker waits for at its start may be long away. On a
    /// runtime, whose threads do not stand still where it ticks.
    pub fn starting(&self) -> Starting {
        let readiness = self.clone();
        Starting(tokio::spawn(async move {
            loop {
                readiness.tick();
                tokio::time::sleep(TICK_MAX / 10).await;
            }
        }))
    }

    /// Whether jobs are taken.
    pub fn report(&self) -> Report {
        let broken = self.0.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let reason =
            |(what, broken): (&Condition, &Broken)| format!("{}: {}", what.as_str(), broken.why);
        let reasons: Vec<String> = broken.iter().map(reason).collect();
        Report {
            ready: reasons.is_empty(),
            reasons,
        }
    }

    /// Whether a condition holds.
    pub fn holds(&self, what: Condition) -> bool {
        let broken = self.0.broken.lock().unwrap_or_else(PoisonError::into_inner);
        !broken.contains_key(&what)
    }

    /// Whether the loop has ticked lately.
    pub fn is_live(&self) -> bool {
        self.is_live_after(self.0.born.elapsed())
    }

    fn is_live_after(&self, since_birth: Duration) -> bool {
        let ticked = Duration::from_millis(self.0.ticked.load(Ordering::Relaxed));
        since_birth.saturating_sub(ticked) < TICK_MAX
    }
}

impl Condition {
    pub const ALL: [Self; 5] = [
        Self::Broker,
        Self::Store,
        Self::State,
        Self::Pool,
        Self::Draining,
    ];

    /// The word in a reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Broker => "broker",
            Self::Store => "store",
            Self::State => "state",
            Self::Pool => "pool",
            Self::Draining => "draining",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_ready_when_everything_holds_and_not_while_it_drains() {
        let readiness = Readiness::new();
        let reasons = |readiness: &Readiness| readiness.report().reasons.join("; ");
        assert_eq!(
            reasons(&readiness),
            "broker: not known yet; store: not known yet; pool: not known yet"
        );
        let other = readiness.clone();
        for what in [Condition::Broker, Condition::Store, Condition::Pool] {
            assert!(!readiness.report().ready);
            other.set(what, true, "");
        }
        assert!(readiness.report().ready);
        other.set(Condition::Draining, false, "SIGTERM");
        other.set(Condition::Store, false, "no answer");
        assert!(!readiness.report().ready);
        assert_eq!(reasons(&readiness), "store: no answer; draining: SIGTERM");
        other.set(Condition::Store, true, "");
        other.set(Condition::Draining, true, "");
        assert!(readiness.report().ready);
    }

    #[tokio::test]
    async fn a_worker_that_starts_is_alive_until_its_loop_says_so() {
        let readiness = Readiness::new();
        let ticked = || readiness.0.ticked.load(Ordering::Relaxed);
        let starting = readiness.starting();
        let again = async {
            while ticked() < 1_000 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let again = tokio::time::timeout(TICK_MAX, again).await;
        assert!(again.is_ok(), "it ticks more than once");
        drop(starting);
        let last = ticked();
        tokio::time::sleep(TICK_MAX / 10 + Duration::from_millis(100)).await;
        assert_eq!(ticked(), last);
    }

    #[test]
    fn a_loop_that_stands_still_is_not_alive() {
        let readiness = Readiness::new();
        assert!(readiness.is_live());
        assert!(readiness.is_live_after(Duration::from_millis(9_999)));
        assert!(!readiness.is_live_after(Duration::from_secs(10)));
        readiness.0.ticked.store(5_000, Ordering::Relaxed);
        assert!(readiness.is_live_after(Duration::from_millis(14_999)));
        assert!(!readiness.is_live_after(Duration::from_secs(15)));
        // A tick never takes an earlier one back.
        readiness.tick();
        assert!(readiness.is_live_after(Duration::from_millis(14_999)));
    }
}
