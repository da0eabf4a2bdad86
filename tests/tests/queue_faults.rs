//! When the broker, Redis, the store or the wire fails under load, is every job still answered once?

use acceptance::faults::{Proxy, Way};
use acceptance::leftovers::{descendants, wait_for};
use acceptance::seed::Seed;
use acceptance::stack::broker::Broker;
use acceptance::stack::objects::Objects;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{SOON, World, bash, id, ids, sleeper};
use acceptance::tmpfs::Tmpfs;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Some jobs, short ones and longer ones.
fn load(seed: &mut Seed, count: usize) -> Vec<Value> {
    let kinds = [0, 0, 50, 300, 1200];
    let job = |ms: u64| {
        if ms == 0 {
            bash("echo quick")
        } else {
            sleeper(ms)
        }
    };
    (0..count).map(|_| job(*seed.one(&kinds))).collect()
}

/// Submits half, lets some begin, has the fault befall, submits the rest, and waits for all.
fn under_load(world: &World, seed: &mut Seed, fault: impl FnOnce(&mut Seed)) {
    let (early, late) = (load(seed, 16), load(seed, 8));
    let heard = world.client.heard().0;
    world.submit(&early);
    let begun = 1 + usize::try_from(seed.below(6)).expect("few");
    assert!(wait_for(SOON, || world.client.heard().0 >= heard + begun));
    fault(seed);
    world.submit(&late);
    for jobs in [early, late] {
        world.wait_all(&ids(&jobs), SOON);
    }
}

fn pause(patience: Duration) {
    wait_for(patience, || false);
}

#[test]
fn alone_the_broker_fails_in_every_way() {
    let mut seed = Seed::new("the_broker_fails_in_every_way");
    let broker = Arc::new(Broker::start(""));
    let mut world = World::on(Arc::clone(&broker));
    world.add("a", |setup| setup.amqp += "?heartbeat=2").up();
    world.client.wait_bound();
    let hold = |ms: u64, seed: &mut Seed| pause(Duration::from_millis(300 + seed.below(ms)));
    under_load(&world, &mut seed, |seed| {
        broker.kill9();
        hold(2000, seed);
        broker.revive();
    });
    under_load(&world, &mut seed, |_| broker.restart_app());
    let rebuilt = || world.workers[0].metric("kiln_amqp_reconnects_total", "");
    let first = rebuilt();
    for _ in 0..3 {
        under_load(&world, &mut seed, |_| broker.close_all_connections());
    }
    let lost = rebuilt() - first;
    assert!(lost >= 3.0, "{lost} connections were rebuilt");
    for alarm in [Broker::memory_alarm, Broker::disk_alarm] {
        under_load(&world, &mut seed, |seed| {
            alarm(&broker, true);
            hold(4000, seed);
            alarm(&broker, false);
        });
    }
    under_load(&world, &mut seed, |_| {
        broker.freeze();
        let noticed = world.workers[0].wait_unready(SOON);
        broker.thaw();
        assert!(noticed, "a frozen broker is noticed");
    });
    world.worker().wait_ready();
    assert_eq!(
        world.worker().exits(),
        0,
        "the worker lives through all of it"
    );
    world.assert_kept(2, "a broker that fails in every way");
}

#[test]
fn alone_consumption_goes_on_soon_after_the_broker_is_back() {
    let broker = Arc::new(Broker::start(""));
    let mut world = World::on(Arc::clone(&broker));
    world.add("a", |_| {}).up();
    world.client.wait_bound();
    for _ in 0..2 {
        broker.kill9();
        assert!(world.worker().wait_unready(SOON));
        broker.revive();
        broker.wait_ready();
        let back = Instant::now();
        let ready = || {
            world.workers[0]
                .ready()
                .is_some_and(|said| said.status == 200)
        };
        assert!(
            wait_for(Duration::from_secs(10), ready),
            "{:?}",
            world.workers[0].ready()
        );
        let told = format!("ready {:?} after the broker", back.elapsed());
        writeln!(std::io::stderr(), "{told}").ok();
        assert_eq!(world.serve(&bash("true"))["status"], "succeeded");
    }
}

