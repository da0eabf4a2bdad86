//! Does a worker that has served many jobs and lost many connections hold no more than one that has just begun?

use acceptance::leftovers::{descriptors, wait_for};
use acceptance::stack::broker::Broker;
use acceptance::stack::world::{SOON, World, bash, ids};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Jobs of one round.
const ROUND: usize = 100;
/// What may be held more: caches fill, and the allocator keeps what it has had.
const GROWTH_KIB: u64 = 6 * 1024;

/// A sandbox has descriptors of its own: as many are there before as after.
const POOL: &str = "[profiles.bash.pool]\nmin = 4\nmax = 4\n\
                    [profiles.python.pool]\nmin = 0\nmax = 4\n";
const SANDBOXES: f64 = 4.0;

fn serve(world: &World) {
    let jobs: Vec<_> = (0..ROUND).map(|_| bash("echo served")).collect();
    world.submit(&jobs);
    world.wait_all(&ids(&jobs), SOON);
}

/// What the worker holds when it has nothing to do, every sandbox being ready again: memory in KiB,
/// descriptors.
fn holds(world: &World) -> (u64, usize) {
    let warm = || world.workers[0].metric("kiln_pool_sandboxes", "phase=\"warm\"");
    wait_for(SOON, || (warm() - SANDBOXES).abs() < 0.1);
    let worker = world.workers[0].process();
    (worker.memory_kib(), descriptors(worker.pid()))
}

#[test]
fn alone_jobs_and_reconnects_leave_nothing_behind() {
    let long = std::env::var_os("KILN_CHAOS_JOBS").is_some();
    let rounds = if long { 100 } else { 6 };
    let broker = Arc::new(Broker::start(""));
    let mut world = World::on(Arc::clone(&broker));
    world
        .add("a", |setup| {
            setup.slots = 4;
            setup.more = POOL.to_owned();
        })
        .up();
    world.client.wait_bound();
    for _ in 0..3 {
        serve(&world);
        broker.close_all_connections();
    }
    serve(&world);
    let before = holds(&world);
    let rebuilt = || world.workers[0].metric("kiln_amqp_reconnects_total", "");
    let first = rebuilt();
    for _ in 0..rounds {
        serve(&world);
        broker.close_all_connections();
    }
    serve(&world);
    // The one that consumes and the one that publishes.
    let lost = rebuilt() - first;
    assert!(lost >= 2.0 * f64::from(rounds), "{lost} in {rounds} rounds");
    let grown = || {
        let now = holds(&world);
        (
            now.0.saturating_sub(before.0),
            now.1.saturating_sub(before.1),
        )
    };
    let flat = wait_for(Duration::from_secs(10), || {
        let (memory, files) = grown();
        memory <= GROWTH_KIB && files <= 4
    });
    let told = format!("{before:?} KiB and files, {:?} more after", grown());
    assert!(flat, "{told} {rounds} rounds");
    writeln!(std::io::stderr(), "{told} {rounds} rounds").ok();
    assert_eq!(world.worker().exits(), 0);
    world.assert_kept(2, "many reconnects");
}
