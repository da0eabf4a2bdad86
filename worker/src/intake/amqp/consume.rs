//! How do deliveries come in, and go on coming whatever happens to a queue, a channel or the
//! connection?
//!
//! ```text
//!  run ── a connection ends ──► the next, with everything on it
//!   └─ queue, for each ── its channel or consumer ends ──► the next; the others do not notice
//!   └─ control            likewise, and what was missed is told by `ControlOpen`
//! ```

use super::connect::{close, ended, in_time};
use super::{Incoming, Shared, canary, declare, depth, is_set, properties};
use crate::backoff::Backoff;
use crate::config::TopologyMode;
use crate::intake::ticket::Ticket;
use crate::intake::{Control, Delivery, Source};
use crate::telemetry::event::{Connected, Rebuilt};
use crate::telemetry::metric::Role;
use futures_util::StreamExt as _;
use kiln_protocol::topology::CONTROL;
use lapin::options::{
    BasicCancelOptions, BasicConsumeOptions, BasicQosOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, Consumer, Error};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long what was under way when a consumer was cancelled may take to arrive.
const REST_MAX: Duration = Duration::from_secs(1);
/// Bytes of a control message; more is none.
const CONTROL_BYTES_MAX: usize = 64 * 1024;

/// Keeps a connection that consumes until no more is wanted.
pub(super) async fn run(shared: Arc<Shared>, first: Connection) {
    let mut backoff = Backoff::new(shared.pace.backoff_max);
    let mut connection = first;
    loop {
        Connected(Role::Consumer, true).emit(&shared.metrics);
        let connected = Arc::new(connection);
        let why = serve(&shared, &connected).await;
        Connected(Role::Consumer, false).emit(&shared.metrics);
        close(&connected).await;
        let Some(why) = why else { return };
        Rebuilt {
            connection: "consumer",
            why: &why,
        }
        .emit(&shared.metrics);
        drop(connected);
        let next = shared.connect("consumer", &mut backoff).await;
        let Some(next) = next else { return };
        look_again(&shared, &next).await;
        connection = next;
    }
}

/// What changed in the topology while nobody looked is told; what is left of it is still used.
async fn look_again(shared: &Shared, connection: &Connection) {
    let create = shared.options.topology == TopologyMode::Create;
    match declare::inspect(connection, &shared.topology, create).await {
        Ok(found) => {
            for line in found.differences {
                tracing::error!("the broker's topology has changed: {line}");
            }
        }
        Err(error) => tracing::warn!(%error, "the topology was not looked at"),
    }
}

/// Everything on one connection. Returns when it is in doubt, with the reason, or with none when
/// no more is wanted.
async fn serve(shared: &Arc<Shared>, connection: &Arc<Connection>) -> Option<String> {
    let mut events = Box::pin(connection.events_listener());
    let mut tasks = JoinSet::new();
    for source in &shared.options.sources {
        let (shared, connection) = (Arc::clone(shared), Arc::clone(connection));
        let source = Arc::clone(source);
        tasks.spawn(async move {
            queue(&shared, &connection, source).await;
            None
        });
    }
    {
        let (shared, connection) = (Arc::clone(shared), Arc::clone(connection));
        tasks.spawn(async move {
            control(&shared, &connection).await;
            None
        });
    }
    {
        let (shared, connection) = (Arc::clone(shared), Arc::clone(connection));
        tasks.spawn(async move {
            depth::watch(&shared, &connection).await;
            None
        });
    }
    {
        let (shared, connection) = (Arc::clone(shared), Arc::clone(connection));
        tasks.spawn(async move { Some(canary::watch(&shared, &connection).await) });
    }
    let why = tokio::select! {
        why = ended(connection, &mut events, |_| {}) => Some(why),
        why = doubt(&mut tasks) => Some(why),
        () = is_set(&shared.closing) => None,
    };
    tasks.shutdown().await;
    why
}

async fn doubt(tasks: &mut JoinSet<Option<String>>) -> String {
    while let Some(task) = tasks.join_next().await {
        match task {
            Ok(None) => {}
            Ok(Some(why)) => return why,
            Err(error) => return format!("a task has ended: {error}"),
        }
    }
    std::future::pending().await
}

/// Counts a queue among those that have a consumer.
struct Up<'a> {
    shared: &'a Shared,
    queue: &'a str,
}

impl<'a> Up<'a> {
    fn new(shared: &'a Shared, queue: &'a str) -> Self {
        shared.consumers.send_modify(|live| *live += 1);
        shared.metrics.consumer_up(queue, true);
        Self { shared, queue }
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        self.shared.consumers.send_modify(|live| *live -= 1);
        self.shared.metrics.consumer_up(self.queue, false);
    }
}

