//! What does a message say beside its body, whoever wrote it?
//!
//! Headers are taken by their presence, never by the broker's version, and a value of another type
//! than expected is a value that is not there.

use crate::intake::{Header, Properties, ticket};
use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use std::collections::BTreeMap;

/// Bytes of a header's text; longer is absent.
const TEXT_BYTES_MAX: usize = 4096;
/// Headers that are looked at beside [`OURS`]; what comes after them in the alphabet is absent.
const HEADERS_MAX: usize = 128;
/// Headers that mean something to us: however many others there are, these are looked at.
pub(in crate::intake) const OURS: [&str; 11] = [
    "traceparent",
    "x-tenant",
    "x-deadline-unix-ms",
    "idempotency-key",
    USER_ID,
    DELIVERY_COUNT,
    ACQUIRED_COUNT,
    ticket::REASON,
    ticket::DETAIL,
    ticket::QUEUE,
    ticket::RETRIES,
];

/// Who published a message before we did, where the broker had checked it.
pub(in crate::intake) const USER_ID: &str = "x-kiln-user-id";
const DELIVERY_COUNT: &str = "x-delivery-count";
const ACQUIRED_COUNT: &str = "x-acquired-count";

/// Reads what came with a delivery; `own` is the user that we are to the broker.
pub(in crate::intake) fn read(delivery: &Delivery, own: &str) -> Properties {
    let from = &delivery.properties;
    let headers = headers(from.headers().as_ref());
    let count = |name| match headers.get(name) {
        Some(Header::Integer(count)) => u64::try_from(*count).ok(),
        _ => None,
    };
    Properties {
        content_type: text(from.content_type().as_ref()),
        content_encoding: text(from.content_encoding().as_ref()),
        kind: text(from.kind().as_ref()),
        message_id: text(from.message_id().as_ref()),
        correlation_id: text(from.correlation_id().as_ref()),
        reply_to: text(from.reply_to().as_ref()),
        user_id: user_id(from, &headers, own),
        timestamp_s: *from.timestamp(),
        redelivered: delivery.redelivered,
        delivery_count: count(DELIVERY_COUNT).or_else(|| count(ACQUIRED_COUNT)),
        headers,
    }
}

/// Who published it first. Only what we published ourselves is believed to name another.
fn user_id(
    from: &BasicProperties,
    headers: &BTreeMap<String, Header>,
    own: &str,
) -> Option<String> {
    let checked = text(from.user_id().as_ref())?;
    match headers.get(USER_ID) {
        Some(Header::Text(first)) if checked == own => Some(first.clone()),
        _ => Some(checked),
    }
}

fn text(value: Option<&ShortString>) -> Option<String> {
    value.map(|text| text.as_str().to_owned())
}

fn headers(table: Option<&FieldTable>) -> BTreeMap<String, Header> {
    let Some(table) = table else {
        return BTreeMap::new();
    };
    let is_ours = |name: &ShortString| OURS.contains(&name.as_str());
    let (ours, others): (Vec<_>, Vec<_>) = table.into_iter().partition(|(name, _)| is_ours(name));
    ours.into_iter()
        .chain(others.into_iter().take(HEADERS_MAX))
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), header(value)?)))
        .collect()
}

/// None where it is text that is not UTF-8 or too long.
fn header(value: &AMQPValue) -> Option<Header> {
    let short = |bytes: &[u8]| {
        let fits = bytes.len() <= TEXT_BYTES_MAX;
        let text = fits.then(|| std::str::from_utf8(bytes).ok()).flatten()?;
        Some(Header::Text(text.to_owned()))
    };
    match value {
        AMQPValue::LongString(text) => short(text.as_bytes()),
        AMQPValue::ShortString(text) => short(text.as_str().as_bytes()),
        other => Some(integer(other).map_or(Header::Other, Header::Integer)),
    }
}

