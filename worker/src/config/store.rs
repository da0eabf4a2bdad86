//! What do `[store]` and `[telemetry]` say about where things are kept and seen?

use super::section::{STORE, TELEMETRY};
use super::sources::Sources;
use super::worker::{is_plain, path};
use super::{LogFormat, S3, Secret, Store, Telemetry, secret, url};
use kiln_warden::profile::keys::Keys;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The folder of a store that nothing is said of.
const FOLDER: &str = "/var/lib/kiln";
const REGION: &str = "us-east-1";
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);
/// The word that switches the listener off.
const OFF: &str = "off";

impl std::fmt::Display for Store {
    /// As `store.url` says it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files(path) => write!(f, "file://{}", path.display()),
            Self::S3(s3) if s3.prefix.is_empty() => write!(f, "s3://{}", s3.bucket),
            Self::S3(s3) => write!(f, "s3://{}/{}", s3.bucket, s3.prefix),
        }
    }
}

struct Raw {
    url: Option<String>,
    endpoint: Option<String>,
    region: Option<String>,
    access_key_id_file: Option<PathBuf>,
    secret_access_key_file: Option<PathBuf>,
}

/// The store; what is said for naught goes to the warnings.
pub(super) fn store(sources: &Sources, warnings: &mut Vec<String>) -> Store {
    let raw = sources.section(&STORE, read);
    let folder = Store::Files(FOLDER.into());
    let Some(text) = raw.url.as_deref() else {
        idle(&raw, warnings);
        return folder;
    };
    match place(text) {
        Ok(Place::Folder(path)) => {
            idle(&raw, warnings);
            Store::Files(path)
        }
        Ok(Place::Bucket(bucket, prefix)) => {
            let (access_key_id, secret_access_key) = keys(sources, &raw);
            Store::S3(S3 {
                bucket,
                prefix,
                endpoint: raw.endpoint,
                region: raw.region.unwrap_or_else(|| REGION.to_owned()),
                access_key_id,
                secret_access_key,
            })
        }
        Err(problem) => {
            sources.wrong(sources.label(&STORE, "url"), problem);
            folder
        }
    }
}

/// Warns of what only an S3 store has.
fn idle(raw: &Raw, warnings: &mut Vec<String>) {
    let given = [
        ("endpoint", raw.endpoint.is_some()),
        ("region", raw.region.is_some()),
        ("access_key_id_file", raw.access_key_id_file.is_some()),
        (
            "secret_access_key_file",
            raw.secret_access_key_file.is_some(),
        ),
    ];
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        warnings.push(format!(
            "`store.{key}` is for a store at `s3://`, and has no effect on this one"
        ));
    }
}

/// The access key: both halves, or none.
fn keys(sources: &Sources, raw: &Raw) -> (Option<Secret>, Option<Secret>) {
    let (id, key) = ("access_key_id_file", "secret_access_key_file");
    let (id_file, key_file) = (
        raw.access_key_id_file.as_deref(),
        raw.secret_access_key_file.as_deref(),
    );
    let absent = match (id_file, key_file) {
        (Some(_), None) => Some((key, id)),
        (None, Some(_)) => Some((id, key)),
        _ => None,
    };
    if let Some((absent, given)) = absent {
        let problem = format!("it is not given, and `{given}` is: a key has both halves");
        sources.wrong(format!("store.{absent}"), problem);
    }
    let secret = |name, file: Option<&Path>| secret::from_file(sources, &STORE, name, file?);
    (secret(id, id_file), secret(key, key_file))
}

fn read(keys: &Keys) -> Raw {
    let endpoint = keys.text("endpoint").and_then(|text| {
        let found = url::parse(text, &["http", "https"], "https://host:9000");
        match found {
            Ok(url) if url.user => {
                keys.wrong("endpoint", "a user and a password do not belong here");
                None
            }
            Ok(_) => Some(text.to_owned()),
            Err(problem) => {
                keys.wrong("endpoint", problem);
                None
            }
        }
    });
    let region = keys.text("region").and_then(|text| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        let good = (1..=64).contains(&text.len()) && text.bytes().all(plain);
        if !good {
            keys.wrong("region", "it must have 1 to 64 letters, digits and `-`");
        }
        good.then(|| text.to_owned())
    });
    Raw {
        url: keys.text("url").map(str::to_owned),
        endpoint,
        region,
        access_key_id_file: path(keys, "access_key_id_file"),
        secret_access_key_file: path(keys, "secret_access_key_file"),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Folder(PathBuf),
    /// With its prefix.
    Bucket(String, String),
}

