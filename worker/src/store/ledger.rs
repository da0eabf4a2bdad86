//! What a fleet of workers remembers of its jobs, in a store that all of them see.
//!
//! Every method answers with what the store said. Only [`Ledger::keep`] and [`Ledger::commit_run`]
//! wait for a store that fails: what a job made is not lost because the store is away.

mod input;
mod keep;
mod patience;
mod quarantine;
mod released;
mod sweep;
#[cfg(test)]
mod tests;

use super::backend::{Backend, Durable, Put, Rule};
use super::files::Files;
use super::health::{Health, PROBE_MAX};
use super::objects::Objects;
use super::{StoreError, key};
use crate::config;
use crate::fault::chain;
use crate::report::answer::now_unix_ms;
use crate::telemetry::metric::Metrics;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Job;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

pub use keep::Run;
pub use quarantine::{Act, Audit, Withheld, let_out, stream, taken_back};

/// The largest document of ours: an outcome with a thousand artifacts stays far below.
const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long a wish to cancel waits for its job.
const TOMBSTONE_AGE_MAX: Duration = Duration::from_hours(7 * 24);
/// How often a write may meet another that then vanishes, before that is an error.
const VANISHED_MAX: usize = 3;

/// The store of a fleet. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {
    health: Arc<Health>,
    /// The folder for large files without a name.
    spool: Arc<Path>,
}

/// What the store makes of a job that is to be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It was not known; it is now.
    New,
    /// It was known: the document of the job as it was accepted then.
    Known(Vec<u8>),
}

/// Whose outcome is the visible one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    Ours,
    /// Another was there first: its bytes.
    Theirs(Arc<[u8]>),
}

/// Whose an idempotency key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyHolder {
    Ours,
    Other(JobId),
}

/// A death of a worker while it ran a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    pub worker: String,
    /// The token of the start that the worker died in.
    pub run: String,
    pub started_unix_ms: u64,
    pub found_unix_ms: u64,
}

/// What is remembered of a job that is to be cancelled before anybody has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    pub job_id: JobId,
    pub tenant: Option<Tenant>,
    pub asked_unix_ms: u64,
}

/// What an idempotency key says.
#[derive(Debug, Serialize, Deserialize)]
struct Held {
    job_id: JobId,
}

impl Ledger {
    /// Opens the store. One that is away is waited for, by [`Self::reachable`]; one that cannot be
    /// right is an error of the configuration.
    pub async fn open(section: &config::Store, metrics: Arc<Metrics>) -> Result<Self, StoreError> {
        let (backend, spool) = backend(section)?;
        Self::with(Health::new(backend, metrics), spool).await
    }

    /// Opens the store to read from it alone: nothing is made there, and nothing asked yet.
    pub fn open_to_read(
        section: &config::Store,
        metrics: Arc<Metrics>,
    ) -> Result<Self, StoreError> {
        let backend = match section {
            config::Store::S3(section) => Backend::Objects(Objects::open(section)?),
            config::Store::Files(path) => {
                Backend::Files(Arc::new(Files::existing(path).map_err(folder(path))?))
            }
        };
        Ok(Self {
            health: Health::unwatched(backend, metrics),
            spool: std::env::temp_dir().into(),
        })
    }

    async fn with(health: Arc<Health>, spool: PathBuf) -> Result<Self, StoreError> {
        let ledger = Self {
            health,
            spool: spool.into(),
        };
        let Ok(probed) = tokio::time::timeout(PROBE_MAX, ledger.health.probe()).await else {
            ledger.health.down("it does not answer");
            return Ok(ledger);
        };
        if let Err(error) = probed {
            if error.is_configuration() {
                return Err(error);
            }
            ledger.health.down(&chain(&error));
        }
        Ok(ledger)
    }

    /// Commits by a log from here on, where the store is a folder: for somebody who commits much.
    #[must_use]
    pub async fn with_log(self) -> Self {
        if let Err(error) = self.health.backend.log_ahead().await {
            let error = StoreError::request("make the log", key::PROBE, error);
            tracing::warn!(error = chain(&error), "the store has no log");
        }
        self
    }

    /// Another folder for large files without a name, on their way to or from the store.
    #[must_use]
    pub fn with_spool(self, spool: &Path) -> Self {
        let spool = spool.into();
        Self { spool, ..self }
    }

