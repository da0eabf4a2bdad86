//! What does `[profiles.<name>]` say, key by key, before it is known what it means?

use super::keys::{Keys, unknown};
use super::{ImageSource, Isolation, LimitName, ProfileError, Reuse};
use crate::image::HIDDEN;
use kiln_protocol::limits::LimitUnit;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Table;

/// The keys of a profile.
pub const KEYS: [&str; 13] = [
    "base",
    "ceilings",
    "host_extra",
    "image",
    "interpreter",
    "isolation",
    "limits",
    "main",
    "max_age",
    "max_uses",
    "network",
    "pool",
    "reuse",
];

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// What a configuration says about one profile; `None` is nothing.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) base: Option<String>,
    pub(super) image: Option<ImageSource>,
    pub(super) host_extra: Option<Vec<String>>,
    pub(super) interpreter: Option<Vec<String>>,
    pub(super) main: Option<String>,
    pub(super) limits: BTreeMap<LimitName, u64>,
    pub(super) ceilings: BTreeMap<LimitName, u64>,
    pub(super) isolation: Option<Isolation>,
    pub(super) reuse: Option<Reuse>,
    pub(super) pool_min: Option<u32>,
    pub(super) pool_max: Option<u32>,
    pub(super) max_uses: Option<u32>,
    pub(super) max_age_ms: Option<u64>,
    pub(super) network_allow: Option<Vec<String>>,
}

/// All profiles of a configuration, and everything in them that cannot be understood.
pub(super) fn read(document: &Table) -> (BTreeMap<String, Raw>, Vec<ProfileError>) {
    let errors = RefCell::new(Vec::new());
    let mut all = BTreeMap::new();
    match document.get("profiles") {
        None => {}
        Some(toml::Value::Table(profiles)) => {
            let keys = Keys::new(profiles, "profiles", &errors);
            for (name, _) in keys.each() {
                if !is_name(name) {
                    keys.wrong(
                        name,
                        "a profile's name has at most 64 of `a-z`, `0-9`, `-` and `_`, \
                         and begins with a letter or a digit",
                    );
                } else if let Some(profile) = keys.table(name) {
                    all.insert(name.to_owned(), one(&profile));
                }
            }
        }
        Some(_) => errors.borrow_mut().push(ProfileError::Key {
            key: "profiles".to_owned(),
            problem: "it must be a table: `[profiles.<name>]`".to_owned(),
        }),
    }
    (all, errors.into_inner())
}

fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.len() <= 64
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|b| plain(b) || b == b'-' || b == b'_')
}

fn one(keys: &Keys) -> Raw {
    keys.only(&KEYS);
    let count = |keys: &Keys, name, least, most: u32| {
        keys.figure(name, LimitUnit::Count, least, most.into())
            .map(|n| u32::try_from(n).expect("it was compared with a figure of 32 bits"))
    };
    let pool = keys.table("pool");
    if let Some(pool) = &pool {
        pool.only(&["min", "max"]);
    }
    Raw {
        base: keys.text("base").map(str::to_owned),
        image: image(keys),
        host_extra: host_extra(keys),
        interpreter: interpreter(keys),
        main: main(keys),
        limits: figures(keys, "limits"),
        ceilings: figures(keys, "ceilings"),
        isolation: keys.word(
            "isolation",
            &[Isolation::Standard, Isolation::Strict].map(|i| (i.as_str(), i)),
        ),
        reuse: keys.word(
            "reuse",
            &[Reuse::Any, Reuse::Tenant, Reuse::Never].map(|r| (r.as_str(), r)),
        ),
        pool_min: pool.as_ref().and_then(|p| count(p, "min", 0, 1_024)),
        pool_max: pool.as_ref().and_then(|p| count(p, "max", 1, 4_096)),
        max_uses: count(keys, "max_uses", 1, 100_000),
        max_age_ms: keys.figure("max_age", LimitUnit::Duration, 1_000, DAY_MS),
        network_allow: network(keys),
    }
}

fn image(keys: &Keys) -> Option<ImageSource> {
    match keys.text("image")? {
        "host" => Some(ImageSource::Host { extra: Vec::new() }),
        text => match text.strip_prefix("dir:").map(PathBuf::from) {
            Some(path) if path.is_absolute() => Some(ImageSource::Dir(path)),
            Some(_) => {
                keys.wrong("image", "the folder's path must be absolute: `dir:/path`");
                None
            }
            None => {
                keys.wrong("image", unknown(text, &["host", "dir:/path"]));
                None
            }
        },
    }
}

fn host_extra(keys: &Keys) -> Option<Vec<String>> {
    let extra = keys.texts("host_extra")?;
    for path in &extra {
        if !HIDDEN.contains(&path.as_str()) {
            keys.wrong("host_extra", unknown(path, &HIDDEN));
        }
    }
    Some(extra)
}

fn interpreter(keys: &Keys) -> Option<Vec<String>> {
    let argv = keys.texts("interpreter")?;
    let absolute = argv.first().is_some_and(|program| program.starts_with('/'));
    if !absolute || argv.iter().any(|arg| arg.contains('\0')) {
        keys.wrong(
            "interpreter",
            "it must begin with an absolute path: `[\"/usr/bin/python3\"]`",
        );
        return None;
    }
    Some(argv)
}

fn main(keys: &Keys) -> Option<String> {
    let main = keys.text("main")?;
    let good = !main.is_empty()
        && main.len() <= 64
        && !main.starts_with(['.', '-'])
        && main
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    if !good {
        keys.wrong("main", "it must be a plain file name such as `main.py`");
        return None;
    }
    Some(main.to_owned())
}

/// The figures of `limits` or `ceilings`.
fn figures(keys: &Keys, name: &str) -> BTreeMap<LimitName, u64> {
    let Some(keys) = keys.table(name) else {
        return BTreeMap::new();
    };
    let names = LimitName::ALL.map(|limit| limit.cli_name().replace('-', "_"));
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = BTreeMap::new();
    for (key, value) in keys.each() {
        let Some(limit) = LimitName::from_cli_name(&key.replace('_', "-")) else {
            let meant = LimitName::from_wire_name(key).map(|l| l.cli_name().replace('-', "_"));
            match meant {
                Some(right) => keys.wrong(key, format!("write it as `{right}`, with a unit")),
                None => keys.wrong(key, unknown(key, &known)),
            }
            continue;
        };
        if let Some(figure) = keys.quantity(key, value, limit.unit())
            && all.insert(limit, figure).is_some()
        {
            keys.wrong(key, "it is given twice");
        }
    }
    all
}

fn network(keys: &Keys) -> Option<Vec<String>> {
    let keys = keys.table("network")?;
    keys.only(&["allow"]);
    let allow = keys.texts("allow")?;
    for target in &allow {
        let good = target.rsplit_once(':').is_some_and(|(host, port)| {
            let port = port.parse::<u16>().is_ok_and(|port| port > 0);
            let plain = |b: u8| {
                b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'[' | b']' | b':')
            };
            let host = host.strip_prefix("*.").unwrap_or(host);
            port && !host.is_empty() && host.bytes().all(plain)
        });
        if !good {
            keys.wrong("allow", format!("{target:?} is not `host:port`"));
        }
    }
    Some(allow)
}
