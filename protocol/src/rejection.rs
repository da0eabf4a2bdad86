//! What is answered to a message that is no job?

use crate::id::{JobId, Tenant};
use crate::json::JSON_WANTED;
use crate::outcome::{OUTCOME_SCHEMA, Outcome, Status, StreamReport, TimingUs, Usage, Warning};
use crate::refusal::Refusal;

/// A message that is no job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Whose outcome says so; without one nobody can be answered.
    pub job_id: Option<JobId>,
    /// For whom it would have run, where that is known and allowed.
    pub tenant: Option<Tenant>,
    /// The first thing that is wrong.
    pub main: Refusal,
    /// What else is.
    pub others: Vec<Refusal>,
}

/// The one thing that is wrong with a message that names nobody.
impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self {
            job_id: None,
            tenant: None,
            main: refusal,
            others: Vec::new(),
        }
    }
}

impl Rejection {
    /// Whether the message is no JSON, so that nothing in it can be believed.
    pub fn is_not_json(&self) -> bool {
        self.main.allowed == JSON_WANTED
    }

    /// The outcome of a job that was refused: the first fault as message and evidence, each
    /// other one as a warning.
    pub fn outcome(&self, job_id: JobId, worker: String, finished_unix_ms: u64) -> Outcome {
        let status = Status::Rejected;
        let nothing = || StreamReport::new(b"", 0, None);
        Outcome {
            schema: OUTCOME_SCHEMA.to_owned(),
            job_id,
            status,
            reason: Some(self.main.reason.into()),
            fault: status.fault(),
            retryable: false,
            message: Some(self.main.to_string()),
            hint: None,
            evidence: self.main.evidence(),
            exit_code: None,
            signal: None,
            stdout: nothing(),
            stderr: nothing(),
            artifacts: Vec::new(),
            skipped: Vec::new(),
            limits: None,
            warnings: self.others.iter().map(warning).collect(),
            usage: Usage::default(),
            timing_us: TimingUs::default(),
            sandbox: None,
            worker,
            attempt: 1,
            redelivered: false,
            finished_unix_ms,
            trace_id: None,
            duplicate_of: None,
        }
    }
}

fn warning(refusal: &Refusal) -> Warning {
    Warning {
        code: "also_refused".to_owned(),
        message: refusal.message.clone(),
        pointer: Some(refusal.pointer.clone()),
    }
}
