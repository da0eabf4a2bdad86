//! What is counted, and by whom is it told?
//!
//! The names are in [`names`](super::names); here is what happens when something happens. No label
//! holds an id, and each has a closed set of words.

use super::names::Names;
use super::pool::PoolFigures;
use super::recent::Recent;
use kiln_protocol::job::Class;
use kiln_protocol::outcome::{ArtifactState, Outcome, Start, Status, TimingUs, Verdict};
use kiln_warden::profile::Profiles;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The label of what has no label of its own: no sender of messages can make series.
pub(super) const OTHER: &str = "other";

/// Queues that have a label of their own.
const QUEUES_MAX: usize = 256;

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    names: Names,
    /// The profiles with a label of their own.
    profiles: BTreeSet<String>,
    queues: Mutex<BTreeSet<String>>,
    pub(super) pool: PoolFigures,
    /// What the status page shows.
    pub(super) recent: Recent,
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

/// Which of the two connections to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Consumer,
    Publisher,
}

impl Role {
    const ALL: [Self; 2] = [Self::Consumer, Self::Publisher];

    fn as_str(self) -> &'static str {
        match self {
            Self::Consumer => "consumer",
            Self::Publisher => "publisher",
        }
    }
}

/// What the broker made of an answer to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AckResult {
    Ok,
    /// The delivery was no longer ours: it is, or will be, delivered again.
    Stale,
    Error,
}

impl AckResult {
    const ALL: [Self; 3] = [Self::Ok, Self::Stale, Self::Error];

    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Stale => "stale",
            Self::Error => "error",
        }
    }
}

/// Why a message is in the queue of dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeadReason {
    BadMessage,
    NoId,
    TooLarge,
    WorkerCrash,
    Retries,
}

