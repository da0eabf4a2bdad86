//! For each fault: does its alert fire, does nothing else wake anybody, and does it end when the fault does?
//!
//! Prometheus asks real workers each second, by rules that are forty times as fast as in life.

use acceptance::drill::Drill;
use acceptance::faults::Proxy;
use acceptance::leftovers::wait_for;
use acceptance::stack::broker::Broker;
use acceptance::stack::clamd::Clamd;
use acceptance::stack::letter::Letter;
use acceptance::stack::objects::Objects;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{SOON, World, bash, id, ids, sleeper};
use acceptance::tmpfs::Tmpfs;
use serde_json::Value;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

fn nothing() {}

fn batch(drill: &Drill, jobs: &[Value]) {
    let letters: Vec<_> = jobs.iter().map(|job| Letter::job("batch", job)).collect();
    drill.world.client.send(&letters);
}

#[test]
fn drill_of_the_broker_and_redis() {
    let broker = Arc::new(Broker::start(""));
    let mut redis = Redis::start();
    let mut clamd = Clamd::start();
    let mut world = World::on(Arc::clone(&broker));
    world
        .add("a", |setup| {
            setup.slots = 4;
            setup.redis = Some(redis.url());
            setup.more = format!("[scanner]\nclamd = \"{}\"\n", clamd.address());
        })
        .up();
    world.client.wait_bound();
    let drill = Drill::begin(world);

    redis.kill9();
    drill.expect("Redis away", "KilnRedisAway", &mut || drill.load());
    redis.revive();

    clamd.kill9();
    drill.expect("clamd away", "KilnClamdAway", &mut || drill.load());
    clamd.revive();
    drill.calm_down();

    broker.kill9();
    drill.expect("broker away", "KilnBrokerAway", &mut nothing);
    broker.revive();
    broker.wait_ready();
    drill.calm_down();

    // What runs has something to publish while the broker takes nothing.
    let running = [sleeper(6000), sleeper(6000)];
    batch(&drill, &running);
    drill.world.wait_all_started(&running);
    broker.memory_alarm(true);
    drill.expect("broker short of memory", "KilnBrokerBlocked", &mut nothing);
    broker.memory_alarm(false);
    drill.world.wait_all(&ids(&running), SOON);
    drill.calm_down();

    let strange = Letter {
        exchange: "kiln.jobs".to_owned(),
        key: "batch".to_owned(),
        body: b"not a job".to_vec(),
        ..Letter::default()
    };
    drill.world.client.send(&[strange]);
    drill.expect("messages that are no jobs", "KilnDeadLetters", &mut || {
        drill.load();
    });

    // A formula that a spreadsheet would run.
    let hostile = bash("printf 'a,b\\n=cmd|\"/c calc\"!A1,2\\n' > b.csv");
    batch(&drill, &[hostile]);
    drill.expect("malicious artifacts", "KilnMaliciousArtifacts", &mut || {
        drill.load();
    });
}

#[test]
fn drill_of_the_store() {
    let objects = Objects::start();
    objects.bucket("kiln");
    let proxy = Proxy::before(objects.port());
    let world = World::with(|setup| {
        setup.slots = 4;
        setup.store = format!(
            "url = \"s3://kiln\"\nendpoint = \"http://127.0.0.1:{}\"",
            proxy.port()
        );
        setup.env.extend(Objects::credentials());
    });
    let drill = Drill::begin(world);

    proxy.latency(Duration::from_millis(1_500));
    drill.expect("store slow", "KilnStoreSlow", &mut || drill.load());
    proxy.heal();
    drill.calm_down();

    proxy.refuse(true);
    proxy.reset();
    drill.expect("store away", "KilnStoreAway", &mut || drill.load());
    proxy.refuse(false);
    proxy.heal();
    drill.calm_down();
}

#[test]
fn drill_of_a_full_disk() {
    let mut world = World::new();
    let store = world.store();
    let _disk = Tmpfs::mount(&store, "300m");
    world.add("a", |setup| setup.slots = 4).up();
    world.client.wait_bound();
    let drill = Drill::begin(world);
    let ballast = store.join("ballast");
    let full = Command::new("dd")
        .args(["if=/dev/zero", "bs=1M", "status=none"])
        .arg(format!("of={}", ballast.display()))
        .status();
    assert!(!full.expect("dd is there").success(), "the disk is full");
    drill.expect("disk full", "KilnDiskFull", &mut || drill.load());
    std::fs::remove_file(&ballast).expect("it is ours");
    drill.calm_down();
    let Drill { mut world, .. } = drill;
    world.workers.clear(); // Before the disk.
}

