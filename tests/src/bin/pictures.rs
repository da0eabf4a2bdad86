//! What does an SRE see when things go wrong? A worker under load and under faults, drawn from its Prometheus.
//!
//! `target/debug/pictures FOLDER`, after `cargo build -p kiln -p acceptance --bins`; needs npm and chromium.

use acceptance::dashboards;
use acceptance::drill::PACE;
use acceptance::leftovers::wait_for;
use acceptance::stack::broker::Broker;
use acceptance::stack::clamd::Clamd;
use acceptance::stack::collector::Collector;
use acceptance::stack::letter::Letter;
use acceptance::stack::prometheus::Prometheus;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{World, bash, sleeper};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is drawn, up to now.
const SPAN: Duration = Duration::from_secs(170);

/// One host that is allowed and not there, and one that is not.
const REACHING: &str = "import urllib.request as r\n\
                        for url in 'http://api.example.com/', 'http://elsewhere.example/':\n    \
                            try: r.urlopen(url, timeout=2)\n    \
                            except OSError: pass\n";

/// A file that opens something when it is looked at, and one that pretends to be another.
const HOSTILE: &str = "printf '<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>' > a.svg; \
                       printf 'MZ\\220\\000' > report.pdf; \
                       printf 'key=ghp_%s%s\\n' x9K2mQ7vB4nR8tW1pL5j x9K2mQ7vB4nR8tW1pL5j; echo 'a,b\n=cmd|\"/c calc\"!A1,2' > b.csv";

fn send(world: &World, key: &str, jobs: &[Value]) {
    let letters = jobs.iter().map(|job| Letter::job(key, job).stamped());
    let letters: Vec<_> = letters.collect();
    world.client.send(&letters);
}

/// Jobs of many kinds for so long, a few each second.
fn load(world: &World, seconds: u64) {
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut round = 0_u32;
    while Instant::now() < until {
        let mut python = bash("print(6 * 7)");
        python["profile"] = "python".into();
        let mut slow = bash("while :; do :; done");
        slow["limits"] = json!({"cpu_ms": 100});
        send(world, "interactive", &[bash("echo well"), python]);
        if round.is_multiple_of(6) {
            let mut reaching = bash(REACHING);
            reaching["profile"] = "python".into();
            reaching["network"] = json!({"allow": ["api.example.com:80"]});
            send(world, "batch", &[reaching]);
        }
        match round % 4 {
            0 => send(world, "batch", &[bash("exit 3"), bash(HOSTILE)]),
            1 => send(world, "batch", &[slow]),
            _ => send(world, "batch", &[bash("echo text > made.txt")]),
        }
        round += 1;
        wait_for(Duration::from_millis(400), || false);
    }
}

fn main() -> ExitCode {
    let Some(out) = std::env::args().nth(1) else {
        writeln!(std::io::stderr(), "usage: pictures FOLDER").ok();
        return ExitCode::from(2);
    };
    let broker = Arc::new(Broker::start(""));
    let mut redis = Redis::start();
    let (mut clamd, collector) = (Clamd::start(), Collector::start());
    let mut world = World::on(Arc::clone(&broker));
    world
        .add("worker-a", |setup| {
            setup.slots = 4;
            setup.redis = Some(redis.url());
            setup.more = format!("[scanner]\nclamd = \"{}\"\n\n", clamd.address());
            setup.more += "[profiles.python.network]\nallow = [\"api.example.com:80\"]\n\n";
            let otlp = ("KILN_TELEMETRY__OTLP".to_owned(), collector.url());
            setup.env.push(otlp);
            setup.more += "[tenants.acme]\nshare = 1\n\n[profiles.bash.pool]\nmin = 2\nmax = 3\n";
        })
        .up();
    world.client.wait_bound();
    let target = (world.worker().name().to_owned(), world.worker().telemetry());
    let prometheus = Prometheus::start(&[target], PACE);
    let began = Instant::now();
    load(&world, 35);
    redis.kill9();
    load(&world, 15);
    redis.revive();
    load(&world, 10);
    clamd.kill9();
    load(&world, 12);
    clamd.revive();
    load(&world, 8);
    broker.kill9();
    wait_for(Duration::from_secs(12), || false);
    broker.revive();
    broker.wait_ready();
    load(&world, 15);
    // One tenant sends more than there is room for.
    let flood: Vec<_> = (0..160).map(|_| sleeper(400)).collect();
    send(&world, "batch.acme", &flood);
    send(&world, "batch", &[bash("exit 1")]);
    load(&world, 25);
    load(&world, SPAN.saturating_sub(began.elapsed()).as_secs());
    let drawn = Command::new(dashboards::folder().join("check/run"))
        .args([
            "draw",
            &format!("http://127.0.0.1:{}", prometheus.port()),
            &out,
        ])
        .arg(began.elapsed().as_secs().to_string())
        .status();
    if drawn.is_ok_and(|status| status.success()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
