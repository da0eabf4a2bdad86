//! What is known of a delivery beside its job: how often it came, and when.

use crate::intake::{Header, Properties};
use crate::report::answer::now_unix_ms;
use crate::telemetry::trace::Trace;
use std::time::Instant;

/// What one delivery was, beside its job.
pub(super) struct Context {
    pub(super) properties: Properties,
    pub(super) received: Instant,
    /// A token of this execution, for the journal and the fleet.
    pub(super) run: String,
    pub(super) began_unix_ms: u64,
    pub(super) trace: Trace,
}

impl Context {
    /// How often our own failure has been tried again.
    pub(super) fn retries(&self) -> u32 {
        match self.properties.headers.get("x-kiln-retries") {
            Some(Header::Integer(n)) => u32::try_from(*n).unwrap_or(0),
            _ => 0,
        }
    }

    /// The how-manieth start this is, as far as anybody knows.
    pub(super) fn attempt(&self, crashes: usize) -> u32 {
        let crashes = u32::try_from(crashes).unwrap_or(u32::MAX);
        self.retries().saturating_add(1).saturating_add(crashes)
    }

    /// How long the message waited: by its own timestamp, which has whole seconds, so at least so
    /// long; never less than what it waited here.
    pub(super) fn queue_wait_us(&self) -> Option<u64> {
        let here = u64::try_from(self.received.elapsed().as_micros()).unwrap_or(u64::MAX);
        let sent_by_ms = self
            .properties
            .timestamp_s?
            .checked_mul(1_000)?
            .checked_add(999)?;
        let wait_us = now_unix_ms()
            .saturating_sub(sent_by_ms)
            .saturating_mul(1_000);
        Some(wait_us.max(here))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_a_client_made_up_overflows_nothing() {
        let mut properties = Properties::default();
        let most = Header::Integer(i64::from(u32::MAX));
        properties.headers.insert("x-kiln-retries".to_owned(), most);
        let context = Context {
            properties,
            received: Instant::now(),
            run: "r".to_owned(),
            began_unix_ms: 0,
            trace: Trace::default(),
        };
        assert_eq!(context.attempt(1), u32::MAX);
    }
}
