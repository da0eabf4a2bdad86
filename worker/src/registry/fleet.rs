//! What does an operator read of the record, and ask of it?

use super::keys;
use super::link::{self, Link, LinkError};
use super::pending::Rest;
use super::tempo::{Tempo, ms};
use crate::config;
use crate::telemetry::metric::Metrics;
use kiln_protocol::id::JobId;
use redis::aio::MultiplexedConnection;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Workers that are read at most.
const WORKERS_MAX: isize = 10_000;

/// One connection of an operator.
#[derive(Debug)]
pub struct Fleet {
    connection: MultiplexedConnection,
    client: redis::Client,
    tempo: Tempo,
}

/// One worker, as the record has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worker {
    pub worker: String,
    pub host: String,
    pub version: String,
    pub state: Health,
    pub slots: u64,
    pub busy: u64,
    pub heartbeat_age_ms: u64,
    /// How many sandboxes are in which phase, by profile.
    pub profiles: BTreeMap<String, BTreeMap<String, u64>>,
    pub sandboxes: Vec<Sandbox>,
}

/// Whether a worker was heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Live,
    /// It was asked to drain.
    Draining,
    /// Not heard of: its sandboxes may be gone.
    Stale,
    /// Not heard of for so long that it is taken out.
    Gone,
}

/// One sandbox, as the record has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sandbox {
    pub id: String,
    pub profile: String,
    pub phase: String,
    pub generation: u64,
    pub uses: u32,
    pub tenant: Option<String>,
    pub phase_age_ms: u64,
}

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub version: String,
    /// What it does when its memory is full; `None` where it does not say.
    pub policy: Option<String>,
    /// `master`, or `slave` for a replica, which takes no writes.
    pub role: String,
}

impl Fleet {
    pub async fn connect(redis: &config::Redis) -> Result<Self, LinkError> {
        Self::paced(redis, Tempo::default()).await
    }

    /// The same where workers are at another pace.
    pub async fn paced(redis: &config::Redis, tempo: Tempo) -> Result<Self, LinkError> {
        let client = link::client(redis.url.reveal())?;
        // An operator waits longer than a job would.
        let patient = Tempo {
            connect: Duration::from_secs(3),
            response: Duration::from_secs(3),
            ..tempo
        };
        let connection = link::connect(&client, &patient).await?;
        Ok(Self {
            connection,
            client,
            tempo: patient,
        })
    }

    /// Every worker of the record, by name.
    pub async fn workers(&mut self) -> Result<Vec<Worker>, LinkError> {
        let ((seconds, micros), beats): ((u64, u64), Vec<(String, f64)>) = redis::pipe()
            .cmd("TIME")
            .cmd("ZRANGE")
            .arg(keys::WORKERS)
            .arg(0)
            .arg(WORKERS_MAX - 1)
            .arg("WITHSCORES")
            .query_async(&mut self.connection)
            .await
            .map_err(|source| LinkError::Call {
                call: "list",
                source,
            })?;
        let now = seconds * 1000 + micros / 1000;
        let mut workers = Vec::with_capacity(beats.len());
        for (name, beat) in beats {
            let read: (HashMap<String, String>, BTreeMap<String, String>) = redis::pipe()
                .cmd("HGETALL")
                .arg(keys::worker(&name))
                .cmd("HGETALL")
                .arg(keys::sandboxes(&name))
                .query_async(&mut self.connection)
                .await
                .map_err(|source| LinkError::Call {
                    call: "read",
                    source,
                })?;
            let beat_ms = format!("{beat:.0}").parse().unwrap_or(0);
            let age = now.saturating_sub(beat_ms);
            workers.push(self.worker(name, now, age, &read.0, &read.1));
        }
        workers.sort_by(|a, b| a.worker.cmp(&b.worker));
        Ok(workers)
    }

