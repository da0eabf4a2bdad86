//! What happened of late: how many jobs ended, how long each stage took, and what failed last?
//!
//! Prometheus remembers for months; this remembers five minutes, for whoever looks at one worker
//! now. Memory is bounded whatever happens: rings of a fixed length, and a row for each of a closed
//! set of reasons. A job costs one lock and a few additions.

mod ladder;
mod ring;

use kiln_protocol::outcome::{Fault, Outcome, Reason, Start, Status, TimingUs};
use ladder::Ladder;
use ring::Ring;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long one bar of the picture is.
pub(super) const BAR: Duration = Duration::from_secs(5);
/// Bars: five minutes.
pub(super) const BARS: usize = 60;
/// Times are kept in coarser steps, for they take more room.
const STEP: Duration = Duration::from_secs(30);
const STEPS: usize = 10;
/// Rows of failures that are shown.
const FAILURES_MAX: usize = 12;
/// Reasons that are told apart; a word of a later version counts with the others.
const REASONS_MAX: usize = 128;

/// The stages of a job in their order, and what all of ours took together.
pub(super) const STAGES: [&str; 8] = [
    "queue_wait",
    "acquire",
    "stage_in",
    "run",
    "collect",
    "scan",
    "store",
    "overhead",
];

/// What is said of a failure of ours whose job is tried again.
pub(super) const RETRIED: &str = "retried";

/// What happened of late.
#[derive(Debug)]
pub(super) struct Recent {
    born: Instant,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    ended: Ring<Ended, BARS>,
    took: Ring<[Ladder; STAGES.len()], STEPS>,
    failures: BTreeMap<(What, String), Failed>,
}

/// Jobs that ended in one bar.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    succeeded: u64,
    theirs: u64,
    ours: u64,
    warm: u64,
    cold: u64,
}

/// What did not go well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A job's outcome.
    Outcome(&'static str, Who),
    /// Our own failure that is tried again.
    Retried,
    /// A message that nobody can be answered for.
    DeadLetter,
}

/// Who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// Whoever sent the job.
    Sender,
    /// Whoever runs this worker.
    Operator,
}

#[derive(Clone, Copy, Debug)]
struct Failed {
    count: u64,
    last: Instant,
}

/// All of it, to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// How long one bar is.
    pub bar_ms: u64,
    /// Jobs that ended, the newest bar last; it is not over yet.
    pub ended: Vec<Bar>,
    /// How jobs got their sandboxes in that time.
    pub starts: Starts,
    pub stages: Vec<Stage>,
    /// The newest first.
    pub failures: Vec<Failure>,
}

/// Jobs that ended in one stretch of time, by who must act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    pub succeeded: u64,
    /// Failed by the job, or ended by a limit, a policy or its client.
    pub theirs: u64,
    /// Failed by the platform.
    pub ours: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starts {
    pub warm: u64,
    pub cold: u64,
}

/// How long one stage took in the last five minutes; each figure is at most a quarter too high.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub stage: String,
    pub count: u64,
    pub p50_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
}

