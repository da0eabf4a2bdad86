//! When did each stage of a job begin and end?

use kiln_protocol::outcome::TimingUs;
use std::time::{Duration, Instant};

/// A stretch of time, by the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub began: Instant,
    pub ended: Instant,
}

impl Stretch {
    /// From then until now.
    pub fn since(began: Instant) -> Self {
        let ended = Instant::now();
        Self { began, ended }
    }

    fn us(self) -> u64 {
        micros(self.ended.saturating_duration_since(self.began))
    }
}

/// The stages of one job; those that it never came to are absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stages {
    pub acquire: Option<Stretch>,
    pub stage_in: Option<Stretch>,
    pub run: Option<Stretch>,
    pub collect: Option<Stretch>,
    pub scan: Option<Stretch>,
    pub store: Option<Stretch>,
    /// The outcome was made the visible one; what becomes visible cannot tell how long that took.
    pub commit: Option<Stretch>,
}

impl Stages {
    /// Each with its name, in the order of a job's life.
    pub fn named(&self) -> [(&'static str, Option<Stretch>); 7] {
        [
            ("acquire", self.acquire),
            ("stage_in", self.stage_in),
            ("run", self.run),
            ("collect", self.collect),
            ("scan", self.scan),
            ("store", self.store),
            ("commit", self.commit),
        ]
    }

    /// As an outcome tells them; the total is all of it since then, and the wait before.
    pub fn timing(&self, queue_wait: Option<u64>, since: Option<Instant>) -> TimingUs {
        let took = |stage: Option<Stretch>| stage.map(Stretch::us);
        let total = since.map(|began| micros(began.elapsed()));
        TimingUs {
            queue_wait,
            acquire: took(self.acquire),
            stage_in: took(self.stage_in),
            run: took(self.run),
            collect: took(self.collect),
            scan: took(self.scan),
            store: took(self.store),
            total: total.map(|total| total.saturating_add(queue_wait.unwrap_or(0))),
        }
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
