//! What can go wrong with us, by the step that failed. A program's own failure is never here.

use crate::collect::CollectError;
use crate::execute::ExecuteError;
use crate::journal::JournalError;
use crate::pool::LeaseError;
use crate::screen::ScreenError;
use crate::secrets::SecretError;
use crate::store::StoreError;
use crate::telemetry::metric::Step;

pub use kiln_warden::chain;

/// Our failure. Each names the step; the step's own error is its source.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// What admission should have refused.
    #[error("take the job: {0}")]
    Admit(String),
    #[error("remember that the job runs")]
    Journal(#[source] JournalError),
    #[error("fetch the job's inputs")]
    Fetch(#[source] StoreError),
    #[error("read what the job refers to")]
    Secrets(#[source] SecretError),
    #[error("lease a sandbox")]
    Lease(#[source] LeaseError),
    #[error("start the job")]
    Start(#[source] ExecuteError),
    #[error("see the job to its end")]
    Wait(#[source] ExecuteError),
    #[error("collect what the job made")]
    Collect(#[source] CollectError),
    #[error("scan what the job made")]
    Screen(#[source] ScreenError),
    #[error("keep what the job made")]
    Keep(#[source] StoreError),
    #[error("commit the outcome")]
    Commit(#[source] StoreError),
}

impl Fault {
    /// The step that failed.
    pub fn step(&self) -> Step {
        match self {
            Self::Admit(_) => Step::Admit,
            Self::Journal(_) => Step::Journal,
            Self::Fetch(_) => Step::Fetch,
            Self::Secrets(_) => Step::Secrets,
            Self::Lease(_) => Step::Lease,
            Self::Start(_) => Step::Start,
            Self::Wait(_) => Step::Wait,
            Self::Collect(_) => Step::Collect,
            Self::Screen(_) => Step::Screen,
            Self::Keep(_) => Step::Keep,
            Self::Commit(_) => Step::Commit,
        }
    }
}