impl DeadReason {
    const ALL: [Self; 5] = [
        Self::BadMessage,
        Self::NoId,
        Self::TooLarge,
        Self::WorkerCrash,
        Self::Retries,
    ];

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadMessage => "bad_message",
            Self::NoId => "no_id",
            Self::TooLarge => "too_large",
            Self::WorkerCrash => "worker_crash",
            Self::Retries => "retries",
        }
    }
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
            profiles: profiles.names().into_iter().map(str::to_owned).collect(),
            queues: Mutex::default(),
            recent: Recent::new(),
        };
        let names = &metrics.names;
        names
            .build_info
            .with_label_values(&[env!("CARGO_PKG_VERSION")])
            .set(1);
        // A counter that appears with its first event hides that event from `rate()`.
        for role in Role::ALL {
            names.connected.with_label_values(&[role.as_str()]).set(0);
        }
        for result in AckResult::ALL {
            names.acks.with_label_values(&[result.as_str()]).inc_by(0);
        }
        for reason in DeadReason::ALL {
            names
                .dead_lettered
                .with_label_values(&[reason.as_str()])
                .inc_by(0);
        }
        for verdict in [
            Verdict::Malicious,
            Verdict::Suspicious,
            Verdict::Unscannable,
        ] {
            names.scan.with_label_values(&[verdict.as_str()]).inc_by(0);
        }
        Arc::new(metrics)
    }

    /// All of it, as Prometheus reads it.
    pub fn encode(&self) -> Result<String, prometheus::Error> {
        self.names.encode()
    }

    /// A committed outcome: [`Metrics::job`], [`Metrics::timing`], its artifacts and how it got its
    /// sandbox. A copy of another job's outcome ran nothing and counts as a job alone.
    pub fn outcome(&self, class: Class, outcome: &Outcome) {
        let sandbox = outcome.sandbox.as_ref();
        let profile = sandbox.map_or(OTHER, |sandbox| &sandbox.profile);
        self.job(class, profile, outcome.status);
        self.recent.ran(outcome);
        if outcome.duplicate_of.is_some() {
            return;
        }
        self.timing(&outcome.timing_us);
        for artifact in &outcome.artifacts {
            self.artifact(artifact.state);
            self.scanned(artifact.verdict);
        }
        if let Some(sandbox) = sandbox {
            let took = outcome.timing_us.acquire.map(Duration::from_micros);
            self.acquired(&sandbox.profile, sandbox.start, took);
        }
    }

    /// A committed outcome that no run made.
    pub fn answered(&self, class: Class, profile: &str, outcome: &Outcome) {
        self.job(class, profile, outcome.status);
        self.recent.answered(outcome);
    }

    /// Our own failure at this step, of which its job hears nothing yet.
    pub fn retried(&self, step: &'static str) {
        self.recent.retried(step);
    }

    /// A committed outcome, once a job.
    pub fn job(&self, class: Class, profile: &str, status: Status) {
        let labels = [class.as_str(), self.profile(profile), status.as_str()];
        self.names.jobs.with_label_values(&labels).inc();
    }

    /// How long each stage of a job took; what is unknown is not observed.
    pub fn timing(&self, timing: &TimingUs) {
        let seconds = |us: u64| Duration::from_micros(us).as_secs_f64();
        for (stage, took) in [
            ("acquire", timing.acquire),
            ("stage_in", timing.stage_in),
            ("run", timing.run),
            ("collect", timing.collect),
            ("scan", timing.scan),
            ("store", timing.store),
        ] {
            if let Some(us) = took {
                let stage = self.names.job_stage.with_label_values(&[stage]);
                stage.observe(seconds(us));
            }
        }
        if let Some(scan) = timing.scan {
            self.names.scan_seconds.observe(seconds(scan));
        }
        if let Some(run) = timing.run {
            self.names.job_run.observe(seconds(run));
        }
        if let (Some(total), Some(run)) = (timing.total, timing.run) {
            let waited = timing.queue_wait.unwrap_or(0);
            let ours = total.saturating_sub(run).saturating_sub(waited);
            self.names.job_overhead.observe(seconds(ours));
        }
    }

    /// How a job got its sandbox.
    pub fn acquired(&self, profile: &str, start: Start, took: Option<Duration>) {
        let start = match start {
            Start::Warm => "warm",
            Start::Cold => "cold",
        };
        let labels = [self.profile(profile), start];
        self.names.pool_acquire.with_label_values(&labels).inc();
        if let Some(took) = took {
            self.names.pool_acquire_seconds.observe(took.as_secs_f64());
        }
    }

    pub fn artifact(&self, state: ArtifactState) {
        let state = match state {
            ArtifactState::Released => "released",
            ArtifactState::Withheld => "withheld",
        };
        self.names.artifacts.with_label_values(&[state]).inc();
    }

    /// What the gate was told of a file.
    pub fn scanned(&self, verdict: Verdict) {
        self.names.scan.with_label_values(&[verdict.as_str()]).inc();
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

    pub fn slots_busy(&self, busy: usize) {
        self.names.slots_busy.set(gauge(busy));
    }

    pub fn connected(&self, role: Role, up: bool) {
        let role = self.names.connected.with_label_values(&[role.as_str()]);
        role.set(i64::from(up));
    }

    pub fn reconnect(&self) {
        self.names.reconnects.inc();
    }

    pub fn consumer_up(&self, queue: &str, up: bool) {
        let queue = self.queue(queue);
        let queue = self.names.consumer_up.with_label_values(&[queue]);
        queue.set(i64::from(up));
    }

    pub fn delivery(&self) {
        self.names.deliveries.inc();
    }

    pub fn ack(&self, result: AckResult) {
        self.names.acks.with_label_values(&[result.as_str()]).inc();
    }

    pub fn publish_confirm(&self, took: Duration) {
        self.names.publish_confirm.observe(took.as_secs_f64());
    }

    pub fn returned(&self) {
        self.names.returned.inc();
    }

    pub fn dead_lettered(&self, reason: DeadReason) {
        self.recent.dead_lettered(reason.as_str());
        let reason = [reason.as_str()];
        self.names.dead_lettered.with_label_values(&reason).inc();
    }

    pub fn duplicate(&self) {
        self.names.duplicates.inc();
    }

    pub fn panicked(&self) {
        self.names.panics.inc();
    }

    /// Not told where nothing is tracked: then there is no such figure.
    pub fn redis_up(&self, up: bool) {
        self.recent.redis_up(up);
        self.names
            .redis_up
            .with_label_values::<&str>(&[])
            .set(i64::from(up));
    }

    /// One request to the store; `op` such as `put`, `result` is `ok` or `error`.
    pub fn store_request(&self, op: &'static str, ok: bool, took: Duration) {
        let result = if ok { "ok" } else { "error" };
        let request = self.names.store_request.with_label_values(&[op, result]);
        request.observe(took.as_secs_f64());
    }

    /// Sandboxes of a profile that the pool wants to have.
    pub fn pool_target(&self, profile: &str, sandboxes: usize) {
        let profile = [self.profile(profile)];
        self.names
            .pool_target
            .with_label_values(&profile)
            .set(gauge(sandboxes));
    }

    /// What a reset found in a sandbox.
    pub fn residue(&self, kind: &'static str) {
        self.names.residue.with_label_values(&[kind]).inc();
    }

    /// How many jobs run, may run, and are here.
    pub(super) fn load(&self) -> Load {
        let of = |gauge: &prometheus::IntGauge| u64::try_from(gauge.get()).unwrap_or(0);
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

pub(super) fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
