//! The tracked record of all sandboxes, workers and claims, kept in Redis. Nothing on a job's path
//! waits for it: what it says is advice, what the kernel says is true.
//!
//! # Layout
//!
//! - `pending`: what this worker knows, and what of it is news; `writer` brings it to the server
//! - `breaker`, `tempo`: when a server that failed is asked again, and all other paces
//! - `link`, `library`, `keys`: one connection, the scripts, the names
//! - [`fleet`]: what an operator reads and asks for

mod breaker;
pub mod fleet;
mod keys;
mod library;
mod link;
mod pending;
mod tempo;
#[cfg(test)]
mod tests;
mod writer;

use crate::config;
use crate::fault::chain;
use crate::pool::watch::{Moved, Watch};
use crate::telemetry::metric::Metrics;
use kiln_protocol::id::JobId;
use library::Call;
pub use link::LinkError;
use link::{Answer, Link};
use pending::{Pending, Word};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub use tempo::Tempo;
use tempo::ms;
use tokio::sync::{Notify, watch};
use writer::Writer;

/// Who writes to the record.
#[derive(Clone, Debug)]
pub struct Identity {
    pub worker: String,
    pub host: String,
    pub slots: usize,
}

/// What the record says of who runs a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// We do, from now on.
    Ours,
    /// A worker that lives does.
    Held { worker: String },
    /// The record is away, slow or not kept: nobody knows.
    Unknown,
}

/// The record, or nothing where none is kept. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Option<Arc<Shared>>,
}

/// What the callers and the writer both hold.
#[derive(Debug)]
struct Shared {
    identity: Identity,
    tempo: Tempo,
    metrics: Arc<Metrics>,
    pending: Mutex<Pending>,
    /// The connection of a session that is entered.
    open: Mutex<Option<Open>>,
    busy: AtomicUsize,
    closing: AtomicBool,
    /// Something is to be done.
    wake: Notify,
    drain: watch::Sender<bool>,
    /// The writer has said its last words.
    closed: watch::Sender<bool>,
}

/// A session that may write.
#[derive(Clone, Debug)]
struct Open {
    link: Link,
    epoch: u64,
}

impl Registry {
    /// Starts to keep the record, on a task of the runtime it is called in. Never waits for Redis.
    pub fn start(redis: Option<&config::Redis>, identity: Identity, metrics: Arc<Metrics>) -> Self {
        Self::paced(redis, identity, metrics, Tempo::default())
    }

