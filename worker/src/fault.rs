//! What can go wrong with us, by the step that failed. A program's own failure is never here.

use crate::collect::CollectError;
use crate::execute::ExecuteError;
use crate::pool::LeaseError;
use crate::store::StoreError;

/// Our failure. Each names the step; the step's own error is its source.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// What admission should have refused.
    #[error("take the job: {0}")]
    Admit(String),
    #[error("lease a sandbox")]
    Lease(#[source] LeaseError),
    #[error("start the job")]
    Start(#[source] ExecuteError),
    #[error("see the job to its end")]
    Wait(#[source] ExecuteError),
    #[error("collect what the job made")]
    Collect(#[source] CollectError),
    #[error("keep what the job made")]
    Keep(#[source] StoreError),
    #[error("commit the outcome")]
    Commit(#[source] StoreError),
}

impl Fault {
    /// The chain of causes in one line, from the step to the kernel's word.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// The chain of an error's causes in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
