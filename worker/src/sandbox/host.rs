//! Our side of the warden's socket: requests out, and each answer to whoever asked.
//!
//! One task reads; answers about one sandbox go to that sandbox's own channel, in order. The
//! warden's end is the end of every sandbox, so when the socket closes every waiter is told.

mod routes;

use super::cell::Cell;
use super::channel::Channel;
use kiln_warden::wire::{
    CellLimits, CgroupVersion, Event, MESSAGE_MAX, Request, Residue, SandboxId,
};
use routes::{Answers, Routes, decode, lock, read};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

/// The warden answers within this, or is taken for dead.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Why the warden did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("talk to the warden")]
    Socket(#[source] io::Error),
    #[error("write a request to the warden as JSON")]
    Encode(#[source] serde_json::Error),
    #[error("get an answer from the warden: it is gone")]
    Gone,
    #[error("get an answer from the warden within {} s", ANSWER_MAX.as_secs())]
    Late,
    #[error("understand the warden: {0}")]
    Nonsense(String),
    #[error("make a sandbox: {0}")]
    Create(String),
    #[error("set the limits: {0}")]
    Limit(String),
    #[error("keep the sandbox: {0}")]
    Broken(String),
}

/// A sandbox as the warden has just made it, with its first cell.
#[derive(Debug)]
pub struct Made {
    pub line: Line,
    pub image: Arc<str>,
    pub control: Channel,
    pub cell: Cell,
}

/// One sandbox's own line to the warden: one question at a time, answers in order.
#[derive(Debug)]
pub struct Line {
    pub id: SandboxId,
    channel: Arc<Channel>,
    answers: Answers,
    silent: Arc<Silent>,
}

/// Whether an answer was late and nothing has been heard of the warden since.
#[derive(Debug, Default)]
struct Silent(AtomicBool);

impl Silent {
    fn late(&self) -> HostError {
        self.0.store(true, Ordering::Relaxed);
        HostError::Late
    }

    fn heard(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The end of a reset. A reset that cannot be proved has still ended, and the sandbox is gone.
#[derive(Debug)]
#[must_use]
pub enum Reset {
    /// Nothing of the job is left; the next cell waits.
    Clean(Cell),
    /// Something was left, or could not be looked at; the warden retires the sandbox.
    Dirty(Vec<Residue>),
}

/// The warden, as the worker knows it.
#[derive(Debug)]
pub struct Host {
    channel: Arc<Channel>,
    routes: Arc<Mutex<Routes>>,
    silent: Arc<Silent>,
    pub cgroup: CgroupVersion,
    pub instance: String,
    /// Dead instances that the warden swept when it began.
    pub swept: u32,
}

/// What the warden's first message says.
#[derive(Debug)]
pub enum Greeting {
    Ready(Host),
    /// It cannot work on this machine.
    Refused {
        message: String,
        remedy: String,
    },
}

impl Host {
    /// Waits for the warden's first message and starts to read the others.
    pub async fn greet(socket: OwnedFd) -> Result<Greeting, HostError> {
        let channel = Arc::new(Channel::new(socket).map_err(HostError::Socket)?);
        let first = tokio::time::timeout(ANSWER_MAX, channel.recv(MESSAGE_MAX))
            .await
            .map_err(|_| HostError::Late)?
            .map_err(HostError::Socket)?
            .ok_or(HostError::Gone)?;
        let (cgroup, instance, swept) = match decode(&first)? {
            Event::Welcome {
                cgroup,
                instance,
                swept,
            } => (cgroup, instance, swept),
            Event::Refused { message, remedy } => return Ok(Greeting::Refused { message, remedy }),
            other => {
                return Err(HostError::Nonsense(format!(
                    "its first message is {other:?}"
                )));
            }
        };
        let routes = Arc::new(Mutex::new(Routes::default()));
        let silent = Arc::<Silent>::default();
        let heard = Arc::clone(&silent);
        let all = read(Arc::clone(&channel), Arc::clone(&routes), move || {
            heard.heard();
        });
        tokio::spawn(all);
        Ok(Greeting::Ready(Self {
            channel,
            routes,
            silent,
            cgroup,
            instance,
            swept,
        }))
    }

    /// Makes a sandbox of a profile and waits for its first cell.
    pub async fn create(&self, profile: &str) -> Result<Made, HostError> {
        let (sender, created) = oneshot::channel();
        let seq = {
            let mut routes = lock(&self.routes);
            if routes.closed {
                return Err(HostError::Gone);
            }
            routes.next_seq += 1;
            let seq = routes.next_seq;
            routes.created.insert(seq, sender);
            seq
        };
        send(
            &self.channel,
            &Request::Create {
                seq,
                profile: profile.to_owned(),
            },
        )
        .await?;
        let created = self.within(created).await??;
        let channel = Arc::clone(&self.channel);
        let mut line = Line {
            id: created.id,
            channel,
            answers: created.answers,
            silent: Arc::clone(&self.silent),
        };
        let cell = line.next_cell().await?.into_cell()?;
        let control = Channel::new(created.control).map_err(HostError::Socket)?;
        Ok(Made {
            line,
            image: created.image,
            control,
            cell,
        })
    }

    /// Ends a sandbox and waits until nothing of it is left; `Some` says what is.
    pub async fn retire(&self, sandbox: SandboxId) -> Result<Option<String>, HostError> {
        let (sender, retired) = oneshot::channel();
        {
            let mut routes = lock(&self.routes);
            if routes.closed {
                return Err(HostError::Gone);
            }
            routes.retired.insert(sandbox, sender);
        }
        send(&self.channel, &Request::Retire { sandbox }).await?;
        let left = self.within(retired).await?;
        Ok(left.or(lock(&self.routes).left.remove(&sandbox)))
    }

    /// Whether the warden has closed its socket.
    pub fn is_gone(&self) -> bool {
        lock(&self.routes).closed
    }

    /// Whether it has left a question without an answer, and said nothing since.
    pub fn is_silent(&self) -> bool {
        self.silent.0.load(Ordering::Relaxed)
    }

    async fn within<T>(&self, answer: oneshot::Receiver<T>) -> Result<T, HostError> {
        tokio::time::timeout(ANSWER_MAX, answer)
            .await
            .map_err(|_| self.silent.late())?
            .map_err(|_| HostError::Gone)
    }

    /// Asks the warden to end everything.
    pub async fn shut_down(&self) -> Result<(), HostError> {
        send(&self.channel, &Request::Shutdown).await
    }
}

impl Line {
    /// Sets other limits on the waiting cell; returns when the warden has read them back.
    pub async fn limit(&mut self, generation: u64, limits: CellLimits) -> Result<(), HostError> {
        let sandbox = self.id;
        send(
            &self.channel,
            &Request::Limit {
                sandbox,
                generation,
                limits,
            },
        )
        .await?;
        match self.answer().await? {
            (Event::Limited { generation: g, .. }, _) if g == generation => Ok(()),
            (Event::LimitFailed { message, .. }, _) => Err(HostError::Limit(message)),
            (Event::Broken { message, .. }, _) => Err(HostError::Broken(message)),
            (other, _) => Err(HostError::Nonsense(format!(
                "`limit` was answered by {other:?}"
            ))),
        }
    }

    /// Has the sandbox proved clean and its next cell made.
    pub async fn reset(&mut self, generation: u64) -> Result<Reset, HostError> {
        let sandbox = self.id;
        send(
            &self.channel,
            &Request::Reset {
                sandbox,
                generation,
            },
        )
        .await?;
        self.next_cell().await
    }

    async fn answer(&mut self) -> Result<(Event, Vec<OwnedFd>), HostError> {
        tokio::time::timeout(ANSWER_MAX, self.answers.recv())
            .await
            .map_err(|_| self.silent.late())?
            .ok_or(HostError::Gone)
    }

    async fn next_cell(&mut self) -> Result<Reset, HostError> {
        match self.answer().await? {
            (
                Event::Ready {
                    generation,
                    limits,
                    counters,
                    ..
                },
                descriptors,
            ) => {
                let mut descriptors = descriptors.into_iter();
                let (Some(scratch), Some(stage)) = (descriptors.next(), descriptors.next()) else {
                    return Err(HostError::Nonsense(
                        "a cell came without its descriptors".into(),
                    ));
                };
                if descriptors.len() != counters.len() {
                    return Err(HostError::Nonsense(
                        "a cell came without its counters".into(),
                    ));
                }
                let counters = counters
                    .into_iter()
                    .zip(descriptors.map(File::from))
                    .collect();
                Ok(Reset::Clean(Cell::new(
                    generation, limits, scratch, stage, counters,
                )))
            }
            (Event::Dirty { residue, .. }, _) => Ok(Reset::Dirty(residue)),
            (Event::Broken { message, .. }, _) => Err(HostError::Broken(message)),
            (other, _) => Err(HostError::Nonsense(format!(
                "instead of a cell came {other:?}"
            ))),
        }
    }
}

impl Reset {
    /// The cell of a sandbox that no job has used, where residue makes no sense.
    fn into_cell(self) -> Result<Cell, HostError> {
        match self {
            Self::Clean(cell) => Ok(cell),
            Self::Dirty(residue) => {
                Err(HostError::Nonsense(format!("a new sandbox is {residue:?}")))
            }
        }
    }
}

async fn send(channel: &Channel, request: &Request) -> Result<(), HostError> {
    let bytes = serde_json::to_vec(request).map_err(HostError::Encode)?;
    channel.send(&bytes, &[]).await.map_err(HostError::Socket)
}
