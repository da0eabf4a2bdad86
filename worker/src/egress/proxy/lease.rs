//! One job's way out: its listener, what it may reach, and what it has used of that.
//!
//! The job is known by its listener, which only processes of its cell can reach; nothing that a
//! request says can make it another job's.

use super::Shared;
use super::connection;
use super::refusal::Refusal;
use crate::egress::allow::Grant;
use crate::egress::credential::Credential;
use crate::egress::pump::Budget;
use crate::egress::resolve::Unfit;
use crate::egress::tally::Decision;
use crate::egress::target::{Host, Target};
use crate::egress::wire::{Attempt, FromProxy, TARGET_BYTES_MAX};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Attempts of a job that are told one by one; more are only counted.
const TOLD_MAX: u32 = 256;
/// Connections beyond the job's number that are told so, at a time; more are just closed.
const TURNED_AWAY_MAX: usize = 16;
/// How long the listener rests where it cannot accept.
const REST: Duration = Duration::from_millis(50);

/// What a job may do, and has done.
pub(super) struct Lease {
    pub(super) id: u64,
    pub(super) grant: Grant,
    pub(super) credentials: Vec<Credential>,
    pub(super) connections: u32,
    pub(super) budget: Budget,
    pub(super) bytes: u64,
    pins: Mutex<BTreeMap<Host, Arc<[IpAddr]>>>,
    told: AtomicU32,
    untold: Mutex<BTreeMap<Decision, u64>>,
    events: mpsc::Sender<FromProxy>,
}

impl Lease {
    pub(super) fn new(
        (id, grant): (u64, Grant),
        credentials: Vec<Credential>,
        (connections, bytes): (u32, u64),
        events: mpsc::Sender<FromProxy>,
    ) -> Self {
        Self {
            id,
            grant,
            credentials,
            connections,
            budget: Budget::new(bytes),
            bytes,
            pins: Mutex::default(),
            told: AtomicU32::new(0),
            untold: Mutex::default(),
            events,
        }
    }

    /// The addresses of a host: those it had when it was first asked for, as long as one of them
    /// answers.
    pub(super) async fn addresses(
        &self,
        shared: &Shared,
        host: &Host,
    ) -> Result<Arc<[IpAddr]>, Unfit> {
        if let Some(pinned) = lock(&self.pins).get(host) {
            return Ok(Arc::clone(pinned));
        }
        let found = shared.resolver.addresses(host).await?;
        Ok(Arc::clone(
            lock(&self.pins).entry(host.clone()).or_insert(found),
        ))
    }

    /// None of a host's addresses answers: it is asked for again.
    pub(super) fn unpin(&self, host: &Host) {
        lock(&self.pins).remove(host);
    }

    pub(super) fn allowed(&self, target: &Target) {
        self.tell(&target.to_string(), Decision::Allowed, String::new());
    }

    /// Tells of a refusal; `target` is what was asked for, where that is known.
    pub(super) fn refused(&self, target: Option<&Target>, refusal: &Refusal<'_>) {
        let target = target.map(ToString::to_string).unwrap_or_default();
        self.tell(&target, refusal.decision(), refusal.detail());
    }

    fn tell(&self, target: &str, decision: Decision, why: String) {
        let mut target = target.to_owned();
        // A target is ASCII.
        target.truncate(TARGET_BYTES_MAX);
        let attempt = Attempt {
            lease: self.id,
            target,
            decision,
            why,
        };
        let told = self.told.fetch_add(1, Ordering::Relaxed) < TOLD_MAX
            && self.events.try_send(FromProxy::Attempt(attempt)).is_ok();
        if !told {
            *lock(&self.untold).entry(decision).or_default() += 1;
        }
    }

    fn closed(&self) -> FromProxy {
        FromProxy::Closed {
            lease: self.id,
            untold: std::mem::take(&mut *lock(&self.untold))
                .into_iter()
                .collect(),
            bytes: self.budget.used(),
        }
    }
}

/// Nothing that holds one of these locks can leave half a change behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves a job until it is told to stop, and then ends every connection of it.
pub(super) async fn serve(
    listener: TcpListener,
    lease: Arc<Lease>,
    shared: Arc<Shared>,
    mut stop: oneshot::Receiver<()>,
) -> FromProxy {
    let mut open = JoinSet::new();
    let mut turned_away = JoinSet::new();
    loop {
        let stream = tokio::select! {
            // A sender that is gone says the same.
            _ = &mut stop => break,
            Some(_) = open.join_next() => continue,
            Some(_) = turned_away.join_next() => continue,
            accepted = accept(&listener) => accepted,
        };
        if open.len() < lease.connections as usize {
            let (lease, shared) = (Arc::clone(&lease), Arc::clone(&shared));
            open.spawn(connection::serve(stream, lease, shared));
            continue;
        }
        let refusal = Refusal::TooManyConnections(lease.connections);
        lease.refused(None, &refusal);
        if turned_away.len() < TURNED_AWAY_MAX {
            turned_away.spawn(connection::turn_away(stream, refusal.response()));
        }
    }
    drop(listener);
    open.shutdown().await;
    turned_away.shutdown().await;
    lease.closed()
}

/// The next connection. Where none can be had now (descriptors, memory) one is waited for.
async fn accept(listener: &TcpListener) -> tokio::net::TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }
}
