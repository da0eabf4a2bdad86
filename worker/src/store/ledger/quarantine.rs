//! What was withheld: what there is of it, how it comes free or goes by an operator's act, and what
//! is written down of such an act.
//!
//! An act is on record before it is done. Where a file lies says what is in force: what an operator
//! let out is in `artifacts/` under the rest of its name, a stream in `logs/` under its own, and
//! outcomes stay as they were committed.

use super::Ledger;
use super::keep::TEXT;
use super::released::{RELEASED, WITHHELD};
use crate::store::backend::{Durable, Rule};
use crate::store::{StoreError, key};
use kiln_protocol::id::JobId;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::sync::Arc;
use std::time::SystemTime;

/// The name of this version of a record.
const SCHEMA: &str = "kiln.audit.v1";

/// One object in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    pub job: JobId,
    pub object: String,
    pub since: SystemTime,
}

/// What an operator does with something that was withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    Release,
    Purge,
}

/// The record of an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub schema: String,
    pub act: Act,
    pub job_id: JobId,
    /// What the job called it; null for a stream, and for what no outcome names.
    pub path: Option<String>,
    /// `stdout` or `stderr`; null for a file.
    #[serde(default)]
    pub stream: Option<String>,
    pub object: String,
    pub sha256: Option<String>,
    /// The verdicts of its job and of the day of the act.
    pub then: Option<String>,
    pub now: Option<String>,
    /// Whether an operator let it out against the verdict of that day.
    pub vouched: bool,
    pub reason: Option<String>,
    /// Who did it: a user of a host.
    pub uid: u32,
    pub host: String,
    pub at_unix_ms: u64,
}

impl Audit {
    /// The record of an act of this user, now.
    pub fn of(act: Act, job: &JobId, object: &str) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            act,
            job_id: job.clone(),
            path: None,
            stream: stream(object).map(str::to_owned),
            object: object.to_owned(),
            sha256: None,
            then: None,
            now: None,
            vouched: false,
            reason: None,
            uid: rustix::process::getuid().as_raw(),
            host: crate::config::Config::host_name(),
            at_unix_ms: crate::report::answer::now_unix_ms(),
        }
    }
}

/// Where a withheld object lies when it was let out.
pub fn let_out(object: &str) -> Option<String> {
    let rest = object.strip_prefix(WITHHELD)?;
    let stream = key::stream_let_out(rest).map(|(place, _)| place);
    Some(stream.unwrap_or_else(|| format!("{RELEASED}{rest}")))
}

/// Which stream a withheld object is, if it is one.
pub fn stream(object: &str) -> Option<&'static str> {
    let rest = object.strip_prefix(WITHHELD)?;
    key::stream_let_out(rest).map(|(_, name)| name)
}

/// Where a released object lies when it was taken back.
pub fn taken_back(object: &str) -> Option<String> {
    let rest = object.strip_prefix(RELEASED)?;
    Some(format!("{WITHHELD}{rest}"))
}

impl Ledger {
    /// What lies in quarantine, of one job or of all, the oldest first.
    pub async fn withheld(&self, job: Option<&JobId>) -> Result<Vec<Withheld>, StoreError> {
        let folder = match job {
            Some(id) => format!("{WITHHELD}{id}"),
            None => WITHHELD.trim_end_matches('/').to_owned(),
        };
        let mut entries = self.list(&folder).await?;
        entries.sort_by(|a, b| (a.modified, &a.key).cmp(&(b.modified, &b.key)));
        let held = entries.into_iter().filter_map(|entry| {
            let mut parts = entry.key.strip_prefix(WITHHELD)?.split('/');
            let job = parts.next()?.parse().ok()?;
            Some(Withheld {
                job,
                since: entry.modified,
                object: entry.key,
            })
        });
        Ok(held.collect())
    }

    /// What was withheld, of at most so many bytes; none where it is not there any more.
    pub async fn held(
        &self,
        object: &str,
        sha256: &str,
        bytes_max: u64,
    ) -> Result<Option<File>, StoreError> {
        self.there(WITHHELD, object, sha256, bytes_max).await
    }

    /// Lets a file or a stream out, on record. Gives where it lies then.
    pub async fn release(
        &self,
        audit: &Audit,
        file: Arc<File>,
        bytes: u64,
        media_type: &str,
    ) -> Result<String, StoreError> {
        let to = let_out(&audit.object).unwrap_or_else(|| audit.object.clone());
        self.record(audit).await?;
        let media_type = stream(&audit.object).map_or(media_type, |_| TEXT);
        self.upload(&to, &file, bytes, media_type).await?;
        self.delete(&audit.object).await?;
        Ok(to)
    }

    /// Removes what was withheld, on record.
    pub async fn purge(&self, audit: &Audit) -> Result<(), StoreError> {
        self.record(audit).await?;
        self.delete(&audit.object).await
    }

    /// What operators did with what a job made, the oldest first.
    pub async fn audits(&self, job: &JobId) -> Result<Vec<Audit>, StoreError> {
        let mut entries = self.list(&key::audits(job)).await?;
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        let mut audits = Vec::with_capacity(entries.len());
        for entry in entries {
            let Some(text) = self.get(&entry.key).await? else {
                continue;
            };
            let audit = serde_json::from_slice(&text);
            audits.push(audit.map_err(|source| StoreError::Document {
                key: entry.key,
                source,
            })?);
        }
        Ok(audits)
    }

    /// Whether an operator let these bytes out against their verdict.
    pub async fn is_vouched(
        &self,
        job: &JobId,
        object: &str,
        sha256: &str,
    ) -> Result<bool, StoreError> {
        let of_it = |audit: &Audit| {
            audit.vouched
                && audit.act == Act::Release
                && let_out(&audit.object).as_deref() == Some(object)
                && audit.sha256.as_deref() == Some(sha256)
        };
        Ok(self.audits(job).await?.iter().any(of_it))
    }

    async fn record(&self, audit: &Audit) -> Result<(), StoreError> {
        let text = serde_json::to_vec(audit).expect("texts and figures always serialise");
        let key = key::audit(&audit.job_id, audit.at_unix_ms);
        self.put(&key, &text.into(), Rule::Create, Durable::Now)
            .await
            .map(drop)
    }
}
