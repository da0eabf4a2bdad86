//! What is a job, once it has been found to be one?

use crate::digest::sha256_hex;
use crate::document::JobDocument;
use crate::id::{JobId, Tenant};
use crate::limits::LimitRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of this version of the job message.
pub const JOB_SCHEMA: &str = "kiln.job.v1";

/// What runs.
#[derive(Clone, PartialEq, Eq)]
pub enum Payload {
    /// The text of the profile's main file.
    Code(String),
    /// The program and its arguments; never empty, and the program's name neither.
    Command(Vec<String>),
}

/// A file that is put into the job's folder before it starts.
#[derive(Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Relative to the job's folder: no empty part, no `.`, no `..`, no NUL.
    pub path: String,
    /// What is in it.
    pub content: Content,
    /// Belongs to another uid, so that the job cannot change it.
    pub read_only: bool,
    /// Mode 0755, else 0644.
    pub executable: bool,
}

/// What is in an input file.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes themselves.
    Bytes(Vec<u8>),
    /// An object of the store, below `inputs/<tenant>/`.
    Object {
        /// Its key.
        key: String,
        /// What its bytes must hash to: 64 lower-case hex digits.
        sha256: String,
    },
}

/// Which queue a job belongs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Somebody waits for the answer.
    #[default]
    Interactive,
    /// Nobody does.
    Batch,
}

impl Class {
    /// Every class, each of which has a queue.
    pub const ALL: [Self; 2] = [Self::Interactive, Self::Batch];

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Batch => "batch",
        }
    }
}

/// How far apart two jobs are kept; the greater is the stronger.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// A fresh cell in a sandbox that may have served others.
    Standard,
    /// A sandbox that no other job sees, before or after.
    Strict,
}

impl Isolation {
    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

/// A job that was found to be one: [`crate::decode::decode`] is the only way to it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// The profile it runs in; known to whoever admitted it.
    pub profile: String,
    /// What runs.
    pub payload: Payload,
    /// What lies in its folder.
    pub files: Vec<InputFile>,
    /// What follows the main file; empty with a command.
    pub args: Vec<String>,
    /// What it reads; empty where nothing was given.
    pub stdin: String,
    /// Variables beside the ones every job has.
    pub env: BTreeMap<String, String>,
    /// Globs of what is taken out; `None` is everything new or changed.
    pub artifacts: Option<Vec<String>>,
    /// What it asked for.
    pub limits: LimitRequest,
    /// Hosts it asks to reach, as `host:port`.
    pub network: Vec<String>,
    /// References to secrets by the name of their variable.
    pub secrets: BTreeMap<String, String>,
    /// What it asks for; `None` is the profile's.
    pub isolation: Option<Isolation>,
    /// For whom it runs.
    pub tenant: Tenant,
    /// Which queue it belongs in.
    pub class: Class,
    /// When its answer is of no more use.
    pub deadline_unix_ms: Option<u64>,
    /// Two jobs of one tenant with the same key run once.
    pub idempotency_key: Option<String>,
    /// Words of the client's own, given back nowhere and kept with the job.
    pub labels: BTreeMap<String, String>,
}

impl Job {
    /// The job as accepted, as JSON in one line; decoding it gives this job again.
    ///
    /// Files are text where they are UTF-8, base64 elsewhere; what was left out stays so, but for
    /// id, profile, tenant and class.
    ///
    /// # Panics
    ///
    /// Never: what it holds always serialises.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&JobDocument::from(self))
            .expect("strings, numbers and maps with string keys always serialise")
    }

    /// The sha256 of [`Job::to_json`]: whether two jobs are the same.
    pub fn sha256(&self) -> String {
        sha256_hex(self.to_json().as_bytes())
    }
}

/// Says which job it is, and nothing of what is in it.
impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("id", &self.id)
            .field("profile", &self.profile)
            .field("payload", &self.payload)
            .field("files", &self.files)
            .field("tenant", &self.tenant)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(text) => write!(f, "Code({} bytes)", text.len()),
            Self::Command(argv) => write!(f, "Command({} words)", argv.len()),
        }
    }
}

impl std::fmt::Debug for InputFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {:?}", self.path, self.content)
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Object { sha256, .. } => write!(f, "object {sha256}"),
        }
    }
}
