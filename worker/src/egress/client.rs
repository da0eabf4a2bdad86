//! The worker's side of the proxy: one that is there when a job needs it, and again if it dies.
//!
//! ```text
//!   Granted ── Start with a door ──► Door ── the cell's listener ──► Lease ── the end ──► Tally
//! ```
//!
//! One task owns the process and knows which jobs it serves. Jobs without a network never wake
//! it, and without a job that has one there is no process.

mod process;
mod supervisor;

use super::address::Range;
use super::allow::{Grant, Pattern};
use super::credential::Credential;
use super::tally::{Decision, Tally};
use super::wire::Opening;
use crate::sandbox::channel::Channel;
use crate::secrets::Hidden;
use kiln_protocol::id::JobId;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use supervisor::Call;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// What the proxy may do, for all jobs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program; this very one where `None`.
    pub program: Option<PathBuf>,
    /// Who is asked for names; the machine's own name servers where it is empty.
    pub resolvers: Vec<SocketAddr>,
    /// What may be reached although it is private.
    pub allow_private: Vec<Range>,
    /// Where a tunnel may carry anything, and not TLS for its host alone.
    pub plain_tunnels: Vec<Pattern>,
    /// Connections of one job at a time.
    pub connections: u32,
    /// Bytes that one job may carry, to and from all hosts together.
    pub bytes: u64,
    /// Certificates of authorities beside the machine's own.
    pub ca_file: Option<PathBuf>,
    /// Whether credentials are attached, over TLS.
    pub tls: bool,
    /// How long a host may take to answer.
    pub connect: Duration,
    /// How long a connection may be silent.
    pub idle: Duration,
    /// Whom the proxy becomes where it starts as root.
    pub uid: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            program: None,
            resolvers: Vec::new(),
            allow_private: Vec::new(),
            plain_tunnels: Vec::new(),
            connections: 200,
            bytes: 1 << 30,
            ca_file: None,
            tls: false,
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            uid: uid(kiln_warden::UID_BASE),
        }
    }
}

/// The proxy's own uid: the one below those of all sandboxes.
pub(crate) fn uid(base: u32) -> u32 {
    base.saturating_sub(1).max(1)
}

/// Who hears of what jobs ask the proxy for. Must not wait.
pub trait Listen: Send + Sync + fmt::Debug {
    fn attempted(&self, decision: Decision, times: u64);
}

