//! After 100,000 mixed jobs with canaries between them: is there residue, or more of any kernel object than before?

use super::jobs::{GRANTED, Judge, Mix};
use acceptance::leftovers::{descriptors, helpers, wait_for};
use acceptance::seed::Seed;
use acceptance::stack::world::{SOON, World, id, ids};
use serde_json::Value;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const KINDS: [&str; 5] = ["process", "mount", "cgroup", "namespace", "folder"];
/// Jobs that wait at most.
const AHEAD: usize = 64;
const SLOTS: usize = 4;
/// Jobs that may end otherwise than they should before the rest need not be seen.
const WRONG_MAX: usize = 20;
/// How long those that wait may take together, the hostile among them being there for seconds.
const PATIENCE: Duration = Duration::from_mins(5);
/// Sandboxes at rest, of both profiles.
const SANDBOXES: f64 = 8.0;
const POOL: &str =
    "[profiles.python.pool]\nmin = 4\nmax = 4\n[profiles.bash.pool]\nmin = 4\nmax = 4\n";

/// What a worker that rests has of the kernel's.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    /// Processes, mounts, groups, namespaces and folders.
    things: Vec<(&'static str, usize)>,
    /// Mounts in the namespaces of the worker's helpers.
    mounts: usize,
    /// Descriptors of the worker and its helpers.
    descriptors: usize,
    /// Keys that the kernel keeps for uids of sandboxes.
    keys: usize,
}

fn held(world: &World) -> Held {
    let all = world.snapshot();
    let pid = world.workers[0].process().pid();
    let own: Vec<_> = std::iter::once(pid).chain(helpers(pid)).collect();
    let lines = |path: String| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
    Held {
        things: KINDS
            .iter()
            .map(|kind| (*kind, all.only(&[kind]).len()))
            .collect(),
        mounts: own
            .iter()
            .map(|pid| lines(format!("/proc/{pid}/mountinfo")))
            .sum(),
        descriptors: own.iter().map(|pid| descriptors(*pid)).sum(),
        keys: keys(world),
    }
}

/// Of uids that sandboxes of this world have.
fn keys(world: &World) -> usize {
    let (first, end) = world.scope().uids;
    let text = std::fs::read_to_string("/proc/key-users").expect("the kernel lists them");
    let uids = text
        .lines()
        .filter_map(|line| line.split(':').next()?.trim().parse::<u32>().ok());
    uids.filter(|uid| (first..end).contains(uid)).count()
}

/// When every sandbox is ready again and nothing moves any more.
fn at_rest(world: &World) -> Held {
    let warm = || world.workers[0].metric("kiln_pool_sandboxes", "phase=\"warm\"");
    let full = wait_for(SOON, || (warm() - SANDBOXES).abs() < 0.1);
    assert!(
        full,
        "{} sandboxes are warm\n{}",
        warm(),
        world.last_words()
    );
    held(world)
}

/// What is wrong of these jobs, which have their outcomes or soon will.
fn judged(world: &World, jobs: &[(Value, Judge)]) -> Vec<String> {
    let wrong = jobs.iter().filter_map(|(job, judge)| {
        let why = judge(&world.answer(&id(job))).err()?;
        Some(format!("{job}\n{why}"))
    });
    wrong.collect()
}

/// No more than before, give or take what is made when it is first needed: as many processes that scan as jobs run at
/// once, each with its namespaces, its group in three hierarchies and its descriptors. What each job, or each thousandth,
/// left behind would be more.
fn no_more(after: &Held, before: &Held) -> bool {
    let room = |kind: &str| match kind {
        "process" => SLOTS,
        "cgroup" | "namespace" => 3 * SLOTS,
        _ => 0,
    };
    let mut things = after.things.iter().zip(&before.things);
    things.all(|((kind, now), (_, then))| *now <= then + room(kind))
        && (after.mounts, after.keys) == (before.mounts, before.keys)
        && after.descriptors <= before.descriptors + 12 * SLOTS
}

fn submit(world: &World, jobs: &[(Value, Judge)]) {
    world.submit(&jobs.iter().map(|(job, _)| job.clone()).collect::<Vec<_>>());
}

/// Both canaries have come back whole since.
fn wait_canaries(world: &World, since: f64) {
    for kind in ["residue", "isolation"] {
        let label = format!("kind=\"{kind}\"");
        let last = || world.workers[0].metric("kiln_canary_last_success_timestamp_seconds", &label);
        let whole = wait_for(SOON, || last() > since);
        assert!(
            whole,
            "{kind}: not since {since}, {}\n{}",
            last(),
            world.last_words()
        );
    }
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs_f64()
}

#[test]
fn alone_soak_of_mixed_jobs() {
    let count: usize = std::env::var("KILN_SOAK_MIXED").map_or(100, |text| {
        text.parse().expect("KILN_SOAK_MIXED is a number")
    });
    let every = (count / 10).clamp(2_000, 10_000);
    let mut mix = Mix::new(Seed::new("alone_soak_of_mixed_jobs"));
    let mut world = World::new();
    world
        .add("a", |setup| {
            setup.slots = SLOTS;
            setup.more = format!("{POOL}[profiles.bash.network]\nallow = [\"{GRANTED}\"]\n");
            setup.env = vec![("KILN_WORKER__CANARY_MS".to_owned(), every.to_string())];
        })
        .up();
    world.client.wait_bound();
    // What is started when it is first needed is there before it is counted.
    let first = mix.all();
    submit(&world, &first);
    let mut wrong = judged(&world, &first);
    let before = at_rest(&world);
    let (began, mut memory) = (Instant::now(), 0);

    let mut waiting: Vec<(Value, Judge)> = Vec::new();
    let mut done = 0;
    while done < count {
        let more = (count - done - waiting.len()).min(AHEAD - waiting.len());
        let part: Vec<_> = (0..more).map(|_| mix.one()).collect();
        submit(&world, &part);
        waiting.extend(part);
        let half: Vec<_> = waiting.drain(..waiting.len().div_ceil(2)).collect();
        world.wait_all(
            &ids(&half.iter().map(|(job, _)| job.clone()).collect::<Vec<_>>()),
            PATIENCE,
        );
        wrong.extend(judged(&world, &half));
        assert!(wrong.len() < WRONG_MAX, "{}", wrong.join("\n\n"));
        done += half.len();
        if done * 10 <= count + AHEAD {
            memory = world.workers[0].process().memory_kib();
        }
        let residue = world.workers[0].metric("kiln_residue_total", "");
        assert!(residue < 0.5, "after {done} jobs\n{}", world.last_words());
    }
    let took = began.elapsed();
    assert!(
        wrong.is_empty(),
        "{} jobs ended otherwise:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    wait_canaries(&world, now());
    let residue = world.workers[0].metric("kiln_residue_total", "");
    assert!(residue < 0.5, "residue\n{}", world.last_words());
    // A canary may be in the air whenever one looks.
    let mut after = at_rest(&world);
    wait_for(SOON, || {
        after = at_rest(&world);
        no_more(&after, &before)
    });
    assert!(no_more(&after, &before), "{after:?}\nbefore {before:?}");
    let worker = world.workers[0].process();
    let (jobs, now) = (world.client.heard().1, worker.memory_kib());
    writeln!(
        std::io::stderr(),
        "soak: {jobs} jobs in {took:?}: 0 residue; the worker holds {now} KiB ({memory} after a tenth); {after:?}"
    )
    .ok();
    world.assert_ends();
}