/// Any of AMQP's integers.
pub(crate) fn integer(value: &AMQPValue) -> Option<i64> {
    match *value {
        AMQPValue::ShortShortInt(n) => Some(n.into()),
        AMQPValue::ShortShortUInt(n) => Some(n.into()),
        AMQPValue::ShortInt(n) => Some(n.into()),
        AMQPValue::ShortUInt(n) => Some(n.into()),
        AMQPValue::LongInt(n) => Some(n.into()),
        AMQPValue::LongUInt(n) => Some(n.into()),
        AMQPValue::LongLongInt(n) => Some(n),
        AMQPValue::Timestamp(n) => i64::try_from(n).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapin::types::FieldArray;

    fn delivery(properties: BasicProperties) -> Delivery {
        let mut delivery = Delivery::mock(1, "".into(), "".into(), true, Vec::new());
        delivery.properties = properties;
        delivery
    }

    fn table(all: &[(&str, AMQPValue)]) -> FieldTable {
        let mut table = FieldTable::default();
        for (name, value) in all {
            table.insert((*name).into(), value.clone());
        }
        table
    }

    fn with(all: &[(&str, AMQPValue)]) -> Properties {
        read(
            &delivery(BasicProperties::default().with_headers(table(all))),
            "kiln",
        )
    }

    #[test]
    fn a_message_that_says_nothing_has_no_properties() {
        let read = read(&delivery(BasicProperties::default()), "kiln");
        let nothing = Properties {
            redelivered: true,
            ..Properties::default()
        };
        assert_eq!(read, nothing);
    }

    #[test]
    fn deliveries_are_counted_by_whatever_header_is_there() {
        let count = |all: &[(&str, AMQPValue)]| with(all).delivery_count;
        let three = AMQPValue::LongLongInt(3);
        assert_eq!(count(&[]), None);
        assert_eq!(count(&[(DELIVERY_COUNT, three.clone())]), Some(3));
        assert_eq!(count(&[(ACQUIRED_COUNT, three.clone())]), Some(3));
        let both = [
            (DELIVERY_COUNT, AMQPValue::LongUInt(2)),
            (ACQUIRED_COUNT, three),
        ];
        assert_eq!(count(&both), Some(2));
        for wrong in [
            AMQPValue::LongString("3".into()),
            AMQPValue::LongInt(-1),
            AMQPValue::Void,
            AMQPValue::FieldArray(FieldArray::default()),
        ] {
            assert_eq!(count(&[(DELIVERY_COUNT, wrong.clone())]), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_value_of_any_type_is_read_or_absent() {
        let read = with(&[
            ("a", AMQPValue::LongString(vec![0xff].into())),
            ("b", AMQPValue::LongString(vec![b'x'; 5000].into())),
            ("c", AMQPValue::Boolean(true)),
            ("d", AMQPValue::Timestamp(u64::MAX)),
            ("e", AMQPValue::ShortShortInt(-7)),
            ("f", AMQPValue::LongString("ü".into())),
        ]);
        let expected = [
            ("c", Header::Other),
            ("d", Header::Other),
            ("e", Header::Integer(-7)),
            ("f", Header::Text("ü".to_owned())),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(read.headers, BTreeMap::from(expected));
    }

    #[test]
    fn our_own_headers_are_read_however_many_there_are() {
        let mut all: Vec<(String, AMQPValue)> = Vec::new();
        for n in 0..500 {
            all.push((format!("a{n}"), AMQPValue::Void));
        }
        all.push((ticket::RETRIES.to_owned(), AMQPValue::LongInt(3)));
        all.push((USER_ID.to_owned(), AMQPValue::LongString("acme".into())));
        let mut table = FieldTable::default();
        for (name, value) in all {
            table.insert(name.into(), value);
        }
        let properties = BasicProperties::default()
            .with_headers(table)
            .with_user_id("kiln".into());
        let read = read(&delivery(properties), "kiln");
        assert_eq!(read.headers.get(ticket::RETRIES), Some(&Header::Integer(3)));
        assert_eq!(read.user_id.as_deref(), Some("acme"));
        assert_eq!(read.headers.len(), HEADERS_MAX + 2);
    }

    #[test]
    fn only_what_we_published_ourselves_may_name_another_publisher() {
        let of = |user: Option<&str>| {
            let mut properties = BasicProperties::default()
                .with_headers(table(&[(USER_ID, AMQPValue::LongString("acme".into()))]));
            if let Some(user) = user {
                properties = properties.with_user_id(user.into());
            }
            read(&delivery(properties), "kiln").user_id
        };
        assert_eq!(of(Some("kiln")).as_deref(), Some("acme"));
        assert_eq!(of(Some("mallory")).as_deref(), Some("mallory"));
        assert_eq!(of(None), None);
    }
}
