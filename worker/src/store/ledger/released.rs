//! What was let out once, looked at again: which results there are, and how a file is taken back.

use super::Ledger;
use super::keep::ANY;
use crate::store::StoreError;
use kiln_protocol::id::JobId;
use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

/// Where what was let out lies, and what was not.
pub(super) const RELEASED: &str = "artifacts/";
pub(super) const WITHHELD: &str = "quarantine/";
/// Where streams that were let out lie.
const STREAMS: &str = "logs/";

impl Ledger {
    /// The jobs with a result, the newest first.
    pub async fn answered(&self) -> Result<Vec<JobId>, StoreError> {
        let mut entries = self.list("results").await?;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.modified));
        let ids = entries.iter().filter_map(|entry| {
            let name = entry.key.strip_prefix("results/")?;
            name.strip_suffix(".json")?.parse().ok()
        });
        Ok(ids.collect())
    }

    /// Everything of a job that lies where what was let out does.
    pub async fn out(&self, job: &JobId) -> Result<BTreeSet<String>, StoreError> {
        let mut out = BTreeSet::new();
        for folder in [RELEASED, STREAMS] {
            let entries = self.list(&format!("{folder}{job}")).await?;
            out.extend(entries.into_iter().map(|entry| entry.key));
        }
        Ok(out)
    }

    /// A file that was let out; none where it is not there any more.
    pub async fn released(
        &self,
        object: &str,
        sha256: &str,
        bytes: u64,
    ) -> Result<Option<File>, StoreError> {
        self.there(RELEASED, object, sha256, bytes).await
    }

    /// A file below one of the two; none where it is not there.
    pub(super) async fn there(
        &self,
        below: &str,
        object: &str,
        sha256: &str,
        bytes: u64,
    ) -> Result<Option<File>, StoreError> {
        if !object.starts_with(below) {
            return Ok(None);
        }
        match self.fetch(object, sha256, bytes).await {
            Ok(file) => Ok(Some(file)),
            Err(error) => match error.input_problem() {
                Some(crate::store::InputProblem::Absent) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Takes a file back: it lies in quarantine before it is gone from where it was. Gives where.
    pub async fn take_back(
        &self,
        object: &str,
        file: Arc<File>,
        bytes: u64,
    ) -> Result<String, StoreError> {
        let rest = object.strip_prefix(RELEASED).unwrap_or(object);
        let held = format!("{WITHHELD}{rest}");
        self.upload(&held, &file, bytes, ANY).await?;
        self.delete(object).await?;
        Ok(held)
    }
}
