//! Does a job of our own, now and then, still find no residue and no open wall on this very worker?
//!
//! ```text
//!   every interval, when a slot is idle (or an interval late):
//!     residue     plant ─► look, one tenant's, on one sandbox
//!     isolation   the prober's whole look
//! ```
//!
//! The tests say that the walls hold where they were run; a canary says it of this machine, today,
//! after the kernel was updated. A finding counts as residue of the kind `canary`, which wakes
//! somebody; the time of the last success is a figure, so that silence is seen too.

use super::Service;
use crate::isolation::{ProbeError, Prober, Sightings, plan};
use crate::telemetry::metric::Canary;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The profile whose sandboxes a worker keeps ready.
const PROFILE: &str = "python";
/// For whom they run; that a tenant has the same name does no harm.
const TENANT: &str = "kiln-canary";

/// When the next canary is due.
#[derive(Debug)]
pub(super) struct Due {
    every: Duration,
    at: Instant,
    /// Who holds the other end is in the air.
    air: Arc<()>,
}

/// Leave to fly; the next is given when this has landed. Two at a time would take each other's
/// folder away.
#[derive(Debug)]
pub(super) struct Flight(#[expect(dead_code, reason = "it is held, not read")] Arc<()>);

impl Due {
    pub(super) fn every(every: Option<Duration>) -> Option<Self> {
        every.map(|every| Self {
            every,
            at: Instant::now() + every,
            air: Arc::default(),
        })
    }

    /// A flight where it is time: when it is due and a slot is idle, or an interval later in any
    /// case; but never beside another.
    pub(super) fn flight(&mut self, idle: bool, now: Instant) -> Option<Flight> {
        let due = now >= self.at && (idle || now >= self.at + self.every);
        let landed = Arc::strong_count(&self.air) == 1;
        (due && landed).then(|| {
            self.at = now + self.every;
            Flight(Arc::clone(&self.air))
        })
    }
}

/// Both canaries, one after the other.
pub(super) async fn fly(service: &Service, _flight: Flight) {
    let prober = Prober {
        engine: &service.engine,
        profile: PROFILE,
        folder: service.terms.state.join("canary"),
    };
    let mut seen = Sightings::default();
    let residue = plan::residue(&prober, TENANT, &mut seen).await;
    // Where another job came between, nothing was looked at, and nothing is told.
    if let Some(true) = told(service, residue, &seen) {
        service.metrics.canary(Canary::Residue);
    }
    let mut seen = Sightings::default();
    let isolation = plan::look(&prober, TENANT, &mut seen).await.map(|()| true);
    if let Some(true) = told(service, isolation, &seen) {
        service.metrics.canary(Canary::Isolation);
    }
    if let Err(error) = std::fs::remove_dir_all(&prober.folder) {
        tracing::warn!(%error, "what the canaries left with us stays");
    }
}

/// Whether a canary looked and came back whole; `None` where it did not.
fn told(service: &Service, looked: Result<bool, ProbeError>, seen: &Sightings) -> Option<bool> {
    let looked = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let error = crate::fault::chain(&error);
            tracing::warn!(error, "a canary could not be run");
            return None;
        }
    };
    let mut whole = true;
    for (property, sighting) in seen.open() {
        whole = false;
        service.metrics.residue("canary");
        let seen = &sighting.seen;
        tracing::error!(
            property,
            seen,
            "a wall of the sandbox is open; drain this worker"
        );
    }
    looked.then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_waits_for_an_idle_slot_but_not_for_ever() {
        let every = Duration::from_mins(1);
        let mut due = Due::every(Some(every)).expect("an interval");
        let began = due.at - every;
        let mut flies = |idle, at| due.flight(idle, at).is_some();
        assert!(!flies(true, began));
        assert!(!flies(false, began + every));
        assert!(flies(true, began + every));
        assert!(!flies(true, began + every), "once an interval");
        assert!(flies(false, began + every * 3));
        assert!(Due::every(None).is_none());
    }

    #[test]
    fn a_canary_that_is_slow_is_waited_for() {
        let every = Duration::from_mins(1);
        let mut due = Due::every(Some(every)).expect("an interval");
        let first = due.flight(true, due.at).expect("it is due");
        assert!(due.flight(true, due.at + every * 9).is_none(), "two fly");
        drop(first);
        assert!(due.flight(true, due.at + every * 9).is_some());
    }
}