/// What did not go well, since the start of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A status of the contract, `retried` or `dead_letter`.
    pub what: String,
    /// A reason of the contract, or the step of ours that failed.
    pub reason: String,
    pub who: Who,
    pub count: u64,
    pub last_ms: u64,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self {
            born: Instant::now(),
            kept: Mutex::new(Kept {
                ended: Ring::new(BAR),
                took: Ring::new(STEP),
                failures: BTreeMap::new(),
            }),
        }
    }

    pub(super) fn born(&self) -> Instant {
        self.born
    }

    /// A job that ran here, or would have.
    pub(super) fn ran(&self, outcome: &Outcome) {
        let mut kept = self.kept();
        let now = self.born.elapsed();
        kept.ended(now, outcome.status, outcome.reason.as_ref());
        if outcome.duplicate_of.is_some() {
            return;
        }
        if let Some(sandbox) = &outcome.sandbox {
            let bar = kept.ended.at(now);
            match sandbox.start {
                Start::Warm => bar.warm += 1,
                Start::Cold => bar.cold += 1,
            }
        }
        let took = kept.took.at(now);
        for (ladder, us) in took.iter_mut().zip(times(&outcome.timing_us)) {
            if let Some(us) = us {
                ladder.add(us);
            }
        }
    }

    /// A job that was answered without a run.
    pub(super) fn answered(&self, outcome: &Outcome) {
        let now = self.born.elapsed();
        self.kept()
            .ended(now, outcome.status, outcome.reason.as_ref());
    }

    /// Our own failure, of which its job hears nothing yet.
    pub(super) fn retried(&self, step: &'static str) {
        self.kept().failed(What::Retried, step);
    }

    pub(super) fn dead_lettered(&self, reason: &'static str) {
        self.kept().failed(What::DeadLetter, reason);
    }

    pub(super) fn shown(&self) -> Shown {
        self.kept().shown(self.born.elapsed())
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Whole between two calls of its own.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn ended(&mut self, now: Duration, status: Status, reason: Option<&Reason>) {
        let bar = self.ended.at(now);
        let who = match status.fault() {
            None => {
                bar.succeeded += 1;
                return;
            }
            Some(Fault::User | Fault::Limit | Fault::Policy) => {
                bar.theirs += 1;
                Who::Sender
            }
            Some(Fault::Platform) => {
                bar.ours += 1;
                Who::Operator
            }
        };
        // What is stored may be of a later version, with words of its own.
        let reason = match reason {
            None | Some(Reason::Other(_)) => "other",
            Some(known) => known.as_str(),
        };
        self.failed(What::Outcome(status.as_str(), who), reason);
    }

    fn failed(&mut self, what: What, reason: &str) {
        let known = self.failures.len();
        let now = Instant::now();
        let key = (what, reason.to_owned());
        if known < REASONS_MAX || self.failures.contains_key(&key) {
            let failed = self.failures.entry(key).or_insert(Failed {
                count: 0,
                last: now,
            });
            failed.count += 1;
            failed.last = now;
        }
    }

    fn shown(&self, now: Duration) -> Shown {
        let bars = self.ended.last(now);
        let bars: Vec<Ended> = bars.map(|bar| bar.copied().unwrap_or_default()).collect();
        let sum = |of: fn(&Ended) -> u64| bars.iter().map(of).sum();
        let stage = |(at, stage): (usize, &&str)| {
            let mut all = Ladder::default();
            for step in self.took.last(now).flatten() {
                all.join(&step[at]);
            }
            Stage {
                stage: (*stage).to_owned(),
                count: all.count(),
                p50_us: all.quantile(50),
                p95_us: all.quantile(95),
                p99_us: all.quantile(99),
            }
        };
        let mut failures: Vec<_> = self.failures.iter().collect();
        failures.sort_by_key(|(_, failed)| std::cmp::Reverse(failed.last));
        failures.truncate(FAILURES_MAX);
        Shown {
            bar_ms: millis(BAR),
            starts: Starts {
                warm: sum(|bar| bar.warm),
                cold: sum(|bar| bar.cold),
            },
            ended: bars.iter().map(Bar::from).collect(),
            stages: STAGES.iter().enumerate().map(stage).collect(),
            failures: failures.into_iter().map(failure).collect(),
        }
    }
}

impl From<&Ended> for Bar {
    fn from(ended: &Ended) -> Self {
        Self {
            succeeded: ended.succeeded,
            theirs: ended.theirs,
            ours: ended.ours,
        }
    }
}

fn failure(((what, reason), failed): (&(What, String), &Failed)) -> Failure {
    let (what, who) = match *what {
        What::Outcome(status, who) => (status, who),
        What::Retried => (RETRIED, Who::Operator),
        What::DeadLetter => ("dead_letter", Who::Sender),
    };
    Failure {
        what: what.to_owned(),
        reason: reason.clone(),
        who,
        count: failed.count,
        last_ms: millis(failed.last.elapsed()),
    }
}

/// How long each of [`STAGES`] took.
fn times(timing: &TimingUs) -> [Option<u64>; STAGES.len()] {
    let ours = [
        timing.acquire,
        timing.stage_in,
        timing.collect,
        timing.scan,
        timing.store,
    ];
    let overhead = timing.run.map(|_| ours.into_iter().flatten().sum());
    [
        timing.queue_wait,
        timing.acquire,
        timing.stage_in,
        timing.run,
        timing.collect,
        timing.scan,
        timing.store,
        overhead,
    ]
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
