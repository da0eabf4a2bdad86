//! What does a Prometheus see of a worker that works: does every panel show something, is every metric there, and
//! do the counters say exactly what happened?

use acceptance::dashboards::{self, documented, index, queries};
use acceptance::leftovers::wait_for;
use acceptance::stack::http;
use acceptance::stack::letter::Letter;
use acceptance::stack::prometheus::Prometheus;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{SOON, World, bash, fresh, ids};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Metrics that a worker has only once this has happened.
const NOT_ALWAYS: [(&str, &str); 4] = [
    ("kiln_clamd_up", "a clamd is asked"),
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
            setup.more = crowd();
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
    nobody_makes_series(&world, &prometheus);
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

/// Tenants with queues of their own, and profiles, more than have a label.
fn crowd() -> String {
    let tenants = (0..34).map(|n| format!("[tenants.t{n:02}]\nshare = 1\n"));
    let profiles = (0..14).map(|n| format!("[profiles.p{n:02}]\nimage = \"host\"\n"));
    tenants.chain(profiles).collect()
}

/// Names that a stranger chose make no series, and what Prometheus' own tool says of the page is nothing.
fn nobody_makes_series(world: &World, prometheus: &Prometheus) {
    let page = || {
        let said = http::get(world.workers[0].telemetry(), "/metrics");
        said.expect("it listens").body
    };
    let series = |page: &str| -> BTreeSet<String> {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        let names = lines.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned()));
        names.collect()
    };
    // The first refusal of all looks into the store, which nothing did before.
    let mut nobodys = bash("true");
    nobodys["profile"] = "nobody".into();
    world.serve(&nobodys);
    let before = series(&page());
    let strange = [
        "../../x",
        "p99",
        "a\"b\\c\n",
        "{}",
        "other",
        "profile=\"x\"",
    ];
    let jobs: Vec<_> = strange
        .into_iter()
        .map(|name| {
            let mut job = bash("true");
            job["profile"] = name.into();
            job["tenant"] = fresh("tenant").into();
            job
        })
        .collect();
    world.submit(&jobs);
    world.wait_all(&ids(&jobs), SOON);
    let text = page();
    let new: Vec<_> = series(&text).difference(&before).cloned().collect();
    assert!(new.is_empty(), "strangers made {new:?}");
    let labels = |name: &str| -> BTreeSet<String> {
        let pattern = format!(" {name}=\"");
        let text = text.replace(['{', ','], " ");
        let found = text.split(&pattern).skip(1);
        found
            .filter_map(|it| Some(it.split_once('"')?.0.to_owned()))
            .collect()
    };
    let (profiles, queues) = (labels("profile"), labels("queue"));
    assert_eq!(profiles.len(), 17, "16 and `other`: {profiles:?}");
    assert_eq!(queues.len(), 65, "64 and `other`: {queues:?}");
    let mut tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tests/run installs it");
    let mut input = tool.stdin.take().expect("it is piped");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let said = tool.wait_with_output().expect("it ends");
    let words = [said.stdout, said.stderr].concat();
    assert!(
        said.status.success() && words.is_empty(),
        "{}",
        String::from_utf8_lossy(&words)
    );
    let kept = prometheus.sum("count({job=\"kiln\"})");
    writeln!(
        std::io::stderr(),
        "{kept} series of a worker with 34 tenants and 19 profiles"
    )
    .ok();
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
