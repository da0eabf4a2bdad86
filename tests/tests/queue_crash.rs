//! When a worker dies, freezes or panics at any point of a job's life, is the job still answered once?

use acceptance::leftovers::{Snapshot, wait_for};
use acceptance::stack::world::{SOON, World, bash, id, ids, sleeper};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

const POINTS: [&str; 12] = [
    "delivered",
    "journaled",
    "acquired",
    "staged",
    "started",
    "exited",
    "collected",
    "stored",
    "published",
    "confirmed",
    "acked",
    "cleaned",
];

/// Nothing of the kernel's may outlast a restart by more than this.
const SWEPT: Duration = Duration::from_secs(5);

/// How long a worker is frozen: until the broker has given it up, and longer in the long form.
fn frost() -> Duration {
    Duration::from_secs(if std::env::var_os("KILN_CHAOS_JOBS").is_some() {
        30
    } else {
        0
    })
}

fn marker(world: &World, job: &Value) -> PathBuf {
    world.folder().path().join(format!("{}.reached", id(job)))
}

/// The next life of the worker `a` dies in this way at this point of this job.
fn arm(world: &mut World, point: &str, how: &str, job: &Value) {
    let file = marker(world, job);
    let set = format!("{point}:{how}:{}:{}", id(job), file.display());
    world
        .worker()
        .change(|setup| setup.env = vec![("KILN_CHECKPOINT".to_owned(), set)]);
}

/// Starts the worker `a` in that life, and gives it the job and an innocent one.
fn submit_armed(world: &mut World, point: &str, how: &str, job: &Value) {
    arm(world, point, how, job);
    world.worker().up();
    world.client.wait_bound();
    world.submit(&[job.clone(), bash("echo innocent")]);
}

/// A world with a worker that can die as asked and is given up by the broker within seconds; it does not run yet.
fn mortal() -> World {
    let mut world = World::new();
    world.add("a", |setup| {
        setup.checkpoints = true;
        setup.amqp += "?heartbeat=2";
    });
    world
}

fn reached(marker: &Path, about: &str, world: &World) {
    let reached = wait_for(SOON, || marker.exists());
    assert!(reached, "{about} was never reached\n{}", world.last_words());
}

#[test]
fn alone_killed_at_any_point() {
    let mut world = mortal();
    let mut last: Option<(Value, Snapshot)> = None;
    for point in POINTS {
        let job = bash("echo once; sleep 0.2; echo more > made.txt");
        arm(&mut world, point, "kill", &job);
        world.worker().up();
        if let Some((job, died)) = last {
            settled(&world, &job, &died);
        }
        world.client.wait_bound();
        world.submit(&[job.clone(), bash("echo innocent")]);
        reached(&marker(&world, &job), point, &world);
        assert_eq!(world.worker().exit(SOON), None, "{point}: a signal ends it");
        last = Some((job, world.snapshot()));
    }
    world.worker().change(|setup| setup.env.clear());
    world.worker().up();
    let (job, died) = last.expect("there are points");
    settled(&world, &job, &died);
    world.assert_kept(2, "killed at every point");
    world.worker().term();
    assert_eq!(world.worker().exit(SOON), Some(0));
    world.assert_nothing_left(SWEPT);
}

/// After the restart: the job is answered, and what the dead worker left is gone.
fn settled(world: &World, job: &Value, died: &Snapshot) {
    // A namespace goes with its last process, and its number may be the next one's.
    let kinds = ["process", "mount", "cgroup", "folder"];
    let left = || died.shared(&world.snapshot()).only(&kinds);
    let swept = wait_for(SWEPT, || left().is_empty());
    assert!(swept, "still there: {:#?}", left());
    let outcome = world.answer(&id(job));
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
}

#[test]
fn alone_panicked_at_any_point() {
    let mut world = mortal();
    for point in POINTS {
        let job = bash("echo once; echo more > made.txt");
        submit_armed(&mut world, point, "panic", &job);
        let outcome = world.answer(&id(&job));
        assert_eq!(outcome["status"], "succeeded", "{point}: {outcome:#}");
        reached(&marker(&world, &job), point, &world);
        let counted = || world.workers[0].metric("kiln_panics_total", "") >= 1.0;
        assert!(wait_for(SOON, counted), "{point}: the panic is not counted");
        assert!(
            world.worker().process().ended().is_none(),
            "{point}: the worker lives on"
        );
        world.worker().term();
        assert_eq!(
            world.worker().exit(SOON),
            Some(0),
            "{point}: {}",
            world.last_words()
        );
        world.assert_nothing_left(SWEPT);
    }
    world.assert_kept(2, "a panic at every point");
}

