//! Does a worker that is asked to stop finish what it began, give back what it did not, and say so by its exit code?

use acceptance::leftovers::wait_for;
use acceptance::stack::world::{SOON, World, bash, id, ids, sleeper};
use std::time::{Duration, Instant};

#[test]
fn alone_asked_to_stop_it_finishes_and_gives_the_rest_back() {
    let mut world = World::up(2);
    let jobs: Vec<_> = (0..6).map(|_| sleeper(2000)).collect();
    world.submit(&jobs);
    world.wait_all_started(&jobs[..2]);
    let asked = Instant::now();
    world.worker().term();
    assert!(
        world.worker().wait_unready(Duration::from_secs(2)),
        "no longer ready"
    );
    assert_eq!(world.worker().exit(SOON), Some(0), "{}", world.last_words());
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "longest job and a second: {:?}",
        asked.elapsed()
    );
    world.assert_nothing_left(Duration::from_secs(2));
    world.wait_all(&ids(&jobs[..2]), SOON);
    assert_eq!(world.client.heard().0, 2);
    let starts: u32 = ids(&jobs[2..]).iter().map(|job| world.starts(job)).sum();
    assert_eq!(starts, 0, "nothing new was begun");
    let rest = || {
        let queues = world.broker.queues(&world.vhost);
        queues
            .into_iter()
            .find(|queue| queue.0 == "kiln.jobs.interactive")
    };
    let given_back = || rest().is_some_and(|(_, all, unacked)| (all, unacked) == (4, 0));
    assert!(
        wait_for(SOON, given_back),
        "acks or jobs went astray: {:?}",
        rest()
    );
    world.worker().up();
    world.wait_all(&ids(&jobs), SOON);
    world.assert_kept(1, "a drain");
}

#[test]
fn what_outlasts_the_grace_is_given_back() {
    let mut world = World::with(|setup| setup.grace = Duration::from_secs(2));
    let job = sleeper(6000);
    world.submit(std::slice::from_ref(&job));
    world.wait_started(&id(&job));
    world.worker().term();
    assert_eq!(
        world.worker().exit(Duration::from_secs(10)),
        Some(1),
        "{}",
        world.last_words()
    );
    assert_eq!(world.stored(&id(&job)), None);
    world.worker().up();
    assert_eq!(world.answer(&id(&job))["status"], "succeeded");
    world.assert_kept(2, "a drain past its grace");
}

#[test]
fn asked_twice_it_stops_at_once() {
    let mut world = World::up(2);
    let job = sleeper(20_000);
    world.submit(std::slice::from_ref(&job));
    world.wait_started(&id(&job));
    world.worker().term();
    assert!(world.worker().wait_unready(Duration::from_secs(2)));
    let asked = Instant::now();
    world.worker().term();
    assert_eq!(world.worker().exit(SOON), Some(1), "{}", world.last_words());
    assert!(
        asked.elapsed() < Duration::from_secs(4),
        "{:?}",
        asked.elapsed()
    );
}

#[test]
fn killed_while_it_drains_it_loses_nothing() {
    let mut world = World::up(2);
    let jobs: Vec<_> = (0..6).map(|_| sleeper(1500)).collect();
    world.submit(&jobs);
    world.wait_all_started(&jobs[..2]);
    world.worker().term();
    assert!(world.worker().wait_unready(Duration::from_secs(2)));
    world.worker().kill9();
    world.worker().up();
    world.wait_all(&ids(&jobs), SOON);
    world.assert_kept(2, "killed in a drain");
}

#[test]
fn alone_ten_rolling_restarts_start_nothing_twice() {
    let mut world = World::up(2);
    world.add("b", |_| {}).up();
    let mut all = Vec::new();
    for n in 0..10 {
        let jobs: Vec<_> = (0..12).map(|_| sleeper(150)).collect();
        world.submit(&jobs);
        all.extend(ids(&jobs));
        let worker = &mut world.workers[n % 2];
        worker.term();
        assert_eq!(worker.exit(SOON), Some(0), "{}", worker.last_words());
        worker.up();
    }
    world.wait_all(&all, SOON);
    world.assert_kept(1, "ten rolling restarts");
    assert!(world.client.peek("kiln.dead").is_empty());
}

#[test]
fn a_second_worker_on_the_same_state_is_refused() {
    let mut world = World::up(1);
    let state = world.worker().state().to_owned();
    let second = world.add("second", |setup| setup.state = Some(state));
    second.start();
    assert_eq!(second.exit(SOON), Some(78), "{}", second.last_words());
    assert!(
        second.last_words().contains("state"),
        "{}",
        second.last_words()
    );
    assert_eq!(world.serve(&bash("true"))["status"], "succeeded");
}

#[test]
fn a_topology_that_differs_stops_the_start_with_a_line() {
    for topology in ["passive", "create"] {
        let mut world = World::new();
        world.client.declare("kiln.jobs.interactive"); // A classic queue.
        let worker = world.add("a", |setup| setup.topology = topology);
        worker.start();
        assert_eq!(
            worker.exit(SOON),
            Some(78),
            "{topology}: {}",
            worker.last_words()
        );
        let said = worker.last_words();
        let lines = said
            .lines()
            .filter(|line| line.contains("kiln.jobs.interactive"));
        assert!(lines.count() >= 1, "{said}");
        assert!(said.contains("x-queue-type"), "{said}");
    }
}

#[test]
fn a_topology_that_is_not_there_is_an_operators_matter() {
    let mut world = World::new();
    let worker = world.add("a", |setup| setup.topology = "passive");
    worker.start();
    assert_eq!(worker.exit(SOON), Some(78), "{}", worker.last_words());
    let applied = worker.kiln(&["topology", "apply"]);
    assert!(applied.status.success(), "{applied:?}");
    let checked = worker.kiln(&["topology", "check"]);
    assert!(checked.status.success(), "{checked:?}");
    worker.up();
    world.client.wait_bound();
    assert_eq!(world.serve(&bash("true"))["status"], "succeeded");
}

#[test]
fn what_is_wrong_in_the_configuration_is_told_at_once() {
    let mut world = World::new();
    let worker = world.add("a", |setup| {
        setup.more = "[worker.oops]\n\n[telemetri]\nlisten = 3\n".to_owned();
    });
    worker.start();
    assert_eq!(worker.exit(SOON), Some(78), "{}", worker.last_words());
    let said = worker.last_words();
    assert!(
        said.contains("oops") && said.contains("telemetri"),
        "{said}"
    );
    assert!(wait_for(Duration::from_secs(1), || worker
        .ready()
        .is_none()));
}