/// Where a store's url leads.
fn place(text: &str) -> Result<Place, String> {
    if text.starts_with('/') {
        return Err(format!("a folder is written as `file://{text}`"));
    }
    if let Some(path) = text.strip_prefix("file://") {
        if !path.starts_with('/') {
            return Err("after `file://` an absolute path follows: `file:///var/lib/kiln`".into());
        }
        if !is_plain(Path::new(path)) || path == "/" {
            return Err("its path must be a folder below `/`, without `..`".to_owned());
        }
        if path.contains(['%', '?', '#']) {
            return Err("its path is taken as it is, and has no `%`, `?` and `#`".to_owned());
        }
        return Ok(Place::Folder(path.into()));
    }
    let Some(rest) = text.strip_prefix("s3://") else {
        return Err("it must begin with `file:///` or `s3://`".to_owned());
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-');
    if !(3..=63).contains(&bucket.len()) || !bucket.bytes().all(plain) {
        return Err(
            "the name of a bucket has 3 to 63 of `a-z`, `0-9`, `.` and `-`: `s3://bucket/prefix`"
                .to_owned(),
        );
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let part = |part: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'=');
        !matches!(part, "" | "." | "..") && part.bytes().all(plain)
    };
    if !prefix.is_empty() && !prefix.split('/').all(part) {
        return Err(
            "the parts of a prefix have letters, digits, `.`, `-`, `_` and `=`, and none is \
             empty, `.` or `..`"
                .to_owned(),
        );
    }
    Ok(Place::Bucket(bucket.to_owned(), prefix.to_owned()))
}

/// What an operator sees; what is seen from elsewhere goes to the warnings.
pub(super) fn telemetry(sources: &Sources, warnings: &mut Vec<String>) -> Telemetry {
    let (listen, log, otlp) = sources.section(&TELEMETRY, |keys| {
        let log = [LogFormat::Text, LogFormat::Json].map(|log| (log.as_str(), log));
        (listen(keys), keys.word("log", &log), otlp(keys))
    });
    let listen = match listen {
        None => Some(LISTEN),
        Some(Listen::At(address)) => Some(address),
        Some(Listen::Off) => None,
    };
    if let Some(listen) = listen.filter(|listen| !listen.ip().is_loopback()) {
        warnings.push(format!(
            "`telemetry.listen`: whoever reaches {listen} sees the figures; there is no password"
        ));
    }
    Telemetry {
        listen,
        log: log.unwrap_or(LogFormat::Text),
        otlp,
    }
}

enum Listen {
    At(SocketAddr),
    Off,
}

/// The collector of traces, where there is one.
fn otlp(keys: &Keys) -> Option<String> {
    let text = keys.text("otlp").filter(|text| *text != OFF)?;
    match url::parse(text, &["http", "https"], "http://host:4318") {
        Ok(url) if url.user => {
            keys.wrong("otlp", "a user and a password do not belong here");
            None
        }
        Ok(url) if !matches!(url.path, "" | "/") => {
            keys.wrong(
                "otlp",
                "its path is always `/v1/traces`: write `http://host:4318`",
            );
            None
        }
        Ok(_) => Some(text.to_owned()),
        Err(problem) => {
            keys.wrong("otlp", problem);
            None
        }
    }
}

fn listen(keys: &Keys) -> Option<Listen> {
    let text = keys.text("listen")?;
    if text == OFF {
        return Some(Listen::Off);
    }
    let address = text.parse();
    if address.is_err() {
        keys.wrong(
            "listen",
            "it must be an address and a port such as `127.0.0.1:9464`, or `off`",
        );
    }
    address.ok().map(Listen::At)
}
