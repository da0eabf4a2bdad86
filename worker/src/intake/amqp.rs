//! The connections to `RabbitMQ`: one that consumes, one that publishes, each rebuilt on any doubt.
//!
//! ```text
//!  consumer ─┬─ a channel for each queue of jobs ──► Incoming::Delivery
//!            ├─ a channel for control ─────────────► Incoming::Control
//!            └─ a channel for the canary ◄──────────────────────────┐
//!  publisher ── a channel for each publish in flight ─► broker ─────┘
//! ```
//!
//! Direct replies have a third, made when the first is sent: a client can name one that ends it.
//!
//! They are two because the broker stops reading from a connection that publishes while it is short
//! of memory or disk; answers to deliveries must not wait behind that. Nothing is ever published on
//! the connection that consumes.
//!
//! # Layout
//!
//! - [`connect`], [`backoff`]: one connection, and when the next is tried
//! - [`clean`]: what keeps a single message from ending it
//! - [`declare`]: what differs between the broker's topology and ours
//! - [`rights`]: what the broker must let us do before anything is consumed
//! - [`consume`], [`canary`]: the consumer's side, and the proof that it still hears
//! - [`depth`]: how many messages wait, for whoever looks at the figures
//! - [`publish`], [`message`]: the publisher's side, and its words
//! - [`properties`], [`again`]: what a message says, and what it says when we publish it again

pub(crate) mod again;
mod canary;
mod clean;
pub(crate) mod connect;
mod consume;
pub(crate) mod declare;
mod depth;
mod message;
mod pace;
pub(crate) mod properties;
pub(crate) mod publish;
mod rights;
#[cfg(test)]
mod tests;

pub use message::{Delay, Outgoing, PublishError, Published};

use super::{Incoming, Source};
use crate::backoff::Backoff;
use crate::config::{Secret, TopologyMode};
use crate::telemetry::metric::Metrics;
use connect::Address;
use kiln_protocol::id::Tenant;
use kiln_protocol::topology::Topology;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Connection};
use pace::Pace;
use publish::{Publisher, Way};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How the broker's own names for direct replies begin.
pub(crate) const DIRECT_REPLY: &str = "amq.rabbitmq.reply-to";

/// How long the consumers may take to be cancelled.
const STOP_MAX: Duration = Duration::from_secs(5);
/// How long both connections may take to close.
const CLOSE_MAX: Duration = Duration::from_secs(15);

/// What is to be connected to.
#[derive(Clone, Debug)]
pub struct BrokerOptions {
    pub url: Secret,
    /// Shown in the broker's list of connections.
    pub name: String,
    pub topology: TopologyMode,
    /// Tenants with queues of their own.
    pub tenants: Vec<Tenant>,
    /// The queues that jobs are taken from.
    pub sources: Vec<Arc<Source>>,
    /// Unanswered deliveries of one queue at most.
    pub prefetch: u16,
}

/// Both connections. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Broker {
    owner: Arc<Owner>,
}

/// Ends both connections when the last [`Broker`] is gone.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Owner {
    fn take_tasks(&self) -> Vec<JoinHandle<()>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *tasks)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.closing.send_replace(true);
    }
}

/// What the tasks of both connections know.
#[derive(Debug)]
struct Shared {
    address: Address,
    options: BrokerOptions,
    topology: Topology,
    metrics: Arc<Metrics>,
    incoming: mpsc::UnboundedSender<Incoming>,
    publisher: Publisher,
    direct: Publisher,
    pace: Pace,
    /// No jobs are wanted any more.
    stopping: watch::Sender<bool>,
    closing: watch::Sender<bool>,
    /// Queues of jobs that have their consumer.
    consumers: watch::Sender<usize>,
}