/// Why a job has no network although it was given one. Ours, never the job's.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    #[error("start the egress proxy")]
    Spawn(#[source] io::Error),
    #[error("speak to the egress proxy")]
    Speak(#[source] io::Error),
    #[error("see the egress proxy ready: {0}")]
    NotReady(String),
    #[error("make a door for the job")]
    Door(#[source] io::Error),
    #[error("take the cell's listener: {0}")]
    Listener(&'static str),
    #[error("reach the task that owns the egress proxy")]
    Gone,
}

/// The way to the proxy of one engine.
#[derive(Debug)]
pub struct Egress {
    options: Arc<Options>,
    listeners: Vec<Arc<dyn Listen>>,
    running: Mutex<Option<Running>>,
    next: AtomicU64,
}

/// The task that owns the proxy.
#[derive(Debug)]
struct Running {
    calls: mpsc::UnboundedSender<Call>,
    task: JoinHandle<()>,
}

impl Egress {
    pub fn new(options: Options, listeners: Vec<Arc<dyn Listen>>) -> Arc<Self> {
        Arc::new(Self {
            options: Arc::new(options),
            listeners,
            running: Mutex::default(),
            next: AtomicU64::new(1),
        })
    }

    /// The task's ear; the first call starts it.
    fn calls(&self) -> mpsc::UnboundedSender<Call> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let running = running.get_or_insert_with(|| {
            let (calls, heard) = mpsc::unbounded_channel();
            let (options, listeners) = (Arc::clone(&self.options), self.listeners.clone());
            let task = tokio::spawn(supervisor::run(options, listeners, heard));
            Running { calls, task }
        });
        running.calls.clone()
    }

    /// Ends the proxy, if there is one.
    pub(crate) async fn shut_down(&self) {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(Running { calls, task }) = running else {
            return;
        };
        if calls.send(Call::End).is_ok() && task.await.is_err() {
            tracing::error!("the task that owned the egress proxy has panicked");
        }
    }
}

/// What one job was given, and the way to it.
#[derive(Clone, Debug)]
pub struct Granted {
    egress: Arc<Egress>,
    grant: Grant,
    credentials: Vec<Credential>,
    job: JobId,
    /// What no target may hold that is told.
    hidden: Hidden,
}

impl Granted {
    /// `None` where nothing was asked for: then nothing is made and nothing is paid.
    pub(crate) fn new(
        egress: &Arc<Egress>,
        grant: Grant,
        credentials: Vec<Credential>,
        (job, hidden): (JobId, Hidden),
    ) -> Option<Self> {
        (!grant.is_empty()).then(|| Self {
            egress: Arc::clone(egress),
            grant,
            credentials,
            job,
            hidden,
        })
    }

    /// Sees to it that there is a proxy.
    pub(crate) async fn ready(&self) -> Result<(), EgressError> {
        let (done, answer) = oneshot::channel();
        let call = Call::Ready { done };
        self.egress
            .calls()
            .send(call)
            .map_err(|_| EgressError::Gone)?;
        answer.await.map_err(|_| EgressError::Gone)?
    }

    /// Has the proxy serve the job behind a listener.
    pub(crate) async fn open(&self, listener: OwnedFd) -> Result<Lease, EgressError> {
        let options = &self.egress.options;
        let opening = Opening {
            lease: self.egress.next.fetch_add(1, Ordering::Relaxed),
            allow: self.grant.to_texts(),
            credentials: self.credentials.clone(),
            connections: options.connections,
            bytes: options.bytes,
        };
        let calls = self.egress.calls();
        let lease = Lease {
            id: opening.lease,
            calls: Some(calls.clone()),
        };
        let (done, answer) = oneshot::channel();
        let call = Call::Open {
            job: self.job.clone(),
            hidden: self.hidden.clone(),
            opening,
            listener,
            done,
        };
        calls.send(call).map_err(|_| EgressError::Gone)?;
        answer.await.map_err(|_| EgressError::Gone)??;
        Ok(lease)
    }
}

/// A job that the proxy serves, until it is closed or dropped.
#[derive(Debug)]
pub struct Lease {
    id: u64,
    calls: Option<mpsc::UnboundedSender<Call>>,
}

impl Lease {
    /// Ends every connection of the job, and gives what was seen of them.
    pub(crate) async fn close(mut self) -> Result<Tally, EgressError> {
        let calls = self.calls.take().ok_or(EgressError::Gone)?;
        let (done, answer) = oneshot::channel();
        let call = Call::Close {
            lease: self.id,
            done: Some(done),
        };
        calls.send(call).map_err(|_| EgressError::Gone)?;
        answer.await.map_err(|_| EgressError::Gone)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(calls) = self.calls.take() else {
            return;
        };
        let call = Call::Close {
            lease: self.id,
            done: None,
        };
        if calls.send(call).is_err() {
            tracing::debug!(lease = self.id, "the proxy is gone already");
        }
    }
}

/// Where the cell's listener comes out.
#[derive(Debug)]
pub(crate) struct Door(Channel);

impl Door {
    /// The door, and the end that goes into the cell.
    pub(crate) fn open() -> Result<(Self, OwnedFd), EgressError> {
        let (ours, theirs) = Channel::pair().map_err(EgressError::Door)?;
        Ok((Self(ours), theirs))
    }

    /// The listener; `None` where the cell ended before it had made one. What comes out is not
    /// believed: it may be nothing but a listening TCP socket of the loopback.
    pub(crate) async fn listener(self) -> Result<Option<OwnedFd>, EgressError> {
        let Some(message) = self.0.recv(1).await.map_err(EgressError::Door)? else {
            return Ok(None);
        };
        let mut descriptors = message.descriptors.into_iter();
        let (Some(listener), None) = (descriptors.next(), descriptors.next()) else {
            return Err(EgressError::Listener("it is not one descriptor"));
        };
        listens(&listener).map(|()| Some(listener))
    }
}

fn listens(listener: &OwnedFd) -> Result<(), EgressError> {
    use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
    use rustix::net::{AddressFamily, SocketType};
    let so = |so: bool, what| {
        if so {
            Ok(())
        } else {
            Err(EgressError::Listener(what))
        }
    };
    so(
        socket_domain(listener) == Ok(AddressFamily::INET)
            && socket_type(listener) == Ok(SocketType::STREAM),
        "it is no TCP socket",
    )?;
    so(
        socket_acceptconn(listener) == Ok(true),
        "it does not listen",
    )?;
    let address = rustix::net::getsockname(listener)
        .ok()
        .and_then(|address| std::net::SocketAddrV4::try_from(address).ok());
    so(
        address.is_some_and(|address| address.ip().is_loopback()),
        "it is not on the loopback",
    )
}
