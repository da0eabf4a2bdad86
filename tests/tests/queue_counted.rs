//! Do the counters of a worker say exactly what its outcomes say, whatever way each job ended?
//!
//! `tests/counters` does it with 10,000 jobs, a broker that drops its connections, and a job that kills two workers.

use acceptance::leftovers::wait_for;
use acceptance::stack::broker::Broker;
use acceptance::stack::http;
use acceptance::stack::letter::Letter;
use acceptance::stack::world::{SOON, World, bash, fresh, id, ids, sleeper};
use acceptance::tally::Tally;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Jobs in a usual run of the tests, and from how many on it is the long one.
const JOBS: usize = 320;
const MANY: usize = 2_000;

/// Jobs of every kind that ends in its own way without help.
fn colourful() -> Vec<Value> {
    let limited = |code: &str, limits: Value| {
        let mut job = bash(code);
        job["limits"] = limits;
        job
    };
    let python = |code: &str| {
        let mut job = bash(code);
        job["profile"] = "python".into();
        job
    };
    let mut late = bash("true");
    late["deadline_unix_ms"] = json!(1);
    let mut nobodys = bash("true");
    nobodys["profile"] = "nobody".into();
    vec![
        bash("echo well"),
        bash("exit 3"),
        bash("kill -9 $$"),
        python("print(6*7)"),
        late,
        nobodys,
        limited("sleep 30", json!({"wall_ms": 200})),
        limited("while :; do :; done", json!({"cpu_ms": 100})),
        limited(
            "x=$(head -c 200000000 /dev/zero | tr '\\0' x)",
            json!({"memory_bytes": 33_554_432}),
        ),
        limited(
            "head -c 100000 /dev/zero | tr '\\0' x",
            json!({"stdout_bytes": 1000}),
        ),
        limited(
            "for i in 1 2 3 4 5 6; do sleep 0.1 & done; wait",
            json!({"pids": 4}),
        ),
        limited(
            "head -c 9000000 /dev/zero > big; rm big",
            json!({"disk_bytes": 1_048_576}),
        ),
        // A call that loads a module ends a job; one for another namespace is noted.
        python("import ctypes; ctypes.CDLL(None).syscall(175, 0, 0, 0)"),
        python("import ctypes; ctypes.CDLL(None).unshare(0x10000000)"),
        python(
            "import socket\ntry: socket.create_connection(('192.0.2.1', 9), 1)\nexcept OSError: pass",
        ),
        bash("echo text > made.txt; echo a,b > made.csv"),
        bash("echo '<script>alert(1)</script>' > page.html"),
        bash("printf 'a,b\\n=cmd|\"/c calc\"!A1,2\\n' > b.csv"),
        bash("printf 'MZ\\220\\000' > report.pdf; head -c 300 /dev/urandom > x.zip"),
        bash("printf 'key=ghp_%s%s\\n' x9K2mQ7vB4nR8tW1pL5j x9K2mQ7vB4nR8tW1pL5j"),
    ]
}

/// What one worker was sent, and in which class.
struct Sent {
    world: World,
    jobs: BTreeMap<String, (&'static str, Value)>,
    letters: u64,
}

impl Sent {
    fn send(&mut self, class: &'static str, jobs: &[Value]) {
        let letters: Vec<_> = jobs
            .iter()
            .map(|job| Letter::job(class, job).stamped())
            .collect();
        self.letters += letters.len() as u64;
        self.world.client.send(&letters);
        for job in jobs {
            self.jobs
                .entry(id(job))
                .or_insert_with(|| (class, job.clone()));
        }
    }

    fn figure(&self, name: &str, labels: &str) -> u64 {
        whole(self.world.workers[0].metric(name, labels))
    }