#[test]
fn drill_of_the_pool() {
    let mut world = World::new();
    let image = world.folder().path().join("image");
    std::fs::create_dir_all(image.join("usr")).expect("ours");
    world
        .add("a", |setup| {
            setup.slots = 4;
            setup.more = format!(
                "[profiles.bash.pool]\nmax = 1\n\n[profiles.broken]\nimage = \"dir:{}\"\n",
                image.display()
            );
        })
        .up();
    world.client.wait_bound();
    let drill = Drill::begin(world);

    drill.expect("pool exhausted", "KilnPoolExhausted", &mut || {
        batch(&drill, &[sleeper(300), sleeper(300), sleeper(300)]);
    });
    let last = bash("true");
    batch(&drill, std::slice::from_ref(&last));
    drill.world.wait_all(&[id(&last)], SOON);
    drill.calm(&mut || drill.world.submit(&[python()]));

    std::fs::remove_dir_all(&image).expect("ours");
    let failing = ["KilnErrorsFastBurn", "KilnSandboxesFail"];
    drill.expect_all("no sandbox can be made", &failing, &mut || {
        let mut job = python();
        job["profile"] = "broken".into();
        job["command"] = serde_json::json!(["true"]);
        job.as_object_mut().expect("an object").remove("code");
        batch(&drill, &[job, python()]);
    });
}

fn python() -> Value {
    let mut job = bash("pass");
    job["profile"] = "python".into();
    job
}

#[test]
fn drill_of_workers_that_die() {
    let mut world = World::new();
    world
        .add("a", |setup| {
            setup.checkpoints = true;
            setup.amqp += "?heartbeat=2";
        })
        .up();
    world.client.wait_bound();
    let mut drill = Drill::begin(world);

    drill.world.worker().kill9();
    drill.expect("worker down", "KilnWorkerDown", &mut nothing);
    drill.world.worker().up();
    drill.calm_down();

    let poison = bash("sleep 1");
    for life in 0..2 {
        drill.world.worker().kill9();
        let marker = drill.world.folder().path().join(format!("died-{life}"));
        let point = format!("started:kill:{}:{}", id(&poison), marker.display());
        let env = vec![("KILN_CHECKPOINT".to_owned(), point)];
        drill.world.worker().change(|setup| setup.env = env);
        if life == 0 {
            drill.world.worker().up();
            batch(&drill, std::slice::from_ref(&poison));
        } else {
            // The job may take it down before it is ready.
            drill.world.worker().start();
        }
        assert_eq!(drill.world.worker().exit(SOON), None, "a signal ends it");
    }
    drill.world.worker().change(|setup| setup.env.clear());
    drill.world.worker().up();
    drill.expect("poison", "KilnPoisonJob", &mut || drill.load());
}

#[test]
fn drill_of_a_clock_that_is_wrong() {
    let faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
    assert!(
        std::path::Path::new(faketime).exists(),
        "tests/run installs libfaketime"
    );
    let world = World::with(|setup| {
        let env = [
            ("LD_PRELOAD", faketime),
            ("FAKETIME", "+90s"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        setup.env.extend(env);
    });
    let drill = Drill::begin(world);
    drill.expect("clock", "KilnClockSkew", &mut || drill.load());
}

#[test]
fn drill_of_a_drain_that_hangs() {
    let world = World::with(|setup| setup.grace = Duration::from_secs(1));
    let mut drill = Drill::begin(world);
    let running = sleeper(60_000);
    batch(&drill, std::slice::from_ref(&running));
    drill.world.wait_started(&id(&running));
    let warden = warden(drill.world.worker().process().pid()).expect("it has a warden");
    let signal = |word: &str| {
        let sent = Command::new("kill")
            .args([word, &warden.to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "{word}");
    };
    signal("-STOP");
    drill.world.worker().term();
    drill.expect("drain stuck", "KilnDrainOverdue", &mut nothing);
    let ended = wait_for(SOON, || drill.world.workers[0].process().ended().is_some());
    assert!(ended, "the second hand ends it");
}

/// The first process of the pool: the child of the worker's child.
fn warden(worker: u32) -> Option<u32> {
    let child = |pid: u32| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let lists = tasks
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
        let all: Vec<_> = lists
            .flat_map(|it| {
                it.split_ascii_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        all.first()?.parse::<u32>().ok()
    };
    child(child(worker)?)
}