#[test]
fn alone_frozen_at_any_point() {
    let mut world = mortal();
    for point in POINTS {
        let job = bash("echo once; sleep 0.2; echo more > made.txt");
        submit_armed(&mut world, point, "stop", &job);
        reached(&marker(&world, &job), point, &world);
        let given_up = || {
            world
                .broker
                .consumers(&world.vhost, "kiln.jobs.interactive")
                == 0
        };
        assert!(
            wait_for(SOON, given_up),
            "{point}: the broker keeps a frozen worker"
        );
        wait_for(frost(), || false);
        world.worker().process().thaw();
        let outcome = world.answer(&id(&job));
        assert_eq!(outcome["status"], "succeeded", "{point}: {outcome:#}");
        world.worker().term();
        assert_eq!(
            world.worker().exit(SOON),
            Some(0),
            "{point}: {}",
            world.last_words()
        );
    }
    world.assert_kept(2, "frozen at every point");
}

#[test]
fn alone_a_frozen_worker_finds_its_job_answered_by_another() {
    let mut world = mortal();
    let job = bash("echo once; sleep 0.2");
    arm(&mut world, "collected", "stop", &job);
    world.worker().up();
    world.client.wait_bound();
    world.submit(std::slice::from_ref(&job));
    reached(&marker(&world, &job), "collected", &world);
    world.add("b", |setup| setup.amqp += "?heartbeat=2").up();
    let first = world.answer(&id(&job));
    assert_eq!(first["status"], "succeeded", "{first:#}"); // By whoever stored it first: `a` is still frozen.
    world.worker().process().thaw();
    world.worker().wait_ready();
    world.worker().term();
    assert_eq!(world.worker().exit(SOON), Some(0), "{}", world.last_words());
    assert_eq!(world.answer(&id(&job)), first);
    world.assert_kept(2, "one job on two workers");
}

#[test]
fn alone_a_poison_job_is_told_from_its_neighbours() {
    let mut world = mortal();
    let innocents: Vec<_> = (0..15).map(|_| sleeper(500)).collect();
    let poison = bash("echo poison; sleep 0.2");
    arm(&mut world, "started", "kill", &poison);
    world.worker().change(|setup| setup.slots = 16);
    world.worker().up();
    world.client.wait_bound();
    world.submit(&innocents);
    world.submit(std::slice::from_ref(&poison));
    let mut deaths = 0;
    for _ in 0..5 {
        let (all, worker) = (ids(&innocents), &world.workers[0]);
        let over = || worker.process().ended().is_some();
        let done = || {
            let poison = world.client.outcome(&id(&poison), Duration::ZERO);
            poison.is_some() && world.client.outcomes(&all, Duration::ZERO).is_empty()
        };
        assert!(
            wait_for(SOON, || over() || done()),
            "{}",
            world.last_words()
        );
        if !over() {
            break;
        }
        deaths += 1;
        // As long as the marker is there it does not kill again: a real poison would.
        std::fs::remove_file(marker(&world, &poison)).expect("it was reached");
        world.worker().up();
    }
    assert_eq!(deaths, 2, "it is started twice and no more");
    let outcome = world.answer(&id(&poison));
    assert_eq!(
        (&outcome["status"], &outcome["reason"]),
        (&json!("platform_error"), &json!("worker_lost"))
    );
    let dead = world.dead(1).remove(0);
    assert_eq!(
        (dead.header("x-kiln-reason"), dead.id.as_deref()),
        ("worker_crash", Some(id(&poison).as_str()))
    );
    assert!(!dead.header("x-kiln-detail").is_empty(), "{dead:#?}");
    for innocent in &innocents {
        assert_eq!(world.answer(&id(innocent))["status"], "succeeded");
    }
    world.assert_kept(2, "a poison job beside 15 innocents");
}

#[test]
fn alone_killed_with_all_its_slots_busy_nothing_is_lost() {
    let mut world = World::up(4);
    let jobs: Vec<_> = (0..40).map(|_| sleeper(200)).collect();
    world.submit(&jobs);
    assert!(wait_for(SOON, || world.client.heard().0 >= 8));
    world.worker().kill9();
    world.worker().up();
    world.wait_all(&ids(&jobs), SOON);
    world.assert_kept(2, "killed under load");
}
