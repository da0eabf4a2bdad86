//! Who has to answer a delivery, and has it been answered? Once, by `ack`, `give_back`,
//! `dead_letter` or `delay`, each of which consumes the ticket; a ticket that is dropped gives the
//! message back.

use super::Source;
use super::amqp::{Broker, Delay, PublishError, Published, again};
use crate::telemetry::metric::{AckResult, DeadReason, Held, Metrics};
use kiln_protocol::topology::{DEAD, jobs_key};
use lapin::options::{BasicAckOptions, BasicNackOptions};
use lapin::types::AMQPValue;
use lapin::{Acker, BasicProperties, Channel, Error};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

/// Why a message is among the dead letters.
pub(crate) const REASON: &str = "x-kiln-reason";
/// What exactly was wrong with it.
pub(crate) const DETAIL: &str = "x-kiln-detail";
/// The queue it came by.
pub(crate) const QUEUE: &str = "x-kiln-queue";
/// How often it was delayed.
pub(crate) const RETRIES: &str = "x-kiln-retries";

/// Bytes of the detail.
const DETAIL_BYTES_MAX: usize = 1024;
/// How long an answer may take to be sent.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long a message that cannot be moved is held before it goes back, for it comes again at once.
const HOLD: Duration = Duration::from_secs(1);

/// The duty to answer one delivery.
#[must_use = "dropping a ticket gives the message back"]
pub struct Ticket {
    /// None once it is answered.
    acker: Option<Acker>,
    /// A channel closes with its last holder, and takes its deliveries back.
    channel: Channel,
    body: Arc<Vec<u8>>,
    properties: BasicProperties,
    source: Arc<Source>,
    metrics: Arc<Metrics>,
    /// Until it is answered its age counts.
    _held: Held,
    runtime: Handle,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("queue", &self.source.queue)
            .field("usable", &self.usable())
            .finish_non_exhaustive()
    }
}

impl Ticket {
    /// Of a delivery that came just now, on a runtime.
    pub(super) fn new(
        acker: Acker,
        channel: Channel,
        body: Arc<Vec<u8>>,
        properties: BasicProperties,
        source: Arc<Source>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            acker: Some(acker),
            channel,
            body,
            properties,
            source,
            _held: metrics.hold(),
            metrics,
            runtime: Handle::current(),
        }
    }

    /// Whether the broker still waits for this answer: not after its channel has ended.
    pub fn usable(&self) -> bool {
        self.acker.as_ref().is_some_and(Acker::usable)
    }

    /// The message is done with.
    pub async fn ack(mut self) -> AckResult {
        self.acked().await
    }

    /// The message goes back to its queue.
    pub async fn give_back(mut self) -> AckResult {
        match self.acker.take() {
            Some(acker) => nack(acker, &self.metrics).await,
            None => AckResult::Stale,
        }
    }

    /// The message, unchanged, goes to the dead letters with its reason, and is then done with.
    /// Headers that the broker's own dead-lettering made are left out. Where it fails the message
    /// goes back to its queue.
    pub async fn dead_letter(
        mut self,
        broker: &Broker,
        reason: DeadReason,
        detail: &str,
    ) -> Result<AckResult, PublishError> {
        let text = |text: &str| AMQPValue::LongString(text.into());
        let add = [
            (REASON, text(reason.as_str())),
            (DETAIL, text(bounded(detail))),
            (QUEUE, text(&self.source.queue)),
        ];
        self.moved(broker, DEAD, DEAD, &add).await?;
        Ok(self.acked().await)
    }

    /// The message, unchanged, goes to the delay queue of this delay and is then done with;
    /// `retries` is what its header `x-kiln-retries` says from then on. Where it fails the message
    /// goes back to its queue.
    pub async fn delay(
        mut self,
        broker: &Broker,
        delay: Delay,
        retries: u32,
    ) -> Result<AckResult, PublishError> {
        let key = jobs_key(self.source.class, self.source.tenant.as_ref());
        let add = [(RETRIES, AMQPValue::LongLongInt(retries.into()))];
        self.moved(broker, delay.exchange(), &key, &add).await?;
        Ok(self.acked().await)
    }

    async fn moved(
        &self,
        broker: &Broker,
        exchange: &str,
        routing_key: &str,
        add: &[(&str, AMQPValue)],
    ) -> Result<(), PublishError> {
        if !self.usable() {
            // Moved now, it would be there twice.
            return Err(PublishError::Lost);
        }
        let properties = again::properties(&self.properties, broker.user(), &[], add);
        let published = broker
            .publish_as(exchange, routing_key, &self.body, properties)
            .await;
        let error = match published {
            Ok(Published::Routed) => return Ok(()),
            Ok(Published::Unroutable) => PublishError::Unroutable,
            Err(error) => error,
        };
        sleep(HOLD).await;
        Err(error)
    }

    async fn acked(&mut self) -> AckResult {
        match self.acker.take() {
            Some(acker) => {
                let ack = acker.ack(BasicAckOptions::default());
                answered(ack, &self.metrics).await
            }
            None => AckResult::Stale,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(acker) = self.acker.take() {
            let metrics = Arc::clone(&self.metrics);
            // The channel stays until the message is back; a runtime that is gone runs nothing.
            let channel = self.channel.clone();
            self.runtime.spawn(async move {
                nack(acker, &metrics).await;
                drop(channel);
            });
        }
    }
}

async fn nack(acker: Acker, metrics: &Metrics) -> AckResult {
    let options = BasicNackOptions {
        requeue: true,
        multiple: false,
    };
    answered(acker.nack(options), metrics).await
}

/// What came of an answer. That it was sent is all that AMQP tells.
async fn answered(
    answer: impl Future<Output = Result<bool, Error>>,
    metrics: &Metrics,
) -> AckResult {
    let result = match timeout(ANSWER_MAX, answer).await {
        Ok(Ok(true)) => AckResult::Ok,
        Ok(Ok(false)) => AckResult::Stale,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the answer to a delivery was not sent");
            AckResult::Error
        }
        Err(_) => {
            tracing::warn!("the answer to a delivery was not sent in time");
            AckResult::Error
        }
    };
    metrics.ack(result);
    result
}

/// As much of the text as a header holds.
fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(DETAIL_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_cut_between_characters() {
        assert_eq!(bounded("short"), "short");
        let long = "x".to_owned() + &"ü".repeat(1000);
        let cut = bounded(&long);
        assert_eq!(cut.len(), 1023);
        assert!(cut.ends_with('ü'));
    }
}
