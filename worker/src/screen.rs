//! The gate between the sandbox and the store.
//!
//! [`Cleared`] has no public constructor: the only way to hold one is to have passed [`screen`],
//! and the store accepts nothing else.
//!
//! ```compile_fail,E0308
//! # use kiln::{screen::{Cleared, Outputs}, store::folder::Folder};
//! async fn wrong(store: &Folder, raw: Outputs) {
//!     let cleared: Cleared = raw;
//! }
//! ```
//!
//! The scanner is not there yet, so the gate's only word is `unscanned`: everything passes, and
//! every artifact and the summary say that nobody has looked.

use crate::collect::RawFile;
use crate::execute::Captured;
use artifact_scanner::Verdict;
use kiln_protocol::outcome::Skipped;

/// What left the sandbox. Nothing in this process looks inside it.
#[derive(Debug)]
pub struct Outputs {
    pub stdout: Captured,
    pub stderr: Captured,
    pub files: Vec<RawFile>,
    pub skipped: Vec<Skipped>,
}

/// Outputs that the gate has given its word on.
#[derive(Debug)]
pub struct Cleared {
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) files: Vec<(RawFile, Verdict)>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Gives a verdict on everything that came out.
#[must_use]
pub fn screen(outputs: Outputs) -> Cleared {
    let Outputs {
        stdout,
        stderr,
        files,
        skipped,
    } = outputs;
    let files = files
        .into_iter()
        .map(|file| (file, Verdict::Unscanned))
        .collect();
    Cleared {
        stdout,
        stderr,
        files,
        skipped,
    }
}
