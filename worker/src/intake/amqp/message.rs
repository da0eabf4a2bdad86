//! What is published, and what can become of it?

use kiln_protocol::topology::RETRY;
use std::sync::Arc;

/// What is to be published. Persistent, mandatory, confirmed.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Empty for the default exchange, which knows queues by name.
    pub exchange: String,
    pub routing_key: String,
    pub body: Arc<[u8]>,
    /// `type`, such as `kiln.outcome.v1`.
    pub kind: String,
    pub message_id: Option<String>,
    pub correlation_id: Option<String>,
    /// The trace that it belongs to.
    pub traceparent: Option<String>,
}

/// What the broker said of a published message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    Routed,
    /// No queue takes it; it was counted and is gone.
    Unroutable,
}

/// How long a message waits before it is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    Seconds5,
    Seconds30,
    Minutes5,
}

impl Delay {
    /// The exchange that leads to its queue.
    pub fn exchange(self) -> &'static str {
        let n = match self {
            Self::Seconds5 => 0,
            Self::Seconds30 => 1,
            Self::Minutes5 => 2,
        };
        RETRY[n].0
    }
}

/// Why a message was not confirmed.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("publish: there is no connection")]
    Away,
    #[error("publish: no confirmation came in time")]
    Late,
    #[error("publish: the broker refused it")]
    Refused,
    /// Only where a message must not be lost: no queue takes it.
    #[error("publish: no queue takes it")]
    Unroutable,
    #[error("publish: a name in it is longer than 255 bytes")]
    TooLong,
    #[error("publish")]
    Broker(#[source] lapin::Error),
    /// One connection after another ended while it was sent.
    #[error("publish: connections end while it is sent")]
    Broken(#[source] lapin::Error),
    /// Only where a delivery is moved: it is not ours any more, and comes again.
    #[error("publish: its delivery was lost")]
    Lost,
}