    fn worker(
        &self,
        worker: String,
        now: u64,
        heartbeat_age_ms: u64,
        fields: &HashMap<String, String>,
        sandboxes: &BTreeMap<String, String>,
    ) -> Worker {
        let text = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let number = |name: &str| text(name).parse().unwrap_or(0);
        let age = Duration::from_millis(heartbeat_age_ms);
        let state = if age >= self.tempo.gone || fields.is_empty() {
            Health::Gone
        } else if age >= self.tempo.stale {
            Health::Stale
        } else if fields.contains_key("drain") && fields.get("drain") == fields.get("epoch") {
            Health::Draining
        } else {
            Health::Live
        };
        let mut sandboxes: Vec<Sandbox> = sandboxes
            .iter()
            .filter_map(|(id, value)| sandbox(id, value, now))
            .collect();
        sandboxes.sort_by_key(|sandbox| (sandbox.id.len(), sandbox.id.clone()));
        let mut profiles: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for sandbox in &sandboxes {
            let phases = profiles.entry(sandbox.profile.clone()).or_default();
            *phases.entry(sandbox.phase.clone()).or_default() += 1;
        }
        Worker {
            worker,
            host: text("host"),
            version: text("version"),
            state,
            slots: number("slots"),
            busy: number("busy"),
            heartbeat_age_ms,
            profiles,
            sandboxes,
        }
    }

    /// Asks a worker to drain at its next heartbeat; says whether the record knows it.
    pub async fn drain(&mut self, worker: &str) -> Result<bool, LinkError> {
        let mut link = self.link().await?;
        let keys = vec![keys::worker(worker)];
        let answer = link.ask("drain", keys, Vec::new()).await?;
        Ok(answer.word == "ok")
    }

    /// Leaves word that a job is cancelled which no worker has yet.
    pub async fn cancel(&mut self, job: &JobId) -> Result<(), LinkError> {
        redis::cmd("SET")
            .arg(keys::cancel(job))
            .arg("")
            .arg("PX")
            .arg(ms(self.tempo.cancel_kept))
            .query_async(&mut self.connection)
            .await
            .map_err(|source| LinkError::Call {
                call: "SET",
                source,
            })
    }

    /// Takes a worker out that is gone; says whether it was.
    pub async fn remove(&mut self, worker: &str) -> Result<bool, LinkError> {
        let mut link = self.link().await?;
        let args = vec![worker.to_owned(), ms(self.tempo.gone)];
        let answer = link.ask("reap", keys::whole(worker), args).await?;
        Ok(answer.word == "ok")
    }

    /// What the server is.
    pub async fn server(&mut self) -> Result<Server, LinkError> {
        let info: redis::InfoDict = redis::cmd("INFO")
            .query_async(&mut self.connection)
            .await
            .map_err(|source| LinkError::Call {
                call: "INFO",
                source,
            })?;
        let text = |name: &str| info.get::<String>(name);
        Ok(Server {
            version: text("redis_version").unwrap_or_default(),
            policy: text("maxmemory_policy"),
            role: text("role").unwrap_or_default(),
        })
    }

    async fn link(&self) -> Result<Link, LinkError> {
        // Whoever only asks shows no figures.
        Link::open(&self.client, &self.tempo, Metrics::new()).await
    }
}

/// A value of the hash of sandboxes: `epoch generation rank at rest`. What cannot be read is not
/// shown.
fn sandbox(id: &str, value: &str, now: u64) -> Option<Sandbox> {
    let mut parts = value.splitn(5, ' ');
    let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
    let (_epoch, generation, _rank, at) = (number()?, number()?, number()?, number()?);
    let rest: Rest = serde_json::from_str(parts.next()?).ok()?;
    Some(Sandbox {
        id: id.to_owned(),
        profile: rest.profile,
        phase: rest.phase,
        generation,
        uses: rest.uses,
        tenant: rest.tenant,
        phase_age_ms: now.saturating_sub(at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_newer_worker_says_is_read_and_what_is_no_record_is_not() {
        let value = r#"7 3 2 900 {"profile":"python","phase":"running","mood":"good"}"#;
        let read = sandbox("sbx-1", value, 1000).expect("it is a record");
        assert_eq!((read.generation, read.phase_age_ms), (3, 100));
        assert_eq!((read.phase.as_str(), read.uses), ("running", 0));
        for bad in [
            "",
            "7 3 2 900",
            "7 x 2 900 {}",
            "7 3 2 900 {}",
            "7 3 2 900 [",
        ] {
            assert_eq!(sandbox("sbx-1", bad, 1000), None, "{bad}");
        }
    }
}
