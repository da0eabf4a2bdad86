//! Where jobs come from: messages of a broker, each with the duty to answer it once.

pub mod amqp;
pub mod fair;
pub mod ticket;

use kiln_protocol::id::Tenant;
use kiln_protocol::job::Class;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use ticket::Ticket;

/// A queue that jobs come by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    pub queue: String,
    pub class: Class,
    /// Whose queue it is, where it is one tenant's.
    pub tenant: Option<Tenant>,
}

/// A message that came by a queue of jobs.
#[derive(Debug)]
pub struct Delivery {
    pub source: Arc<Source>,
    /// Shared with the ticket, which may have to publish it again.
    pub body: Arc<Vec<u8>>,
    pub properties: Properties,
    pub ticket: Ticket,
    pub received: Instant,
}

/// What a message says beside its body. Text that is not UTF-8 or too long is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    pub content_type: Option<String>,
    pub content_encoding: Option<String>,
    pub kind: Option<String>,
    pub message_id: Option<String>,
    pub correlation_id: Option<String>,
    pub reply_to: Option<String>,
    /// Who published it, as the broker has checked it.
    pub user_id: Option<String>,
    /// Seconds since 1970, by the publisher's clock.
    pub timestamp_s: Option<u64>,
    pub redelivered: bool,
    /// How often the broker handed it out before, where it says so (`x-delivery-count`).
    pub delivery_count: Option<u64>,
    pub headers: BTreeMap<String, Header>,
}

/// A header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    Text(String),
    Integer(i64),
    /// A table, a float, bytes: nothing that we read.
    Other,
}

/// What came on the control exchange.
#[derive(Debug)]
pub struct Control {
    pub body: Vec<u8>,
    pub reply_to: Option<String>,
    pub correlation_id: Option<String>,
}

/// What the broker's connection brings.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all that comes is deliveries"
)]
pub enum Incoming {
    Delivery(Delivery),
    Control(Control),
    /// Control is listened to, at first or again: what came before was not heard.
    ControlOpen,
}
