//! How does a message reach the broker, and what does the broker say to it?
//!
//! Many are in flight at once, each on a channel of its own: a message that comes back, or an
//! exchange that is not there, which ends the channel, then concerns one message and no other.

use super::connect::{close, ended};
use super::{DIRECT_REPLY, PublishError, Published, Shared, is_set};
use crate::backoff::Backoff;
use crate::telemetry::event::{Blocked, Connected, Rebuilt, Unheard};
use crate::telemetry::metric::{Metrics, Role};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation, Connection, Error};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{sleep, timeout_at};

/// How long one publish may take, waiting for a connection included.
const PUBLISH_MAX: Duration = Duration::from_secs(10);
/// Publishes in flight at most.
const IN_FLIGHT_MAX: usize = 64;
/// Connections that may end while one message is sent before it is taken for the reason.
const BROKEN_MAX: usize = 2;
/// The longest pause before the connection for direct replies is made again.
const DIRECT_BACKOFF_MAX: Duration = Duration::from_secs(1);
/// How often a connection that is blocked is looked at.
const BLOCKED_LOOK: Duration = Duration::from_millis(50);

/// The way to the broker for messages.
#[derive(Debug)]
pub(crate) struct Publisher {
    link: watch::Sender<Option<Arc<Link>>>,
    permits: Semaphore,
    metrics: Arc<Metrics>,
    /// Somebody has wanted to publish.
    wanted: Notify,
}

/// Which messages a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    All,
    /// Direct replies: the broker reads a process out of their names, and ends the connection of
    /// one that it cannot read. Made when the first is sent.
    Direct,
}

impl Way {
    pub(super) fn of(exchange: &str, routing_key: &str) -> Self {
        if exchange.is_empty() && routing_key.starts_with(DIRECT_REPLY) {
            Self::Direct
        } else {
            Self::All
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::All => "publisher",
            Self::Direct => "direct replies",
        }
    }
}

/// One connection that publishes.
pub(crate) struct Link {
    connection: Connection,
    idle: Mutex<Vec<Channel>>,
    doubt: Notify,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Publisher {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            link: watch::Sender::new(None),
            permits: Semaphore::new(IN_FLIGHT_MAX),
            metrics,
            wanted: Notify::new(),
        }
    }

    /// Whether messages can be published, and whether the broker takes none for now.
    pub(super) fn status(&self) -> (bool, bool) {
        let link = self.link.borrow();
        let status = link.as_ref().map(|link| link.connection.status());
        (
            status.is_some_and(lapin::ConnectionStatus::connected),
            status.is_some_and(lapin::ConnectionStatus::blocked),
        )
    }

    /// Publishes: persistent where the properties say so, mandatory, confirmed.
    pub(super) async fn publish(
        &self,
        exchange: &str,
        routing_key: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<Published, PublishError> {
        let name = |text: &str| ShortString::try_new(text).map_err(|_| PublishError::TooLong);
        let (exchange, routing_key) = (name(exchange)?, name(routing_key)?);
        let deadline = tokio::time::Instant::now() + PUBLISH_MAX;
        let permit = timeout_at(deadline, self.permits.acquire()).await;
        let _permit = permit
            .map_err(|_| PublishError::Late)?
            .expect("the semaphore is never closed");
        self.wanted.notify_one();
        let mut broken: Vec<Arc<Link>> = Vec::new();
        loop {
            let link = self.link(deadline).await?;
            let started = Instant::now();
            let (to, key) = (exchange.clone(), routing_key.clone());
            let answer = link.publish(to, key, body, properties.clone());
            match timeout_at(deadline, answer).await {
                Ok(Ok(confirmation)) => {
                    self.metrics.publish_confirm(started.elapsed());
                    return self.meaning(exchange.as_str(), &confirmation);
                }
                // The broker minded this message, and ended its channel alone.
                Ok(Err(error)) if error.is_amqp_soft_error() && link.usable() => {
                    return Err(PublishError::Broker(error));
                }
                Ok(Err(error)) => {
                    tracing::debug!(%error, "publish again");
                    link.doubt.notify_one();
                    if !broken.iter().any(|known| Arc::ptr_eq(known, &link)) {
                        broken.push(link);
                    }
                    if broken.len() == BROKEN_MAX {
                        return Err(PublishError::Broken(error));
                    }
                    sleep(BLOCKED_LOOK).await;
                }
                Err(_) => {
                    if !link.connection.status().blocked() {
                        link.doubt.notify_one();
                    }
                    return Err(PublishError::Late);
                }
            }
        }
    }

    fn meaning(
        &self,
        exchange: &str,
        confirmation: &Confirmation,
    ) -> Result<Published, PublishError> {
        match confirmation {
            Confirmation::Ack(None) => Ok(Published::Routed),
            Confirmation::Ack(Some(_)) => {
                Unheard { exchange }.emit(&self.metrics);
                Ok(Published::Unroutable)
            }
            Confirmation::Nack(_) | Confirmation::NotRequested => Err(PublishError::Refused),
        }
    }

    /// A connection that takes messages.
    async fn link(&self, deadline: tokio::time::Instant) -> Result<Arc<Link>, PublishError> {
        let mut links = self.link.subscribe();
        loop {
            let usable = links.wait_for(|link| link.as_ref().is_some_and(|link| link.usable()));
            let link = timeout_at(deadline, usable)
                .await
                .map_err(|_| PublishError::Away)?
                .map_err(|_| PublishError::Away)?
                .clone()
                .expect("it was waited for");
            if !link.connection.status().blocked() {
                return Ok(link);
            }
            // What is sent now is only read when the alarm is over, and may then be sent twice.
            timeout_at(deadline, sleep(BLOCKED_LOOK))
                .await
                .map_err(|_| PublishError::Late)?;
        }
    }
}

