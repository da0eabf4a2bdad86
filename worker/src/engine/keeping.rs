//! Where one job's outcome, streams and artifacts go: a folder for people, or the fleet's ledger.

use super::outcome;
use super::types::{Finished, Place};
use crate::execute::ExecuteError;
use crate::fault::{Fault, chain};
use crate::screen::Cleared;
use crate::stages::Stages;
use crate::store::StoreError;
use crate::store::folder::{Folder, Kept};
use crate::store::ledger::{Committed, Ledger, Run};
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::{Outcome, Reason};
use std::path::Path;
use std::sync::Arc;

/// The place of one job, open.
#[derive(Debug)]
pub(super) enum Keeping {
    Folder(Folder),
    Ledger { ledger: Ledger, run: Run },
}

impl Keeping {
    pub(super) fn open(place: &Place, id: &JobId) -> Result<Self, StoreError> {
        Ok(match place {
            Place::Folder(path) | Place::Replay { folder: path, .. } => {
                Self::Folder(Folder::open(path)?)
            }
            Place::Ledger(ledger) => Self::Ledger {
                run: Run::new(id),
                ledger: ledger.clone(),
            },
        })
    }

    /// A job of a queue whose cell broke is tried again; who runs one by hand is told, and sees what
    /// it printed.
    pub(super) fn worth_keeping(&self, outcome: &Outcome) -> Result<(), Fault> {
        if outcome.reason != Some(Reason::Sandbox) || self.is_folder() {
            return Ok(());
        }
        let evidence = serde_json::Value::from(outcome.evidence.clone());
        tracing::warn!(job_id = %outcome.job_id, %evidence, "a cell broke");
        Err(Fault::Wait(ExecuteError::CellBroken))
    }

    /// Whether it is for people, who have one try.
    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// The folder that large artifacts are copied to, without a name.
    pub(super) fn spool(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder.path(),
            Self::Ledger { ledger, .. } => ledger.spool(),
        }
    }

    /// Keeps what the gate has let through. A folder that fails is told of; a ledger that fails
    /// is waited for.
    pub(super) async fn keep(&self, cleared: Cleared) -> (Kept, Option<StoreError>) {
        match self {
            // Local files: the page cache takes them; there is no one to yield to for long.
            Self::Folder(folder) => folder.keep(cleared),
            Self::Ledger { ledger, run } => ledger.keep(run, cleared).await,
        }
    }

    /// Makes the outcome the visible one, or finds the one that is.
    pub(super) async fn commit(&self, outcome: Outcome) -> Result<Finished, Fault> {
        let (ledger, run) = match self {
            Self::Folder(folder) => return Ok(in_folder(folder, outcome)),
            Self::Ledger { ledger, run } => (ledger, run),
        };
        let document: Arc<[u8]> = outcome.to_json().into_bytes().into();
        let committed = ledger.commit_run(run, Arc::clone(&document)).await;
        let theirs = match committed.map_err(Fault::Commit)? {
            Committed::Ours => {
                return Ok(Finished {
                    outcome,
                    document,
                    ours: true,
                    stages: Stages::default(),
                });
            }
            Committed::Theirs(theirs) => theirs,
        };
        let outcome = serde_json::from_slice(&theirs).map_err(|source| {
            Fault::Commit(StoreError::Document {
                key: run.result_key(),
                source,
            })
        })?;
        Ok(Finished {
            outcome,
            document: theirs,
            ours: false,
            stages: Stages::default(),
        })
    }
}

/// Nobody would hear of a job whose outcome is only in a folder that cannot take it.
fn in_folder(folder: &Folder, outcome: Outcome) -> Finished {
    let outcome = match folder.commit(&outcome) {
        Ok(()) => outcome,
        Err(error) => outcome::unkept(outcome, &chain(&error)),
    };
    Finished {
        document: outcome.to_json().into_bytes().into(),
        outcome,
        ours: true,
        stages: Stages::default(),
    }
}
