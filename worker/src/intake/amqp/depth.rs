//! How many messages wait in each queue of jobs?
//!
//! For the figures alone: what cannot be asked is not told, and disturbs no consumer, for the
//! broker ends a channel that asks for a queue that is not there.

use super::Shared;
use super::connect::in_time;
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use lapin::{Channel, Connection, Error};

/// Asks again and again, for as long as the connection lasts.
pub(super) async fn watch(shared: &Shared, connection: &Connection) {
    let _unknown = Unknown(shared);
    let mut channel = None;
    while connection.status().connected() {
        for source in &shared.options.sources {
            let asked = ask(connection, &mut channel, &source.queue).await;
            if let Err(error) = &asked {
                tracing::debug!(%error, queue = source.queue, "its length is not known");
            }
            shared.metrics.queue_ready(&source.queue, asked.ok());
        }
        tokio::time::sleep(shared.pace.depth_every).await;
    }
}

async fn ask(
    connection: &Connection,
    open: &mut Option<Channel>,
    queue: &str,
) -> Result<u32, Error> {
    // One that fails is closed by the broker, and is not used again.
    let channel = match open.take() {
        Some(channel) => channel,
        None => in_time(connection.create_channel()).await?,
    };
    let options = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(queue.into(), options, FieldTable::default());
    let messages = in_time(declared).await?.message_count();
    *open = Some(channel);
    Ok(messages)
}

/// What was known is not known any more when nobody asks.
struct Unknown<'a>(&'a Shared);

impl Drop for Unknown<'_> {
    fn drop(&mut self) {
        for source in &self.0.options.sources {
            self.0.metrics.queue_ready(&source.queue, None);
        }
    }
}
