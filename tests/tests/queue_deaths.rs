//! What becomes of a job when a process of ours dies around it, or an answer that it waits for
//! never comes?

use acceptance::leftovers::{descendants, wait_for};
use acceptance::stack::broker::Broker;
use acceptance::stack::http;
use acceptance::stack::world::{SOON, World, bash, fresh, id, sleeper};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A process's parent.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn is(pid: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}

/// A process of the worker's with this name.
fn helper(world: &World, name: &str) -> u32 {
    let worker = world.workers[0].process().pid();
    let mut found = None;
    wait_for(SOON, || {
        found = descendants(worker).into_iter().find(|pid| is(*pid, name));
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("no `{name}`: {}", world.last_words()))
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a pid");
    kill_process(pid, Signal::KILL).expect("root may");
}

fn with(mut job: Value, field: &str, value: impl Into<Value>) -> Value {
    job[field] = value.into();
    job
}

#[test]
fn a_job_in_which_the_warden_dies_twice_is_answered_and_not_started_again() {
    let mut world = World::up(1);
    let job = sleeper(120_000);
    world.submit(std::slice::from_ref(&job));
    for starts in 1..=2 {
        let started = || world.starts(&id(&job)) == starts;
        assert!(wait_for(SOON, started), "{}", world.last_words());
        kill(helper(&world, "kiln-warden"));
        assert_eq!(
            world.worker().exit(SOON),
            Some(69),
            "{}",
            world.last_words()
        );
        world.worker().up();
    }
    let outcome = world.answer(&id(&job));
    assert_eq!(
        (&outcome["status"], &outcome["reason"]),
        (&json!("platform_error"), &json!("worker_lost")),
        "{outcome:#}"
    );
    let dead = world.dead(1).remove(0);
    assert_eq!(dead.header("x-kiln-reason"), "worker_crash");
    world.assert_kept(2, "a warden that dies twice");
}

#[test]
fn a_job_whose_cell_breaks_is_tried_again() {
    let world = World::up(1);
    let sent = bash("exec sleep 10");
    world.submit(std::slice::from_ref(&sent));
    let job = helper(&world, "sleep");
    let above = std::iter::successors(Some(job), |pid| parent(*pid));
    let init = above.into_iter().find(|pid| is(*pid, "init"));
    kill(init.expect("the cell's init is above the job"));
    let outcome = world.answer(&id(&sent));
    assert_eq!(
        (&outcome["status"], &outcome["attempt"]),
        (&json!("succeeded"), &json!(2)),
        "{outcome:#}"
    );
    world.assert_kept(2, "a cell that breaks");
}

#[test]
fn a_worker_that_waits_for_its_broker_lives_and_says_what_it_waits_for() {
    let broker = Arc::new(Broker::start(""));
    let mut world = World::on(Arc::clone(&broker));
    world.add("a", |_| {});
    broker.kill9();
    world.worker().start();
    let said = || {
        world.workers[0]
            .ready()
            .map_or_else(String::new, |said| said.body)
    };
    let waits = || said().contains("broker: RabbitMQ has not answered yet");
    assert!(wait_for(SOON, waits), "{}", said());
    assert!(!said().contains("not known"), "{}", said());
    // Longer than a loop that stands still is believed.
    let live = || http::get(world.workers[0].telemetry(), "/livez").map(|said| said.status);
    assert!(
        !wait_for(Duration::from_secs(12), || live() == Some(503)),
        "it lives"
    );
    assert_eq!(live(), Some(200));
    broker.revive();
    world.worker().wait_ready();
    world.worker().term();
    assert_eq!(world.worker().exit(SOON), Some(0));
}

#[test]
fn a_deadline_ends_the_wait_for_another_job_of_the_same_key() {
    let world = World::up(1);
    let key = fresh("key");
    let first = with(bash("true"), "idempotency_key", key.as_str());
    world.serve(&first);
    // As if the broker had dropped the first, unanswered, when it had been accepted.
    let result = world.store().join(format!("results/{}.json", id(&first)));
    fs::remove_file(result).expect("it was answered");
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    let deadline = u64::try_from(now.as_millis()).expect("in time") + 2_000;
    let second = with(bash("true"), "idempotency_key", key.as_str());
    let second = with(second, "deadline_unix_ms", deadline);
    assert_eq!(world.serve(&second)["status"], "expired");
}