    /// The same at another pace.
    pub fn paced(
        redis: Option<&config::Redis>,
        identity: Identity,
        metrics: Arc<Metrics>,
        tempo: Tempo,
    ) -> Self {
        let Some(redis) = redis else {
            return Self { shared: None };
        };
        metrics.redis_up(false);
        let client = match link::client(redis.url.reveal()) {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(error = chain(&error), "no record is kept");
                return Self { shared: None };
            }
        };
        let shared = Arc::new(Shared {
            identity,
            tempo,
            metrics,
            pending: Mutex::default(),
            open: Mutex::default(),
            busy: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            wake: Notify::new(),
            drain: watch::Sender::new(false),
            closed: watch::Sender::new(false),
        });
        tokio::spawn(Writer::new(client, Arc::clone(&shared)).run());
        Self {
            shared: Some(shared),
        }
    }

    /// For the next heartbeat.
    pub fn busy(&self, slots: usize) {
        if let Some(shared) = &self.shared {
            shared.busy.store(slots, Ordering::Relaxed);
        }
    }

    /// Says that this worker runs the job, without waiting.
    pub fn claimed(&self, job: &JobId) {
        if let Some(shared) = &self.shared {
            shared.note(|pending| pending.say(Word::Claimed(job.clone())));
        }
    }

    /// Asks whether another worker that lives runs the job; 50 ms at most. Whoever asked and does
    /// not run it after all says [`Self::ended`], whatever the answer was.
    pub async fn claim(&self, job: &JobId) -> Claim {
        let Some(shared) = &self.shared else {
            return Claim::Unknown;
        };
        let Some(open) = shared.open() else {
            return Claim::Unknown;
        };
        let asked = tokio::time::timeout(shared.tempo.claim, shared.ask(open, job)).await;
        match asked {
            Ok(Ok(claim)) => claim,
            Ok(Err(error)) => {
                tracing::debug!(%job, error = chain(&error), "nobody knows who runs a job");
                Claim::Unknown
            }
            Err(_) => Claim::Unknown,
        }
    }

    /// Says that the job has ended, without waiting.
    pub fn ended(&self, job: &JobId) {
        if let Some(shared) = &self.shared {
            shared.note(|pending| {
                let token = pending.token(job);
                pending.say(Word::Ended(job.clone(), token))
            });
        }
    }

    /// Leaves word that a job is cancelled before anybody has it, without waiting.
    pub fn cancelled(&self, job: &JobId) {
        if let Some(shared) = &self.shared {
            shared.note(|pending| pending.say(Word::Cancelled(job.clone())));
        }
    }

    /// Comes back when an operator has asked this worker to drain, at once where that was before;
    /// never where no record is kept.
    pub async fn drain_asked(&self) {
        let Some(shared) = &self.shared else {
            return std::future::pending().await;
        };
        let mut drain = shared.drain.subscribe();
        if drain.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the record has this worker and heard the last that was said to it.
    pub fn is_up(&self) -> bool {
        self.shared
            .as_ref()
            .is_some_and(|shared| shared.open().is_some())
    }

    /// News that found no place to wait. Of sandboxes nothing is lost by it: the whole view
    /// follows.
    pub fn dropped(&self) -> u64 {
        self.shared
            .as_ref()
            .map_or(0, |shared| shared.pending().dropped())
    }

    /// Writes what is still to be written, takes this worker out of the record; 1 s at most.
    pub async fn close(self) {
        let Some(shared) = self.shared else {
            return;
        };
        let mut closed = shared.closed.subscribe();
        shared.closing.store(true, Ordering::Release);
        shared.wake.notify_one();
        let said = closed.wait_for(|closed| *closed);
        if tokio::time::timeout(shared.tempo.close, said)
            .await
            .is_err()
        {
            tracing::info!("the record still has this worker; it goes by itself");
        }
    }
}

impl Watch for Registry {
    fn moved(&self, moved: &Moved) {
        if let Some(shared) = &self.shared {
            shared.note(|pending| pending.moved(moved));
        }
    }
}

impl Shared {
    /// Works on what is to be written, and wakes the writer where that is wanted.
    fn note(&self, work: impl FnOnce(&mut Pending) -> bool) {
        let wakes = work(&mut self.pending());
        if wakes {
            self.wake.notify_one();
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // Whole between two calls of its own; held for no call to the server.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Option<Open> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone()
    }

    fn set_open(&self, open: Option<Open>) {
        self.metrics.redis_up(open.is_some());
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = open;
    }

    async fn ask(&self, mut open: Open, job: &JobId) -> Result<Claim, LinkError> {
        let call = self.claim(open.epoch, job, false);
        let answers = open
            .link
            .send("claim", redis::pipe().add_command(open.link.command(&call)))
            .await?;
        let answer = answers
            .first()
            .map(|value| Answer::of("claim", value))
            .transpose()?;
        Ok(match answer {
            Some(answer) if answer.word == "ours" => {
                let token = answer.number("claim")?;
                self.pending().holds(job, token);
                Claim::Ours
            }
            Some(Answer {
                word,
                more: Some(worker),
            }) if word == "held" => Claim::Held { worker },
            _ => Claim::Unknown,
        })
    }

    fn claim(&self, epoch: u64, job: &JobId, force: bool) -> Call {
        Call::new(
            "claim",
            vec![keys::job(job), keys::WORKERS.into(), keys::EPOCHS.into()],
            vec![
                self.identity.worker.clone(),
                epoch.to_string(),
                u8::from(force).to_string(),
                ms(self.tempo.stale),
                ms(self.tempo.claim_kept),
            ],
        )
    }
}
