//! May we make and use the queues of our own: control's and the canary's?
//!
//! Asked once, at the start: later it would be refused again and again, and nobody would know why.

use super::BrokerError;
use super::connect::{Address, in_time};
use kiln_protocol::topology::CONTROL;
use lapin::options::{
    BasicConsumeOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::FieldTable;
use lapin::{Connection, Error, ErrorKind};

/// The names that the broker gives to queues without one.
const CONFIGURE: &str = "the right to configure `amq.gen-.*`";
const BIND: &str = "the rights to write `amq.gen-.*` and to read `kiln.control`";
const READ: &str = "the right to read `amq.gen-.*`";

/// Does once what control and the canary will do.
pub(super) async fn check(connection: &Connection, address: &Address) -> Result<(), BrokerError> {
    let failed = |right| move |error: Error| judged(address, right, error);
    let channel = in_time(connection.create_channel()).await;
    let channel = channel.map_err(failed(CONFIGURE))?;
    let options = QueueDeclareOptions::exclusive().auto_delete();
    let declared = in_time(channel.queue_declare("".into(), options, FieldTable::default())).await;
    let queue = declared.map_err(failed(CONFIGURE))?.name().clone();
    let options = QueueBindOptions::default();
    let table = FieldTable::default;
    in_time(channel.queue_bind(queue.clone(), CONTROL.into(), "".into(), options, table()))
        .await
        .map_err(failed(BIND))?;
    let options = BasicConsumeOptions {
        no_ack: true,
        exclusive: true,
        ..BasicConsumeOptions::default()
    };
    in_time(channel.basic_consume(queue.clone(), "".into(), options, table()))
        .await
        .map_err(failed(READ))?;
    in_time(channel.queue_delete(queue, QueueDeleteOptions::default()))
        .await
        .map_err(failed(CONFIGURE))?;
    in_time(channel.close(200, "done".into()))
        .await
        .map_err(failed(CONFIGURE))
}

fn judged(address: &Address, right: &'static str, error: Error) -> BrokerError {
    let told = match error.kind() {
        ErrorKind::ProtocolError(told)
            if matches!(
                told.kind(),
                AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED)
            ) =>
        {
            told.get_message().to_string()
        }
        _ => return address.failed(error),
    };
    BrokerError::Right {
        user: address.user().to_owned(),
        right,
        told,
    }
}
