//! What do `[amqp]` and `[redis]` say about those that this worker speaks to?

use super::section::{AMQP, CONSUMER_TIMEOUT_MS, REDIS, Section};
use super::sources::Sources;
use super::worker::path;
use super::{Amqp, Redis, Secret, TopologyMode, secret, url};
use kiln_protocol::job::Class;
use kiln_protocol::limits::LimitUnit;
use kiln_warden::profile::keys::{Keys, unknown};
use std::path::PathBuf;
use std::time::Duration;

/// What a broker allows that nobody has told otherwise.
const CONSUMER_TIMEOUT_MS_DEFAULT: u64 = 1_800_000;
const REPLY_PREFIX: &str = "kiln.reply.";
/// What the names of queues begin with that are not for answers.
const OTHERS: [&str; 6] = [
    "amq.",
    "kiln.control",
    "kiln.dead",
    "kiln.jobs",
    "kiln.results",
    "kiln.retry",
];

const AMQP_EXAMPLE: &str = "amqp://user:password@host:5672/vhost";
const REDIS_EXAMPLE: &str = "redis://user:password@host:6379/0";

/// What is said of the broker; `None` is nothing.
struct Raw {
    url: Option<String>,
    url_file: Option<PathBuf>,
    topology: Option<TopologyMode>,
    trust_tenant: Option<bool>,
    consumer_timeout_ms: Option<u64>,
    queues: Option<Vec<Class>>,
    reply_prefixes: Option<Vec<String>>,
}

/// The broker, where its url is known, and its own limit on a delivery in any case.
pub(super) fn amqp(sources: &Sources) -> (Option<Amqp>, Duration) {
    let raw = sources.section(&AMQP, read);
    let found = secret::either(
        sources,
        &AMQP,
        ("url", raw.url.as_deref()),
        raw.url_file.as_deref(),
    );
    let found = checked(sources, found, is_amqp);
    let timeout = raw
        .consumer_timeout_ms
        .unwrap_or(CONSUMER_TIMEOUT_MS_DEFAULT);
    let consumer_timeout = Duration::from_millis(timeout);
    let amqp = found.map(|url| Amqp {
        url,
        topology: raw.topology.unwrap_or(TopologyMode::Passive),
        trust_tenant: raw.trust_tenant.unwrap_or(false),
        consumer_timeout,
        queues: raw.queues.unwrap_or_else(|| Class::ALL.to_vec()),
        reply_prefixes: raw
            .reply_prefixes
            .unwrap_or_else(|| vec![REPLY_PREFIX.to_owned()]),
    });
    (amqp, consumer_timeout)
}

/// The registry's Redis, where there is one.
pub(super) fn redis(sources: &Sources) -> Option<Redis> {
    let (given, file) = sources.section(&REDIS, |keys| {
        (keys.text("url").map(str::to_owned), path(keys, "url_file"))
    });
    let found = secret::either(sources, &REDIS, ("url", given.as_deref()), file.as_deref());
    let url = checked(sources, found, is_redis)?;
    Some(Redis { url })
}

/// The url, where it is one; its mistake is told under the key it came by.
fn checked(
    sources: &Sources,
    found: Option<(Secret, String)>,
    check: impl Fn(&str) -> Result<(), String>,
) -> Option<Secret> {
    let (secret, label) = found?;
    match check(secret.reveal()) {
        Ok(()) => Some(secret),
        Err(problem) => {
            sources.wrong(label, problem);
            None
        }
    }
}

fn is_amqp(text: &str) -> Result<(), String> {
    url::parse(text, &["amqp", "amqps"], AMQP_EXAMPLE)?;
    // What the client says of it may quote it.
    let taken = text.parse::<lapin::uri::AMQPUri>();
    taken.map(drop).map_err(|_| not_taken(AMQP_EXAMPLE))
}

fn is_redis(text: &str) -> Result<(), String> {
    // A socket of this machine has no host.
    if !(text.starts_with("unix:///") || text.starts_with("redis+unix:///")) {
        url::parse(text, &["redis", "rediss"], REDIS_EXAMPLE)?;
    }
    let taken = redis::IntoConnectionInfo::into_connection_info(text);
    taken.map(drop).map_err(|_| not_taken(REDIS_EXAMPLE))
}

fn not_taken(example: &str) -> String {
    format!("its path or its parameters are not understood: write it as `{example}`")
}

/// A section's url as it may be shown.
pub(super) fn shown(section: &Section, secret: &Secret) -> String {
    let schemes: &[&str] = if section.name == AMQP.name {
        &["amqp", "amqps"]
    } else {
        &["redis", "rediss"]
    };
    url::parse(secret.reveal(), schemes, "").map_or_else(|_| "***".to_owned(), |url| url.masked())
}

fn read(keys: &Keys) -> Raw {
    let (least, most) = CONSUMER_TIMEOUT_MS;
    Raw {
        url: keys.text("url").map(str::to_owned),
        url_file: path(keys, "url_file"),
        topology: keys.word(
            "topology",
            &[TopologyMode::Passive, TopologyMode::Create].map(|mode| (mode.as_str(), mode)),
        ),
        trust_tenant: keys.flag("trust_tenant"),
        consumer_timeout_ms: keys.figure("consumer_timeout_ms", LimitUnit::Count, least, most),
        queues: queues(keys),
        reply_prefixes: reply_prefixes(keys),
    }
}

fn queues(keys: &Keys) -> Option<Vec<Class>> {
    let mut found = Vec::new();
    for word in keys.texts("queues")? {
        match Class::ALL.into_iter().find(|class| class.as_str() == word) {
            Some(class) if found.contains(&class) => {
                keys.wrong("queues", format!("`{word}` is given twice"));
            }
            Some(class) => found.push(class),
            None => keys.wrong("queues", unknown(&word, &Class::ALL.map(Class::as_str))),
        }
    }
    if found.is_empty() {
        keys.wrong("queues", "it must name `interactive`, `batch` or both");
    }
    Some(found)
}

/// A job must not be able to have its outcome put where jobs or the broker's own messages are.
fn reply_prefixes(keys: &Keys) -> Option<Vec<String>> {
    let prefixes = keys.texts("reply_prefixes")?;
    for prefix in &prefixes {
        let problem = if prefix.is_empty() {
            "an empty prefix would let a job answer into any queue"
        } else if prefix.len() > 200 || prefix.chars().any(char::is_control) {
            "a prefix has at most 200 bytes and no control characters"
        } else if OTHERS
            .iter()
            .any(|name| name.starts_with(prefix.as_str()) || prefix.starts_with(name))
        {
            "with this prefix a job could answer into queues that are not for answers"
        } else {
            continue;
        };
        keys.wrong("reply_prefixes", problem);
    }
    Some(prefixes)
}
