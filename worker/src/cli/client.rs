//! How do commands speak to the broker that send a job or a wish and wait for the answer?

use super::exit::Exit;
use super::stop::Stop;
use crate::config::Amqp;
use crate::fault::chain;
use crate::intake::amqp::connect::Address;
use futures_util::StreamExt as _;
use kiln_protocol::topology::{CONTROL, JOBS};
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer};
use std::sync::Arc;
use std::time::Duration;

/// How long the broker has for one answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection of one command.
#[derive(Debug)]
pub(super) struct Client {
    connection: Connection,
    outlet: Outlet,
    /// The answers, once there is a queue for them.
    replies: Option<Consumer>,
}

/// What goes out by a connection; many may send at once. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Outlet {
    channel: Channel,
    /// Where the broker is.
    place: Arc<str>,
    /// The queue that answers come by, once there is one.
    replies: Option<String>,
}

impl Client {
    pub(super) async fn connect(amqp: &Amqp) -> Result<Self, Stop> {
        let place: Arc<str> = match Address::parse(&amqp.url, "kiln") {
            Ok(address) => address.place().into(),
            Err(error) => return Err(Stop::new(Exit::Config, vec![chain(&error)])),
        };
        let properties = ConnectionProperties::default().with_connection_name("kiln".into());
        let connecting = Connection::connect(amqp.url.reveal(), properties);
        let connection = within(&place, connecting).await?;
        let channel = within(&place, connection.create_channel()).await?;
        within(
            &place,
            channel.confirm_select(ConfirmSelectOptions::default()),
        )
        .await?;
        Ok(Self {
            connection,
            outlet: Outlet {
                channel,
                place,
                replies: None,
            },
            replies: None,
        })
    }

    /// The way out, for those who send while answers are awaited.
    pub(super) fn outlet(&self) -> Outlet {
        self.outlet.clone()
    }

    /// Makes a queue for answers, which goes with this connection.
    pub(super) async fn listen(&mut self, amqp: &Amqp) -> Result<(), Stop> {
        let Some(prefix) = amqp.reply_prefixes.first() else {
            let line = "take `amqp.reply_prefixes`: there must be one to wait for answers";
            return Err(Stop::new(Exit::Config, vec![line.to_owned()]));
        };
        let name = format!("{prefix}{}", uuid::Uuid::now_v7().simple());
        let options = QueueDeclareOptions {
            exclusive: true,
            auto_delete: true,
            ..QueueDeclareOptions::default()
        };
        let table = FieldTable::default;
        let Outlet { channel, place, .. } = &self.outlet;
        within(
            place,
            channel.queue_declare(name.as_str().into(), options, table()),
        )
        .await?;
        let options = BasicConsumeOptions {
            no_ack: true,
            exclusive: true,
            ..BasicConsumeOptions::default()
        };
        let consumed = channel.basic_consume(name.as_str().into(), "".into(), options, table());
        self.replies = Some(within(place, consumed).await?);
        self.outlet.replies = Some(name);
        Ok(())
    }

    /// As [`Outlet::job`].
    pub(super) async fn job(&self, key: &str, id: &str, body: &[u8]) -> Result<(), Stop> {
        self.outlet.job(key, id, body).await
    }

    /// As [`Outlet::control`].
    pub(super) async fn control(&self, correlation_id: &str, body: &[u8]) -> Result<(), Stop> {
        self.outlet.control(correlation_id, body).await
    }

    /// The next answer, by `within`.
    pub(super) async fn next(&mut self, within: Duration) -> Result<Option<Vec<u8>>, Stop> {
        let Some(consumer) = &mut self.replies else {
            return Ok(None);
        };
        match tokio::time::timeout(within, consumer.next()).await {
            Err(_) => Ok(None),
            Ok(Some(Ok(delivery))) => Ok(Some(delivery.data)),
            Ok(Some(Err(error))) => Err(Stop::unavailable(&error)),
            Ok(None) => Err(lost(
                "the connection to the broker ended while answers were awaited",
            )),
        }
    }

    pub(super) async fn close(self) {
        let closed = self.connection.close(200, "done".into());
        if tokio::time::timeout(PATIENCE, closed).await.is_err() {
            tracing::debug!("the broker did not say good-bye");
        }
    }
}

impl Outlet {
    /// Sends a job; the broker has it when this returns.
    pub(super) async fn job(&self, key: &str, id: &str, body: &[u8]) -> Result<(), Stop> {
        let properties = self
            .properties(kiln_protocol::job::JOB_SCHEMA)
            .with_message_id(id.into())
            .with_correlation_id(id.into());
        if self.publish(JOBS, key, body, properties).await? {
            return Ok(());
        }
        let line = format!("no queue takes jobs of `{key}`: see `kiln topology check`");
        Err(Stop::new(Exit::Unavailable, vec![line]))
    }

    /// Sends a control message to every worker. Without a worker nobody hears it, which is fine.
    pub(super) async fn control(&self, correlation_id: &str, body: &[u8]) -> Result<(), Stop> {
        let properties = self
            .properties(kiln_protocol::control::CONTROL_SCHEMA)
            .with_correlation_id(correlation_id.into());
        self.publish(CONTROL, "", body, properties).await?;
        Ok(())
    }

    fn properties(&self, kind: &str) -> BasicProperties {
        let properties = BasicProperties::default()
            .with_delivery_mode(2)
            .with_content_type("application/json".into())
            .with_type(kind.into())
            .with_timestamp(crate::report::answer::now_unix_ms() / 1_000);
        match &self.replies {
            Some(queue) => properties.with_reply_to(queue.as_str().into()),
            None => properties,
        }
    }

    /// Publishes and waits for the broker's word; whether a queue took it.
    async fn publish(
        &self,
        exchange: &str,
        key: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<bool, Stop> {
        let options = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let sent =
            self.channel
                .basic_publish(exchange.into(), key.into(), options, body, properties);
        match within(&self.place, async { sent.await?.await }).await? {
            Confirmation::Ack(returned) => Ok(returned.is_none()),
            Confirmation::Nack(_) | Confirmation::NotRequested => {
                Err(lost("the broker refused the message: is the queue full?"))
            }
        }
    }
}

fn lost(line: &str) -> Stop {
    Stop::new(Exit::Unavailable, vec![line.to_owned()])
}

/// What the broker says, if it says something in time.
async fn within<T>(
    place: &str,
    answer: impl Future<Output = Result<T, lapin::Error>>,
) -> Result<T, Stop> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Err(_) => Err(lost(&format!(
            "the broker at `{place}` (`amqp.url`) does not answer"
        ))),
        Ok(Err(error)) => Err(lost(&told(place, &chain(&error)))),
        Ok(Ok(answer)) => Ok(answer),
    }
}

/// A line with what the broker said, and what mends it.
fn told(place: &str, said: &str) -> String {
    let advice = if said.contains("NOT_FOUND - no exchange") || said.contains("NOT-FOUND") {
        "; `kiln topology apply` makes what is missing"
    } else {
        ""
    };
    format!("speak to the broker at `{place}` (`amqp.url`): {said}{advice}")
}
