//! Which sections and keys are there, what may stand there, and what does each mean?
//!
//! The names that are known, the schema and the check that each key is documented come from here.

use super::scanner;
use kiln_warden::profile::keys::unknown;
use toml::Value;

/// One section.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) keys: &'static [Key],
}

/// One key of it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) what: &'static str,
}

/// What may stand there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    /// A text that is never shown.
    Secret,
    /// An absolute path.
    Folder,
    Count {
        least: u64,
        most: u64,
    },
    Flag,
    Texts,
    Words(&'static [&'static str]),
    /// Words, any of them.
    SomeOf(&'static [&'static str]),
    /// A number of bytes with its unit.
    Size,
    /// A list of tables with these keys; the file alone can have one.
    Rows(&'static Section),
}

const fn key(name: &'static str, kind: Kind, what: &'static str) -> Key {
    Key { name, kind, what }
}

const fn count(name: &'static str, (least, most): (u64, u64), what: &'static str) -> Key {
    key(name, Kind::Count { least, most }, what)
}

/// The bounds of `worker.slots`.
pub(super) const SLOTS: (u64, u64) = (1, 1_024);
/// The bounds of `worker.grace_ms`: up to a day.
pub(super) const GRACE_MS: (u64, u64) = (0, 24 * 60 * 60 * 1_000);
/// The bounds of `worker.canary_ms`: never, up to a day.
pub(super) const CANARY_MS: (u64, u64) = (0, 24 * 60 * 60 * 1_000);
/// The bounds of `worker.uid_base`.
pub(super) const UID_BASE: (u64, u64) = (1, (u32::MAX - kiln_warden::UID_BLOCK) as u64);
/// The bounds of `amqp.consumer_timeout_ms`: a minute to a year.
pub(super) const CONSUMER_TIMEOUT_MS: (u64, u64) = (60_000, 365 * 24 * 60 * 60 * 1_000);
/// The bounds of `egress.connections`.
pub(super) const CONNECTIONS: (u64, u64) = (1, 10_000);
/// The bounds of `egress.bytes`: up to a PiB.
pub(super) const EGRESS_BYTES: (u64, u64) = (1, 1 << 50);
/// The bounds of `egress.connect_ms`: up to ten minutes.
pub(super) const CONNECT_MS: (u64, u64) = (1, 10 * 60 * 1_000);
/// The bounds of `egress.idle_ms`: up to a day.
pub(super) const IDLE_MS: (u64, u64) = (1, 24 * 60 * 60 * 1_000);
/// The bounds of `tenants.<name>.share`.
pub(super) const SHARE: (u64, u64) = (1, 1_000);
/// The words of `amqp.topology`.
pub(super) const TOPOLOGY: [&str; 2] = ["passive", "create"];
/// The words of `amqp.queues`.
pub(super) const QUEUES: [&str; 2] = ["interactive", "batch"];
/// The words of `telemetry.log`.
pub(super) const LOG: [&str; 2] = ["text", "json"];

#[rustfmt::skip]
pub(super) const WORKER: Section = Section {
    name: "worker",
    what: "The process that runs jobs",
    keys: &[
        count("canary_ms", CANARY_MS, "How often jobs of the worker's own try its sandboxes, in milliseconds; 0 is never"),
        key("cgroup_parent", Kind::Folder, "The control group below which all groups are made"),
        count("grace_ms", GRACE_MS, "How long running jobs have at a drain, in milliseconds"),
        key("name", Kind::Text, "The worker's name in outcomes and in the registry"),
        key("runtime", Kind::Folder, "The folder for locks and sockets; root's alone"),
        count("slots", SLOTS, "Jobs that run at once"),
        key("state", Kind::Folder, "The folder that outlives the process: journal and lock"),
        count("uid_base", UID_BASE, "The first host uid for sandboxes, a multiple of 4194304"),
        key("user", Kind::Text, "Whom a queue worker becomes once its warden is started: a user of this machine, or a number"),
    ],
};

#[rustfmt::skip]
pub(super) const AMQP: Section = Section {
    name: "amqp",
    what: "The broker that jobs come from",
    keys: &[
        count("consumer_timeout_ms", CONSUMER_TIMEOUT_MS, "The broker's own limit on an unanswered delivery"),
        key("queues", Kind::SomeOf(&QUEUES), "The classes whose queues are served"),
        key("reply_prefixes", Kind::Texts, "What the name of a reply queue must begin with"),
        key("topology", Kind::Words(&TOPOLOGY), "Who makes exchanges and queues"),
        key("trust_tenant", Kind::Flag, "Whether the tenant in a message of a shared queue is believed"),
        key("url", Kind::Secret, "amqp:// or amqps://, user, password, host, port, virtual host"),
        key("url_file", Kind::Folder, "A file with the url, in place of `url`"),
    ],
};

#[rustfmt::skip]
pub(super) const REDIS: Section = Section {
    name: "redis",
    what: "Where sandboxes and workers are tracked",
    keys: &[
        key("url", Kind::Secret, "redis:// or rediss://, user, password, host, port, database"),
        key("url_file", Kind::Folder, "A file with the url, in place of `url`"),
    ],
};

#[rustfmt::skip]
pub(super) const STORE: Section = Section {
    name: "store",
    what: "Where jobs, outcomes, logs and artifacts are kept",
    keys: &[
        key("access_key_id_file", Kind::Folder, "A file with the access key's id"),
        key("endpoint", Kind::Text, "http:// or https://, of a store that is not Amazon's"),
        key("region", Kind::Text, "The region of the bucket"),
        key("secret_access_key_file", Kind::Folder, "A file with the secret access key"),
        key("url", Kind::Text, "file:///folder or s3://bucket/prefix"),
    ],
};