/// The first process of the pool makes and resets every sandbox: without it no job can start.
#[test]
fn a_warden_that_says_nothing_is_told_and_is_believed_again() {
    let world = World::up(2);
    assert_eq!(world.serve(&bash("true"))["status"], "succeeded");
    let worker = world.workers[0].process().pid();
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let of_pool = |pid: &u32| name(*pid).trim() == "kiln-warden";
    let warden = descendants(worker).into_iter().find(of_pool);
    let warden = warden.expect("it has a warden");
    let tell = |word: &str| {
        let mut told = Command::new("kill");
        told.args([word, &warden.to_string()]);
        assert!(told.status().is_ok_and(|status| status.success()), "{word}");
    };
    tell("-STOP");
    // Its sandboxes wait to be made ready again after these, and it is not asked before.
    let jobs: Vec<_> = (0..4).map(|_| bash("true")).collect();
    world.submit(&jobs);
    let noticed = world.workers[0].wait_unready(SOON);
    let said = world.workers[0].ready();
    tell("-CONT");
    assert!(noticed, "a frozen warden is noticed");
    let said = said.expect("it is up").body;
    assert!(
        said.contains("the warden is gone, or does not answer"),
        "{said}"
    );
    world.workers[0].wait_ready();
    world.wait_all(&ids(&jobs), SOON);
    world.assert_kept(4, "a frozen warden");
}

#[test]
fn a_queue_that_is_deleted_is_made_again() {
    let world = World::up(2);
    let running = [sleeper(3000), sleeper(3000)];
    world.submit(&running);
    world.wait_all_started(&running);
    world
        .broker
        .delete_queue(&world.vhost, "kiln.jobs.interactive");
    let back = || {
        world
            .broker
            .consumers(&world.vhost, "kiln.jobs.interactive")
            > 0
    };
    assert!(wait_for(SOON, back), "{}", world.last_words());
    assert_eq!(world.serve(&bash("true"))["status"], "succeeded");
    world.wait_all(&ids(&running), SOON);
    world.assert_kept(1, "a queue was deleted");
}

#[test]
fn long_a_delivery_that_times_out_is_not_run_beside_itself() {
    let broker = Arc::new(Broker::start("consumer_timeout = 60000"));
    let mut world = World::on(Arc::clone(&broker));
    world.add("a", |_| {}).up(); // The configuration says 30 minutes: the broker is what the test has wrong.
    world.client.wait_bound();
    let mut long = sleeper(125_000);
    long["limits"] = serde_json::json!({"wall_ms": 200_000});
    world.submit(std::slice::from_ref(&long));
    let cut = || world.workers[0].metric("kiln_amqp_reconnects_total", "") >= 1.0;
    let outcome = world.client.outcome(&id(&long), Duration::from_mins(4));
    let outcome = outcome.expect("it ends").json();
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    assert!(
        cut() || world.workers[0].logs().contains("PRECONDITION_FAILED"),
        "it was not cut"
    );
    assert_eq!(world.serve(&bash("true"))["status"], "succeeded");
    world.assert_kept(1, "a delivery that timed out");
}

#[test]
fn no_job_waits_for_redis() {
    let mut redis = Redis::start();
    let mut world = World::new();
    world.add("a", |setup| setup.redis = Some(redis.url())).up();
    world.client.wait_bound();
    let faults: [fn(&mut Redis, bool); 6] = [
        |redis, on| if on { redis.kill9() } else { redis.revive() },
        |redis, on| if on { redis.freeze() } else { redis.thaw() },
        |redis, on| {
            if on {
                redis.flush();
            }
        },
        |redis, on| redis.full(on),
        |redis, on| redis.read_only(on),
        |redis, on| redis.wrong_password(on),
    ];
    for (n, fault) in faults.into_iter().enumerate() {
        fault(&mut redis, true);
        let jobs: Vec<_> = (0..10).map(|_| bash("true")).collect();
        world.submit(&jobs);
        world.wait_all(&ids(&jobs), Duration::from_secs(20));
        assert_eq!(
            world.worker().ready().map(|said| said.status),
            Some(200),
            "fault {n}"
        );
        fault(&mut redis, false);
        let shown = || {
            let listed = world.workers[0].kiln(&["pool", "ls", "--json"]);
            listed.status.success() && String::from_utf8_lossy(&listed.stdout).contains("\"a\"")
        };
        assert!(
            wait_for(Duration::from_secs(10), shown),
            "fault {n}: the record does not heal"
        );
    }
    assert_eq!(world.worker().exits(), 0);
    world.assert_kept(1, "Redis failed in six ways");
}

