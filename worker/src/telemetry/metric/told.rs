//! What does the outcome of one job count?

use super::{Limit, Metrics};
use kiln_protocol::job::Class;
use kiln_protocol::outcome::{ArtifactState, Outcome, Start, Status, TimingUs, Verdict};
use std::time::Duration;

/// The warning of an outcome that the gate held back something of a stream.
const STREAM_WITHHELD: &str = "stream_withheld";

impl Metrics {
    /// A committed outcome: [`Metrics::job`], [`Metrics::timing`], its artifacts and how it got its
    /// sandbox. A copy of another job's outcome ran nothing and counts as a job alone.
    pub fn outcome(&self, class: Class, profile: &str, outcome: &Outcome) {
        self.job(class, profile, outcome.status);
        if cfg!(not(feature = "uncounted")) {
            self.recent.ran(outcome);
        }
        if outcome.duplicate_of.is_some() {
            return;
        }
        self.timing(&outcome.timing_us);
        self.latency(class, &outcome.timing_us);
        for limit in Limit::ALL {
            if limit.was_hit(outcome) {
                let figure = self.names.limits_hit.with_label_values(&[limit.as_str()]);
                figure.inc();
            }
        }
        let warnings = outcome.warnings.iter();
        let cut = warnings.filter(|it| it.code == STREAM_WITHHELD).count();
        self.names.streams_withheld.inc_by(cut as u64);
        for artifact in &outcome.artifacts {
            self.artifact(artifact.state);
            self.scanned(artifact.verdict);
        }
        if let Some(sandbox) = &outcome.sandbox {
            let took = outcome.timing_us.acquire.map(Duration::from_micros);
            self.acquired(&sandbox.profile, sandbox.start, took);
        }
    }

    /// A committed outcome that no run made.
    pub fn answered(&self, class: Class, profile: &str, outcome: &Outcome) {
        self.job(class, profile, outcome.status);
        self.recent.answered(outcome);
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

    /// How long the client waited for us: for what was not its program's own time.
    pub(super) fn latency(&self, class: Class, timing: &TimingUs) {
        if let Some(total) = timing.total {
            let ours = Duration::from_micros(total.saturating_sub(timing.run.unwrap_or(0)));
            let figure = self.names.job_latency.with_label_values(&[class.as_str()]);
            figure.observe(ours.as_secs_f64());
        }
    }

    /// How long it took to tell everybody of a committed outcome.
    pub fn published(&self, took: Duration) {
        let figure = self.names.job_stage.with_label_values(&["publish"]);
        figure.observe(took.as_secs_f64());
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
}