#[rustfmt::skip]
pub(super) const TELEMETRY: Section = Section {
    name: "telemetry",
    what: "What an operator sees",
    keys: &[
        key("listen", Kind::Text, "The address of the status page, /metrics, /livez and /readyz, or `off`"),
        key("log", Kind::Words(&LOG), "How log lines look"),
        key("otlp", Kind::Text, "The collector of traces, as http://host:4318, or `off`"),
    ],
};

#[rustfmt::skip]
pub(super) const EGRESS: Section = Section {
    name: "egress",
    what: "The proxy by which jobs reach the hosts that they were granted",
    keys: &[
        key("allow_private", Kind::Texts, "Ranges that may be reached although they are private, such as `10.1.0.0/16`"),
        count("bytes", EGRESS_BYTES, "Bytes that one job may carry, to and from all hosts together"),
        count("connect_ms", CONNECT_MS, "How long a host may take to answer, in milliseconds"),
        count("connections", CONNECTIONS, "Connections of one job at a time"),
        count("idle_ms", IDLE_MS, "How long a connection may be silent, in milliseconds"),
        key("ca_file", Kind::Folder, "Certificates, as PEM, of authorities that credentials' hosts may have beside the machine's"),
        key("plain_tunnels", Kind::Texts, "Hosts and ports to which a tunnel may carry anything, and not only TLS that names the host"),
        key("resolvers", Kind::Texts, "The name servers that are asked, in order"),
    ],
};

#[rustfmt::skip]
pub(super) const TENANT: Section = Section {
    name: "tenants",
    what: "A tenant with queues of its own",
    keys: &[
        key("ceilings", Kind::Text, "Not served yet, and refused"),
        count("share", SHARE, "Its part of the CPU time where others want some too; 1 is usual"),
    ],
};

#[rustfmt::skip]
pub(super) const SECRET: Section = Section {
    name: "secrets",
    what: "A secret that jobs may refer to",
    keys: &[
        key("environment", Kind::Text, "The variable of the worker that holds it"),
        key("expires", Kind::Text, "When it is no longer handed out"),
        key("file", Kind::Folder, "The file that holds it"),
        key("profiles", Kind::Texts, "The profiles whose jobs may have it"),
        key("tenants", Kind::Texts, "The tenants whose jobs may have it"),
    ],
};

#[rustfmt::skip]
pub(super) const SCANNER: Section = Section {
    name: "scanner",
    what: "What may leave of what jobs make",
    keys: &[
        key("clamd", Kind::Text, "unix:/path or tcp:host:port of a clamd that is asked too"),
        key("policy", Kind::Words(&scanner::POLICIES), "What is held to be harmless"),
        key("rules", Kind::Folder, "A folder with YARA rules of your own, `*.yar`"),
        key("table", Kind::Rows(&ROW), "What is done with what; the first row that applies decides"),
    ],
};

#[rustfmt::skip]
pub(super) const ROW: Section = Section {
    name: "table",
    what: "A row: what it applies to, and what is done then",
    keys: &[
        key("above", Kind::Size, "Applies to what is larger than this"),
        key("action", Kind::Words(&scanner::ACTIONS), "What is done"),
        key("type", Kind::Text, "A media type, `text/*`, `stream` for stdout and stderr, or `*`"),
        key("verdict", Kind::Words(&scanner::VERDICTS), "Applies to this verdict alone"),
    ],
};

#[rustfmt::skip]
pub(super) const CREDENTIAL: Section = Section {
    name: "credentials",
    what: "A secret that the proxy attaches to requests, over TLS of its own",
    keys: &[
        key("before", Kind::Text, "What stands before the secret in the field, such as `Bearer `"),
        key("header", Kind::Text, "The field of the request; Authorization without it"),
        key("host", Kind::Text, "The host, with its port where that is not 443"),
        key("path", Kind::Text, "Below which path it is attached"),
        key("secret", Kind::Text, "The reference of the secret, which says whose jobs have it"),
    ],
};

/// The sections with keys that the environment can set.
pub(super) const PLAIN: [&Section; 7] = [
    &WORKER, &AMQP, &REDIS, &STORE, &TELEMETRY, &SCANNER, &EGRESS,
];

/// Sections that the file alone can have.
pub(super) const FILE_ALONE: [&str; 4] = ["credentials", "profiles", "secrets", "tenants"];

/// The name of every section.
pub(super) fn names() -> Vec<&'static str> {
    let plain = PLAIN.into_iter().map(|section| section.name);
    plain.chain(FILE_ALONE).collect()
}

impl Section {
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// The key of this name, or what is said about a name that is none.
    pub(super) fn key(&self, name: &str) -> Result<&'static Key, String> {
        let found = self.keys.iter().find(|key| key.name == name);
        found.ok_or_else(|| unknown(name, &self.names()))
    }
}

impl Kind {
    /// The value that a text of the environment stands for.
    pub(super) fn value(self, text: &str) -> Value {
        match self {
            Self::Flag => text
                .parse()
                .map_or_else(|_| Value::String(text.to_owned()), Value::Boolean),
            Self::Texts | Self::SomeOf(_) => {
                let parts = text.split(',').map(str::trim);
                let parts = parts.filter(|part| !part.is_empty());
                Value::Array(parts.map(|part| Value::String(part.to_owned())).collect())
            }
            Self::Text
            | Self::Secret
            | Self::Folder
            | Self::Count { .. }
            | Self::Words(_)
            | Self::Size
            | Self::Rows(_) => Value::String(text.to_owned()),
        }
    }
}
