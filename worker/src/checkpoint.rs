//! Places where a test can have the worker die, stop or panic; nothing without the feature
//! `checkpoints`.
//!
//! `KILN_CHECKPOINT=<point>:<kill|stop|panic>:<part of the job's id>:<marker file>`: the first
//! process that reaches the point with such a job makes the marker and does it; while the marker
//! is there nobody does it again.

use kiln_protocol::id::JobId;

/// Where in the life of a job a worker may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Delivered,
    Journaled,
    Acquired,
    Staged,
    Started,
    Exited,
    Collected,
    Stored,
    Published,
    Confirmed,
    Acked,
    Cleaned,
}

/// A job has come this far.
#[cfg(not(feature = "checkpoints"))]
pub fn reach(_: Point, _: &JobId) {}

#[cfg(feature = "checkpoints")]
pub use armed::reach;

#[cfg(feature = "checkpoints")]
mod armed {
    use super::{JobId, Point};
    use std::fs::OpenOptions;

    /// A job has come this far.
    pub fn reach(point: Point, job: &JobId) {
        let Some(set) = std::env::var_os("KILN_CHECKPOINT") else {
            return;
        };
        let set = set.to_string_lossy();
        let mut parts = set.splitn(4, ':');
        let (Some(name), Some(how), Some(id), Some(marker)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return;
        };
        if !format!("{point:?}").eq_ignore_ascii_case(name) || !job.as_str().contains(id) {
            return;
        }
        if OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(marker)
            .is_err()
        {
            return;
        }
        let signal = match how {
            "kill" => rustix::process::Signal::KILL,
            "stop" => rustix::process::Signal::STOP,
            _ => panic!("asked for at the checkpoint {point:?}"),
        };
        rustix::process::kill_process(rustix::process::getpid(), signal)
            .expect("a process may signal itself");
        // This thread may run on for a moment before the signal takes hold.
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
}
