//! What does a dead letter say: which message, why it is dead, and where it came from?

use crate::cli::escape;
use crate::intake::amqp::properties::integer;
use crate::intake::ticket::{DETAIL, QUEUE, REASON, RETRIES};
use kiln_protocol::digest::sha256_hex;
use kiln_protocol::topology::key_of_queue;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable};
use serde_json::{Map, Value, json};

/// Left by the broker, where it gave up a message by itself.
const BROKERS_REASON: &str = "x-first-death-reason";
const BROKERS_QUEUE: &str = "x-first-death-queue";

/// A dead letter, as far as people choose among them.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) id: Option<String>,
    /// The sha256 of its body: what one without an id is chosen by.
    digest: String,
    pub(super) reason: Option<String>,
    detail: Option<String>,
    queue: Option<String>,
    retries: Option<i64>,
    bytes: usize,
}

impl Letter {
    pub(super) fn read(delivery: &Delivery) -> Self {
        let headers = delivery.properties.headers().as_ref();
        let text = |name| header(headers, name).and_then(text);
        let id = delivery.properties.message_id().as_ref();
        Self {
            id: id.map(|id| id.as_str().to_owned()),
            digest: sha256_hex(&delivery.data),
            reason: text(REASON).or_else(|| text(BROKERS_REASON)),
            detail: text(DETAIL),
            queue: text(QUEUE).or_else(|| text(BROKERS_QUEUE)),
            retries: header(headers, RETRIES).and_then(integer),
            bytes: delivery.data.len(),
        }
    }

    /// By which key it first came; none where that is not known.
    pub(super) fn routing_key(&self) -> Option<&str> {
        self.queue.as_deref().and_then(key_of_queue)
    }

    /// What it is chosen by: its message-id, or its digest where it has none.
    pub(super) fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.digest)
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let shown = |text: &Option<String>| escape::name(text.as_deref().unwrap_or("-"));
        let mut line = format!(
            "{}  {}  {}  {} bytes",
            escape::name(self.name()),
            shown(&self.reason),
            shown(&self.queue),
            self.bytes
        );
        if let Some(detail) = &self.detail {
            line += "  ";
            line += &escape::name(detail);
        }
        line
    }

    /// The same as JSON.
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "sha256": self.digest,
            "reason": self.reason,
            "detail": self.detail,
            "queue": self.queue,
            "retries": self.retries,
            "bytes": self.bytes,
        })
    }
}

/// Everything about a dead letter; a body that is not UTF-8 is base64.
pub(super) fn whole(delivery: &Delivery) -> Value {
    let mut all = Letter::read(delivery).json();
    let from = &delivery.properties;
    let word = |text: Option<&lapin::types::ShortString>| text.map(|text| text.as_str().to_owned());
    all["content_type"] = json!(word(from.content_type().as_ref()));
    all["content_encoding"] = json!(word(from.content_encoding().as_ref()));
    all["type"] = json!(word(from.kind().as_ref()));
    all["correlation_id"] = json!(word(from.correlation_id().as_ref()));
    all["reply_to"] = json!(word(from.reply_to().as_ref()));
    all["user_id"] = json!(word(from.user_id().as_ref()));
    all["headers"] = from.headers().as_ref().map_or(json!({}), table);
    match std::str::from_utf8(&delivery.data) {
        Ok(text) => all["body"] = json!(text),
        Err(_) => all["body_base64"] = json!(base64(&delivery.data)),
    }
    all
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn header<'a>(headers: Option<&'a FieldTable>, name: &str) -> Option<&'a AMQPValue> {
    headers?.inner().get(name)
}

fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => Some(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        AMQPValue::ShortString(text) => Some(text.as_str().to_owned()),
        _ => None,
    }
}

fn table(headers: &FieldTable) -> Value {
    let all = headers.into_iter();
    let all = all.map(|(name, held)| (name.as_str().to_owned(), value(held)));
    Value::Object(all.collect::<Map<_, _>>())
}

fn value(held: &AMQPValue) -> Value {
    if let Some(text) = text(held) {
        return json!(text);
    }
    if let Some(number) = integer(held) {
        return json!(number);
    }
    match held {
        AMQPValue::Boolean(held) => json!(held),
        AMQPValue::Double(held) => json!(held),
        AMQPValue::Float(held) => json!(held),
        AMQPValue::FieldTable(held) => table(held),
        AMQPValue::FieldArray(held) => held.as_slice().iter().map(value).collect(),
        AMQPValue::ByteArray(held) => json!(base64(held.as_slice())),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapin::BasicProperties;
    use lapin::types::FieldArray;

    fn delivery(headers: &[(&str, AMQPValue)], body: &[u8]) -> Delivery {
        let mut delivery = Delivery::mock(1, "".into(), "".into(), false, body.to_vec());
        let mut table = FieldTable::default();
        for (name, value) in headers {
            table.insert((*name).into(), value.clone());
        }
        delivery.properties = BasicProperties::default()
            .with_message_id("id\u{1b}".into())
            .with_headers(table);
        delivery
    }

    fn long(text: &str) -> AMQPValue {
        AMQPValue::LongString(text.into())
    }

    #[test]
    fn our_reason_comes_before_the_brokers() {
        let brokers = [
            (BROKERS_REASON, long("delivery_limit")),
            (BROKERS_QUEUE, long("kiln.jobs.batch")),
        ];
        let letter = Letter::read(&delivery(&brokers, b""));
        assert_eq!(letter.reason.as_deref(), Some("delivery_limit"));
        assert_eq!(letter.routing_key(), Some("batch"));
        let mut both = brokers.to_vec();
        both.push((REASON, long("no_id")));
        both.push((QUEUE, long("kiln.jobs.interactive.acme")));
        let letter = Letter::read(&delivery(&both, b""));
        assert_eq!(letter.reason.as_deref(), Some("no_id"));
        assert_eq!(letter.routing_key(), Some("interactive.acme"));
    }

    #[test]
    fn a_line_is_one_line_and_steers_no_terminal() {
        let headers = [(DETAIL, long("a\nb\u{1b}[31m")), (REASON, AMQPValue::Void)];
        let line = Letter::read(&delivery(&headers, b"xy")).line();
        assert_eq!(line, "id\\x1b  -  -  2 bytes  a\\nb\\x1b[31m");
        assert_eq!(Letter::read(&delivery(&[], b"")).routing_key(), None);
    }

    #[test]
    fn one_without_an_id_is_named_by_what_it_holds() {
        let mut nameless = delivery(&[], b"abc");
        nameless.properties = BasicProperties::default();
        let letter = Letter::read(&nameless);
        let name = sha256_hex(b"abc");
        assert_eq!(letter.name(), name);
        assert_eq!(letter.json()["sha256"], name);
        assert_eq!(letter.line(), format!("{name}  -  -  3 bytes"));
    }

    #[test]
    fn whatever_a_header_holds_is_shown() {
        let list = FieldArray::from(vec![AMQPValue::Boolean(true), AMQPValue::LongInt(3)]);
        let headers = [("l", AMQPValue::FieldArray(list)), ("v", AMQPValue::Void)];
        let all = whole(&delivery(&headers, &[0xff]));
        assert_eq!(all["headers"], json!({"l": [true, 3], "v": null}));
        assert_eq!(all["body_base64"], "/w==");
        assert!(all.get("body").is_none());
    }
}
