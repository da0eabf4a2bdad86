//! The task that owns the proxy: starts it when it is needed, and again when it has died.
//!
//! A proxy that dies takes every connection with it, and while there is none the listeners of the
//! cells let nobody through: they are only made in the cells, and accepted here. A job that sees
//! three proxies die has seen enough, and gets no fourth: it may be why they do.

use super::process::Proxy;
use super::{EgressError, Listen, Options};
use crate::egress::tally::{Decision, Tally};
use crate::egress::wire::{Attempt, FromProxy, Opening, ToProxy};
use crate::fault::chain;
use crate::secrets::Hidden;
use kiln_protocol::id::JobId;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// Proxies that may die under one job.
const DEATHS_MAX: u32 = 3;
/// How long a proxy may take to end a job's connections.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// What the task is asked for.
#[derive(Debug)]
pub(super) enum Call {
    Ready {
        done: oneshot::Sender<Result<(), EgressError>>,
    },
    Open {
        job: JobId,
        hidden: Hidden,
        opening: Opening,
        listener: OwnedFd,
        done: oneshot::Sender<Result<(), EgressError>>,
    },
    Close {
        lease: u64,
        done: Option<oneshot::Sender<Tally>>,
    },
    End,
}

/// A job that is served.
#[derive(Debug)]
struct Live {
    job: JobId,
    hidden: Hidden,
    opening: Opening,
    /// Ours, for the next proxy; given up when it is of no more use.
    listener: Option<OwnedFd>,
    tally: Tally,
    closing: Option<Closing>,
}

#[derive(Debug)]
struct Closing {
    done: Option<oneshot::Sender<Tally>>,
    by: Instant,
}

struct Supervisor {
    options: Arc<Options>,
    listeners: Vec<Arc<dyn Listen>>,
    proxy: Option<Proxy>,
    live: BTreeMap<u64, Live>,
}

/// Serves calls until there is nobody left to make one.
pub(super) async fn run(
    options: Arc<Options>,
    listeners: Vec<Arc<dyn Listen>>,
    mut calls: mpsc::UnboundedReceiver<Call>,
) {
    let mut this = Supervisor {
        options,
        listeners,
        proxy: None,
        live: BTreeMap::new(),
    };
    loop {
        let late = this.late();
        tokio::select! {
            biased;
            heard = hear(this.proxy.as_ref()) => match heard {
                Ok(Some(word)) => this.heard(word),
                Ok(None) => this.died("it has ended").await,
                Err(error) => this.died(&chain(&error)).await,
            },
            call = calls.recv() => match call {
                None | Some(Call::End) => break,
                Some(call) => this.called(call).await,
            },
            () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() => {
                this.died("it does not end a job's connections").await;
            }
        }
    }
    if let Some(proxy) = this.proxy.take() {
        proxy.end().await;
    }
}

/// Its next word; none, ever, where there is no proxy.
async fn hear(proxy: Option<&Proxy>) -> Result<Option<FromProxy>, EgressError> {
    match proxy {
        Some(proxy) => proxy.hear().await,
        None => std::future::pending().await,
    }
}

impl Supervisor {
    /// When the first close must be answered.
    fn late(&self) -> Option<Instant> {
        let closing = self.live.values().filter_map(|live| live.closing.as_ref());
        closing.map(|closing| closing.by).min()
    }

    async fn called(&mut self, call: Call) {
        match call {
            Call::Ready { done } => answer(done, self.ready().await.map(drop)),
            Call::Open {
                job,
                hidden,
                opening,
                listener,
                done,
            } => {
                let mut opened = self.open(&opening, &listener).await;
                if let Err(error @ EgressError::Speak(_)) = &opened {
                    // It died, and nobody has heard of it yet.
                    self.died(&chain(error)).await;
                    opened = self.open(&opening, &listener).await;
                }
                if opened.is_ok() {
                    let live = Live {
                        job,
                        hidden,
                        listener: Some(listener),
                        tally: Tally::default(),
                        closing: None,
                        opening,
                    };
                    self.live.insert(live.opening.lease, live);
                }
                answer(done, opened);
            }
            Call::Close { lease, done } => self.close(lease, done).await,
            Call::End => {}
        }
    }

