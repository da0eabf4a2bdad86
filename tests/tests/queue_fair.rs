//! Does one tenant's flood leave the others their share?

use acceptance::stack::letter::Letter;
use acceptance::stack::world::{SOON, World, id, ids, sleeper};
use std::time::{Duration, Instant};

const TENANTS: &str =
    "[tenants.flood]\nshare = 1\n\n[tenants.drop]\nshare = 1\n\n[tenants.half]\nshare = 2\n";
/// How long one job takes.
const LENGTH: u64 = 500;

fn letters(key: &str, jobs: &[serde_json::Value]) -> Vec<Letter> {
    jobs.iter().map(|job| Letter::job(key, job)).collect()
}

#[test]
fn alone_one_job_beside_ten_thousand_waits_for_two_at_most() {
    let world = World::with(|setup| setup.more = TENANTS.to_owned());
    let flood: Vec<_> = (0..10_000).map(|_| sleeper(LENGTH)).collect();
    world.client.send(&letters("interactive.flood", &flood));
    world.wait_started(&id(&flood[3]));
    for _ in 0..3 {
        let drop = sleeper(LENGTH);
        world
            .client
            .send(&letters("interactive.drop", std::slice::from_ref(&drop)));
        let sent = Instant::now();
        let took = world.message(&id(&drop)).at.duration_since(sent);
        // Two lengths of waiting, its own, and what a busy machine takes.
        assert!(took < Duration::from_millis(3 * LENGTH + 700), "{took:?}");
        assert_eq!(world.answer(&id(&drop))["status"], "succeeded");
    }
}

#[test]
fn alone_shares_are_kept_between_two_floods() {
    let world = World::with(|setup| setup.more = TENANTS.to_owned());
    let busy = |_| {
        let mut job = sleeper(0);
        job["code"] = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done".into();
        job
    };
    let (flood, half): (Vec<_>, Vec<_>) =
        ((0..120).map(busy).collect(), (0..120).map(busy).collect());
    world.client.send(&letters("interactive.flood", &flood));
    world.client.send(&letters("interactive.half", &half));
    let mut done = (0, 0);
    acceptance::leftovers::wait_for(SOON * 3, || {
        let of = |jobs: &[serde_json::Value]| {
            jobs.len() - world.client.outcomes(&ids(jobs), Duration::ZERO).len()
        };
        done = (of(&flood), of(&half));
        done.1 >= 80
    });
    // Two shares against one: 80 of theirs against 40, give or take.
    assert!((25..=55).contains(&done.0) && done.1 >= 80, "{done:?}");
}

#[test]
fn a_tenants_queue_says_whose_a_job_is() {
    let world = World::with(|setup| setup.more = TENANTS.to_owned());
    let job = sleeper(0);
    world
        .client
        .send(&letters("interactive.flood", std::slice::from_ref(&job)));
    assert_eq!(world.message(&id(&job)).key, "flood.succeeded");
    let mut other = sleeper(0);
    other["tenant"] = "drop".into();
    world
        .client
        .send(&letters("interactive.flood", std::slice::from_ref(&other)));
    let outcome = world.answer(&id(&other));
    assert_eq!(
        (&outcome["status"], &outcome["evidence"]["pointer"]),
        (&"rejected".into(), &"/tenant".into())
    );
}
