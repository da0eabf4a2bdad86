//! What is counted, and by whom is it told?
//!
//! The names are in [`names`](super::names), the words of labels in `label`; here is what is counted
//! where no log tells of it, [`event`](super::event) has what is both logged and counted. No label
//! holds an id, and each has a closed set of words.

mod around;
mod build;
mod held;
mod label;
mod told;

use super::names::{IntGauge, IntGaugeVec, Names};
use super::neighbours::Neighbours;
use super::pool::PoolFigures;
use super::readiness::{Condition, Readiness};
use super::recent::Recent;
use crate::egress::client::Listen;
use crate::egress::tally::Decision;
use held::Ages;
pub use held::Held;
use kiln_protocol::job::Class;
use kiln_protocol::outcome::{Status, Verdict};
use kiln_warden::profile::Profiles;
pub use label::{
    AckResult, Canary, DeadReason, Direction, Disk, Holding, Limit, Orphan, Role, Step,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The label of what has no label of its own: no sender of messages can make series.
pub(super) const OTHER: &str = "other";

/// Queues that have a label of their own.
const QUEUES_MAX: usize = 64;

/// Profiles that have a label of their own: those built in, then the others by name.
const PROFILES_MAX: usize = 16;

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    pub(super) names: Names,
    /// The profiles with a label of their own.
    profiles: BTreeSet<String>,
    queues: Mutex<BTreeSet<String>>,
    ages: Arc<Ages>,
    pub(super) pool: PoolFigures,
    /// What the status page shows.
    pub(super) recent: Recent,
    pub(super) neighbours: Neighbours,
}

/// What a worker has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Jobs that may run at once.
    pub slots: u64,
    /// Jobs that run.
    pub busy: u64,
    /// Jobs taken and not yet answered.
    pub in_flight: u64,
}

impl Metrics {
    /// Nothing counted yet; the profiles that have labels are those built in.
    pub fn new() -> Arc<Self> {
        Self::of(&Profiles::built_in())
    }

    /// Nothing counted yet; these profiles have labels.
    pub fn of(profiles: &Profiles) -> Arc<Self> {
        let names = Names::new();
        let metrics = Self {
            pool: PoolFigures::new(&names),
            names,
            profiles: labelled(profiles),
            queues: Mutex::default(),
            recent: Recent::new(),
            neighbours: Neighbours::default(),
            ages: Arc::default(),
        };
        let names = &metrics.names;
        names.build_info.with_label_values(&build::BUILD).set(1);
        // A counter that appears with its first event hides that event from `rate()`.
        for role in Role::ALL {
            names.connected.with_label_values(&[role.as_str()]).set(0);
        }
        for word in AckResult::ALL.map(AckResult::as_str) {
            names.acks.with_label_values(&[word]).inc_by(0);
        }
        for word in DeadReason::ALL.map(DeadReason::as_str) {
            names.dead_lettered.with_label_values(&[word]).inc_by(0);
        }
        for word in Step::ALL.map(Step::as_str) {
            names.faults.with_label_values(&[word]).inc_by(0);
        }
        for word in Limit::ALL.map(Limit::as_str) {
            names.limits_hit.with_label_values(&[word]).inc_by(0);
        }
        for word in ["exported", "dropped"] {
            names.trace_spans.with_label_values(&[word]).inc_by(0);
        }
        for word in Orphan::ALL.map(Orphan::as_str) {
            names.orphans.with_label_values(&[word]).inc_by(0);
        }
        for class in Class::ALL {
            for profile in metrics.profiles.iter().map(String::as_str).chain([OTHER]) {
                for status in Status::ALL {
                    let labels = [class.as_str(), profile, status.as_str()];
                    names.jobs.with_label_values(&labels).inc_by(0);
                }
            }
        }
        for verdict in [
            Verdict::Malicious,
            Verdict::Suspicious,
            Verdict::Unscannable,
        ] {
            names.scan.with_label_values(&[verdict.as_str()]).inc_by(0);
        }
        for decision in Decision::ALL {
            names
                .egress
                .with_label_values(&[decision.as_str()])
                .inc_by(0);
        }
        Arc::new(metrics)
    }

