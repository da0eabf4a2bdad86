//! How is it with this one worker, in one small document for people: the page and `kiln top`?
//!
//! It holds words of closed sets, figures, and the names of the worker and of profiles; nothing of
//! a job, a tenant or an artifact. Its size is bounded whatever happens.

use super::metric::{Load, Metrics};
use super::readiness::{Condition, Readiness};
use super::recent::{Shown, millis};
use super::verdict::{self, Verdict};
use crate::pool::phase::Phase;
use crate::report::answer::now_unix_ms;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The name of this version of the document.
pub const STATUS_SCHEMA: &str = "kiln.status.v1";

/// Profiles that have a row of their own; the others are one.
const PROFILES_MAX: usize = 32;

/// Who is looked at.
#[derive(Clone, Debug)]
pub struct Identity {
    pub worker: String,
    /// How long running jobs have at a drain.
    pub grace: Duration,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub schema: String,
    pub worker: String,
    pub version: String,
    pub now_unix_ms: u64,
    pub uptime_ms: u64,
    pub verdict: Verdict,
    /// Whether its loop goes round.
    pub live: bool,
    /// Whether jobs are taken.
    pub ready: bool,
    /// Null where it is not to end.
    pub drain: Option<Drain>,
    #[serde(flatten)]
    pub load: Load,
    pub dependencies: Vec<Dependency>,
    pub pool: Vec<Profile>,
    #[serde(flatten)]
    pub recent: Shown,
}

/// A worker that takes nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    pub since_ms: u64,
    /// What runs has so long in all.
    pub grace_ms: u64,
}

/// Something that a worker needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    pub name: String,
    pub state: State,
    /// Why it is not up.
    pub why: Option<String>,
    /// Since when it is not up.
    pub since_ms: Option<u64>,
    /// Whether no jobs are taken without it.
    pub needed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Up,
    Down,
    /// Not known yet.
    Unknown,
    /// Not configured.
    Off,
}

/// The sandboxes of one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub profile: String,
    pub cold: u64,
    pub warm: u64,
    pub leased: u64,
    pub running: u64,
    pub resetting: u64,
}

