//! What became of a job?

use crate::id::JobId;
use crate::job::Isolation;
use crate::limits::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::artifact::{
    ArtifactReport, ArtifactState, Finding, Serve, SkipReason, Skipped, Verdict,
};
pub use crate::reason::Reason;

/// The name of this version of the outcome message.
pub const OUTCOME_SCHEMA: &str = "kiln.outcome.v1";

/// What became of a job, in the order of the contract's fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "kiln.outcome.v1")]
pub struct Outcome {
    /// The version of the message.
    #[schemars(extend("const" = OUTCOME_SCHEMA))]
    pub schema: String,
    /// Whose outcome it is.
    pub job_id: JobId,
    /// What programs rely on.
    pub status: Status,
    /// What people read; null where the job succeeded. Clients accept unknown ones.
    pub reason: Option<Reason>,
    /// Who must act; follows from `status`.
    pub fault: Option<Fault>,
    /// Whether the same job may well end otherwise.
    pub retryable: bool,
    /// What happened; null only where the job succeeded.
    pub message: Option<String>,
    /// What would help, where it is known.
    pub hint: Option<String>,
    /// The figures that the reason rests on.
    pub evidence: serde_json::Map<String, serde_json::Value>,
    /// Null where `signal` is set, or where the program did not end by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended the program, as `SIGKILL`.
    pub signal: Option<String>,
    /// What it wrote to standard output.
    pub stdout: StreamReport,
    /// What it wrote to standard error.
    pub stderr: StreamReport,
    /// What it made.
    pub artifacts: Vec<ArtifactReport>,
    /// What it made that was not taken.
    pub skipped: Vec<Skipped>,
    /// The limits in force; null where there was no job to limit.
    pub limits: Option<Limits>,
    /// What went by that somebody should know.
    pub warnings: Vec<Warning>,
    /// What it used.
    pub usage: Usage,
    /// How long each stage took.
    pub timing_us: TimingUs,
    /// Where it ran; null where it did not run.
    pub sandbox: Option<SandboxReport>,
    /// Who ran it.
    pub worker: String,
    /// The how-manieth start this was, from 1.
    pub attempt: u32,
    /// Whether the broker had delivered it before.
    pub redelivered: bool,
    /// When the outcome was made: milliseconds since 1970.
    pub finished_unix_ms: u64,
    /// Of the trace it belongs to.
    pub trace_id: Option<String>,
    /// The job that this outcome was copied from; absent for most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<JobId>,
}

impl Outcome {
    /// The outcome as JSON in one line.
    ///
    /// # Panics
    ///
    /// Never: what it holds always serialises.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .expect("strings, numbers and maps with string keys always serialise")
    }

    /// Everything in it that the contract says cannot be together.
    pub fn contradictions(&self) -> Vec<&'static str> {
        let succeeded = self.status == Status::Succeeded;
        [
            (self.schema != OUTCOME_SCHEMA, "another schema"),
            (
                self.fault != self.status.fault(),
                "a fault that is not the status's",
            ),
            (
                !succeeded && (self.message.is_none() || self.reason.is_none()),
                "a message or a reason is null, and it did not succeed",
            ),
            (
                self.exit_code.is_some() && self.signal.is_some(),
                "an exit code and a signal",
            ),
            (
                succeeded && self.exit_code != Some(0),
                "success without exit code 0",
            ),
            (
                self.artifacts.iter().any(|artifact| {
                    artifact.state == ArtifactState::Withheld && artifact.serve.is_some()
                }),
                "an artifact that is withheld and to be shown",
            ),
        ]
        .into_iter()
        .filter_map(|(wrong, what)| wrong.then_some(what))
        .collect()
    }
}

/// The end of a job, as programs tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Exit code 0.
    Succeeded,
    /// An exit code or a signal of its own.
    Failed,
    /// The wall or CPU time, or the deadline while it ran, ended it.
    TimedOut,
    /// Another limit ended it.
    LimitExceeded,
    /// It did what is not allowed.
    PolicyDenied,
    /// The client did not want it any more.
    Cancelled,
    /// The deadline passed before the start.
    Expired,
    /// It is no job.
    Rejected,
    /// Kiln failed.
    PlatformError,
}

