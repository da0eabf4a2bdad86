//! What did a worker that died here leave, and who has to know?
//!
//! The jobs that were running are told to the fleet before anything is consumed, so that whoever
//! gets one of them again knows that a worker has died in it.

use crate::fault::chain;
use crate::journal::{Journal, JournalError};
use crate::report::answer::now_unix_ms;
use crate::store::StoreError;
use crate::store::ledger::{Crash, Ledger};
use crate::telemetry::event::Reaped;
use crate::telemetry::metric::{Metrics, Orphan};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Why what was left could not be told.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error("read what the last worker left")]
    Journal(#[source] JournalError),
    #[error("tell the store of a job that a worker died in")]
    Store(#[source] StoreError),
}

/// How often is looked for what lost runs left in the store; the first time a while after the start,
/// so that workers that restart often do not look all the time.
const SWEEP_EVERY: Duration = Duration::from_hours(24);
const SWEEP_FIRST: Duration = Duration::from_hours(1);

/// How long a worker that ends may take to tell what ran in it.
const TELL_MAX: Duration = Duration::from_secs(3);

/// Removes what runs left in the store that lost, from time to time, for ever.
pub(super) async fn sweep(ledger: Ledger, metrics: Arc<Metrics>) {
    let mut pause = SWEEP_FIRST;
    loop {
        tokio::time::sleep(pause).await;
        pause = SWEEP_EVERY;
        match ledger.sweep_runs().await {
            Ok(objects) => Reaped {
                kind: Orphan::Object,
                count: u64::try_from(objects).unwrap_or(u64::MAX),
            }
            .emit(&metrics),
            Err(error) => tracing::warn!(error = chain(&error), "the store could not be swept"),
        }
    }
}

/// Tells the fleet of every job that was running here; how many there were.
pub async fn recover(
    journal: &Journal,
    ledger: &Ledger,
    worker: &str,
) -> Result<usize, RecoveryError> {
    let notes = journal.left().map_err(RecoveryError::Journal)?;
    // One that was tried again a moment before may be there twice; it has died once.
    let mut told = BTreeSet::new();
    for note in &notes {
        if !told.insert(&note.job_id) {
            continue;
        }
        let result = ledger.result(&note.job_id).await;
        // It had its result by then: the death was not in it.
        if result.map_err(RecoveryError::Store)?.is_none() {
            let crash = Crash {
                worker: worker.to_owned(),
                run: note.run.clone(),
                started_unix_ms: note.began_unix_ms,
                found_unix_ms: now_unix_ms(),
            };
            ledger
                .crashed(&note.job_id, &crash)
                .await
                .map_err(RecoveryError::Store)?;
            tracing::warn!(job_id = %note.job_id, "a worker died while it ran this job");
        }
    }
    journal.told().map_err(RecoveryError::Journal)?;
    Ok(notes.len())
}

/// Every job that ran here has died with the warden: the fleet is told before another worker has one
/// of them, or else by the next start here.
pub(super) async fn tell_now(journal: &Journal, ledger: &Ledger, worker: &str) {
    journal.keep();
    match tokio::time::timeout(TELL_MAX, recover(journal, ledger, worker)).await {
        Ok(Ok(jobs)) => tracing::error!(jobs, "the warden is gone, and with it what ran"),
        Ok(Err(error)) => {
            let error = chain(&error);
            tracing::error!(error, "the warden is gone; the next start tells what ran");
        }
        Err(_) => tracing::error!("the warden is gone; the next start tells what ran"),
    }
}
