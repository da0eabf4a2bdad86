//! What goes to the broker and what comes from it: a message with all that the contract says about it.

use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

/// A message to send.
#[derive(Debug, Clone, Default)]
pub struct Letter {
    /// To which exchange; empty for a queue by its name.
    pub exchange: String,
    /// The routing key.
    pub key: String,
    /// The bytes.
    pub body: Vec<u8>,
    /// `content-type`.
    pub content_type: Option<String>,
    /// `content-encoding`.
    pub encoding: Option<String>,
    /// `type`.
    pub kind: Option<String>,
    /// `message-id`.
    pub id: Option<String>,
    /// `correlation-id`.
    pub correlation: Option<String>,
    /// `reply-to`.
    pub reply_to: Option<String>,
    /// `timestamp`, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// Headers that are texts.
    pub headers: Vec<(String, String)>,
    /// Headers that are numbers.
    pub numbers: Vec<(String, i64)>,
}

impl Letter {
    /// A job as a client should send it, to a class or `<class>.<tenant>`.
    pub fn job(key: &str, job: &Value) -> Self {
        Self {
            exchange: "kiln.jobs".to_owned(),
            key: key.to_owned(),
            body: job.to_string().into_bytes(),
            content_type: Some("application/json".to_owned()),
            kind: Some("kiln.job.v1".to_owned()),
            id: job["id"].as_str().map(str::to_owned),
            ..Self::default()
        }
    }

    /// The wish that a job ends.
    pub fn cancel(job: &str) -> Self {
        let body = json!({"schema": "kiln.control.v1", "cancel": job});
        Self {
            exchange: "kiln.control".to_owned(),
            body: body.to_string().into_bytes(),
            content_type: Some("application/json".to_owned()),
            kind: Some("kiln.control.v1".to_owned()),
            ..Self::default()
        }
    }

    /// With the time that it is now.
    #[must_use]
    pub fn stamped(mut self) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        self.timestamp = since.ok().map(|since| since.as_secs());
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a header that is a number.
    #[must_use]
    pub fn number(mut self, name: &str, value: i64) -> Self {
        self.numbers.push((name.to_owned(), value));
        self
    }

    /// The job this submits, where it does: one that must be answered.
    pub(crate) fn counts_as(&self) -> Option<&str> {
        let job = self.exchange == "kiln.jobs";
        self.id.as_deref().filter(|_| job)
    }

    pub(crate) fn properties(&self) -> BasicProperties {
        let mut properties = BasicProperties::default().with_delivery_mode(2);
        if let Some(value) = &self.content_type {
            properties = properties.with_content_type(value.as_str().into());
        }
        if let Some(value) = &self.encoding {
            properties = properties.with_content_encoding(value.as_str().into());
        }
        if let Some(value) = &self.kind {
            properties = properties.with_type(value.as_str().into());
        }
        if let Some(value) = &self.id {
            properties = properties.with_message_id(value.as_str().into());
        }
        if let Some(value) = &self.correlation {
            properties = properties.with_correlation_id(value.as_str().into());
        }
        if let Some(value) = &self.reply_to {
            properties = properties.with_reply_to(value.as_str().into());
        }
        if let Some(value) = self.timestamp {
            properties = properties.with_timestamp(value);
        }
        let mut headers = FieldTable::default();
        for (name, value) in &self.headers {
            let value = AMQPValue::LongString(value.as_str().into());
            headers.insert(name.as_str().into(), value);
        }
        for (name, value) in &self.numbers {
            headers.insert(name.as_str().into(), AMQPValue::LongLongInt(*value));
        }
        properties.with_headers(headers)
    }
}

/// A message that came.
#[derive(Debug, Clone)]
pub struct Message {
    /// The routing key.
    pub key: String,
    /// `message-id`.
    pub id: Option<String>,
    /// `correlation-id`.
    pub correlation: Option<String>,
    /// `type`.
    pub kind: Option<String>,
    /// Headers, as texts.
    pub headers: BTreeMap<String, String>,
    /// The bytes.
    pub body: Vec<u8>,
    /// When it was heard.
    pub at: Instant,
}

impl Message {
    pub(crate) fn of(delivery: &Delivery) -> Self {
        let properties = &delivery.properties;
        let text = |value: &Option<lapin::types::ShortString>| {
            value.as_ref().map(|value| value.as_str().to_owned())
        };
        let headers = properties.headers().as_ref().map(FieldTable::inner);
        let headers = headers.into_iter().flatten().map(|(name, value)| {
            let value = match value {
                AMQPValue::LongString(text) => text.to_string(),
                other => format!("{other:?}"),
            };
            (name.to_string(), value)
        });
        Self {
            key: delivery.routing_key.as_str().to_owned(),
            id: text(properties.message_id()),
            correlation: text(properties.correlation_id()),
            kind: text(properties.kind()),
            headers: headers.collect(),
            body: delivery.data.clone(),
            at: Instant::now(),
        }
    }

    /// The outcome in it; null where it holds no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// A header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}
