//! Do a worker's canaries come back while all is well, and sing when a wall is open?

use acceptance::leftovers::wait_for;
use acceptance::stack::world::{SOON, World, bash, ids};

const CANARY: &str = "kiln_canary_last_success_timestamp_seconds";
const FOUND: &str = "kiln_residue_total";

/// A worker that flies canaries twice a second, with these guards off.
fn world(without: Option<&'static str>) -> World {
    let mut world = World::new();
    world
        .add("a", |setup| {
            setup.without = without;
            setup.env = vec![("KILN_WORKER__CANARY_MS".to_owned(), "500".to_owned())];
        })
        .up();
    world.client.wait_bound();
    world
}

#[test]
fn canaries_come_back_between_jobs() {
    let world = world(None);
    let jobs: Vec<_> = (0..6).map(|_| bash("echo served")).collect();
    world.submit(&jobs);
    world.wait_all(&ids(&jobs), SOON);
    for kind in ["residue", "isolation"] {
        let label = format!("kind=\"{kind}\"");
        let came = wait_for(SOON, || world.workers[0].metric(CANARY, &label) > 0.0);
        assert!(came, "{kind}\n{}", world.last_words());
    }
    let found = world.workers[0].metric(FOUND, "");
    assert!(found < 0.5, "{}", world.last_words());
}

/// Canaries that take longer than their interval follow each other, and none takes another's folder away.
#[test]
fn canaries_that_are_slow_do_not_fly_beside_each_other() {
    let mut world = World::new();
    world
        .add("a", |setup| {
            setup.slots = 4;
            setup.env = vec![("KILN_WORKER__CANARY_MS".to_owned(), "1".to_owned())];
        })
        .up();
    let isolation = || world.workers[0].metric(CANARY, "kind=\"isolation\"");
    let first = {
        wait_for(SOON, || isolation() > 0.0);
        isolation()
    };
    assert!(
        wait_for(SOON, || isolation() > first + 3.0),
        "{}",
        world.last_words()
    );
    let logs = world.workers[0].logs();
    assert!(!logs.contains("a canary could not be run"), "{logs}");
    assert!(world.workers[0].metric(FOUND, "") < 0.5, "{logs}");
}

#[test]
fn an_open_wall_is_counted_and_is_no_success() {
    let world = world(Some("masks"));
    let found = || world.workers[0].metric(FOUND, "kind=\"canary\"") > 0.5;
    assert!(wait_for(SOON, found), "{}", world.last_words());
    assert!(world.workers[0].metric(CANARY, "kind=\"isolation\"") < 0.5);
}

#[test]
fn what_a_reset_finds_is_counted_by_its_kind() {
    let world = world(Some("leave-descriptor"));
    let jobs = [bash("echo served")];
    world.submit(&jobs);
    world.wait_all(&ids(&jobs), SOON);
    let found = || world.workers[0].metric(FOUND, "kind=\"descriptor\"") > 0.5;
    assert!(wait_for(SOON, found), "{}", world.last_words());
}
