//! The egress proxy: a process of its own that makes connections for jobs, and knows no more than
//! it needs for that.
//!
//! ```text
//!   worker ── Begin, Open + listener, Close ──► proxy ── connections ──► hosts
//!          ◄─ Ready, Attempt, Closed ─────────    ▲
//!                                                 │ accepted from the cells' listeners
//! ```
//!
//! It is started by exec with an empty environment and one socket. Before it meets a job it gives
//! up root, files and most system calls (`kiln_warden::confine`). When the worker's socket ends
//! it ends.

mod connection;
mod lease;
mod refusal;
mod tunnel;

use super::allow::{Grant, Pattern};
use super::resolve::{PORT, Resolver, ResolverError};
use super::target::TargetError;
use super::tls::{Tls, TlsError};
use super::wire::{FromProxy, MESSAGE_MAX, Opening, Settings, ToProxy};
use crate::fault::chain;
use crate::sandbox::channel::Channel;
use kiln_warden::confine::{self, ConfineError};
use kiln_warden::socket;
use lease::Lease;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Messages for the worker that may wait.
const WAITING_MAX: usize = 4096;

/// Why the proxy does not serve, or no longer.
#[derive(Debug, thiserror::Error)]
enum ProxyError {
    #[error("take the worker's socket: it is started by a worker, and by nobody else")]
    Socket(#[source] io::Error),
    #[error("understand the worker")]
    Decode(#[source] serde_json::Error),
    #[error("understand the worker: {0}")]
    Nonsense(&'static str),
    #[error("understand what a job may reach")]
    Grant(#[source] TargetError),
    #[error("take a job's listener")]
    Listener(#[source] io::Error),
    #[error(transparent)]
    Confine(ConfineError),
    #[error(transparent)]
    Resolver(ResolverError),
    #[error(transparent)]
    Tls(TlsError),
    #[error("make a runtime")]
    Runtime(#[source] io::Error),
    #[error("answer the worker")]
    Answer(#[source] io::Error),
}

/// What all connections need.
struct Shared {
    resolver: Resolver,
    /// None where no credentials are attached.
    tls: Option<Tls>,
    connect: Duration,
    idle: Duration,
    /// Where a tunnel may carry anything, and not TLS for its host alone.
    plain_tunnels: Vec<Pattern>,
}

/// The process: to be called with one thread and nothing else started.
pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> Result<(), ProxyError> {
    confine::begin().map_err(ProxyError::Confine)?;
    let socket = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(ProxyError::Socket)?;
    let begun = begin(&socket);
    let (runtime, shared) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            let message = chain(&error);
            send(&socket, &FromProxy::Failed { message })?;
            return Err(error);
        }
    };
    send(&socket, &FromProxy::Ready)?;
    runtime.block_on(serve(socket, shared))
}

/// Takes the settings and gives up everything else.
fn begin(socket: &OwnedFd) -> Result<(tokio::runtime::Runtime, Shared), ProxyError> {
    let mut bytes = vec![0; MESSAGE_MAX];
    let (length, _) = socket::receive(socket.as_fd(), &mut bytes)
        .map_err(ProxyError::Socket)?
        .ok_or(ProxyError::Nonsense("it says nothing"))?;
    let settings = match serde_json::from_slice(&bytes[..length]).map_err(ProxyError::Decode)? {
        ToProxy::Begin(settings) => settings,
        ToProxy::Open(_) | ToProxy::Close { .. } => {
            return Err(ProxyError::Nonsense("it does not begin"));
        }
    };
    let Settings {
        mut resolvers,
        allow_private,
        plain_tunnels,
        tls,
        ca_file,
        connect_ms,
        idle_ms,
        uid,
    } = settings;
    let patterns = plain_tunnels.iter().map(|text| Pattern::parse(text));
    let plain_tunnels = patterns
        .collect::<Result<_, _>>()
        .map_err(ProxyError::Grant)?;
    if resolvers.is_empty() {
        resolvers.push((std::net::Ipv4Addr::LOCALHOST, PORT).into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ProxyError::Runtime)?;
    let resolver = {
        let _within = runtime.enter();
        Resolver::new(&resolvers, allow_private).map_err(ProxyError::Resolver)?
    };
    let tls = tls.then(|| Tls::new(ca_file.as_deref()));
    let tls = tls.transpose().map_err(ProxyError::Tls)?;
    let landlock = confine::proxy(uid).map_err(ProxyError::Confine)?;
    tracing::debug!(?landlock, "confined");
    let shared = Shared {
        resolver,
        tls,
        connect: Duration::from_millis(connect_ms),
        idle: Duration::from_millis(idle_ms),
        plain_tunnels,
    };
    Ok((runtime, shared))
}

fn send(socket: &OwnedFd, message: &FromProxy) -> Result<(), ProxyError> {
    socket::send(socket, &encode(message), &[]).map_err(ProxyError::Answer)
}

fn encode(message: &FromProxy) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message has no map but of texts")
}

/// Serves jobs until the worker is gone.
async fn serve(socket: OwnedFd, shared: Shared) -> Result<(), ProxyError> {
    let channel = Channel::new(socket).map_err(ProxyError::Socket)?;
    let shared = Arc::new(shared);
    let (events, mut waiting) = mpsc::channel::<FromProxy>(WAITING_MAX);
    let mut open: BTreeMap<u64, oneshot::Sender<()>> = BTreeMap::new();
    let mut leases = JoinSet::new();
    loop {
        tokio::select! {
            message = channel.recv(MESSAGE_MAX) => {
                let Some(message) = message.map_err(ProxyError::Socket)? else {
                    return Ok(());
                };
                match serde_json::from_slice(&message.bytes).map_err(ProxyError::Decode)? {
                    ToProxy::Begin(_) => return Err(ProxyError::Nonsense("it begins twice")),
                    ToProxy::Open(opening) => {
                        let (id, listener, lease) = lease(opening, message.descriptors, &events)?;
                        let (stop, stopped) = oneshot::channel();
                        open.insert(id, stop);
                        leases.spawn(lease::serve(listener, lease, Arc::clone(&shared), stopped));
                    }
                    ToProxy::Close { lease } => {
                        let stop = open.remove(&lease);
                        let stop = stop.ok_or(ProxyError::Nonsense("it closes what is not open"))?;
                        if stop.send(()).is_err() {
                            tracing::debug!(lease, "it ended by itself");
                        }
                    }
                }
            }
            Some(event) = waiting.recv() => answer(&channel, &event).await?,
            Some(closed) = leases.join_next() => {
                // What was told before comes before it.
                while let Ok(event) = waiting.try_recv() {
                    answer(&channel, &event).await?;
                }
                let closed = closed.map_err(|_| ProxyError::Nonsense("a lease panicked"))?;
                answer(&channel, &closed).await?;
            }
        }
    }
}

async fn answer(channel: &Channel, event: &FromProxy) -> Result<(), ProxyError> {
    channel
        .send(&encode(event), &[])
        .await
        .map_err(ProxyError::Answer)
}

/// A job's lease and its listener.
fn lease(
    opening: Opening,
    descriptors: Vec<OwnedFd>,
    events: &mpsc::Sender<FromProxy>,
) -> Result<(u64, TcpListener, Arc<Lease>), ProxyError> {
    let mut descriptors = descriptors.into_iter();
    let (Some(listener), None) = (descriptors.next(), descriptors.next()) else {
        return Err(ProxyError::Nonsense("a job has one listener"));
    };
    let listener = std::net::TcpListener::from(listener);
    listener
        .set_nonblocking(true)
        .map_err(ProxyError::Listener)?;
    let listener = TcpListener::from_std(listener).map_err(ProxyError::Listener)?;
    let grant = Grant::granted(&opening.allow).map_err(ProxyError::Grant)?;
    let Opening {
        lease,
        connections,
        bytes,
        credentials,
        ..
    } = opening;
    let made = Lease::new(
        (lease, grant),
        credentials,
        (connections, bytes),
        events.clone(),
    );
    Ok((lease, listener, Arc::new(made)))
}
