//! What does a Prometheus see of a worker that works: does every panel show something, is every metric there, and
//! do the counters say exactly what happened?

use acceptance::dashboards::{self, documented, index, queries};
use acceptance::leftovers::wait_for;
use acceptance::stack::letter::Letter;
use acceptance::stack::prometheus::Prometheus;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{SOON, World, bash, id, ids};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Metrics that a worker has only once this has happened.
const NOT_ALWAYS: [(&str, &str); 3] = [
    ("kiln_canary_last_success_timestamp_seconds", "canaries fly"),
    ("kiln_drain_started_timestamp_seconds", "it drains"),
    ("kiln_pool_waiting", "a job had to wait for a sandbox"),
];

/// Jobs of every kind that ends in its own way.
fn colourful() -> Vec<Value> {
    let mut jobs = vec![
        bash("echo well"),
        bash("exit 3"),
        bash("echo text > made.txt"),
        bash("for i in 1 2 3; do sleep 5 & done; wait; echo none"),
    ];
    jobs[3]["limits"] = json!({"wall_ms": 200});
    let mut greedy = bash("x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}");
    greedy["limits"] = json!({"memory_bytes": 33_554_432, "wall_ms": 10_000});
    let mut wordy = bash("head -c 100000 /dev/zero | tr '\\0' x");
    wordy["limits"] = json!({"stdout_bytes": 1000});
    let mut late = bash("true");
    late["deadline_unix_ms"] = json!(1);
    let mut python = bash("print(6*7)");
    python["profile"] = "python".into();
    jobs.extend([greedy, wordy, late, python]);
    jobs
}

fn send(world: &World, class: &str, jobs: &[Value]) {
    let letters = jobs.iter().map(|job| Letter::job(class, job).stamped());
    let letters: Vec<_> = letters.collect();
    world.client.send(&letters);
}

#[test]
fn every_panel_shows_something_of_a_worker_that_works() {
    let redis = Redis::start();
    let mut world = World::new();
    world
        .add("a", |setup| {
            setup.slots = 2;
            setup.redis = Some(redis.url());
        })
        .up();
    world.client.wait_bound();
    let prometheus = Prometheus::start(&[("a".to_owned(), world.worker().telemetry())], 40);
    let seen = wait_for(SOON, || prometheus.sum("kiln_ready") > 0.0);
    assert!(seen, "{}", world.last_words());
    let index = index();
    let quiet = &index["quiet_panels"];
    let mut rounds = 0;
    let mut empty = BTreeMap::new();
    // A rate needs two scrapes of what rose between them, and a window of rules some more.
    let all = wait_for(Duration::from_mins(1), || {
        let jobs = colourful();
        send(
            &world,
            if rounds % 2 == 0 {
                "batch"
            } else {
                "interactive"
            },
            &jobs,
        );
        world.wait_all(&ids(&jobs), SOON);
        rounds += 1;
        empty = silent(&prometheus);
        empty.retain(|panel, _| quiet[panel].is_null());
        rounds > 4 && empty.is_empty()
    });
    assert!(all, "after {rounds} rounds nothing is shown by {empty:#?}");
    every_metric_is_there(&prometheus);
    let firing = prometheus.firing();
    let pages: Vec<_> = firing.iter().filter(|it| it.page).collect();
    assert!(
        pages.is_empty(),
        "a worker that is well wakes somebody: {pages:?}"
    );
}

/// The panels that show nothing now, with their first query; a query that is refused is a failure at once.
fn silent(prometheus: &Prometheus) -> BTreeMap<String, String> {
    let mut shows = BTreeMap::new();
    for query in queries() {
        let expr = query.plain(15);
        let series = prometheus.query(&expr);
        let series = series.unwrap_or_else(|why| panic!("{}: {expr}: {why}", query.panel));
        let number = |one: &Value| one["value"][1].as_str().is_some_and(|value| value != "NaN");
        let some = series.iter().any(number);
        let entry = shows.entry(query.panel).or_insert((expr, false));
        entry.1 |= some;
    }
    let silent = shows.into_iter().filter(|(_, (_, some))| !some);
    silent.map(|(panel, (expr, _))| (panel, expr)).collect()
}

fn every_metric_is_there(prometheus: &Prometheus) {
    let names = prometheus
        .query("count by (__name__) ({job=\"kiln\"})")
        .expect("sound");
    let own = |one: &Value| one["metric"]["__name__"].as_str().map(str::to_owned);
    let there: BTreeSet<_> = names.iter().filter_map(own).collect();
    let text = there.iter().cloned().collect::<Vec<_>>().join(" ");
    let there = dashboards::metrics(&format!(" {text} "));
    let excused: BTreeSet<_> = NOT_ALWAYS.map(|(name, _)| name.to_owned()).into();
    let known = documented();
    let absent: Vec<_> = known
        .difference(&there)
        .filter(|it| !excused.contains(*it))
        .collect();
    assert!(absent.is_empty(), "documented, and not there: {absent:?}");
    let kiln = there.iter().filter(|name| name.starts_with("kiln_"));
    let strange: Vec<_> = kiln.filter(|name| !known.contains(*name)).collect();
    assert!(strange.is_empty(), "there, and not documented: {strange:?}");
    let series = prometheus.sum("count({job=\"kiln\"})");
    assert!(series <= 1_500.0, "{series} series");
}

/// Counters must say what the history says: by status, each job once, whatever came twice.
#[test]
fn counters_say_exactly_what_happened() {
    let world = World::up(2);
    let jobs: Vec<_> = (0..40).flat_map(|_| colourful()).collect();
    let (interactive, batch) = jobs.split_at(jobs.len() / 3);
    for (class, jobs) in [("interactive", interactive), ("batch", batch)] {
        send(&world, class, jobs);
        // Some come twice, and are answered twice, and count once.
        send(&world, class, &jobs[..20]);
    }
    world.wait_all(&ids(&jobs), Duration::from_mins(3));
    let mut history: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (class, jobs) in [("interactive", interactive), ("batch", batch)] {
        for job in jobs {
            let stored = world.stored(&id(job)).expect("it is stored");
            let outcome: Value = serde_json::from_slice(&stored).expect("it is JSON");
            let status = outcome["status"].as_str().expect("it has one").to_owned();
            *history.entry((class.to_owned(), status)).or_default() += 1;
        }
    }
    assert!(history.len() >= 8, "{history:?}");
    let worker = &world.workers[0];
    for ((class, status), jobs) in &history {
        let labels = |text: &str| worker_sum(worker, class, text);
        assert_eq!(labels(status), *jobs, "{class} {status}: {history:?}");
    }
    let all = count(worker.metric("kiln_jobs_total", ""));
    assert_eq!(all, u32::try_from(jobs.len()).expect("few"));
    // Those that came twice may be on their way yet.
    let none = || count(worker.metric("kiln_jobs_in_flight", "")) == 0;
    assert!(wait_for(SOON, none), "jobs stay in flight");
}

fn worker_sum(worker: &acceptance::stack::worker::Worker, class: &str, status: &str) -> u32 {
    let profiles = ["bash", "python", "python-data", "node", "command", "other"];
    let of = |profile: &&str| {
        let labels = format!("class=\"{class}\",profile=\"{profile}\",status=\"{status}\"");
        count(worker.metric("kiln_jobs_total", &labels))
    };
    profiles.iter().map(of).sum()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a counter of a few hundred jobs is a small whole number"
)]
fn count(value: f64) -> u32 {
    assert!(value.fract().abs() < 1e-9 && (0.0..1e6).contains(&value));
    value as u32
}
