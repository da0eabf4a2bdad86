//! Where does an answer go beside the results that everybody sees?

use crate::intake::Properties;
use crate::intake::amqp::DIRECT_REPLY as DIRECT;
use crate::plain::plain;
use kiln_protocol::id::JobId;
use kiln_protocol::refusal::Refusal;

/// The longest correlation id that is given back, in bytes.
const CORRELATION_BYTES_MAX: usize = 255;

/// Who is answered, and by which word they know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// A queue of theirs.
    pub(super) to: Option<String>,
    pub(super) correlation_id: String,
}

impl Reply {
    /// The sender's wish as far as it is allowed; the job's id where no word was given.
    pub(super) fn of(properties: &Properties, id: &JobId, prefixes: &[String]) -> Self {
        let allowed = |queue: &&String| is_allowed(queue, prefixes);
        let word = properties.correlation_id.clone();
        Self {
            to: properties.reply_to.as_ref().filter(allowed).cloned(),
            correlation_id: word
                .filter(|word| word.len() <= CORRELATION_BYTES_MAX)
                .unwrap_or_else(|| id.to_string()),
        }
    }
}

/// Why the sender may not be answered where they want: a queue of any name could be another's.
pub(super) fn refusal(properties: &Properties, prefixes: &[String]) -> Option<Refusal> {
    let queue = properties.reply_to.as_ref()?;
    if is_allowed(queue, prefixes) {
        return None;
    }
    let wanted = prefixes.iter().map(|prefix| format!("`{prefix}*`"));
    let wanted: Vec<String> = wanted.chain([format!("`{DIRECT}`")]).collect();
    Some(Refusal::bad(
        "reply-to",
        "answers do not go to a queue of this name",
        shown(queue, 128),
        wanted.join(" or "),
    ))
}

pub(super) fn is_allowed(queue: &str, prefixes: &[String]) -> bool {
    let direct = queue.strip_prefix(DIRECT);
    direct.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        || prefixes
            .iter()
            .any(|prefix| queue.starts_with(prefix.as_str()))
}

/// The beginning of somebody's word, fit to be shown.
pub(super) fn shown(text: &str, chars_max: usize) -> String {
    plain(text).take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(reply_to: &str) -> Properties {
        Properties {
            reply_to: Some(reply_to.to_owned()),
            ..Properties::default()
        }
    }

    #[test]
    fn only_queues_of_a_known_prefix_are_answered() {
        let prefixes = ["kiln.reply.".to_owned()];
        let id = "j".parse().expect("an id");
        for (queue, allowed) in [
            ("kiln.reply.a", true),
            ("amq.rabbitmq.reply-to", true),
            ("amq.rabbitmq.reply-to.g2dkABByZXBseUAxM", true),
            ("amq.rabbitmq.reply-tonight", false),
            ("kiln.dead", false),
            ("", false),
        ] {
            let properties = properties(queue);
            assert_eq!(
                refusal(&properties, &prefixes).is_none(),
                allowed,
                "{queue}"
            );
            let reply = Reply::of(&properties, &id, &prefixes);
            assert_eq!(reply.to.is_some(), allowed, "{queue}");
            assert_eq!(reply.correlation_id, "j");
        }
    }

    #[test]
    fn what_is_shown_is_short_and_plain() {
        assert_eq!(shown("a\u{1b}[m", 4), "a\\u{");
    }
}