    /// A proxy that is there.
    async fn ready(&mut self) -> Result<&Proxy, EgressError> {
        let proxy = match self.proxy.take() {
            Some(proxy) => proxy,
            None => Proxy::start(&self.options).await?,
        };
        Ok(self.proxy.insert(proxy))
    }

    async fn open(&mut self, opening: &Opening, listener: &OwnedFd) -> Result<(), EgressError> {
        let message = ToProxy::Open(opening.clone());
        self.ready().await?.say(&message, Some(listener)).await
    }

    async fn close(&mut self, lease: u64, done: Option<oneshot::Sender<Tally>>) {
        let Some(live) = self.live.get_mut(&lease) else {
            // It could not be opened: there is nothing to tell of it.
            if let Some(done) = done {
                answer(done, Tally::default());
            }
            return;
        };
        let served = live.listener.take().is_some();
        live.closing = Some(Closing {
            done,
            by: Instant::now() + CLOSE_WITHIN,
        });
        let said = match &self.proxy {
            Some(proxy) if served => proxy.say(&ToProxy::Close { lease }, None).await.is_ok(),
            Some(_) | None => false,
        };
        if !said {
            self.closed(lease);
        }
    }

    fn heard(&mut self, word: FromProxy) {
        match word {
            FromProxy::Attempt(attempt) => self.attempted(attempt),
            FromProxy::Closed {
                lease,
                untold,
                bytes,
            } => {
                if let Some(live) = self.live.get_mut(&lease) {
                    live.tally.bytes += bytes;
                    for (decision, times) in &untold {
                        live.tally.count(*decision, *times);
                    }
                }
                for (decision, times) in untold {
                    self.count(decision, times);
                }
                self.closed(lease);
            }
            FromProxy::Ready | FromProxy::Failed { .. } => {
                tracing::warn!("the egress proxy says what it has said before");
            }
        }
    }

    fn attempted(&mut self, mut attempt: Attempt) {
        let live = self.live.get_mut(&attempt.lease);
        if let Some(live) = &live {
            for told in [&mut attempt.target, &mut attempt.why] {
                *told = live.hidden.cover(told).into_owned();
            }
        }
        let Attempt {
            target,
            decision,
            why,
            ..
        } = &attempt;
        let job_id = live.as_ref().map(|live| live.job.as_str());
        tracing::info!(job_id, target, decision = decision.as_str(), why, "egress");
        if let Some(live) = live {
            live.tally.attempt(&attempt);
        }
        self.count(attempt.decision, 1);
    }

    fn count(&self, decision: Decision, times: u64) {
        for listener in &self.listeners {
            listener.attempted(decision, times);
        }
    }

    /// Nothing of this job is served any more.
    fn closed(&mut self, lease: u64) {
        if let Some(live) = self.live.remove(&lease)
            && let Some(Closing {
                done: Some(done), ..
            }) = live.closing
        {
            answer(done, live.tally);
        }
    }

    /// The proxy is gone, or is to go: every connection is cut, and the jobs that still run get
    /// another one.
    async fn died(&mut self, why: &str) {
        tracing::error!(why, jobs = self.live.len(), "the egress proxy died");
        if let Some(proxy) = self.proxy.take() {
            proxy.end().await;
        }
        let ended: Vec<u64> = self
            .live
            .iter()
            .filter(|(_, live)| live.closing.is_some())
            .map(|(lease, _)| *lease)
            .collect();
        for lease in ended {
            self.closed(lease);
        }
        let mut again = Vec::new();
        for live in self.live.values_mut() {
            live.tally.lost += 1;
            if live.tally.lost >= DEATHS_MAX {
                live.listener = None;
            }
            if let Some(listener) = live.listener.take() {
                again.push((live.opening.clone(), listener));
            }
        }
        for (opening, listener) in again {
            match self.open(&opening, &listener).await {
                Ok(()) => {
                    if let Some(live) = self.live.get_mut(&opening.lease) {
                        live.listener = Some(listener);
                    }
                }
                Err(error) => {
                    let error = chain(&error);
                    tracing::error!(lease = opening.lease, error, "a job has lost its network");
                }
            }
        }
    }
}

/// Whoever asked may have gone meanwhile.
fn answer<T>(to: oneshot::Sender<T>, word: T) {
    if to.send(word).is_err() {
        tracing::trace!("nobody waits for this answer any more");
    }
}
