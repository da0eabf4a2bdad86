//! What is answered for a job that never ran, or that we failed?
//!
//! A refused message is answered by the protocol itself: [`kiln_protocol::Rejection::outcome`].

use kiln_protocol::id::JobId;
use kiln_protocol::job::Job;
use kiln_protocol::outcome::{
    OUTCOME_SCHEMA, Outcome, Reason, Status, StreamReport, TimingUs, Usage, Warning,
};
use serde_json::{Map, Value};
use std::time::{SystemTime, UNIX_EPOCH};

/// The parts of an answer that differ where there was no run.
#[derive(Debug)]
pub struct Unrun {
    pub job_id: JobId,
    pub status: Status,
    pub reason: Reason,
    pub message: String,
    pub hint: Option<String>,
    pub evidence: Map<String, Value>,
    pub warnings: Vec<Warning>,
    /// Who answers.
    pub worker: String,
}

impl Unrun {
    /// A job that we failed.
    pub fn platform_error(job_id: JobId, reason: Reason, message: String, worker: &str) -> Self {
        Self {
            job_id,
            status: Status::PlatformError,
            reason,
            message,
            hint: Some("try again; the job has no part in it".into()),
            evidence: Map::new(),
            warnings: Vec::new(),
            worker: worker.to_owned(),
        }
    }

    /// A job that was cancelled before it started.
    pub fn cancelled(job_id: JobId, worker: &str) -> Self {
        Self {
            job_id,
            status: Status::Cancelled,
            reason: Reason::Client,
            message: "cancelled before it started".to_owned(),
            hint: None,
            evidence: Map::new(),
            warnings: Vec::new(),
            worker: worker.to_owned(),
        }
    }

    /// A job that workers died of; `evidence` says when and which.
    pub fn worker_lost(job_id: JobId, evidence: Value, worker: &str) -> Self {
        Self {
            job_id,
            status: Status::PlatformError,
            reason: Reason::WorkerLost,
            message: "the worker died each time it ran this job; it is not started again"
                .to_owned(),
            hint: Some("look at what the job does to the machine it runs on".to_owned()),
            evidence: super::words::object(evidence),
            warnings: Vec::new(),
            worker: worker.to_owned(),
        }
    }

    /// The answer to a job whose deadline has passed by now.
    pub fn overdue(job: &Job, worker: &str) -> Option<Self> {
        let late_ms = now_unix_ms().checked_sub(job.deadline_unix_ms?)?;
        Some(Self::expired(job.id.clone(), late_ms, worker))
    }

    /// A job whose deadline passed before it started.
    pub fn expired(job_id: JobId, late_ms: u64, worker: &str) -> Self {
        let late = kiln_protocol::units::format_duration_ms(late_ms);
        Self {
            job_id,
            status: Status::Expired,
            reason: Reason::Deadline,
            message: format!("the deadline passed {late} before the job could start"),
            hint: Some("give a later `deadline_unix_ms`".into()),
            evidence: super::words::object(serde_json::json!({"late_ms": late_ms})),
            warnings: Vec::new(),
            worker: worker.to_owned(),
        }
    }
}

/// Nothing ran, so nothing was written, used or made.
impl From<Unrun> for Outcome {
    fn from(unrun: Unrun) -> Self {
        let ours = unrun.status == Status::PlatformError;
        let retryable = ours && unrun.reason != Reason::WorkerLost;
        Self {
            schema: OUTCOME_SCHEMA.to_owned(),
            job_id: unrun.job_id,
            status: unrun.status,
            reason: Some(unrun.reason),
            fault: unrun.status.fault(),
            retryable,
            message: Some(unrun.message),
            hint: unrun.hint,
            evidence: unrun.evidence,
            exit_code: None,
            signal: None,
            stdout: StreamReport::new(&[], 0, None),
            stderr: StreamReport::new(&[], 0, None),
            artifacts: Vec::new(),
            skipped: Vec::new(),
            limits: None,
            warnings: unrun.warnings,
            usage: Usage::default(),
            timing_us: TimingUs::default(),
            sandbox: None,
            worker: unrun.worker,
            attempt: 1,
            redelivered: false,
            finished_unix_ms: now_unix_ms(),
            trace_id: None,
            duplicate_of: None,
        }
    }
}

/// Milliseconds since 1970; 0 where the clock stands before.
pub fn now_unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> JobId {
        "j".parse().expect("an id")
    }

    #[test]
    fn an_answer_without_a_run_contradicts_nothing() {
        for unrun in [
            Unrun::platform_error(id(), Reason::Sandbox, "no".into(), "w"),
            Unrun::expired(id(), 12, "w"),
            Unrun::cancelled(id(), "w"),
            Unrun::worker_lost(id(), serde_json::json!({"starts": 2}), "w"),
        ] {
            let outcome = Outcome::from(unrun);
            assert_eq!(outcome.contradictions(), Vec::<&str>::new());
        }
    }

    #[test]
    fn an_expired_job_says_by_how_much() {
        let outcome = Outcome::from(Unrun::expired(id(), 1_500, "w"));
        assert_eq!(
            outcome.message.as_deref(),
            Some("the deadline passed 1.5 s before the job could start")
        );
        assert_eq!(outcome.evidence["late_ms"], 1_500);
        assert!(!outcome.retryable);
    }
}
