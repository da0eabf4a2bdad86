//! Is a job that the platform fails tried again with a delay, and at last answered?

use acceptance::leftovers::wait_for;
use acceptance::stack::letter::Letter;
use acceptance::stack::world::{SOON, World, bash, id};
use acceptance::tmpfs::Tmpfs;
use serde_json::json;
use std::time::{Duration, Instant};

/// A worker that has no room for what a large artifact is copied to, which is a fault of the
/// platform's.
fn cramped() -> (World, Tmpfs) {
    let mut world = World::new();
    let state = world.folder().path().join("cramped");
    let disk = Tmpfs::mount(&state, "1m");
    world.add("a", |setup| setup.state = Some(state)).up();
    world.client.wait_bound();
    (world, disk)
}

/// What it makes is above what is copied in memory.
fn large() -> serde_json::Value {
    bash("head -c 12582912 /dev/zero > large.bin; echo served")
}

#[test]
fn a_platform_fault_is_tried_again_after_five_seconds() {
    let (world, disk) = cramped();
    let job = large();
    let sent = Instant::now();
    world.submit(std::slice::from_ref(&job));
    let failed = || world.workers[0].logs().contains("our own failure");
    assert!(wait_for(SOON, failed), "{}", world.last_words());
    disk.resize("64m");
    let outcome = world.answer(&id(&job));
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    assert_eq!(outcome["attempt"], 2);
    let waited = sent.elapsed();
    assert!(waited >= Duration::from_secs(5), "{waited:?}");
    world.assert_kept(2, "tried again");
    assert!(world.client.peek("kiln.dead").is_empty());
}

#[test]
fn a_job_that_fails_every_time_is_answered_and_set_aside() {
    let (mut world, _disk) = cramped();
    let job = large();
    let letter = Letter::job("interactive", &job).number("x-kiln-retries", 5);
    let outcome = world.serve_letter(letter, &id(&job));
    assert_eq!(
        (&outcome["status"], &outcome["fault"]),
        (&json!("platform_error"), &json!("platform"))
    );
    assert!(!outcome.to_string().contains("cramped"), "{outcome:#}");
    let dead = world.dead(1).remove(0);
    assert_eq!(dead.header("x-kiln-reason"), "retries");
    assert_eq!(dead.id.as_deref(), Some(id(&job).as_str()));
    assert!(
        dead.header("x-kiln-detail").contains("large.bin"),
        "{dead:#?}"
    );
    let counted = world
        .worker()
        .metric("kiln_dead_lettered_total", "reason=\"retries\"");
    assert!((counted - 1.0).abs() < 0.1, "counted {counted}");
    world.assert_kept(1, "given up");
}
