//! What does a message look like that is published again: to wait, as a dead letter, as a replay?
//!
//! It is the same message but for what would hurt: the broker's own notes on dead-lettering (by
//! which it takes a retry for a cycle and drops it), further routing keys, a time to live that
//! would end it while it waits, a publisher that is not us, which the broker would refuse, and
//! more headers than fit into a frame with ours, for which the broker would end the connection.

use super::properties::{OURS, USER_ID};
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, ShortString};

/// The message survives a restart of the broker.
const PERSISTENT: u8 = 2;

/// Bytes of others' headers: with ours and the other properties they stay below the 128 KiB of a
/// frame. What comes after them in the alphabet is left out.
const OTHERS_BYTES_MAX: usize = 64 * 1024;
/// Bytes of each of ours: more than is ever read of one.
const OUR_BYTES_MAX: usize = 5 * 1024;

/// Headers that are left out, by how they begin.
const BEGIN: [&str; 3] = ["x-death", "x-first-death-", "x-last-death-"];
/// Headers that are left out.
const WHOLE: [&str; 4] = ["x-delivery-count", "x-acquired-count", "CC", "BCC"];

/// The properties of the same message, published by the user `own`. `strip` are headers to be left
/// out too, `add` those to be set.
pub(crate) fn properties(
    from: &BasicProperties,
    own: &str,
    strip: &[&str],
    add: &[(&str, AMQPValue)],
) -> BasicProperties {
    let mut headers = FieldTable::default();
    let mut room = OTHERS_BYTES_MAX;
    for (name, value) in from.headers().iter().flatten() {
        let name_text = name.as_str();
        let out = BEGIN.iter().any(|begin| name_text.starts_with(begin))
            || WHOLE.contains(&name_text)
            || strip.contains(&name_text);
        if out {
            continue;
        }
        let bytes = 1 + name_text.len() + size(value);
        let fits = if OURS.contains(&name_text) {
            bytes <= OUR_BYTES_MAX
        } else if let Some(rest) = room.checked_sub(bytes) {
            room = rest;
            true
        } else {
            false
        };
        if fits {
            headers.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in add {
        headers.insert((*name).into(), value.clone());
    }
    let mut to = BasicProperties::default().with_delivery_mode(PERSISTENT);
    if let Some(user) = from.user_id() {
        if user.as_str() != own {
            let first = AMQPValue::LongString(user.as_str().into());
            headers.insert(USER_ID.into(), first);
        }
        to = to.with_user_id(own.into());
    }
    macro_rules! keep {
        ($($get:ident $set:ident),*) => {
            $(if let Some(value) = from.$get().clone() {
                to = to.$set(value);
            })*
        };
    }
    keep!(
        content_type with_content_type,
        content_encoding with_content_encoding,
        priority with_priority,
        correlation_id with_correlation_id,
        reply_to with_reply_to,
        message_id with_message_id,
        timestamp with_timestamp,
        kind with_type,
        app_id with_app_id
    );
    to.with_headers(headers)
}

/// Bytes of a value in a frame, with the one that names its type.
fn size(value: &AMQPValue) -> usize {
    1 + match value {
        AMQPValue::Void => 0,
        AMQPValue::Boolean(_) | AMQPValue::ShortShortInt(_) | AMQPValue::ShortShortUInt(_) => 1,
        AMQPValue::ShortInt(_) | AMQPValue::ShortUInt(_) => 2,
        AMQPValue::LongInt(_) | AMQPValue::LongUInt(_) | AMQPValue::Float(_) => 4,
        AMQPValue::DecimalValue(_) => 5,
        AMQPValue::LongLongInt(_) | AMQPValue::Double(_) | AMQPValue::Timestamp(_) => 8,
        AMQPValue::ShortString(text) => 1 + text.as_str().len(),
        AMQPValue::LongString(text) => 4 + text.as_bytes().len(),
        AMQPValue::ByteArray(bytes) => 4 + bytes.as_slice().len(),
        AMQPValue::FieldArray(all) => 4 + all.as_slice().iter().map(size).sum::<usize>(),
        AMQPValue::FieldTable(all) => {
            let one = |(name, value): (&ShortString, _)| 1 + name.as_str().len() + size(value);
            4 + all.into_iter().map(one).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> AMQPValue {
        AMQPValue::LongString(value.into())
    }

    fn names(properties: &BasicProperties) -> Vec<String> {
        let headers = properties.headers().as_ref().expect("there are some");
        let names = headers.into_iter().map(|(name, _)| name.to_string());
        names.collect()
    }

    #[test]
    fn everything_is_kept_but_what_would_hurt() {
        let mut headers = FieldTable::default();
        for name in [
            "x-death",
            "x-first-death-queue",
            "x-last-death-reason",
            "x-delivery-count",
            "x-acquired-count",
            "CC",
            "BCC",
            "x-kiln-reason",
            "traceparent",
        ] {
            headers.insert(name.into(), text("v"));
        }
        let from = BasicProperties::default()
            .with_headers(headers)
            .with_message_id("m".into())
            .with_correlation_id("c".into())
            .with_reply_to("r".into())
            .with_type("t".into())
            .with_content_type("application/json".into())
            .with_content_encoding("zstd".into())
            .with_timestamp(7)
            .with_expiration("1000".into())
            .with_delivery_mode(1);
        let add = [("x-kiln-retries", AMQPValue::LongLongInt(2))];
        let to = properties(&from, "kiln", &["x-kiln-reason"], &add);
        assert_eq!(names(&to), ["traceparent", "x-kiln-retries"]);
        assert_eq!(to.message_id(), from.message_id());
        assert_eq!(to.correlation_id(), from.correlation_id());
        assert_eq!(to.reply_to(), from.reply_to());
        assert_eq!(to.kind(), from.kind());
        assert_eq!(to.content_type(), from.content_type());
        assert_eq!(to.content_encoding(), from.content_encoding());
        assert_eq!(to.timestamp(), &Some(7));
        assert_eq!(to.expiration(), &None, "it would not wait its time");
        assert_eq!(to.delivery_mode(), &Some(PERSISTENT));
    }

    #[test]
    fn headers_stay_within_a_frame_and_ours_stay_among_them() {
        let mut headers = FieldTable::default();
        let large = |bytes| text(&"v".repeat(bytes));
        headers.insert("a-small".into(), text("v"));
        headers.insert("b-large".into(), large(130_000));
        for n in 0..100 {
            headers.insert(format!("c{n}").into(), large(1_000));
        }
        headers.insert("traceparent".into(), large(4_096));
        headers.insert(USER_ID.into(), text("acme"));
        headers.insert("x-tenant".into(), large(100_000));
        let from = BasicProperties::default().with_headers(headers);
        let to = properties(&from, "kiln", &[], &[("x-kiln-retries", text("1"))]);
        let names = names(&to);
        for kept in ["a-small", "c0", "traceparent", USER_ID, "x-kiln-retries"] {
            assert!(names.iter().any(|name| name == kept), "{kept} is lost");
        }
        for left in ["b-large", "x-tenant"] {
            assert!(!names.iter().any(|name| name == left), "{left} is kept");
        }
        let all = AMQPValue::FieldTable(to.headers().clone().expect("there are some"));
        assert!(size(&all) < 100_000, "{}", size(&all));
    }

    #[test]
    fn the_first_publisher_is_named_and_stays_named() {
        let from = BasicProperties::default().with_user_id("acme".into());
        let once = properties(&from, "kiln", &[], &[]);
        assert_eq!(once.user_id(), &Some("kiln".into()));
        assert_eq!(names(&once), [USER_ID]);
        let twice = properties(&once, "kiln", &[], &[]);
        assert_eq!(twice, once);
        let nobody = properties(&BasicProperties::default(), "kiln", &[], &[]);
        assert_eq!(nobody.user_id(), &None);
    }
}
