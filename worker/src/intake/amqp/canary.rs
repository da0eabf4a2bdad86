//! Does the connection that consumes still hear, though nobody says otherwise?
//!
//! A message to a queue of its own, published by the other connection, must come back. Where it
//! does not, deliveries would not come either, whatever the connection claims to be.

use super::Shared;
use super::connect::in_time;
use futures_util::StreamExt as _;
use lapin::options::{BasicConsumeOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Connection, Consumer, Error};
use tokio::time::timeout;

/// Asks again and again; returns when the connection is in doubt, and says why.
pub(super) async fn watch(shared: &Shared, connection: &Connection) -> String {
    let (queue, mut consumer) = match open(connection).await {
        Ok(open) => open,
        Err(error) => return format!("the canary has no queue: {error}"),
    };
    let mut number: u64 = 0;
    loop {
        tokio::time::sleep(shared.pace.canary_every).await;
        number += 1;
        if let Some(doubt) = ask(shared, &queue, &mut consumer, number).await {
            return doubt;
        }
    }
}

/// A queue that only this connection may read from; nothing is published on it.
async fn open(connection: &Connection) -> Result<(String, Consumer), Error> {
    let channel = in_time(connection.create_channel()).await?;
    let options = QueueDeclareOptions::exclusive().auto_delete();
    let declared = in_time(channel.queue_declare("".into(), options, FieldTable::default()));
    let queue = declared.await?.name().clone();
    let options = BasicConsumeOptions {
        no_ack: true,
        exclusive: true,
        ..BasicConsumeOptions::default()
    };
    let consumer = channel.basic_consume(queue.clone(), "".into(), options, FieldTable::default());
    Ok((queue.to_string(), in_time(consumer).await?))
}

async fn ask(shared: &Shared, queue: &str, consumer: &mut Consumer, number: u64) -> Option<String> {
    let body = number.to_be_bytes();
    let sent = shared
        .publisher
        .publish("", queue, &body, BasicProperties::default())
        .await;
    if let Err(error) = sent {
        // That is the other connection's trouble, and it is dealt with there.
        tracing::debug!(%error, "the canary was not sent");
        return None;
    }
    let back = async {
        loop {
            match consumer.next().await {
                Some(Ok(delivery)) if delivery.data == body => return None,
                Some(Ok(_)) => {}
                Some(Err(error)) => return Some(format!("the canary is deaf: {error}")),
                None => return Some("the canary has lost its queue".to_owned()),
            }
        }
    };
    timeout(shared.pace.canary_max, back)
        .await
        .unwrap_or_else(|_| Some("the canary did not come back".to_owned()))
}
