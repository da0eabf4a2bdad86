//! How fast is the record written, and how long is what kept?

use std::time::Duration;

/// The paces of the record; shorter ones are for tests.
#[derive(Clone, Copy, Debug)]
pub struct Tempo {
    /// Between two signs of life.
    pub beat: Duration,
    /// Without a sign of life for so long, a worker is marked.
    pub stale: Duration,
    /// Without one for so long, it is taken out.
    pub gone: Duration,
    /// A move is written this long after it at the latest.
    pub flush: Duration,
    /// The server answers within this, or is taken for away.
    pub response: Duration,
    /// A connection is ready within this, or is given up.
    pub connect: Duration,
    /// How often a server that is away is asked whether it is back.
    pub probe: Duration,
    /// A question about a claim is answered within this, or nobody knows.
    pub claim: Duration,
    /// How long a claim or its end is remembered without a renewal.
    pub claim_kept: Duration,
    /// How long a cancellation is remembered.
    pub cancel_kept: Duration,
    /// How long the last words may take.
    pub close: Duration,
}

impl Default for Tempo {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(5),
            stale: Duration::from_secs(15),
            gone: Duration::from_mins(1),
            flush: Duration::from_millis(50),
            response: Duration::from_millis(500),
            connect: Duration::from_secs(1),
            probe: Duration::from_secs(1),
            claim: Duration::from_millis(50),
            claim_kept: Duration::from_hours(1),
            cancel_kept: Duration::from_hours(7 * 24),
            close: Duration::from_secs(1),
        }
    }
}

/// Milliseconds, as the scripts take them.
pub(super) fn ms(duration: Duration) -> String {
    duration.as_millis().to_string()
}
