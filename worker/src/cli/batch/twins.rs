//! Which jobs of a batch are one job by their idempotency key, and what does the second answer?
//!
//! ```text
//!  first of a key ──► runs ──────────► ended
//!  second ──────────► waits for it ──► a copy of the first's outcome, without a run
//! ```

use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Job;
use kiln_protocol::outcome::{Outcome, Status};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Bytes that are read of an outcome that we wrote.
const OUTCOME_BYTES_MAX: u64 = 64 << 20;

/// What makes two jobs one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    tenant: Tenant,
    key: String,
}

impl Key {
    pub(super) fn of(job: &Job) -> Option<Self> {
        job.idempotency_key.clone().map(|key| Self {
            tenant: job.tenant.clone(),
            key,
        })
    }
}

/// The first jobs of each key.
#[derive(Debug, Default)]
pub(super) struct Twins {
    firsts: HashMap<Key, First>,
    running: HashMap<JobId, Key>,
}

#[derive(Debug)]
enum First {
    Running { waiting: Vec<JobId> },
    Ended(Ended),
}

/// A first job that has its outcome.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    /// It is in the job's folder.
    InFolder(JobId),
    /// It was never written to a folder.
    Held(Box<Outcome>),
}

/// What a job with a key is to do.
#[derive(Debug)]
pub(super) enum Meeting {
    /// Run: it is the first.
    Run,
    /// Wait: its id is remembered.
    Wait,
    /// Copy the outcome of the first.
    Copy(Ended),
}

impl Twins {
    /// A job is to start.
    pub(super) fn meet(&mut self, key: Key, id: &JobId) -> Meeting {
        match self.firsts.get_mut(&key) {
            Some(First::Running { waiting }) => {
                waiting.push(id.clone());
                Meeting::Wait
            }
            Some(First::Ended(ended)) => Meeting::Copy(ended.clone()),
            None => {
                self.running.insert(id.clone(), key.clone());
                let waiting = Vec::new();
                self.firsts.insert(key, First::Running { waiting });
                Meeting::Run
            }
        }
    }

    /// A job has its answer from an earlier run of the batch.
    pub(super) fn known(&mut self, key: Key, id: JobId) {
        let ended = First::Ended(Ended::InFolder(id));
        self.firsts.entry(key).or_insert(ended);
    }

    /// A job has ended; those that waited for it.
    pub(super) fn ended(&mut self, outcome: &Outcome) -> Vec<JobId> {
        let Some(key) = self.running.remove(&outcome.job_id) else {
            return Vec::new();
        };
        let ended = match outcome.status {
            Status::PlatformError | Status::Rejected => Ended::Held(Box::new(outcome.clone())),
            _ => Ended::InFolder(outcome.job_id.clone()),
        };
        match self.firsts.insert(key, First::Ended(ended)) {
            Some(First::Running { waiting }) => waiting,
            Some(First::Ended(_)) | None => Vec::new(),
        }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        let waits = |first: &First| match first {
            First::Running { waiting } => waiting.len(),
            First::Ended(_) => 0,
        };
        self.firsts.values().map(waits).sum()
    }
}

impl Ended {
    /// The id of the first job.
    pub(super) fn id(&self) -> &JobId {
        match self {
            Self::InFolder(id) => id,
            Self::Held(outcome) => &outcome.job_id,
        }
    }

    /// Its outcome; `out` holds the folders of all jobs.
    pub(super) fn outcome(&self, out: &Path) -> io::Result<Outcome> {
        match self {
            Self::Held(outcome) => Ok((**outcome).clone()),
            Self::InFolder(id) => {
                let file = File::open(out.join(id.as_str()).join("outcome.json"))?;
                let mut text = Vec::new();
                file.take(OUTCOME_BYTES_MAX).read_to_end(&mut text)?;
                Ok(serde_json::from_slice(&text)?)
            }
        }
    }
}

/// The outcome of a first job as that of another. What it made stays in the folder of the first,
/// beside that of the other.
pub(super) fn copy(first: &Outcome, id: JobId) -> Outcome {
    let mut outcome = first.clone();
    let made_by = first.job_id.clone();
    for object in [&mut outcome.stdout.object, &mut outcome.stderr.object]
        .into_iter()
        .chain(outcome.artifacts.iter_mut().map(|file| &mut file.object))
    {
        *object = object.take().map(|path| format!("../{made_by}/{path}"));
    }
    outcome.job_id = id;
    outcome.duplicate_of = Some(first.duplicate_of.clone().unwrap_or(made_by));
    outcome
}