    /// Jobs that somebody ends: some before they have begun, some while they run.
    fn cancelled(&mut self, class: &'static str, rounds: usize) {
        for round in 0..rounds {
            let jobs = [sleeper(60_000), sleeper(60_000)];
            self.send(class, &jobs);
            if round % 2 == 0 {
                self.world.wait_all_started(&jobs);
            }
            let wishes: Vec<_> = jobs.iter().map(|job| Letter::cancel(&id(job))).collect();
            self.world.client.send(&wishes);
            self.world.wait_all(&ids(&jobs), SOON);
        }
    }

    /// What comes again: the same letters, and other ids with a key that was answered.
    fn again(&mut self, class: &'static str, jobs: &[Value]) -> u64 {
        let mut keyed = bash("echo once");
        keyed["idempotency_key"] = fresh("key").into();
        let mut twin = keyed.clone();
        twin["id"] = fresh("twin").into();
        for job in [keyed, twin] {
            self.send(class, std::slice::from_ref(&job));
            self.world.wait_all(&[id(&job)], SOON);
        }
        self.send(class, jobs);
        jobs.len() as u64 + 1
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (job, (class, asked)) in &self.jobs {
            let stored = self
                .world
                .stored(job)
                .unwrap_or_else(|| panic!("{job} has no outcome"));
            let outcome: Value = serde_json::from_slice(&stored).expect("it is JSON");
            let profile = match asked["profile"].as_str() {
                Some("nobody") | None => "other",
                Some(profile) => profile,
            };
            tally.add(class, profile, &outcome);
        }
        tally
    }

    /// Every series that outcomes explain, against all outcomes there are.
    fn judge(&self) {
        let idle = || self.figure("kiln_jobs_in_flight", "") == 0;
        assert!(
            wait_for(SOON, idle),
            "jobs stay in flight\n{}",
            self.world.last_words()
        );
        let tally = self.tally();
        let page = http::get(self.world.workers[0].telemetry(), "/metrics")
            .expect("it is up")
            .body;
        let (judged, wrong) = tally.differences(&page);
        assert!(
            wrong.is_empty(),
            "of {judged} series:\n{}",
            wrong.join("\n")
        );
        assert_eq!(tally.jobs(), self.jobs.len() as u64);
        let told: Vec<_> = STATUSES
            .iter()
            .map(|status| format!("{} {status}", tally.with_status(status)))
            .collect();
        let told = format!(
            "{} jobs, {judged} series as they should be: {}",
            tally.jobs(),
            told.join(", ")
        );
        writeln!(std::io::stderr(), "{told}").ok();
    }
}

impl Sent {
    /// What the worker and the broker made of each letter, before anything was taken away: each came once, was answered
    /// once and acknowledged. A job that killed workers came again, and went to the dead letters.
    fn settled(&self, copies: u64, poison: u64) {
        let came = self.letters + poison;
        let heard = || self.world.client.heard().1 == came;
        assert!(
            wait_for(SOON, heard),
            "{:?} of {came}",
            self.world.client.heard()
        );
        for (name, labels, happened) in [
            ("kiln_duplicates_total", "", copies),
            ("kiln_amqp_deliveries_total", "", came),
            ("kiln_amqp_redeliveries_total", "", poison),
            ("kiln_amqp_acks_total", "ok", came),
            ("kiln_amqp_acks_total", "stale", 0),
            ("kiln_amqp_acks_total", "error", 0),
            ("kiln_job_stage_seconds_count", "publish", came),
            ("kiln_dead_lettered_total", "worker_crash", poison),
            ("kiln_dead_lettered_total", "", poison),
            ("kiln_faults_total", "", poison),
            ("kiln_amqp_returned_total", "", 0),
            ("kiln_panics_total", "", 0),
        ] {
            let says = || self.figure(name, labels);
            let same = wait_for(Duration::from_secs(10), || says() == happened);
            assert!(
                same,
                "{name}{{{labels}}} is {}, and {happened} happened",
                says()
            );
        }
        // The worker proves its connections with messages of its own, from time to time.
        let confirmed = self.figure("kiln_amqp_publish_confirm_seconds_count", "");
        assert!(confirmed >= came + poison, "{confirmed} of {came}");
    }

