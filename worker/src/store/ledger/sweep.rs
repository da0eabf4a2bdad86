//! What runs left whose outcome never became the visible one.

use super::Ledger;
use crate::store::{StoreError, key};
use kiln_protocol::id::JobId;
use std::time::{Duration, SystemTime};

/// How long a run may be on its way: longer than any job with all its retries.
const RUN_AGE_MAX: Duration = Duration::from_hours(7 * 24);

impl Ledger {
    /// Removes logs and artifacts of runs older than 7 days that no outcome names; gives how many
    /// objects went.
    pub async fn sweep_runs(&self) -> Result<usize, StoreError> {
        self.sweep_older_than(RUN_AGE_MAX).await
    }

    pub(super) async fn sweep_older_than(&self, age_max: Duration) -> Result<usize, StoreError> {
        let now = SystemTime::now();
        let mut removed = 0;
        for folder in key::RUNS {
            let mut last: Option<(JobId, String)> = None;
            let mut entries = self.list(folder).await?;
            entries.sort_by(|a, b| a.key.cmp(&b.key));
            for entry in entries {
                let old = now
                    .duration_since(entry.modified)
                    .is_ok_and(|age| age >= age_max);
                let mut parts = entry.key.split('/').skip(1);
                let (Some(id), Some(run)) = (parts.next(), parts.next()) else {
                    continue;
                };
                let Ok(id) = id.parse::<JobId>() else {
                    continue;
                };
                if !old {
                    continue;
                }
                let outcome = match last.take() {
                    Some((known, outcome)) if known == id => outcome,
                    _ => {
                        let outcome = self.result(&id).await?.unwrap_or_default();
                        String::from_utf8_lossy(&outcome).into_owned()
                    }
                };
                // The token is random: where the outcome has it, the run is the outcome's.
                let named = outcome.contains(run);
                last = Some((id, outcome));
                if !named {
                    self.delete(&entry.key).await?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}