impl Link {
    fn usable(&self) -> bool {
        self.connection.status().connected()
    }

    async fn publish(
        &self,
        exchange: ShortString,
        routing_key: ShortString,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<Confirmation, Error> {
        let channel = self.channel().await?;
        let options = BasicPublishOptions {
            mandatory: true,
            immediate: false,
        };
        let confirmation = channel
            .basic_publish(exchange, routing_key, options, body, properties)
            .await?
            .await?;
        // One that is not put back closes: nobody knows what else it may bring.
        self.lock().push(channel);
        Ok(confirmation)
    }

    async fn channel(&self) -> Result<Channel, Error> {
        let idle = self.lock().pop();
        if let Some(channel) = idle.filter(|channel| channel.status().connected()) {
            return Ok(channel);
        }
        let channel = self.connection.create_channel().await?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        Ok(channel)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Channel>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a connection for messages until no more is wanted.
pub(super) async fn run(shared: Arc<Shared>, way: Way) {
    let publisher = shared.publisher(way);
    let mut longest = shared.pace.backoff_max;
    if way == Way::Direct {
        longest = longest.min(DIRECT_BACKOFF_MAX);
        tokio::select! {
            () = publisher.wanted.notified() => {}
            () = is_set(&shared.closing) => return,
        }
    }
    let connected = |is| {
        if way == Way::All {
            Connected(Role::Publisher, is).emit(&shared.metrics);
        }
    };
    let blocked = |is| {
        if way == Way::All {
            Blocked(is).emit(&shared.metrics);
        }
    };
    let mut backoff = Backoff::new(longest);
    while let Some(connection) = shared.connect(way.name(), &mut backoff).await {
        let mut events = Box::pin(connection.events_listener());
        let link = Arc::new(Link {
            connection,
            idle: Mutex::new(Vec::new()),
            doubt: Notify::new(),
        });
        publisher.link.send_replace(Some(Arc::clone(&link)));
        connected(true);
        let why = tokio::select! {
            why = ended(&link.connection, &mut events, blocked) => Some(why),
            () = link.doubt.notified() => Some("a message was not confirmed".to_owned()),
            () = is_set(&shared.closing) => None,
        };
        if why.is_none() {
            in_flight_is_confirmed(publisher).await;
        }
        publisher.link.send_replace(None);
        connected(false);
        close(&link.connection).await;
        let Some(why) = why else { return };
        let connection = way.name();
        Rebuilt {
            connection,
            why: &why,
        }
        .emit(&shared.metrics);
    }
}

async fn in_flight_is_confirmed(publisher: &Publisher) {
    let all = u32::try_from(IN_FLIGHT_MAX).expect("a small number");
    let deadline = tokio::time::Instant::now() + PUBLISH_MAX;
    if timeout_at(deadline, publisher.permits.acquire_many(all))
        .await
        .is_err()
    {
        tracing::warn!("messages are left that the broker did not confirm");
    }
}
