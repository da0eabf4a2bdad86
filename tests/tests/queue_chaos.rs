//! Under faults of every kind in any order, is every job answered once? `tests/chaos` asks it for 100,000 jobs.

use acceptance::leftovers::wait_for;
use acceptance::seed::Seed;
use acceptance::stack::broker::Broker;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{World, bash, ids, sleeper};
use serde_json::Value;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What befalls, and whose turn it is.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillWorker,
    FreezeWorker,
    RestartWorker,
    KillBroker,
    RestartBroker,
    CloseConnections,
    MemoryAlarm,
    DiskAlarm,
    FreezeBroker,
    FlushRedis,
    KillRedis,
    FreezeRedis,
}

const FAULTS: [Fault; 12] = [
    Fault::KillWorker,
    Fault::FreezeWorker,
    Fault::RestartWorker,
    Fault::KillBroker,
    Fault::RestartBroker,
    Fault::CloseConnections,
    Fault::MemoryAlarm,
    Fault::DiskAlarm,
    Fault::FreezeBroker,
    Fault::FlushRedis,
    Fault::KillRedis,
    Fault::FreezeRedis,
];

fn pause(ms: u64) {
    wait_for(Duration::from_millis(ms), || false);
}

fn befall(fault: Fault, world: &mut World, redis: &mut Redis, seed: &mut Seed) {
    let broker = Arc::clone(&world.broker);
    let n = usize::try_from(seed.below(2)).unwrap_or(0);
    let worker = &mut world.workers[n];
    match fault {
        Fault::KillWorker => {
            worker.kill9();
            worker.up();
        }
        Fault::FreezeWorker => {
            worker.process().freeze();
            pause(seed.below(9000));
            worker.process().thaw();
        }
        Fault::RestartWorker => {
            worker.term();
            assert_eq!(
                worker.exit(Duration::from_mins(1)),
                Some(0),
                "{}",
                worker.last_words()
            );
            worker.up();
        }
        Fault::KillBroker => {
            broker.kill9();
            pause(seed.below(3000));
            broker.revive();
            broker.wait_ready();
        }
        Fault::RestartBroker => broker.restart_app(),
        Fault::CloseConnections => broker.close_all_connections(),
        Fault::MemoryAlarm => {
            broker.memory_alarm(true);
            pause(seed.below(4000));
            broker.memory_alarm(false);
        }
        Fault::DiskAlarm => {
            broker.disk_alarm(true);
            pause(seed.below(4000));
            broker.disk_alarm(false);
        }
        Fault::FreezeBroker => {
            broker.freeze();
            pause(seed.below(6000));
            broker.thaw();
        }
        Fault::FlushRedis => redis.flush(),
        Fault::KillRedis => {
            redis.kill9();
            pause(seed.below(2000));
            redis.revive();
        }
        Fault::FreezeRedis => {
            redis.freeze();
            pause(seed.below(4000));
            redis.thaw();
        }
    }
}

fn job(seed: &mut Seed) -> Value {
    match seed.below(40) {
        0 => sleeper(400),
        1..4 => sleeper(30),
        4 => bash("echo made > made.txt"),
        5 => bash("exit 3"),
        _ => bash("true"),
    }
}

#[test]
fn alone_chaos() {
    let count = std::env::var("KILN_CHAOS_JOBS").map_or(400, |text| {
        text.parse::<usize>().expect("KILN_CHAOS_JOBS is a number")
    });
    let mut seed = Seed::new("alone_chaos");
    let mut redis = Redis::start();
    let mut world = World::on(Arc::new(Broker::start("")));
    for name in ["left", "right"] {
        let worker = world.add(name, |setup| {
            setup.redis = Some(redis.url());
            setup.amqp += "?heartbeat=2";
            setup.slots = 4;
        });
        worker.up();
    }
    world.client.wait_bound();
    let (began, mut sent, mut befell) = (Instant::now(), Vec::new(), Vec::new());
    let part = (count / 10).clamp(20, 200);
    while sent.len() < count {
        let round: Vec<_> = (0..part.min(count - sent.len()))
            .map(|_| job(&mut seed))
            .collect();
        world.submit(&round);
        sent.extend(ids(&round));
        // Enough waits for the workers, and no more than they will do soon.
        let behind = |world: &World, sent: usize| sent.saturating_sub(world.client.heard().0);
        let fault = *seed.one(&FAULTS);
        befall(fault, &mut world, &mut redis, &mut seed);
        befell.push(fault);
        let caught_up = wait_for(Duration::from_mins(3), || behind(&world, sent.len()) < 100);
        let told = || {
            let queues = ["list_queues", "--vhost", &world.vhost];
            let columns = ["name", "messages_ready", "messages_unacknowledged"];
            format!(
                "{} sent; the client: {}; queues:\n{}",
                sent.len(),
                world.client.state(),
                world.broker.ctl(&[&queues[..], &columns].concat()),
            )
        };
        assert!(
            caught_up,
            "after {befell:?}: {}\n{}",
            told(),
            world.last_words()
        );
    }
    world.wait_all(&sent, Duration::from_mins(3));
    // A job may meet two faults: its worker's and the broker's.
    world.assert_kept(3, "chaos");
    let memory: Vec<_> = world
        .workers
        .iter()
        .map(|worker| format!("{} KiB", worker.process().memory_kib()))
        .collect();
    let (jobs, copies) = world.client.heard();
    let mut stderr = std::io::stderr();
    let told = format!(
        "{jobs} jobs, {copies} copies, {} faults, {:?}, workers hold {memory:?}",
        befell.len(),
        began.elapsed()
    );
    writeln!(stderr, "chaos: {told}: 0 lost, 0 divergent").ok();
}