/// Why there is no broker to work with.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// What is there is not what is wanted; each difference is a line.
    #[error("take the broker's topology: {}", .0.join("; "))]
    Topology(Vec<String>),
    #[error("speak to the broker at `{place}` (`amqp.url`)")]
    Connect {
        /// Host and port.
        place: String,
        source: lapin::Error,
    },
    #[error("connect to the broker at `{0}` (`amqp.url`) in time")]
    Late(String),
    /// What the broker does not let us do.
    #[error("take jobs from the broker: the user `{user}` needs {right}: {told}")]
    Right {
        user: String,
        right: &'static str,
        told: String,
    },
    /// Without the url: it holds a password.
    #[error("take `amqp.url`: {0}")]
    Url(String),
}

/// How the connections stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerStatus {
    /// Every queue has its consumer.
    pub consuming: bool,
    pub publishing: bool,
    /// The broker takes no messages for now (memory or disk alarm).
    pub blocked: bool,
}

impl Broker {
    /// Connects, looks at the topology (or makes it), and starts to consume. A broker that is
    /// away at the start is waited for like one that goes away later; a topology that differs is
    /// an error, and so is a user or a virtual host that the broker does not know.
    pub async fn start(
        options: BrokerOptions,
        metrics: Arc<Metrics>,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Incoming>), BrokerError> {
        Self::start_at(Pace::default(), options, metrics).await
    }

    async fn start_at(
        pace: Pace,
        options: BrokerOptions,
        metrics: Arc<Metrics>,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Incoming>), BrokerError> {
        let address = Address::parse(&options.url, &options.name)?;
        let topology = Topology::new(&options.tenants);
        let create = options.topology == TopologyMode::Create;
        let connection = first(&address, &topology, create, pace).await?;
        let (incoming, received) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            address,
            topology,
            publisher: Publisher::new(Arc::clone(&metrics)),
            direct: Publisher::new(Arc::clone(&metrics)),
            metrics,
            pace,
            incoming,
            stopping: watch::Sender::new(false),
            closing: watch::Sender::new(false),
            consumers: watch::Sender::new(0),
            options,
        });
        let tasks = vec![
            tokio::spawn(publish::run(Arc::clone(&shared), Way::All)),
            tokio::spawn(publish::run(Arc::clone(&shared), Way::Direct)),
            tokio::spawn(consume::run(Arc::clone(&shared), connection)),
        ];
        let owner = Arc::new(Owner {
            shared,
            tasks: Mutex::new(tasks),
        });
        Ok((Self { owner }, received))
    }

    /// Publishes and waits for the broker's word, for as long as one publish may take. A message
    /// whose connection breaks is published again, so it may arrive twice.
    pub async fn publish(&self, message: Outgoing) -> Result<Published, PublishError> {
        let Outgoing {
            exchange,
            routing_key,
            body,
            kind,
            message_id,
            correlation_id,
            traceparent,
        } = message;
        let mut properties = BasicProperties::default()
            .with_delivery_mode(2)
            .with_content_type("application/json".into())
            .with_type(short(kind)?);
        if let Ok(since) = SystemTime::now().duration_since(UNIX_EPOCH) {
            properties = properties.with_timestamp(since.as_secs());
        }
        if let Some(traceparent) = traceparent {
            let mut headers = FieldTable::default();
            let value = AMQPValue::LongString(traceparent.into());
            headers.insert("traceparent".into(), value);
            properties = properties.with_headers(headers);
        }
        if let Some(id) = message_id {
            properties = properties.with_message_id(short(id)?);
        }
        if let Some(id) = correlation_id {
            properties = properties.with_correlation_id(short(id)?);
        }
        self.publish_as(&exchange, &routing_key, &body, properties)
            .await
    }

    /// As [`publish`](Self::publish), with properties of the caller's.
    pub(crate) async fn publish_as(
        &self,
        exchange: &str,
        routing_key: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<Published, PublishError> {
        self.owner
            .shared
            .publisher(Way::of(exchange, routing_key))
            .publish(exchange, routing_key, body, properties)
            .await
    }

    /// The user that the broker knows us by.
    pub(crate) fn user(&self) -> &str {
        self.owner.shared.address.user()
    }

    pub fn status(&self) -> BrokerStatus {
        let shared = &self.owner.shared;
        let (publishing, blocked) = shared.publisher.status();
        BrokerStatus {
            consuming: *shared.consumers.borrow() == shared.options.sources.len(),
            publishing,
            blocked,
        }
    }

    /// Cancels every consumer of jobs: no further delivery comes. What came before is still to be
    /// answered. Control goes on.
    pub async fn stop_consuming(&self) {
        let shared = &self.owner.shared;
        shared.stopping.send_replace(true);
        let mut consumers = shared.consumers.subscribe();
        let none = timeout(STOP_MAX, consumers.wait_for(|live| *live == 0)).await;
        if none.is_err() {
            tracing::warn!("not every consumer was cancelled in time");
        }
    }

    /// Sends what is still to be sent, and closes both connections.
    pub async fn close(self) {
        self.owner.shared.closing.send_replace(true);
        let tasks = self.owner.take_tasks();
        let all = futures_util::future::join_all(tasks);
        if timeout(CLOSE_MAX, all).await.is_err() {
            tracing::warn!("the connections to the broker did not close in time");
        }
    }
}