    /// Three times the broker drops all connections under load: what was taken away comes again, and counts once.
    fn broken(&mut self, broker: &Broker) {
        for _ in 0..3 {
            let jobs: Vec<_> = (0..60).map(|_| sleeper(500)).collect();
            self.send("batch", &jobs);
            self.world.wait_started(&id(&jobs[8]));
            broker.close_all_connections();
            self.world.wait_all(&ids(&jobs), Duration::from_mins(3));
        }
        self.judge();
        let again = self.figure("kiln_amqp_redeliveries_total", "");
        let lost = self.figure("kiln_amqp_acks_total", "stale");
        let told = format!(
            "{again} deliveries came again after three breaks, {lost} answers were too late"
        );
        writeln!(std::io::stderr(), "{told}").ok();
        assert!(again > 1, "nothing was delivered again");
        assert!(self.figure("kiln_amqp_reconnects_total", "") >= 3);
    }
}

/// A job that kills two lives of the worker and is given up on by the third, which is the plain program.
fn poisoned(world: &mut World) -> Value {
    let job = bash("sleep 1");
    for life in 0..2 {
        let marker = world.folder().path().join(format!("died-{life}"));
        let point = format!("started:kill:{}:{}", id(&job), marker.display());
        world.worker().change(|setup| {
            setup.checkpoints = true;
            setup.env = vec![("KILN_CHECKPOINT".to_owned(), point)];
        });
        // The job may take it down before it is ready.
        world.worker().start();
        if life == 0 {
            world.worker().wait_ready();
            world.client.send(&[Letter::job("batch", &job)]);
        }
        assert_eq!(world.worker().exit(SOON), None, "a signal ends it");
    }
    world.worker().change(|setup| {
        setup.checkpoints = false;
        setup.env.clear();
    });
    world.worker().up();
    job
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a counter of a test is a small whole number"
)]
fn whole(value: f64) -> u64 {
    assert!(value.fract().abs() < 1e-9 && (0.0..1e9).contains(&value));
    value as u64
}

/// The words of the contract.
const STATUSES: [&str; 9] = [
    "succeeded",
    "failed",
    "timed_out",
    "limit_exceeded",
    "policy_denied",
    "cancelled",
    "expired",
    "rejected",
    "platform_error",
];

#[test]
fn counters_say_exactly_what_happened() {
    let wanted =
        std::env::var("KILN_COUNTED_JOBS").map_or(JOBS, |jobs| jobs.parse().expect("a number"));
    let many = wanted >= MANY;
    // The long form breaks what it has; the short one shares it.
    let broker = if many {
        Arc::new(Broker::start(""))
    } else {
        Broker::shared()
    };
    let mut world = World::on(Arc::clone(&broker));
    world.add("a", |setup| setup.slots = 4);
    let mut poison = None;
    if many {
        poison = Some(poisoned(&mut world));
    } else {
        world.worker().up();
    }
    world.client.wait_bound();
    let mut sent = Sent {
        world,
        jobs: BTreeMap::new(),
        letters: 0,
    };
    sent.jobs
        .extend(poison.map(|job| (id(&job), ("batch", job))));
    let began = Instant::now();
    let rounds = wanted / colourful().len();
    sent.cancelled("interactive", (rounds / 8).max(2));
    let mut last = Vec::new();
    for round in 0..rounds {
        last = colourful();
        let class = ["interactive", "batch", "batch"][round % 3];
        sent.send(class, &last);
        if round % 20 == 19 || round + 1 == rounds {
            let all: Vec<_> = sent.jobs.keys().cloned().collect();
            sent.world.wait_all(&all, Duration::from_mins(10));
        }
    }
    let class = sent.jobs[&id(&last[0])].0;
    let copies = sent.again(class, &last);
    sent.judge();
    sent.settled(copies, u64::from(many));
    if many {
        sent.broken(&broker);
    }
    writeln!(
        std::io::stderr(),
        "after {:.0} s",
        began.elapsed().as_secs_f64()
    )
    .ok();
}
