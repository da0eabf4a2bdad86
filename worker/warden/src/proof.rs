//! What the warden proves about sandboxes, from the host's side.
//!
//! - [`process`], [`status`]: what one process is
//! - [`placed`]: whether a new cell is what it must be
//! - [`manifest`]: what a keeper is
//! - [`locked`]: whether a keeper has locked itself down
//! - [`network`]: whether a cell's network may serve the next one
//! - [`clean`]: whether anything is left of a job

pub(crate) mod clean;
pub(crate) mod locked;
pub(crate) mod manifest;
pub(crate) mod network;
pub(crate) mod placed;
pub(crate) mod process;
pub(crate) mod status;

use kiln_keeper::guard::{Guard, off};
use std::fmt::Debug;

/// What is not as it must be.
#[derive(Debug, thiserror::Error)]
#[error("prove `{what}`: wanted `{wanted}`, found `{found}`")]
pub(crate) struct Differs {
    what: &'static str,
    wanted: String,
    found: String,
}

impl Differs {
    fn new(what: &'static str, wanted: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            what,
            wanted: wanted.into(),
            found: found.into(),
        }
    }
}

/// Fails where the two are not equal.
fn same<W, F>(what: &'static str, wanted: &W, found: &F) -> Result<(), Differs>
where
    W: PartialEq<F> + Debug + ?Sized,
    F: Debug + ?Sized,
{
    if wanted == found || off(Guard::Proof) {
        return Ok(());
    }
    Err(Differs::new(
        what,
        format!("{wanted:?}"),
        format!("{found:?}"),
    ))
}
