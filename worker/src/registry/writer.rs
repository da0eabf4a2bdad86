//! Who brings the news to the server: enters with the whole view, then writes what moves, beats,
//! and takes out who is gone.
//!
//! ```text
//!            entered               a call failed
//!   away ──────────────► entered ────────────────► away
//!    ▲ │ failed: again      │ the server knows less than we, or something else
//!    └─┘ at the pace of     └──► enters again, in a new session
//!        the breaker
//! ```

mod news;

use super::breaker::Breaker;
use super::keys;
use super::link::{Link, LinkError};
use super::pending::Entry;
use super::tempo::ms;
use super::{Open, Shared};
use crate::fault::chain;
use crate::pool::watch::Moved;
use redis::Client;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a call says about the session it was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Good,
    /// The server does not have what we wrote: all of it is to be said again.
    Unknown,
    /// Another life of this worker writes: what we have to say does not count.
    Superseded,
}

/// The one task that writes.
#[derive(Debug)]
pub(super) struct Writer {
    client: Client,
    shared: Arc<Shared>,
    breaker: Breaker,
    /// Which start of this worker we are, as long as the server has not given us an epoch.
    instance: String,
    started_ms: u64,
    /// 0 until the server has given one.
    epoch: u64,
    /// Rises with each entry.
    session: u64,
    link: Option<Link>,
    beat_at: Instant,
    /// When the record last lacked nothing.
    whole_at: Instant,
    superseded: bool,
}