impl Profile {
    /// With the word of each phase, in the order of a sandbox's life.
    pub fn phases(&self) -> [(&'static str, u64); 5] {
        [
            ("cold", self.cold),
            ("warm", self.warm),
            ("leased", self.leased),
            ("running", self.running),
            ("resetting", self.resetting),
        ]
    }

    fn add(&mut self, counts: [u64; Phase::ALL.len()]) {
        let [cold, warm, leased, running, resetting, _retired] = counts;
        self.cold += cold;
        self.warm += warm;
        self.leased += leased;
        self.running += running;
        self.resetting += resetting;
    }
}

/// How it is with a worker now.
pub(super) fn status(identity: &Identity, metrics: &Metrics, readiness: &Readiness) -> Status {
    let broken = readiness.broken();
    let drain = broken.get(&Condition::Draining).map(|draining| Drain {
        since_ms: millis(draining.since.elapsed()),
        grace_ms: millis(identity.grace),
    });
    let needed = [
        ("broker", Condition::Broker),
        ("store", Condition::Store),
        ("state folder", Condition::State),
        ("warden", Condition::Pool),
    ];
    let mut dependencies: Vec<_> = needed
        .into_iter()
        .map(|(name, condition)| match broken.get(&condition) {
            None => dependency(name, State::Up, None, None),
            Some(it) if it.unknown => dependency(name, State::Unknown, Some(&it.why), None),
            Some(it) => dependency(name, State::Down, Some(&it.why), Some(it.since)),
        })
        .collect();
    let redis = match metrics.neighbours.redis() {
        None => dependency("redis", State::Off, Some("not configured"), None),
        Some(redis) if redis.up => dependency("redis", State::Up, None, None),
        Some(redis) => {
            let why = "it does not answer; jobs go on without it";
            dependency("redis", State::Down, Some(why), Some(redis.at))
        }
    };
    dependencies.insert(
        2,
        Dependency {
            needed: false,
            ..redis
        },
    );
    dependencies.push(sandboxes(metrics));
    dependencies.extend(clamd(metrics));
    let (live, load, recent) = (readiness.is_live(), metrics.load(), metrics.recent.shown());
    let verdict = verdict::verdict(&verdict::Evidence {
        live,
        busy: load.busy,
        drain,
        dependencies: &dependencies,
        recent: &recent,
    });
    Status {
        schema: STATUS_SCHEMA.to_owned(),
        worker: identity.worker.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now_unix_ms: now_unix_ms(),
        uptime_ms: millis(metrics.recent.born().elapsed()),
        verdict,
        live,
        ready: broken.is_empty(),
        drain,
        load,
        dependencies,
        pool: pool(metrics),
        recent,
    }
}

/// Whether they can be made: a warden that lives may make none.
fn sandboxes(metrics: &Metrics) -> Dependency {
    let made = match metrics.neighbours.unmade() {
        None => dependency("sandboxes", State::Up, None, None),
        Some((first, others)) => {
            let more = match others {
                0 => String::new(),
                1 => " and 1 other profile".to_owned(),
                n => format!(" and {n} other profiles"),
            };
            let why = format!(
                "`{}`{more} cannot be made: failed to {}",
                first.profile, first.why
            );
            dependency("sandboxes", State::Down, Some(&why), Some(first.at))
        }
    };
    Dependency {
        needed: false,
        ..made
    }
}

/// The other engine, where there is one.
fn clamd(metrics: &Metrics) -> Option<Dependency> {
    let why = "it does not answer; files that jobs make are withheld";
    let clamd = match metrics.neighbours.clamd()? {
        it if it.up => dependency("clamd", State::Up, None, None),
        it => dependency("clamd", State::Down, Some(why), Some(it.at)),
    };
    Some(Dependency {
        needed: false,
        ..clamd
    })
}

fn dependency(name: &str, state: State, why: Option<&str>, since: Option<Instant>) -> Dependency {
    Dependency {
        name: name.to_owned(),
        state,
        why: why.map(str::to_owned),
        since_ms: since.map(|since| millis(since.elapsed())),
        needed: true,
    }
}

/// The largest profiles by name, and all others as one.
fn pool(metrics: &Metrics) -> Vec<Profile> {
    let mut counts: Vec<_> = metrics.pool.counts().into_iter().collect();
    counts.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<u64>()));
    let others = counts.split_off(counts.len().min(PROFILES_MAX));
    counts.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut rows: Vec<Profile> = Vec::with_capacity(counts.len() + 1);
    for (name, counts) in counts {
        let mut row = Profile {
            profile: name,
            ..Profile::default()
        };
        row.add(counts);
        rows.push(row);
    }
    if !others.is_empty() {
        let mut row = Profile {
            profile: format!("{} others", others.len()),
            ..Profile::default()
        };
        for (_, counts) in others {
            row.add(counts);
        }
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::watch::{Moved, News, Watch as _};
    use kiln_warden::wire::SandboxId;

    fn identity() -> Identity {
        Identity {
            worker: "worker-a".to_owned(),
            grace: Duration::from_secs(30),
        }
    }

    #[test]
    fn what_is_needed_and_away_is_named_with_its_reason() {
        let (metrics, readiness) = (Metrics::new(), Readiness::new());
        let says = |name: &str| {
            let status = status(&identity(), &metrics, &readiness);
            let found = status.dependencies.into_iter().find(|it| it.name == name);
            let found = found.expect("every dependency is told");
            (found.state, found.why)
        };
        assert_eq!(says("broker").0, State::Unknown);
        assert_eq!(says("state folder").0, State::Up);
        assert_eq!(says("redis").0, State::Off);
        readiness.set(Condition::Store, false, "no answer");
        assert_eq!(says("store"), (State::Down, Some("no answer".to_owned())));
        metrics.redis_up(true);
        assert_eq!(says("redis"), (State::Up, None));
        metrics.redis_up(false);
        assert_eq!(says("redis").0, State::Down);
        assert_eq!(says("sandboxes").0, State::Up);
        for profile in ["python", "bash", "node"] {
            metrics.told(&News::Making { profile });
            let why = Some("get an answer");
            metrics.told(&News::NotMade { profile, why });
        }
        let told = "`python` and 2 other profiles cannot be made: failed to get an answer";
        assert_eq!(says("sandboxes"), (State::Down, Some(told.to_owned())));
        metrics.clamd_up(false);
        assert_eq!(says("clamd").0, State::Down);
        metrics.clamd_up(true);
        assert_eq!(says("clamd"), (State::Up, None));
        readiness.set(Condition::Store, true, "");
        assert_eq!(says("store"), (State::Up, None));
    }

    #[test]
    fn a_drain_has_its_clock_from_the_first_word_of_it() {
        let (metrics, readiness) = (Metrics::new(), Readiness::new());
        let drain = || status(&identity(), &metrics, &readiness).drain;
        assert_eq!(drain(), None);
        readiness.set(Condition::Draining, false, "the worker ends");
        let since = readiness.broken()[&Condition::Draining].since;
        readiness.set(Condition::Draining, false, "the worker ends");
        assert_eq!(readiness.broken()[&Condition::Draining].since, since);
        let drain = drain().expect("it drains");
        assert!(drain.since_ms < 10_000, "{drain:?}");
        assert_eq!(drain.grace_ms, 30_000);
    }

    #[test]
    fn it_stays_small_however_many_sandboxes_and_failures_there_are() {
        let metrics = Metrics::new();
        for n in 0..5_000 {
            let profile = format!("profile-{:03}-{}", n % 200, "x".repeat(40));
            let moved = Moved {
                id: SandboxId(n),
                profile: profile.as_str().into(),
                phase: Phase::Warm,
                generation: 1,
                uses: 0,
                tenant: Some("acme".into()),
                reason: None,
            };
            metrics.pool.moved(&moved, &profile);
        }
        let status = status(&identity(), &metrics, &Readiness::new());
        assert_eq!(status.pool.len(), PROFILES_MAX + 1);
        let shown: u64 = status.pool.iter().map(|row| row.warm).sum();
        assert_eq!(shown, 5_000);
        let text = serde_json::to_string(&status).expect("it is JSON");
        assert!(text.len() < 16_384, "{} bytes", text.len());
        assert!(!text.contains("acme") && !text.contains("sbx-"), "{text}");
        let again: Status = serde_json::from_str(&text).expect("it is read back");
        assert_eq!(again, status);
    }
}
