//! Are the services there that a worker talks to? `kiln run` needs none of them.
//!
//! Only what is configured is looked at.

use super::Finding;
use crate::cli::services::Services;
use crate::cli::stop::Stop;
use crate::config::Store;
use crate::fault::chain;
use crate::registry::fleet::{Fleet, Server};
use crate::store::folder_advice;
use crate::store::ledger::Ledger;
use crate::telemetry::metric::Metrics;
use lapin::{Connection, ConnectionProperties};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A service answers within this, or is taken for away.
const ANSWER_MAX: Duration = Duration::from_secs(5);

const NO_STORE: &str = "`kiln worker` does not work";

/// Asks each service that is configured.
pub(super) fn all(services: &Services) -> Result<Vec<Finding>, Stop> {
    let mut findings = Vec::new();
    let bucket = matches!(services.store, Some(Store::S3(_)));
    let asked = services.broker.is_some() || services.redis.is_some() || bucket;
    if asked {
        findings.extend(crate::cli::runtime()?.block_on(remote(services)));
    }
    if let Some(Store::Files(path)) = &services.store {
        findings.push(folder(path, &super::machine::tried(path)));
    }
    Ok(findings)
}

async fn remote(services: &Services) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(url) = &services.broker {
        crate::tls::install();
        let connecting = Connection::connect(url.reveal(), ConnectionProperties::default());
        let answer = match tokio::time::timeout(ANSWER_MAX, connecting).await {
            Ok(Ok(connection)) => {
                // It has answered; that is all that was asked.
                drop(connection);
                Ok(())
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(late) => Err(chain(&late)),
        };
        findings.push(broker(answer));
    }
    if let Some(redis) = &services.redis {
        let asked = async { Fleet::connect(redis).await?.server().await };
        let answer = match tokio::time::timeout(ANSWER_MAX, asked).await {
            Ok(answer) => answer.map_err(|error| chain(&error)),
            Err(late) => Err(chain(&late)),
        };
        findings.push(registry(answer));
    }
    if let Some(store @ Store::S3(_)) = &services.store {
        let asked = async {
            // As a worker does at its start: its probe is written and read.
            let ledger = Ledger::open_to_read(store, Metrics::new())?;
            ledger.probe().await
        };
        let answer = match tokio::time::timeout(ANSWER_MAX, asked).await {
            Ok(answer) => answer.map_err(|error| chain(&error)),
            Err(_) => Err(format!("no answer within {} s", ANSWER_MAX.as_secs())),
        };
        findings.push(bucket(store, answer));
    }
    findings
}

fn bucket(store: &Store, answer: Result<(), String>) -> Finding {
    let (what, needed) = ("store", "a bucket that can be read and written");
    match answer {
        Ok(()) => Finding::ok(what, format!("`{store}` is writable"), needed),
        Err(why) => Finding::degraded(
            what,
            format!("`{store}`: {why}"),
            needed,
            NO_STORE,
            "see that the store is up, that the bucket is there, and that `store.url`, \
             `store.endpoint`, `store.region` and the access key are right",
        ),
    }
}

fn broker(answer: Result<(), String>) -> Finding {
    let (what, needed) = ("broker", "reachable");
    match answer {
        Ok(()) => Finding::ok(what, "it lets us in", needed),
        Err(why) => Finding::degraded(
            what,
            why,
            needed,
            "`kiln worker` and `kiln submit` do not work",
            "start the broker, or mend `amqp.url`",
        ),
    }
}

fn registry(answer: Result<Server, String>) -> Finding {
    let (what, needed) = ("Redis", "6 or newer, noeviction or volatile-*");
    let away = "workers work, but nobody sees them: `kiln pool` has nothing to show";
    let server = match answer {
        Ok(server) => server,
        Err(why) => {
            let remedy = "start Redis, or mend `redis.url`";
            return Finding::degraded(what, why, needed, away, remedy);
        }
    };
    let policy = server.policy.as_deref().unwrap_or("unknown");
    let found = format!("{}, {policy}", server.version);
    let major = server.version.split('.').next().unwrap_or_default();
    if major.parse::<u32>().is_ok_and(|major| major < 6) {
        return Finding::degraded(what, found, needed, away, "use Redis 7 or newer");
    }
    if server.role != "master" {
        let found = format!("{found}, {}", server.role);
        let remedy = "have `redis.url` name the primary: a replica takes no writes";
        return Finding::degraded(what, found, needed, away, remedy);
    }
    if policy != "noeviction" && !policy.starts_with("volatile-") {
        return Finding::degraded(
            what,
            found,
            needed,
            "Redis throws parts of the record away when its memory is full",
            "set `maxmemory-policy noeviction` in the server's configuration",
        );
    }
    Finding::ok(what, found, needed)
}

fn folder(folder: &Path, tried: &Result<(), (PathBuf, io::Error)>) -> Finding {
    let (what, needed) = ("store", "a folder that can be made and written");
    match tried {
        Ok(()) => Finding::ok(what, format!("`{}` is writable", folder.display()), needed),
        Err((nearest, error)) => Finding::degraded(
            what,
            format!("`{}`: {error}", nearest.display()),
            needed,
            NO_STORE,
            folder_advice(folder, error).unwrap_or("mend `store.url`"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::State;

    fn server(version: &str, policy: &str, role: &str) -> State {
        let server = Server {
            version: version.to_owned(),
            policy: Some(policy.to_owned()),
            role: role.to_owned(),
        };
        registry(Ok(server)).state
    }

    #[test]
    fn a_server_that_would_forget_or_takes_no_writes_is_less_and_never_missing() {
        assert_eq!(server("7.0.15", "noeviction", "master"), State::Ok);
        assert_eq!(server("7.0.15", "volatile-lru", "master"), State::Ok);
        assert_eq!(server("7.0.15", "allkeys-lru", "master"), State::Degraded);
        assert_eq!(server("5.0.1", "noeviction", "master"), State::Degraded);
        assert_eq!(server("7.0.15", "noeviction", "slave"), State::Degraded);
        assert_eq!(registry(Err("away".into())).state, State::Degraded);
        assert_eq!(broker(Err("away".into())).state, State::Degraded);
        let store = Store::Files("/nowhere".into());
        assert_eq!(bucket(&store, Err("away".into())).state, State::Degraded);
    }

    #[test]
    fn the_remedy_of_a_folder_fits_what_is_wrong_with_it() {
        let said = |path: &str, kind: io::ErrorKind| {
            let finding = folder(Path::new(path), &Err(("/".into(), kind.into())));
            assert_eq!(finding.state, State::Degraded);
            finding.remedy
        };
        let denied = said("/store", io::ErrorKind::PermissionDenied);
        assert!(denied.contains("as root"), "{denied}");
        let read_only = said("/store", io::ErrorKind::ReadOnlyFilesystem);
        assert!(read_only.contains("mount it"), "{read_only}");
        let kernels = said("/proc/store", io::ErrorKind::NotFound);
        assert!(kernels.contains("of a disk"), "{kernels}");
    }
}