#[test]
fn a_bad_wire_to_the_broker_costs_no_job() {
    let mut seed = Seed::new("a_bad_wire_to_the_broker_costs_no_job");
    let mut world = World::new();
    let proxy = Proxy::before(world.broker.port());
    let through = world
        .amqp()
        .replace(&world.broker.port().to_string(), &proxy.port().to_string());
    world
        .add("a", |setup| setup.amqp = through + "?heartbeat=2")
        .up();
    world.client.wait_bound();
    under_load(&world, &mut seed, |_| proxy.cut());
    under_load(&world, &mut seed, |_| proxy.reset());
    for way in [Way::Up, Way::Down] {
        under_load(&world, &mut seed, |_| {
            proxy.silence(way, true);
            let noticed = world.workers[0].wait_unready(SOON);
            proxy.heal();
            assert!(noticed, "a half-open connection is noticed");
        });
    }
    under_load(&world, &mut seed, |_| {
        proxy.latency(Duration::from_millis(100));
    });
    proxy.heal();
    under_load(&world, &mut seed, |_| proxy.bandwidth(50_000));
    proxy.heal();
    assert_eq!(world.worker().exits(), 0);
    world.assert_kept(2, "a bad wire");
}

#[test]
fn a_store_that_fails_is_waited_for() {
    let mut seed = Seed::new("a_store_that_fails_is_waited_for");
    let objects = Objects::start();
    objects.bucket("kiln");
    let proxy = Proxy::before(objects.port());
    let mut world = World::with(|setup| {
        setup.store = format!(
            "url = \"s3://kiln\"\nendpoint = \"http://127.0.0.1:{}\"",
            proxy.port()
        );
        setup.env.extend(Objects::credentials());
    });
    under_load(&world, &mut seed, |_| {
        proxy.refuse(true);
        proxy.reset();
        let noticed = world.workers[0].wait_unready(SOON);
        proxy.heal();
        assert!(noticed, "a store that is away is noticed");
    });
    under_load(&world, &mut seed, |_| {
        proxy.latency(Duration::from_millis(200));
    });
    under_load(&world, &mut seed, |_| proxy.reset());
    proxy.heal();
    under_load(&world, &mut seed, |seed| {
        proxy.silence(Way::Down, true);
        pause(Duration::from_millis(1000 + seed.below(3000)));
        proxy.reset();
        proxy.heal();
    });
    assert_eq!(world.worker().exits(), 0);
    world.read_objects(&objects, "kiln", "");
    world.assert_kept(1, "a store of objects that fails");
}

#[test]
fn a_full_disk_is_waited_for() {
    let mut world = World::new();
    let store = world.store();
    let _disk = Tmpfs::mount(&store, "128m");
    world.add("a", |_| {}).up();
    world.client.wait_bound();
    assert_eq!(world.serve(&bash("true"))["status"], "succeeded");
    let running = [sleeper(1500), sleeper(1500)];
    world.submit(&running);
    world.wait_all_started(&running);
    let full = Command::new("dd")
        .args(["if=/dev/zero", "bs=1M", "status=none"])
        .arg(format!("of={}", store.join("ballast").display()))
        .status();
    assert!(!full.expect("dd is there").success(), "the disk is full");
    let later = [bash("true"), bash("true")];
    world.submit(&later);
    assert!(
        world.worker().wait_unready(SOON),
        "{:?}",
        world.worker().ready()
    );
    let waiting = [ids(&running), ids(&later)].concat();
    assert_eq!(
        world
            .client
            .outcomes(&waiting, Duration::from_secs(3))
            .len(),
        4,
        "nothing is answered"
    );
    std::fs::remove_file(store.join("ballast")).expect("it is ours");
    world.wait_all(&waiting, SOON);
    for job in &waiting {
        assert_eq!(world.answer(job)["status"], "succeeded");
    }
    world.assert_kept(1, "a full disk");
    world.workers.clear();
}
