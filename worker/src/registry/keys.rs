//! Under which key is what? All share one hash tag, so that a cluster keeps them on one node.

use kiln_protocol::id::JobId;

/// What the last epoch was.
pub(super) const EPOCH: &str = "{kiln}:epoch";
/// When each worker was heard of last.
pub(super) const WORKERS: &str = "{kiln}:workers";
/// The epoch of each worker's present life.
pub(super) const EPOCHS: &str = "{kiln}:epochs";
/// What happened, of late.
pub(super) const EVENTS: &str = "{kiln}:events";

pub(super) fn worker(name: &str) -> String {
    format!("{{kiln}}:worker:{name}")
}

/// What each sandbox of a worker does.
pub(super) fn sandboxes(name: &str) -> String {
    format!("{{kiln}}:sandboxes:{name}")
}

/// Sandboxes of a worker that retired of late: their ids do not come back.
pub(super) fn gone(name: &str) -> String {
    format!("{{kiln}}:gone:{name}")
}

pub(super) fn job(id: &JobId) -> String {
    format!("{{kiln}}:job:{id}")
}

pub(super) fn cancel(id: &JobId) -> String {
    format!("{{kiln}}:cancel:{id}")
}

/// What is removed with a worker, in the order in which the scripts want it.
pub(super) fn whole(name: &str) -> Vec<String> {
    vec![
        WORKERS.to_owned(),
        EPOCHS.to_owned(),
        worker(name),
        sandboxes(name),
        gone(name),
        EVENTS.to_owned(),
    ]
}
