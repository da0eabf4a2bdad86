//! How patient are the tasks that keep the connections?

use std::time::Duration;

/// How patient the tasks are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Between two attempts, at most.
    pub(super) backoff_max: Duration,
    /// Between two canaries.
    pub(super) canary_every: Duration,
    /// Between two looks at how long the queues are.
    pub(super) depth_every: Duration,
    /// How long a canary may be under way.
    pub(super) canary_max: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            // Below the 5 s within which jobs are to be taken again once the broker is back.
            backoff_max: Duration::from_secs(4),
            canary_every: Duration::from_secs(30),
            depth_every: Duration::from_secs(10),
            canary_max: Duration::from_secs(10),
        }
    }
}
