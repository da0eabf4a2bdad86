//! Do two workers on one queue share the work, show themselves, and stand in for each other?

use acceptance::leftovers::wait_for;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{SOON, World, id, ids, sleeper};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Two workers with one Redis.
fn pair(redis: &Redis) -> World {
    let mut world = World::new();
    for name in ["left", "right"] {
        let worker = world.add(name, |setup| {
            setup.redis = Some(redis.url());
            setup.amqp += "?heartbeat=2";
        });
        worker.up();
    }
    world.client.wait_bound();
    world
}

/// What `kiln pool ls` says of a worker: nothing, or its line.
fn shown(world: &World, by: usize, name: &str) -> Option<String> {
    let listed = world.workers[by].kiln(&["pool", "ls"]);
    assert!(listed.status.success(), "{listed:?}");
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    text.lines()
        .find(|line| line.contains(name))
        .map(str::to_owned)
}

#[test]
fn alone_jobs_spread_and_a_dead_worker_is_replaced_and_forgotten() {
    let redis = Redis::start();
    let world = pair(&redis);
    let jobs: Vec<_> = (0..40).map(|_| sleeper(200)).collect();
    world.submit(&jobs);
    world.wait_all(&ids(&jobs), SOON);
    let mut share = BTreeMap::<String, u32>::new();
    for job in ids(&jobs) {
        let worker = world.answer(&job)["worker"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        *share.entry(worker).or_default() += 1;
    }
    assert!(
        share.len() == 2 && share.values().all(|&jobs| jobs >= 10),
        "{share:?}"
    );
    assert!(wait_for(Duration::from_secs(10), || {
        shown(&world, 0, "left").is_some() && shown(&world, 0, "right").is_some()
    }));

    let long: Vec<_> = (0..4).map(|_| sleeper(4000)).collect();
    world.submit(&long);
    world.wait_all_started(&long);
    world.workers[1].kill9();
    let died = Instant::now();
    for job in &long {
        let outcome = world.answer(&id(job));
        assert_eq!(
            (&outcome["status"], &outcome["worker"]),
            (&"succeeded".into(), &"left".into())
        );
    }
    let stale = || shown(&world, 0, "right").is_none_or(|line| line.contains("stale"));
    assert!(
        wait_for(
            Duration::from_secs(15).saturating_sub(died.elapsed()),
            stale
        ),
        "{:?}",
        shown(&world, 0, "right")
    );
    let gone = || shown(&world, 0, "right").is_none();
    assert!(
        wait_for(Duration::from_mins(1).saturating_sub(died.elapsed()), gone),
        "{:?}",
        shown(&world, 0, "right")
    );
    world.assert_kept(2, "one of two workers died");
}

#[test]
fn a_short_job_never_waits_behind_a_long_one_of_another_worker() {
    let redis = Redis::start();
    let world = pair(&redis);
    let long: Vec<_> = (0..3).map(|_| sleeper(8000)).collect();
    world.submit(&long);
    world.wait_all_started(&long);
    let short: Vec<_> = (0..9).map(|_| sleeper(50)).collect();
    world.submit(&short); // One slot of four is free.
    world.wait_all(&ids(&short), Duration::from_secs(6));
    world.wait_all(&ids(&long), SOON);
    world.assert_kept(1, "short ones and long ones");
}