    /// All of it, as Prometheus reads it.
    pub fn encode(&self) -> Result<String, prometheus::Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.names.clock.set(now.unwrap_or_default().as_secs_f64());
        self.names.unacked_age.set(self.ages.oldest().as_secs_f64());
        self.names.encode()
    }

    /// Which conditions of readiness hold now.
    pub fn standing(&self, readiness: &Readiness) {
        let mut ready = true;
        for (condition, holds) in Condition::ALL.map(|it| (it, readiness.holds(it))) {
            ready &= holds;
            let figure = self
                .names
                .condition
                .with_label_values(&[condition.as_str()]);
            figure.set(i64::from(holds));
        }
        self.names.ready.set(i64::from(ready));
    }

    /// A delivery that is to be answered, until what is returned is dropped.
    pub fn hold(&self) -> Held {
        self.ages.hold()
    }

    pub fn queue_wait(&self, waited: Duration) {
        self.names.queue_wait.observe(waited.as_secs_f64());
    }

    pub fn in_flight(&self, jobs: usize) {
        self.names.in_flight.set(gauge(jobs));
    }

    pub fn slots(&self, slots: usize) {
        self.names.slots.set(gauge(slots));
    }

    /// How long running jobs have at a drain.
    pub fn drain_grace(&self, grace: Duration) {
        self.names.drain_grace.set(grace.as_secs_f64());
    }

    pub fn slots_busy(&self, busy: usize) {
        self.names.slots_busy.set(gauge(busy));
    }

    pub fn connected(&self, role: Role, up: bool) {
        let role = self.names.connected.with_label_values(&[role.as_str()]);
        role.set(i64::from(up));
    }

    /// Whether the broker takes no messages for now.
    pub fn blocked(&self, blocked: bool) {
        self.names.blocked.set(i64::from(blocked));
    }

    /// How long the broker waits for an answer to a delivery.
    pub fn consumer_timeout(&self, timeout: Duration) {
        self.names.consumer_timeout.set(timeout.as_secs_f64());
    }

    /// Messages that wait in a queue; none where nobody can say.
    pub fn queue_ready(&self, queue: &str, messages: Option<u32>) {
        let queue = self.queue(queue);
        match messages {
            Some(messages) => {
                let figure = self.names.queue_ready.with_label_values(&[queue]);
                figure.set(messages.into());
            }
            None => forget(&self.names.queue_ready, &[queue]),
        }
    }

    pub fn consumer_up(&self, queue: &str, up: bool) {
        let queue = self.queue(queue);
        let queue = self.names.consumer_up.with_label_values(&[queue]);
        queue.set(i64::from(up));
    }

    pub fn delivery(&self, again: bool) {
        self.names.deliveries.inc();
        self.names.redeliveries.inc_by(u64::from(again));
    }

    pub fn ack(&self, result: AckResult) {
        self.names.acks.with_label_values(&[result.as_str()]).inc();
    }

    pub fn publish_confirm(&self, took: Duration) {
        self.names.publish_confirm.observe(took.as_secs_f64());
    }

    pub fn duplicate(&self) {
        self.names.duplicates.inc();
    }

    /// What became of spans, which are none where there is no collector.
    pub fn trace_spans(&self, exported: bool, spans: usize) {
        let result = if exported { "exported" } else { "dropped" };
        let counter = self.names.trace_spans.with_label_values(&[result]);
        counter.inc_by(spans as u64);
    }

    /// What a reset found in a sandbox.
    pub fn residue(&self, kind: &'static str) {
        self.names.residue.with_label_values(&[kind]).inc();
    }

    /// How many jobs run, may run, and are here.
    pub(super) fn load(&self) -> Load {
        let of = |gauge: &IntGauge| u64::try_from(gauge.get()).unwrap_or(0);
        Load {
            slots: of(&self.names.slots),
            busy: of(&self.names.slots_busy),
            in_flight: of(&self.names.in_flight),
        }
    }

    /// The label of a profile.
    pub(super) fn profile<'a>(&self, name: &'a str) -> &'a str {
        if self.profiles.contains(name) {
            name
        } else {
            OTHER
        }
    }

    /// The label of a queue: queues come from the configuration, and there may be many tenants.
    fn queue<'a>(&self, name: &'a str) -> &'a str {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if queues.contains(name) {
            return name;
        }
        if queues.len() == QUEUES_MAX {
            return OTHER;
        }
        queues.insert(name.to_owned());
        name
    }
}

impl Listen for Metrics {
    fn attempted(&self, decision: Decision, times: u64) {
        let decision = [decision.as_str()];
        self.names.egress.with_label_values(&decision).inc_by(times);
    }
}

/// The profiles that have a label of their own.
fn labelled(profiles: &Profiles) -> BTreeSet<String> {
    let built_in = Profiles::built_in();
    let known: BTreeSet<&str> = built_in.names().into_iter().collect();
    let mut all: Vec<&str> = profiles.names();
    all.sort_unstable_by_key(|name| (!known.contains(name), *name));
    let labelled = all.into_iter().take(PROFILES_MAX);
    labelled.map(str::to_owned).collect()
}

/// Takes a figure out: what is not known is not there.
fn forget(figures: &IntGaugeVec, labels: &[&str]) {
    if figures.remove_label_values(labels).is_err() {
        // It was not there either.
    }
}

pub(super) fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
