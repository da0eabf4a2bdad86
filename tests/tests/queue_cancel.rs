//! Does a job that nobody wants any more end, wherever it is, and is that answered?

use acceptance::leftovers::wait_for;
use acceptance::stack::letter::Letter;
use acceptance::stack::world::{SOON, World, bash, fresh, id, ids, sleeper};
use serde_json::json;
use std::io::Write as _;
use std::time::{Duration, Instant};

fn wish(world: &World, job: &str) -> Instant {
    world.client.send(&[Letter::cancel(job)]);
    Instant::now()
}

#[test]
fn alone_running_jobs_end_within_a_second() {
    let world = World::up(4);
    let count = if std::env::var_os("KILN_CHAOS_JOBS").is_some() {
        200
    } else {
        24
    };
    let mut took = Vec::new();
    for _ in 0..count / 4 {
        let jobs: Vec<_> = (0..4)
            .map(|_| bash("trap '' TERM INT; echo begun; sleep 60 & wait; sleep 60"))
            .collect();
        world.submit(&jobs);
        world.wait_all_started(&jobs);
        for job in ids(&jobs) {
            let asked = wish(&world, &job);
            let message = world.message(&job);
            took.push(message.at.duration_since(asked));
            let outcome = message.json();
            assert_eq!(
                (&outcome["status"], &outcome["reason"]),
                (&json!("cancelled"), &json!("client"))
            );
            assert_eq!(outcome["fault"], "policy");
        }
    }
    took.sort();
    let p99 = took[(took.len() * 99).div_ceil(100) - 1];
    assert!(p99 <= Duration::from_secs(1), "{took:?}");
    let (all, median) = (took.len(), took[took.len() / 2]);
    let told = format!("{all} cancelled, half of them within {median:?}, 99 % within {p99:?}");
    writeln!(std::io::stderr(), "{told}").ok();
    world.assert_kept(1, "running jobs are cancelled");
}

#[test]
fn a_waiting_job_is_answered_without_a_start() {
    let world = World::up(1);
    let (blocker, waiting) = (sleeper(3000), bash("echo never"));
    world.submit(&[blocker.clone(), waiting.clone()]);
    world.wait_started(&id(&blocker));
    wish(&world, &id(&waiting));
    assert_eq!(world.answer(&id(&waiting))["status"], "cancelled");
    assert_eq!(world.answer(&id(&blocker))["status"], "succeeded");
    assert_eq!(world.starts(&id(&waiting)), 0);
    world.assert_kept(1, "a waiting job is cancelled");
}

#[test]
fn the_command_waits_for_the_answer() {
    let mut world = World::up(1);
    let running = sleeper(30_000);
    world.submit(std::slice::from_ref(&running));
    world.wait_started(&id(&running));
    for _ in 0..2 {
        // The second time it has already ended, and that is as good.
        let cancel = world.worker().kiln(&["cancel", &id(&running)]);
        assert_eq!(cancel.status.code(), Some(0), "{cancel:?}");
        assert_eq!(world.answer(&id(&running))["status"], "cancelled");
    }
    let none = world.worker().kiln(&["cancel", "../none"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
}

#[test]
fn a_wish_waits_for_a_job_that_nobody_has_yet() {
    let mut world = World::up(1);
    let job = bash("echo never");
    let cancel = world.worker().kiln(&["cancel", &id(&job)]);
    assert_eq!(cancel.status.code(), Some(0), "{cancel:?}");
    assert!(
        String::from_utf8_lossy(&cancel.stdout).contains("pending"),
        "{cancel:?}"
    );
    world.worker().kill9();
    world.worker().up(); // A tombstone outlives the worker that heard of it.
    assert_eq!(world.serve(&job)["status"], "cancelled");
    assert_eq!(world.starts(&id(&job)), 0);
}

#[test]
fn a_wish_for_what_has_ended_or_never_was_changes_nothing() {
    let world = World::up(1);
    let job = bash("echo done");
    let outcome = world.serve(&job);
    wish(&world, &id(&job));
    wish(&world, &fresh("nobody"));
    for body in [
        "",
        "[]",
        "{\"schema\":\"kiln.control.v1\"}",
        "{\"schema\":\"kiln.control.v1\",\"cancel\":5}",
    ] {
        let mut letter = Letter::cancel("x");
        letter.body = body.into();
        world.client.send(&[letter]);
    }
    assert_eq!(world.serve(&bash("echo alive"))["status"], "succeeded");
    assert_eq!(world.answer(&id(&job)), outcome);
    world.assert_kept(1, "wishes for nothing");
}

#[test]
fn a_job_is_cancelled_while_its_worker_drains() {
    let mut world = World::up(1);
    let job = sleeper(25_000);
    world.submit(std::slice::from_ref(&job));
    world.wait_started(&id(&job));
    world.worker().term();
    assert!(world.worker().wait_unready(Duration::from_secs(2)));
    wish(&world, &id(&job));
    assert_eq!(world.answer(&id(&job))["status"], "cancelled");
    assert_eq!(world.worker().exit(SOON), Some(0), "{}", world.last_words());
}

#[test]
fn a_running_job_stays_cancelled_though_its_worker_dies_of_it() {
    let mut world = World::new();
    let job = sleeper(30_000);
    let marker = world.folder().path().join("reached");
    world.add("a", |setup| {
        setup.checkpoints = true;
        setup.amqp += "?heartbeat=2";
        let set = format!("exited:kill:{}:{}", id(&job), marker.display());
        setup.env = vec![("KILN_CHECKPOINT".to_owned(), set)];
    });
    world.worker().up();
    world.client.wait_bound();
    world.submit(std::slice::from_ref(&job));
    world.wait_started(&id(&job));
    wish(&world, &id(&job));
    assert_eq!(world.worker().exit(SOON), None, "a signal ends it");
    world.worker().change(|setup| setup.env.clear());
    world.worker().up();
    assert_eq!(world.answer(&id(&job))["status"], "cancelled");
    assert_eq!(world.starts(&id(&job)), 1);
}

#[test]
fn another_tenant_cancels_nothing() {
    let world = World::up(1);
    let mut job = sleeper(2500);
    job["tenant"] = json!("default");
    world.submit(std::slice::from_ref(&job));
    world.wait_started(&id(&job));
    let mut letter = Letter::cancel(&id(&job));
    letter.body = json!({"schema": "kiln.control.v1", "cancel": id(&job), "tenant": "thief"})
        .to_string()
        .into();
    world.client.send(&[letter]);
    assert_eq!(world.answer(&id(&job))["status"], "succeeded");
    assert!(wait_for(SOON, || world.stored(&id(&job)).is_some()));
}