impl Shared {
    fn publisher(&self, way: Way) -> &Publisher {
        match way {
            Way::All => &self.publisher,
            Way::Direct => &self.direct,
        }
    }

    /// The next connection; none where no more is wanted.
    async fn connect(&self, name: &str, backoff: &mut Backoff) -> Option<Connection> {
        let mut told = String::new();
        loop {
            let attempt = async {
                backoff.wait().await;
                self.address.connect(name).await
            };
            let made = tokio::select! {
                made = attempt => made,
                () = is_set(&self.closing) => return None,
            };
            match made {
                Ok(connection) => return Some(connection),
                Err(error) => away(&self.address, &error, &mut told),
            }
        }
    }
}

/// Waits until it is said.
async fn is_set(flag: &watch::Sender<bool>) {
    let mut seen = flag.subscribe();
    if seen.wait_for(|set| *set).await.is_err() {
        tracing::debug!("nobody is left to say it");
    }
}

/// Tells why the broker is away, once for each reason.
fn away(address: &Address, error: &BrokerError, told: &mut String) {
    let why = crate::fault::chain(error);
    if *told != why {
        tracing::warn!(?address, why, "the broker is away");
        *told = why;
    }
}

fn short(text: String) -> Result<ShortString, PublishError> {
    ShortString::try_new(text).map_err(|_| PublishError::TooLong)
}

/// The first connection, with the topology as it should be.
async fn first(
    address: &Address,
    topology: &Topology,
    create: bool,
    pace: Pace,
) -> Result<Connection, BrokerError> {
    let mut backoff = Backoff::new(pace.backoff_max);
    let mut told = String::new();
    loop {
        let error = match checked(address, topology, create).await {
            Err(error) if !connect::is_final(&error) => error,
            ended => return ended,
        };
        away(address, &error, &mut told);
        backoff.wait().await;
    }
}

async fn checked(
    address: &Address,
    topology: &Topology,
    create: bool,
) -> Result<Connection, BrokerError> {
    let connection = address.connect("consumer").await?;
    let found = declare::inspect(&connection, topology, create)
        .await
        .map_err(|error| address.failed(error))?;
    for line in &found.made {
        tracing::info!("made {line}");
    }
    for line in &found.unseen {
        tracing::debug!("may not look at {line}");
    }
    let refused = if found.differences.is_empty() {
        match rights::check(&connection, address).await {
            Ok(()) => return Ok(connection),
            Err(refused) => refused,
        }
    } else {
        BrokerError::Topology(found.differences)
    };
    connect::close(&connection).await;
    Err(refused)
}