impl Status {
    /// All of them, in the order of the contract.
    pub const ALL: [Self; 9] = [
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::LimitExceeded,
        Self::PolicyDenied,
        Self::Cancelled,
        Self::Expired,
        Self::Rejected,
        Self::PlatformError,
    ];

    /// Who must act; nobody for a success.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::Succeeded => None,
            Self::Failed | Self::Rejected => Some(Fault::User),
            Self::TimedOut | Self::LimitExceeded => Some(Fault::Limit),
            Self::PolicyDenied | Self::Expired | Self::Cancelled => Some(Fault::Policy),
            Self::PlatformError => Some(Fault::Platform),
        }
    }

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::LimitExceeded => "limit_exceeded",
            Self::PolicyDenied => "policy_denied",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
            Self::PlatformError => "platform_error",
        }
    }
}

/// Who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The program or the job is wrong.
    User,
    /// A limit is too low for it.
    Limit,
    /// It is not allowed, or not wanted any more.
    Policy,
    /// Kiln failed.
    Platform,
}

/// What a program wrote to one of its two streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReport {
    /// A preview of at most 64 KiB: head and tail with a marker line between, controls escaped.
    pub text: String,
    /// Whether `text` is less than was kept.
    pub text_truncated: bool,
    /// Whether bytes past the limit were dropped.
    pub truncated: bool,
    /// All that the program wrote.
    pub total_bytes: u64,
    /// Of the bytes that were kept.
    pub sha256: String,
    /// Where these are; null where there are none.
    pub object: Option<String>,
}

impl StreamReport {
    /// A stream with these kept bytes, of `total_bytes` written.
    pub fn new(kept: &[u8], total_bytes: u64, object: Option<String>) -> Self {
        let (text, text_truncated) = crate::preview::preview(kept);
        Self {
            text,
            text_truncated,
            truncated: total_bytes > kept.len() as u64,
            total_bytes,
            sha256: crate::digest::sha256_hex(kept),
            object,
        }
    }
}

impl StreamReport {
    /// A stream that is not given out: what stands in for it is shown, and the rest is told of the
    /// bytes that were kept.
    pub fn withheld(kept: &[u8], total_bytes: u64, shown: &[u8]) -> Self {
        let (text, text_truncated) = crate::preview::preview(shown);
        Self {
            text,
            text_truncated,
            ..Self::new(kept, total_bytes, None)
        }
    }
}

/// Something that somebody should know and that ended nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A word for programs, such as `unknown_field`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// JSON pointer into the job; null where it is not about a field.
    pub pointer: Option<String>,
}

/// What a job used; what is not known is null, never 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it, units included")]
pub struct Usage {
    pub wall_us: Option<u64>,
    pub cpu_user_us: Option<u64>,
    pub cpu_system_us: Option<u64>,
    pub memory_peak_bytes: Option<u64>,
    /// Whose figure the peak is, as `cgroup`.
    pub memory_peak_source: Option<String>,
    pub pids_peak: Option<u64>,
    pub disk_bytes: Option<u64>,
}

/// How long each stage took, in microseconds; null for a stage that was not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are the stages'")]
pub struct TimingUs {
    pub queue_wait: Option<u64>,
    pub acquire: Option<u64>,
    pub stage_in: Option<u64>,
    pub run: Option<u64>,
    pub collect: Option<u64>,
    pub scan: Option<u64>,
    /// Logs and artifacts.
    pub store: Option<u64>,
    /// Ends when the outcome is encoded.
    pub total: Option<u64>,
}

/// Where a job ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxReport {
    /// The sandbox, as `sbx-7`.
    pub id: String,
    /// Which of its cells.
    pub generation: u64,
    /// How many jobs it has run, this one included.
    pub uses: u64,
    /// Whether it was there before the job.
    pub start: Start,
    /// What was in force.
    pub isolation: Isolation,
    /// The image's digest, as `sha256:...`.
    pub image: String,
    /// The profile it was made for.
    pub profile: String,
}

/// Whether a sandbox was there before the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It was.
    Warm,
    /// The job waited while it was made.
    Cold,
}