    /// The folder for large files without a name.
    pub fn spool(&self) -> &Path {
        &self.spool
    }

    /// Whether the store took the last request and has room.
    pub fn reachable(&self) -> bool {
        *self.health.reachability().borrow()
    }

    /// Ends at the next change of [`Self::reachable`].
    pub async fn changed(&self) {
        // It cannot fail: the sender lives as long as we do.
        if self.health.reachability().changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The value of [`Self::reachable`] as it changes, for those who must not miss one.
    pub fn reachability(&self) -> watch::Receiver<bool> {
        self.health.reachability()
    }

    /// `jobs/<id>.json`, create-only. It is durable when the job's outcome is.
    pub async fn accept(&self, job: &Job) -> Result<Acceptance, StoreError> {
        let key = key::job(&job.id);
        let document: Arc<[u8]> = job.to_json().into_bytes().into();
        for _ in 0..VANISHED_MAX {
            let put = self.put(&key, &document, Rule::Create, Durable::Later);
            if put.await? == Put::Made {
                return Ok(Acceptance::New);
            }
            let Some(known) = self.get(&key).await? else {
                continue;
            };
            if is_whole(&known) {
                return Ok(Acceptance::Known(known));
            }
            // And so before anything came of the job.
            self.put(&key, &document, Rule::Replace, Durable::Later)
                .await?;
            return Ok(Acceptance::New);
        }
        Err(vanished(&key))
    }

    /// [`Self::accept`] and [`Self::result`] of a job at once.
    pub async fn meet(&self, job: &Job) -> Result<(Acceptance, Option<Arc<[u8]>>), StoreError> {
        let (key, result) = (key::job(&job.id), key::result(&job.id));
        let document = job.to_json().into_bytes().into();
        let other = (&*result, DOCUMENT_BYTES_MAX);
        let asked = self.health.backend.put_and_get(&key, document, other);
        match self.noted("put", &key, asked).await? {
            (Put::Made, None) => Ok((Acceptance::New, None)),
            (Put::Made, Some(_)) => Ok((Acceptance::New, self.result(&job.id).await?)),
            (Put::Exists, _) => Ok((self.accept(job).await?, self.result(&job.id).await?)),
        }
    }

    /// Takes back what [`Self::accept`] has made.
    pub async fn forget(&self, id: &JobId) -> Result<(), StoreError> {
        self.delete(&key::job(id)).await
    }

    /// `jobs/<id>.json`.
    pub async fn job(&self, id: &JobId) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(&key::job(id)).await
    }

    /// `results/<id>.json`. What is given is durable, whoever wrote it.
    pub async fn result(&self, id: &JobId) -> Result<Option<Arc<[u8]>>, StoreError> {
        let key = key::result(id);
        let found = self.get(&key).await?;
        let Some(found) = found.filter(|found| is_whole(found)) else {
            return Ok(None);
        };
        self.noted("sync", &key, self.health.backend.sync(&key))
            .await?;
        Ok(Some(found.into()))
    }

    /// `results/<id>.json`, create-only: the commit point. A commit whose answer was lost finds
    /// its own bytes the next time, and they are ours.
    pub async fn commit(&self, id: &JobId, outcome: Arc<[u8]>) -> Result<Committed, StoreError> {
        let (job, result) = (key::job(id), key::result(id));
        Ok(match self.put_new(&result, &outcome, Some(&job)).await? {
            None => Committed::Ours,
            Some(there) if *there == *outcome => Committed::Ours,
            Some(there) if is_whole(&there) => Committed::Theirs(there.into()),
            // And so before anybody was told of it.
            Some(_) => {
                self.put(&result, &outcome, Rule::Replace, Durable::Now)
                    .await?;
                Committed::Ours
            }
        })
    }

