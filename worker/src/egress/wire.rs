//! What do the worker and the proxy say to each other?
//!
//! One JSON document a message, on a `SOCK_SEQPACKET` socket that is the proxy's fd 0. The worker
//! begins with [`ToProxy::Begin`], which is answered by [`FromProxy::Ready`].

use super::address::Range;
use super::credential::Credential;
use super::tally::Decision;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Bytes of a message at most.
pub(crate) const MESSAGE_MAX: usize = 128 * 1024;
/// Bytes of a target in an [`FromProxy::Attempt`] at most.
pub(crate) const TARGET_BYTES_MAX: usize = 96;

/// From the worker.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToProxy {
    /// The first message.
    Begin(Settings),
    /// A job may connect. Descriptor: the listener by which it asks.
    Open(Opening),
    /// It has ended: every connection of it ends too.
    Close { lease: u64 },
}

/// What holds for every job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Who is asked for names; the first that answers.
    pub(crate) resolvers: Vec<SocketAddr>,
    /// What may be reached although it is private.
    pub(crate) allow_private: Vec<Range>,
    /// Patterns of what a tunnel may carry anything to.
    pub(crate) plain_tunnels: Vec<String>,
    /// Whether credentials are attached, over TLS.
    pub(crate) tls: bool,
    /// Authorities beside the machine's own; read before the proxy gives up files.
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) connect_ms: u64,
    pub(crate) idle_ms: u64,
    /// The uid and gid to work as, where the proxy starts as root.
    pub(crate) uid: u32,
}

/// What one job may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    pub(crate) lease: u64,
    /// As [`super::allow::Grant::to_texts`] gives it.
    pub(crate) allow: Vec<String>,
    /// What is attached to its requests.
    pub(crate) credentials: Vec<Credential>,
    /// At one time.
    pub(crate) connections: u32,
    /// To and from all hosts together.
    pub(crate) bytes: u64,
}

/// From the proxy.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromProxy {
    /// It is confined, and waits for jobs.
    Ready,
    /// It cannot begin.
    Failed { message: String },
    /// A job asked for something.
    Attempt(Attempt),
    /// The answer to a [`ToProxy::Close`]. `untold` counts the attempts that were not told one
    /// by one, by decision.
    Closed {
        lease: u64,
        untold: Vec<(Decision, u64)>,
        bytes: u64,
    },
}

/// One attempt and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) lease: u64,
    /// What was asked for, cut and without control characters; empty where that is not known.
    pub(crate) target: String,
    pub(crate) decision: Decision,
    /// Of what was refused, in a few words.
    pub(crate) why: String,
}
