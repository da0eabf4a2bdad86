//! What is the configuration in force, in a form that can be read in again, but for its secrets?

use super::section::{AMQP, EGRESS, REDIS, SCANNER, STORE, Section, TELEMETRY, WORKER};
use super::{Amqp, Config, Origin, Secret, Store, broker, sources};
use kiln_protocol::limits::{LimitName, LimitUnit};
use kiln_warden::profile::{ImageSource, Profile};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// One key.
#[derive(Debug)]
struct Line {
    section: String,
    key: &'static str,
    value: Value,
}

impl Config {
    /// As TOML, each key with who says it.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut before = String::new();
        for Line {
            section,
            key,
            value,
        } in self.lines()
        {
            if section != before {
                let gap = if before.is_empty() { "" } else { "\n" };
                write(&mut text, format_args!("{gap}[{section}]\n"));
                before.clone_from(&section);
            }
            let value = as_toml(&value);
            let line = match self.origin(&section, key) {
                None => format!("{key} = {value}"),
                Some(Origin::Default) => format!("{key} = {value}  # default"),
                Some(Origin::File) => format!("{key} = {value}  # file"),
                Some(Origin::Environment) => {
                    let name = sources::variable(&section, key);
                    format!("{key} = {value}  # {name}")
                }
            };
            write(&mut text, format_args!("{line}\n"));
        }
        text
    }

    /// As JSON: `config`, `origins` of what is not a default, `warnings`.
    ///
    /// # Panics
    ///
    /// Never: no section has the name of a key.
    pub fn to_json(&self) -> Value {
        let mut config = Map::new();
        for line in self.lines() {
            let mut table = &mut config;
            for part in line.section.split('.') {
                let below = table.entry(part).or_insert_with(|| json!({}));
                table = below
                    .as_object_mut()
                    .expect("sections hold tables and keys");
            }
            table.insert(line.key.to_owned(), line.value);
        }
        let origins: Map<String, Value> = self
            .origins
            .iter()
            .map(|(key, origin)| (key.clone(), origin.as_str().into()))
            .collect();
        json!({"config": config, "origins": origins, "warnings": self.warnings})
    }

    /// Who says a key, where that is remembered: profiles and tenants are the file's or built in.
    fn origin(&self, section: &str, key: &str) -> Option<Origin> {
        if section.contains('.') {
            return None;
        }
        let said = self.origins.get(&format!("{section}.{key}"));
        Some(said.copied().unwrap_or(Origin::Default))
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut put = |section: &str, key, value: Value| {
            lines.push(Line {
                section: section.to_owned(),
                key,
                value,
            });
        };
        let worker = &self.worker;
        put(WORKER.name, "name", json!(worker.name));
        put(WORKER.name, "slots", json!(worker.slots));
        put(WORKER.name, "grace_ms", ms(worker.grace));
        put(
            WORKER.name,
            "canary_ms",
            ms(worker.canary.unwrap_or_default()),
        );
        put(WORKER.name, "state", json!(worker.state));
        let runtime = worker.runtime.clone();
        put(
            WORKER.name,
            "runtime",
            json!(runtime.unwrap_or_else(|| kiln_warden::RUNTIME.into())),
        );
        let parent = worker
            .cgroup_parent
            .as_deref()
            .unwrap_or(kiln_warden::CGROUP_PARENT);
        put(WORKER.name, "cgroup_parent", json!(parent));
        let uid_base = worker.uid_base.unwrap_or(kiln_warden::UID_BASE);
        put(WORKER.name, "uid_base", json!(uid_base));
        if let Some(user) = worker.user {
            put(WORKER.name, "user", json!(user.uid.to_string()));
        }
        if let Some(amqp) = &self.amqp {
            self.amqp(amqp, &mut put);
        }
        if let Some(redis) = &self.redis {
            let (key, value) = self.url(&REDIS, &redis.url);
            put(REDIS.name, key, value);
        }
        self.store(&mut put);
        let listen = self.telemetry.listen;
        let listen = listen.map_or_else(|| "off".to_owned(), |listen| listen.to_string());
        put(TELEMETRY.name, "listen", json!(listen));
        put(TELEMETRY.name, "log", json!(self.telemetry.log.as_str()));
        let otlp = self.telemetry.otlp.as_deref().unwrap_or("off");
        put(TELEMETRY.name, "otlp", json!(otlp));
        self.scanner(&mut put);
        self.network(&mut put);
        for (name, tenant) in &self.tenants {
            put(&format!("tenants.{name}"), "share", json!(tenant.share));
        }
        for one in self.profiles.iter() {
            profile(one, &mut put);
        }
        lines
    }

    /// The key that a secret url came by, and what may be shown of it: its file, or its place.
    fn url(&self, section: &Section, url: &Secret) -> (&'static str, Value) {
        let of = |key: &str| self.origins.get(&format!("{}.{key}", section.name));
        match (of("url"), of("url_file")) {
            (None, _) | (Some(Origin::File), Some(Origin::Environment)) => {
                let path = self.secret_files.get(&format!("{}.url_file", section.name));
                ("url_file", json!(path))
            }
            _ => ("url", json!(broker::shown(section, url))),
        }
    }

    fn amqp(&self, amqp: &Amqp, put: &mut impl FnMut(&str, &'static str, Value)) {
        let name = AMQP.name;
        let (key, value) = self.url(&AMQP, &amqp.url);
        put(name, key, value);
        put(name, "topology", json!(amqp.topology.as_str()));
        put(name, "trust_tenant", json!(amqp.trust_tenant));
        put(name, "consumer_timeout_ms", ms(amqp.consumer_timeout));
        let queues: Vec<_> = amqp.queues.iter().map(|class| class.as_str()).collect();
        put(name, "queues", json!(queues));
        put(name, "reply_prefixes", json!(amqp.reply_prefixes));
    }

    fn network(&self, put: &mut impl FnMut(&str, &'static str, Value)) {
        let (name, egress) = (EGRESS.name, &self.egress);
        put(name, "allow_private", json!(egress.allow_private));
        put(name, "bytes", json!(egress.bytes));
        if let Some(path) = &egress.ca_file {
            put(name, "ca_file", json!(path));
        }
        put(name, "connect_ms", ms(egress.connect));
        put(name, "connections", json!(egress.connections));
        put(name, "idle_ms", ms(egress.idle));
        let tunnels = egress.plain_tunnels.iter().map(ToString::to_string);
        put(name, "plain_tunnels", json!(tunnels.collect::<Vec<_>>()));
        put(name, "resolvers", json!(egress.resolvers));
    }

    fn store(&self, put: &mut impl FnMut(&str, &'static str, Value)) {
        let name = STORE.name;
        put(name, "url", json!(self.store.to_string()));
        match &self.store {
            Store::Files(_) => {}
            Store::S3(s3) => {
                if let Some(endpoint) = &s3.endpoint {
                    put(name, "endpoint", json!(endpoint));
                }
                put(name, "region", json!(s3.region));
                for key in ["access_key_id_file", "secret_access_key_file"] {
                    if let Some(path) = self.secret_files.get(&format!("{name}.{key}")) {
                        put(name, key, json!(path));
                    }
                }
            }
        }
    }
}

impl Config {
    fn scanner(&self, put: &mut impl FnMut(&str, &'static str, Value)) {
        let (name, scanner) = (SCANNER.name, &self.scanner);
        put(name, "policy", json!(scanner.preset.as_str()));
        if let Some(folder) = &scanner.rules_folder {
            put(name, "rules", json!(folder));
        }
        if let Some(clamd) = &scanner.clamd {
            put(name, "clamd", json!(clamd.to_string()));
        }
        if !scanner.rows.is_empty() {
            let rows = scanner.rows.iter().map(|row| {
                let mut keys = Map::new();
                keys.insert("type".to_owned(), json!(row.media));
                if let Some(verdict) = row.verdict {
                    keys.insert("verdict".to_owned(), json!(verdict));
                }
                if row.above_bytes > 0 {
                    keys.insert("above".to_owned(), figure(LimitUnit::Size, row.above_bytes));
                }
                keys.insert("action".to_owned(), json!(row.fate.as_str()));
                Value::Object(keys)
            });
            put(name, "table", Value::Array(rows.collect()));
        }
    }
}

/// A value as TOML writes it: texts and lists are as in JSON, but for one sign; tables are not.
fn as_toml(value: &Value) -> String {
    match value {
        Value::Array(all) => {
            let all: Vec<_> = all.iter().map(as_toml).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(keys) => {
            let keys = keys.iter();
            let keys: Vec<_> = keys
                .map(|(key, value)| format!("{key} = {}", as_toml(value)))
                .collect();
            format!("{{ {} }}", keys.join(", "))
        }
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}

fn profile(profile: &Profile, put: &mut impl FnMut(&str, &'static str, Value)) {
    let section = format!("profiles.{}", profile.name);
    match &profile.image {
        ImageSource::Host { extra } => {
            put(&section, "image", json!("host"));
            put(&section, "host_extra", json!(extra));
        }
        ImageSource::Dir(path) => put(&section, "image", json!(format!("dir:{}", path.display()))),
    }
    if let Some(interpreter) = &profile.interpreter {
        put(&section, "interpreter", json!(interpreter.argv));
        put(&section, "main", json!(interpreter.main));
    }
    put(&section, "isolation", json!(profile.isolation.as_str()));
    put(&section, "reuse", json!(profile.reuse.as_str()));
    put(&section, "max_uses", json!(profile.max_uses));
    put(
        &section,
        "max_age",
        figure(LimitUnit::Duration, millis(profile.max_age)),
    );
    if !profile.network_allow.is_empty() {
        put(
            &format!("{section}.network"),
            "allow",
            json!(profile.network_allow),
        );
    }
    let pool = [("min", profile.pool.min), ("max", profile.pool.max)];
    for (key, size) in pool {
        if let Some(size) = size {
            put(&format!("{section}.pool"), key, json!(size));
        }
    }
    for limit in LimitName::ALL {
        if limit == LimitName::Disk && profile.limits.disk_follows_memory() {
            continue;
        }
        let default = profile.limits.get(limit).default;
        put(
            &format!("{section}.limits"),
            key(limit),
            figure(limit.unit(), default),
        );
    }
    for limit in LimitName::ALL {
        let ceiling = profile.limits.get(limit).ceiling;
        put(
            &format!("{section}.ceilings"),
            key(limit),
            figure(limit.unit(), ceiling),
        );
    }
}

/// A limit's name as a key.
fn key(limit: LimitName) -> &'static str {
    match limit {
        LimitName::OpenFiles => "open_files",
        LimitName::ArtifactCount => "artifact_count",
        LimitName::ArtifactSize => "artifact_size",
        other => other.cli_name(),
    }
}

/// A figure with the largest unit that says it whole.
fn figure(unit: LimitUnit, value: u64) -> Value {
    let units: &[(u64, &str)] = match unit {
        LimitUnit::Duration => &[(60_000, "m"), (1_000, "s"), (1, "ms")],
        LimitUnit::Size => &[
            (1 << 30, "GiB"),
            (1 << 20, "MiB"),
            (1 << 10, "KiB"),
            (1, "B"),
        ],
        LimitUnit::Count => return json!(value),
        LimitUnit::Cpus => {
            let text = unit.figure(value);
            return serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        }
    };
    let whole = units
        .iter()
        .find(|(size, _)| value >= *size && value.is_multiple_of(*size));
    let (size, name) = whole.or(units.last()).expect("the list is not empty");
    json!(format!("{}{name}", value / size))
}

fn ms(duration: Duration) -> Value {
    json!(millis(duration))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn write(text: &mut String, what: std::fmt::Arguments) {
    text.write_fmt(what)
        .expect("a string takes whatever is written");
}

impl Origin {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
        }
    }
}
