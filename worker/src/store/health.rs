//! Whether the store can be reached, from a failed request until a probe succeeds.
//!
//! ```text
//!          a request fails, or too little room
//!   Up ────────────────────────────────────────► Down
//!    ▲                                             │ each second
//!    └──────────── a probe succeeds ◄──────────────┘
//! ```

use super::StoreError;
use super::backend::{Backend, Durable, Rule};
use super::key;
use crate::fault::chain;
use crate::telemetry::metric::{Direction, Metrics};
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Room below which no new job is taken.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// How often is looked for room, at most: each look asks the file system three things.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often a store that is away is asked.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// How long a probe may take.
pub(super) const PROBE_MAX: Duration = Duration::from_secs(10);

/// The store with its health.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) backend: Backend,
    metrics: Arc<Metrics>,
    up: watch::Sender<bool>,
    free_bytes_min: u64,
    /// Whether a failure is followed up.
    watched: bool,
    /// When room was looked for last.
    looked: Mutex<Option<Instant>>,
}

impl Health {
    pub(super) fn new(backend: Backend, metrics: Arc<Metrics>) -> Arc<Self> {
        Self::with_floor(backend, metrics, FREE_BYTES_MIN)
    }

    pub(super) fn with_floor(
        backend: Backend,
        metrics: Arc<Metrics>,
        free_bytes_min: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            backend,
            metrics,
            up: watch::Sender::new(true),
            free_bytes_min,
            watched: true,
            looked: Mutex::default(),
        })
    }

    /// For somebody who asks once: nothing is probed, so nothing is written.
    pub(super) fn unwatched(backend: Backend, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            backend,
            metrics,
            up: watch::Sender::new(true),
            free_bytes_min: 0,
            watched: false,
            looked: Mutex::default(),
        })
    }

    pub(super) fn reachability(&self) -> watch::Receiver<bool> {
        self.up.subscribe()
    }

    /// Takes note of how a request ended.
    pub(super) fn note(
        self: &Arc<Self>,
        op: &'static str,
        began: Instant,
        failure: Option<&StoreError>,
    ) {
        self.metrics
            .store_request(op, failure.is_none(), began.elapsed());
        let failed = match failure {
            None if op == "get" || self.has_looked() => return,
            None => match self.room() {
                Ok(()) => return,
                Err(error) => chain(&error),
            },
            // Neither says anything about the store.
            Some(StoreError::Input { .. } | StoreError::Local { .. }) => return,
            Some(error) => chain(error),
        };
        self.down(&failed);
    }

    /// Counts what was sent, where it arrived.
    pub(super) fn sent<T>(&self, bytes: u64, done: &Result<T, StoreError>) {
        if done.is_ok() {
            self.metrics.store_bytes(Direction::In, bytes);
        }
    }

    /// Counts what was read.
    pub(super) fn received(&self, bytes: u64) {
        self.metrics.store_bytes(Direction::Out, bytes);
    }

    /// From here on the store is away, until a probe says otherwise.
    pub(super) fn down(self: &Arc<Self>, why: &str) {
        if !self.watched || !self.up.send_if_modified(|up| std::mem::replace(up, false)) {
            return;
        }
        tracing::warn!(error = why, "the store is away; no new job is taken");
        tokio::spawn(watch_until_up(Arc::downgrade(self)));
    }

    /// Writes and reads something small.
    pub(super) async fn probe(&self) -> Result<(), StoreError> {
        let failed = |op, error| StoreError::request(op, key::PROBE, error);
        self.room()?;
        let content: Arc<[u8]> = Arc::from(&b"{}\n"[..]);
        self.backend
            .put(key::PROBE, content, Rule::Replace, Durable::Now)
            .await
            .map_err(|error| failed("put", error))?;
        let found = self.backend.get(key::PROBE, 64).await;
        if found.map_err(|error| failed("get", error))?.is_none() {
            let lost = io::Error::other("what was just written is not there");
            return Err(failed("get", lost.into()));
        }
        Ok(())
    }

    /// Whether somebody has looked for room a moment ago; whoever is told otherwise is to look.
    fn has_looked(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = looked.is_some_and(|at| at.elapsed() < LOOK_EVERY);
        if !recent {
            *looked = Some(Instant::now());
        }
        recent
    }

    fn room(&self) -> Result<(), StoreError> {
        let free = self.backend.free_bytes();
        let wrong = match free {
            Ok(Some(free)) if free < self.free_bytes_min => {
                io::Error::from(io::ErrorKind::StorageFull)
            }
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        Err(StoreError::request(
            "find room for",
            key::PROBE,
            wrong.into(),
        ))
    }
}

/// Probes a store that is away until it is back, or until nobody uses it any more.
async fn watch_until_up(health: Weak<Health>) {
    let began = Instant::now();
    let mut every = tokio::time::interval(PROBE_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    every.tick().await;
    loop {
        every.tick().await;
        let Some(health) = health.upgrade() else {
            return;
        };
        match tokio::time::timeout(PROBE_MAX, health.probe()).await {
            Ok(Ok(())) => {
                let away_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                tracing::info!(away_ms, "the store is back");
                health.up.send_replace(true);
                return;
            }
            Ok(Err(error)) => tracing::debug!(error = chain(&error), "the store is still away"),
            Err(_) => tracing::debug!("the store does not answer"),
        }
    }
}