/// Keeps a consumer on one queue for as long as the connection lasts and jobs are wanted.
async fn queue(shared: &Shared, connection: &Connection, source: Arc<Source>) {
    let mut backoff = Backoff::new(shared.pace.backoff_max);
    let mut told = String::new();
    while !*shared.stopping.borrow() && connection.status().connected() {
        let why = match consume(shared, connection, &source).await {
            Ok(Ended::Stopped) => return,
            Ok(Ended::Cancelled) => "the broker ended the consumer".to_owned(),
            Ok(Ended::Failed(error)) | Err(error) => error.to_string(),
        };
        // A queue that stays away is not news each time.
        if why != told && connection.status().connected() {
            tracing::warn!(queue = source.queue, why, "the consumer is rebuilt");
            told = why;
        }
        tokio::select! {
            () = backoff.wait() => {}
            () = is_set(&shared.stopping) => return,
        }
        if shared.options.topology == TopologyMode::Create {
            look_again(shared, connection).await;
        }
    }
}

/// Why a consumer is one no longer.
enum Ended {
    Stopped,
    Cancelled,
    Failed(Error),
}

async fn consume(
    shared: &Shared,
    connection: &Connection,
    source: &Arc<Source>,
) -> Result<Ended, Error> {
    let channel = in_time(connection.create_channel()).await?;
    let qos = BasicQosOptions { global: false };
    in_time(channel.basic_qos(shared.options.prefetch, qos)).await?;
    let mut consumer = in_time(channel.basic_consume(
        source.queue.as_str().into(),
        "".into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    ))
    .await?;
    let _up = Up::new(shared, &source.queue);
    loop {
        let next = tokio::select! {
            biased;
            () = is_set(&shared.stopping) => break,
            next = consumer.next() => next,
        };
        match next {
            Some(Ok(delivery)) => {
                shared.metrics.delivery(delivery.redelivered);
                let delivery = taken(shared, &channel, source, delivery);
                // Nobody listens any more: dropping it gives it back, and no more is wanted.
                if shared.incoming.send(Incoming::Delivery(delivery)).is_err() {
                    break;
                }
            }
            Some(Err(error)) => return Ok(Ended::Failed(error)),
            None => return Ok(Ended::Cancelled),
        }
    }
    cancel(shared, &channel, &mut consumer, source).await;
    Ok(Ended::Stopped)
}

fn taken(
    shared: &Shared,
    channel: &Channel,
    source: &Arc<Source>,
    delivery: lapin::message::Delivery,
) -> Delivery {
    let properties = properties::read(&delivery, shared.address.user());
    let body = Arc::new(delivery.data);
    Delivery {
        source: Arc::clone(source),
        body: Arc::clone(&body),
        properties,
        ticket: Ticket::new(
            delivery.acker,
            channel.clone(),
            body,
            delivery.properties,
            Arc::clone(source),
            Arc::clone(&shared.metrics),
        ),
        received: Instant::now(),
    }
}

/// Ends a consumer; what arrives until the broker has heard of it goes back.
async fn cancel(shared: &Shared, channel: &Channel, consumer: &mut Consumer, source: &Arc<Source>) {
    let cancelled = channel.basic_cancel(consumer.tag(), BasicCancelOptions::default());
    if let Err(error) = in_time(cancelled).await {
        tracing::debug!(%error, queue = source.queue, "the consumer is gone already");
    }
    while let Ok(Some(Ok(delivery))) = timeout(REST_MAX, consumer.next()).await {
        let ticket = taken(shared, channel, source, delivery).ticket;
        ticket.give_back().await;
    }
}

/// Listens to control for as long as the connection lasts.
async fn control(shared: &Shared, connection: &Connection) {
    let mut backoff = Backoff::new(shared.pace.backoff_max);
    while connection.status().connected() {
        let why = match listen(shared, connection).await {
            Ok(true) => return,
            Ok(false) => "the broker ended the consumer".to_owned(),
            Err(error) => error.to_string(),
        };
        // A connection that ends is told as one.
        if connection.status().connected() {
            tracing::warn!(why, "control is not heard");
        }
        backoff.wait().await;
    }
}

/// True where nobody wants to know any more.
async fn listen(shared: &Shared, connection: &Connection) -> Result<bool, Error> {
    let channel = in_time(connection.create_channel()).await?;
    let options = QueueDeclareOptions::exclusive().auto_delete();
    let declared = in_time(channel.queue_declare("".into(), options, FieldTable::default()));
    let queue = declared.await?.name().clone();
    in_time(channel.queue_bind(
        queue.clone(),
        CONTROL.into(),
        "".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    ))
    .await?;
    let options = BasicConsumeOptions {
        no_ack: true,
        exclusive: true,
        ..BasicConsumeOptions::default()
    };
    let consumer = channel.basic_consume(queue, "".into(), options, FieldTable::default());
    let mut consumer = in_time(consumer).await?;
    let mut next = Incoming::ControlOpen;
    loop {
        if shared.incoming.send(next).is_err() {
            return Ok(true);
        }
        let delivery = loop {
            match consumer.next().await {
                None => return Ok(false),
                Some(Err(error)) => return Err(error),
                Some(Ok(delivery)) if delivery.data.len() <= CONTROL_BYTES_MAX => break delivery,
                Some(Ok(_)) => tracing::warn!("a control message is too large"),
            }
        };
        let properties = properties::read(&delivery, shared.address.user());
        next = Incoming::Control(Control {
            body: delivery.data,
            reply_to: properties.reply_to,
            correlation_id: properties.correlation_id,
        });
    }
}