    /// `idempotency/<tenant>/<sha256 of the key>.json`, create-only.
    pub async fn hold_key(
        &self,
        tenant: &Tenant,
        key: &str,
        id: &JobId,
    ) -> Result<KeyHolder, StoreError> {
        let key = key::idempotency(tenant, key);
        let held = document(&Held { job_id: id.clone() }).into();
        let Some(there) = self.put_new(&key, &held, None).await? else {
            return Ok(KeyHolder::Ours);
        };
        match parsed(&key, &there) {
            Ok(Held { job_id }) if job_id != *id => Ok(KeyHolder::Other(job_id)),
            Ok(_) => Ok(KeyHolder::Ours),
            Err(error) => {
                // Whose it was nobody knows: waiting for it would hold the job for ever.
                tracing::warn!(
                    error = chain(&error),
                    "an idempotency key is not understood"
                );
                self.put(&key, &held, Rule::Replace, Durable::Now).await?;
                Ok(KeyHolder::Ours)
            }
        }
    }

    /// `crashes/<id>/<run>.json`; the same run twice is one crash.
    pub async fn crashed(&self, id: &JobId, crash: &Crash) -> Result<(), StoreError> {
        let key = key::crash(id, &crash.run).ok_or_else(|| StoreError::Token(crash.run.clone()))?;
        self.put(&key, &document(crash).into(), Rule::Create, Durable::Now)
            .await
            .map(drop)
    }

    /// All of `crashes/<id>/`.
    pub async fn crashes(&self, id: &JobId) -> Result<Vec<Crash>, StoreError> {
        let mut crashes = Vec::new();
        for entry in self.list(&key::crashes(id)).await? {
            let Some(bytes) = self.get(&entry.key).await? else {
                continue;
            };
            crashes.push(parsed(&entry.key, &bytes).unwrap_or_else(|error| {
                // A death that nobody understands is one all the same.
                tracing::warn!(error = chain(&error), "a worker's death is not understood");
                Crash {
                    worker: String::new(),
                    run: entry.key.clone(),
                    started_unix_ms: 0,
                    found_unix_ms: 0,
                }
            }));
        }
        Ok(crashes)
    }

    /// `cancel/<id>.json`, with `~<tenant>` after the id where one is named.
    pub async fn cancel(&self, tombstone: &Tombstone) -> Result<(), StoreError> {
        let key = key::cancel(&tombstone.job_id, tombstone.tenant.as_ref());
        let document = document(tombstone).into();
        self.put(&key, &document, Rule::Replace, Durable::Now)
            .await
            .map(drop)
    }

    /// All of `cancel/` that is younger than 7 days; what is older is removed.
    pub async fn cancelled(&self) -> Result<Vec<Tombstone>, StoreError> {
        let mut young = Vec::new();
        for entry in self.list("cancel").await? {
            let Some(bytes) = self.get(&entry.key).await? else {
                continue;
            };
            let tombstone: Tombstone = match parsed(&entry.key, &bytes) {
                Ok(tombstone) => tombstone,
                Err(error) => {
                    // One that nobody understands must not hide the others.
                    tracing::warn!(error = chain(&error), "a wish to cancel is not understood");
                    continue;
                }
            };
            let age_ms = now_unix_ms().saturating_sub(tombstone.asked_unix_ms);
            if Duration::from_millis(age_ms) < TOMBSTONE_AGE_MAX {
                young.push(tombstone);
            } else {
                self.delete(&entry.key).await?;
            }
        }
        Ok(young)
    }

    /// Asks the store for something small: whether it can be reached, read and written.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let began = Instant::now();
        let probed = self.health.probe().await;
        self.health.note("probe", began, probed.as_ref().err());
        probed
    }
}

fn backend(section: &config::Store) -> Result<(Backend, PathBuf), StoreError> {
    match section {
        config::Store::S3(section) => {
            let objects = Objects::open(section)?;
            Ok((Backend::Objects(objects), std::env::temp_dir()))
        }
        config::Store::Files(path) => {
            let files = Files::open(path).map_err(folder(path))?;
            let tmp = files.tmp();
            Ok((Backend::Files(Arc::new(files)), tmp))
        }
    }
}

fn folder(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    |source| StoreError::Open { path, source }
}

/// Whether a document is one: the machine may have died before it was durable.
fn is_whole(document: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(document).is_ok()
}

/// A document of ours as JSON.
fn document(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings, numbers and ids always serialise")
}

fn parsed<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|source| StoreError::Document {
        key: key.to_owned(),
        source,
    })
}

/// What a write met is gone when it is looked at.
fn vanished(key: &str) -> StoreError {
    let source = io::Error::other("something is there when it is written, and not when it is read");
    StoreError::request("put", key, source.into())
}