impl Writer {
    pub(super) fn new(client: Client, shared: Arc<Shared>) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let started = since_1970.unwrap_or(Duration::ZERO).as_millis();
        Self {
            client,
            breaker: Breaker::new(shared.tempo.probe),
            shared,
            instance: uuid::Uuid::now_v7().to_string(),
            started_ms: u64::try_from(started).unwrap_or(0),
            epoch: 0,
            session: 0,
            link: None,
            beat_at: Instant::now(),
            whole_at: Instant::now(),
            superseded: false,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            if self.is_closing() {
                break;
            }
            if self.link.is_none() && self.breaker.next().is_none_or(|at| at <= Instant::now()) {
                let entered = self.enter_anew().await;
                self.judge(entered);
            }
            self.rest().await;
            if self.link.is_some() && !self.is_closing() {
                let written = self.write().await;
                self.judge(written);
            }
            self.show_lag();
        }
        self.last_words().await;
        self.shared.closed.send_replace(true);
    }

    /// How long the record has lacked something that is known here.
    fn show_lag(&mut self) {
        let (whole, dropped) = {
            let pending = self.shared.pending();
            (pending.is_idle() && self.link.is_some(), pending.dropped())
        };
        if whole {
            self.whole_at = Instant::now();
        }
        let lag = self.whole_at.elapsed();
        self.shared.metrics.redis_behind(lag, dropped);
    }

    /// Waits until there is something to do: news that has waited long enough, a beat, a try.
    async fn rest(&self) {
        let wake = self.shared.wake.notified();
        let until = if self.link.is_some() {
            Some(self.beat_at)
        } else {
            self.breaker.next()
        };
        let Some(until) = until else { return };
        let until = tokio::time::Instant::from_std(until);
        if self.link.is_none() || self.superseded {
            // News does not bring a server back, nor end another's life.
            self.closing_or(until).await;
            return;
        }
        if self.shared.pending().is_idle() {
            tokio::select! {
                () = wake => {}
                () = tokio::time::sleep_until(until) => return,
            }
        }
        // What follows soon goes out with it, unless a batch is full.
        let flush = tokio::time::Instant::now() + self.shared.tempo.flush;
        while !self.shared.pending().is_full() && !self.is_closing() {
            tokio::select! {
                () = self.shared.wake.notified() => {}
                () = tokio::time::sleep_until(flush.min(until)) => return,
            }
        }
    }

    async fn closing_or(&self, until: tokio::time::Instant) {
        while !self.is_closing() {
            tokio::select! {
                () = self.shared.wake.notified() => {}
                () = tokio::time::sleep_until(until) => return,
            }
        }
    }

    fn is_closing(&self) -> bool {
        self.shared.closing.load(Ordering::Acquire)
    }

    /// Takes the outcome of a step into account.
    fn judge(&mut self, outcome: Result<(), LinkError>) {
        match outcome {
            Ok(()) => {
                if self.breaker.succeeded() {
                    tracing::info!("Redis is back; the record is whole again");
                }
            }
            Err(error) => {
                self.away();
                if self.breaker.failed(Instant::now()) {
                    let error = chain(&error);
                    tracing::warn!(error, "Redis is away; jobs go on, the record does not");
                } else {
                    tracing::debug!(error = chain(&error), "Redis does not do as asked");
                }
            }
        }
    }

    fn away(&mut self) {
        self.link = None;
        self.shared.set_open(None);
    }

    async fn enter_anew(&mut self) -> Result<(), LinkError> {
        let link = Link::open(
            &self.client,
            &self.shared.tempo,
            Arc::clone(&self.shared.metrics),
        )
        .await?;
        self.enter(link).await
    }

    /// Says everything, in a session of its own.
    async fn enter(&mut self, mut link: Link) -> Result<(), LinkError> {
        self.shared.set_open(None);
        self.session += 1;
        let name = self.shared.identity.worker.clone();
        let mut args = vec![
            name.clone(),
            self.instance.clone(),
            self.started_ms.to_string(),
            self.epoch.to_string(),
            self.session.to_string(),
            self.shared.identity.slots.to_string(),
            self.shared.busy.load(Ordering::Relaxed).to_string(),
            self.shared.identity.host.clone(),
            env!("CARGO_PKG_VERSION").to_owned(),
            self.kept(),
        ];
        let whole = self.shared.pending().whole();
        for moved in &whole {
            push(&mut args, moved);
        }
        let keys = vec![
            keys::EPOCH.to_owned(),
            keys::WORKERS.to_owned(),
            keys::EPOCHS.to_owned(),
            keys::worker(&name),
            keys::sandboxes(&name),
            keys::gone(&name),
            keys::EVENTS.to_owned(),
        ];
        let answer = link.ask("enter", keys, args).await?;
        self.beat_at = Instant::now() + self.shared.tempo.beat;
        if answer.word == "ok" {
            self.epoch = answer.number("enter")?;
            self.superseded = false;
            let epoch = self.epoch;
            self.link = Some(link.clone());
            self.shared.set_open(Some(Open { link, epoch }));
        } else {
            if !self.superseded {
                tracing::error!(
                    worker = name,
                    "another worker of this name keeps the record"
                );
            }
            self.superseded = true;
            self.link = Some(link);
        }
        Ok(())
    }

    /// Writes what moved, and beats where it is time.
    async fn write(&mut self) -> Result<(), LinkError> {
        let Some(mut link) = self.link.clone() else {
            return Ok(());
        };
        let beat = self.beat_at <= Instant::now();
        if self.superseded {
            // Nothing is written for a worker that is another by now; perhaps that one goes.
            return if beat { self.enter(link).await } else { Ok(()) };
        }
        let mut standing = if self.shared.pending().wants_whole() {
            Standing::Unknown
        } else {
            self.flush(&mut link).await?
        };
        if beat && standing == Standing::Good {
            standing = self.beat(&mut link).await?;
        }
        if standing != Standing::Good {
            self.enter(link).await?;
        }
        Ok(())
    }

    /// Writes what there is and leaves. Whoever waits for it does not wait for long.
    async fn last_words(&mut self) {
        let Some(mut link) = self.link.take().filter(|_| !self.superseded) else {
            return;
        };
        let left = async {
            self.flush(&mut link).await?;
            let keys = keys::whole(&self.shared.identity.worker);
            link.ask("leave", keys, self.fence()).await
        };
        if let Err(error) = left.await {
            tracing::debug!(error = chain(&error), "left without a word");
        }
        self.shared.set_open(None);
    }

    fn fence(&self) -> Vec<String> {
        vec![
            self.shared.identity.worker.clone(),
            self.epoch.to_string(),
            self.session.to_string(),
        ]
    }

    /// How long a record outlives the last word about it where nobody is left to take it out.
    fn kept(&self) -> String {
        ms(self.shared.tempo.gone * 2)
    }
}

fn push(args: &mut Vec<String>, moved: &Moved) {
    let entry = Entry::of(moved);
    args.extend([
        entry.id.to_string(),
        entry.generation.to_string(),
        entry.rank.to_string(),
        entry.rest,
    ]);
}
