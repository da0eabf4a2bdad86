//! What has happened that an operator should hear of? One struct for each happening: its `emit`
//! writes the log and the figure, so that the two cannot disagree.

use super::metric::{DeadReason, Metrics, Orphan, Role, Step};
use kiln_warden::wire::SandboxId;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A connection to the broker stands, or does no longer.
#[derive(Debug)]
pub(crate) struct Connected(pub(crate) Role, pub(crate) bool);

impl Connected {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self(role, up) = self;
        metrics.connected(role, up);
        tracing::debug!(role = role.as_str(), up, "connection to the broker");
    }
}

/// A connection to the broker is in doubt, and is made again.
#[derive(Debug)]
pub(crate) struct Rebuilt<'a> {
    /// What it is for.
    pub(crate) connection: &'static str,
    pub(crate) why: &'a str,
}

impl Rebuilt<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self { connection, why } = self;
        metrics.names.reconnects.inc();
        tracing::warn!(connection, why, "a connection to the broker is rebuilt");
    }
}

/// The broker takes no messages for now, or takes them again.
#[derive(Debug)]
pub(crate) struct Blocked(pub(crate) bool);

impl Blocked {
    pub(crate) fn emit(self, metrics: &Metrics) {
        metrics.blocked(self.0);
        if self.0 {
            tracing::warn!("the broker takes no messages for now");
        } else {
            tracing::info!("the broker takes messages again");
        }
    }
}

/// No queue takes a message, which fails nothing: the outcome is stored.
#[derive(Debug)]
pub(crate) struct Returned<'a> {
    /// Whose outcome it is, where that is known.
    pub(crate) job_id: &'a str,
    pub(crate) why: &'a str,
}

impl Returned<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self { job_id, why } = self;
        metrics.names.returned.inc();
        tracing::warn!(job_id, why, "an outcome is taken by no queue; it is stored");
    }
}

/// Nobody is bound to where a message went; that is for them to know.
#[derive(Debug)]
pub(crate) struct Unheard<'a> {
    pub(crate) exchange: &'a str,
}

impl Unheard<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        metrics.names.returned.inc();
        tracing::debug!(exchange = self.exchange, "a message reached no queue");
    }
}

/// A message was given up on.
#[derive(Debug)]
pub(crate) struct DeadLettered<'a> {
    pub(crate) reason: DeadReason,
    pub(crate) detail: &'a str,
}

impl DeadLettered<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self { reason, detail } = self;
        let reason = reason.as_str();
        metrics.recent.dead_lettered(reason);
        metrics
            .names
            .dead_lettered
            .with_label_values(&[reason])
            .inc();
        tracing::warn!(reason, detail, "dead letter");
    }
}

/// We failed a job; it is tried again, or answered in the end.
#[derive(Debug)]
pub(crate) struct Faulted<'a> {
    pub(crate) job_id: &'a str,
    pub(crate) step: Step,
    pub(crate) why: &'a str,
    /// How often it had been tried again before.
    pub(crate) retries: u32,
}

impl Faulted<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self {
            job_id,
            step,
            why,
            retries,
        } = self;
        if step != Step::Crash {
            // The job of a crash has its answer.
            metrics.recent.retried(step.as_str());
        }
        let step = step.as_str();
        metrics.names.faults.with_label_values(&[step]).inc();
        tracing::warn!(job_id, step, why, retries, "our own failure");
    }
}

/// A task ended by a bug of ours.
#[derive(Debug)]
pub(crate) struct Panicked<'a> {
    /// The job it was about, where that is known.
    pub(crate) job_id: &'a str,
    pub(crate) what: &'a str,
}

impl Panicked<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self { job_id, what } = self;
        metrics.names.panics.inc();
        tracing::error!(job_id, what, "a bug of ours: a task panicked");
    }
}

/// The worker takes nothing new, and ends when what runs has ended.
#[derive(Debug)]
pub(crate) struct DrainBegan {
    pub(crate) running: usize,
    pub(crate) grace: Duration,
}

impl DrainBegan {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let none: [&str; 0] = [];
        let started = metrics.names.drain_started.with_label_values(&none);
        started.set(now.unwrap_or_default().as_secs_f64());
        let grace_ms = u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(running = self.running, grace_ms, "draining");
    }
}

/// The other engine that looks at files was asked whether it is there.
#[derive(Debug)]
pub(crate) struct Engine<'a> {
    /// Why it does not answer, where it does not.
    pub(crate) why: Option<&'a str>,
    /// Whether it was otherwise before.
    pub(crate) changed: bool,
}

impl Engine<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self { why, changed } = self;
        metrics.clamd_up(why.is_none());
        match why {
            _ if !changed => {}
            None => tracing::info!("clamd answers"),
            Some(why) => tracing::warn!(why, "clamd does not answer: all files are withheld"),
        }
    }
}

/// What somebody dead had left was removed.
#[derive(Debug)]
pub(crate) struct Reaped {
    pub(crate) kind: Orphan,
    pub(crate) count: u64,
}

impl Reaped {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self { kind, count } = self;
        let kind = kind.as_str();
        metrics
            .names
            .orphans
            .with_label_values(&[kind])
            .inc_by(count);
        if count > 0 {
            tracing::info!(kind, count, "what the dead had left was removed");
        }
    }
}

/// A sandbox was made ahead of need, or for a job.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) took: Duration,
}

impl Made {
    pub(crate) fn emit(self, metrics: &Metrics) {
        metrics.names.pool_refill.observe(self.took.as_secs_f64());
        let took_us = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX);
        tracing::trace!(took_us, "a sandbox was made");
    }
}

/// A sandbox could not be made.
#[derive(Debug)]
pub(crate) struct NotMade<'a> {
    pub(crate) profile: &'a str,
    pub(crate) why: &'a str,
}

impl NotMade<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        let Self { profile, why } = self;
        metrics.names.pool_refill_failures.inc();
        tracing::warn!(profile, why, "a sandbox could not be made");
    }
}

/// A sandbox was taken down, whole or not. It is logged where nothing is counted too, so the two
/// halves are apart here.
#[derive(Debug)]
pub struct TakenDown<'a> {
    pub sandbox: SandboxId,
    pub took: Duration,
    /// What is left of it, where something is or may be.
    pub left: Option<&'a str>,
}

impl TakenDown<'_> {
    pub(crate) fn log(&self) {
        let Self { sandbox, left, .. } = self;
        if let Some(left) = left {
            tracing::error!(%sandbox, left, "something of a retired sandbox is left");
        }
    }

    pub(crate) fn count(&self, metrics: &Metrics) {
        metrics.names.cleanup.observe(self.took.as_secs_f64());
        let failed = u64::from(self.left.is_some());
        metrics.names.cleanup_failures.inc_by(failed);
    }
}

#[cfg(test)]
mod tests;
