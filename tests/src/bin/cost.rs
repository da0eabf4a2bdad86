//! What do a worker's figures cost? One that counts and one that does not, turn about, in one run.
//!
//! `target/debug/stack target/debug/cost COUNTED UNCOUNTED [TURNS [JOBS]]`: two programs `kiln` of one kind, the second built
//! with `--features uncounted`. Each is asked for its figures every second, fifteen times as often as in life. Both are up
//! all the time, and the turns alternate, so what befalls the machine befalls both.

use acceptance::stack::http;
use acceptance::stack::world::{World, bash, ids};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What one turn took, a job, in microseconds.
#[derive(Clone, Copy, Default)]
struct Turn {
    wall: f64,
    /// CPU time of the worker's own process: figures cost nobody else any.
    own: f64,
    /// And of all its processes, jobs included.
    all: f64,
}

/// A job that does nothing: the most of its time is ours.
fn idle() -> Value {
    let mut job = bash("x");
    job["profile"] = "command".into();
    job["command"] = json!(["true"]);
    job.as_object_mut().expect("an object").remove("code");
    job
}

fn up(program: PathBuf) -> World {
    World::with(|setup| {
        setup.slots = 2;
        setup.program = Some(program);
        "[profiles.command.pool]\nmin = 4\n".clone_into(&mut setup.more);
    })
}

fn turn(world: &World, jobs: usize) -> Turn {
    let batch: Vec<_> = (0..jobs).map(|_| idle()).collect();
    let pid = world.workers[0].process().pid();
    let before = (own_ns(pid), family_us(pid));
    let began = Instant::now();
    world.submit(&batch);
    world.wait_all(&ids(&batch), Duration::from_mins(5));
    let wall = began.elapsed();
    let after = (own_ns(pid), family_us(pid));
    let a_job = |us: f64| us / figure(jobs as u64);
    Turn {
        wall: a_job(wall.as_secs_f64() * 1e6),
        own: a_job(figure(after.0 - before.0) / 1e3),
        all: a_job(figure(after.1 - before.1)),
    }
}

/// Of all threads of a process, by the scheduler's own count.
fn own_ns(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
    let of = |path: PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    threads.filter_map(|thread| of(thread.ok()?.path())).sum()
}

/// Of a process, all its descendants, and those of them that have ended; in steps of 10 ms.
fn family_us(first: u32) -> u64 {
    let mut all = vec![first];
    let mut next = 0;
    let mut ticks = 0;
    while let Some(pid) = all.get(next).copied() {
        next += 1;
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let fields: Vec<_> = rest.split(' ').collect();
        ticks += fields[11..15]
            .iter()
            .filter_map(|it| it.parse::<u64>().ok())
            .sum::<u64>();
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten();
        for thread in threads.flatten() {
            let children =
                std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            all.extend(
                children
                    .split_ascii_whitespace()
                    .filter_map(|it| it.parse::<u32>().ok()),
            );
        }
    }
    ticks * 10_000
}

/// The middle, and how far the middle of many such turns may be from it (one standard error).
fn middle(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a short list"
        )]
        let place = (figure(sorted.len() as u64 - 1) * part).round() as usize;
        sorted[place]
    };
    // A normal spread has three quarters of its standard deviations between the quartiles and the middle.
    let deviation = (at(0.75) - at(0.25)) / 1.349;
    (
        at(0.5),
        1.2533 * deviation / figure(sorted.len() as u64).sqrt(),
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times of a bench are far below 2^52"
)]
fn figure(count: u64) -> f64 {
    count as f64
}

fn main() -> ExitCode {
    let asked: Vec<_> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| {
        asked
            .get(at)
            .map_or(usual, |it| it.parse().expect("a number"))
    };
    let [counted, uncounted, ..] = &asked[..] else {
        writeln!(
            std::io::stderr(),
            "usage: cost COUNTED UNCOUNTED [TURNS [JOBS]]"
        )
        .ok();
        return ExitCode::from(2);
    };
    let (turns, jobs) = (number(2, 40), number(3, 300));
    let worlds = [up(counted.into()), up(uncounted.into())];
    let over = Arc::new(AtomicBool::new(false));
    let asking = {
        let (over, ports) = (
            Arc::clone(&over),
            [0, 1].map(|at| worlds[at].workers[0].telemetry()),
        );
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for port in ports {
                    http::get(port, "/metrics").expect("it listens");
                }
                std::thread::park_timeout(Duration::from_secs(1));
            }
        })
    };
    let counts = |world: &World| world.workers[0].metric("kiln_jobs_total", "") > 0.0;
    let mut all: Vec<[Turn; 2]> = Vec::new();
    for round in 0..=turns {
        let mut pair = [Turn::default(); 2];
        for at in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            pair[at] = turn(&worlds[at], jobs);
        }
        // The first fills caches.
        all.extend((round > 0).then_some(pair));
    }
    assert_eq!(
        [0, 1].map(|at| counts(&worlds[at])),
        [true, false],
        "one counts and the other does not"
    );
    over.store(true, Ordering::Relaxed);
    asking.thread().unpark();
    asking.join().expect("it only asks");
    let of = |what: fn(&[Turn; 2]) -> f64| middle(&all.iter().map(what).collect::<Vec<_>>());
    let (wall, own, cpu) = (of(|it| it[1].wall), of(|it| it[1].own), of(|it| it[1].all));
    let slower = of(|it| (it[0].wall / it[1].wall - 1.0) * 100.0);
    let more = of(|it| it[0].own - it[1].own);
    let part = (more.0 / cpu.0 * 100.0, more.1 / cpu.0 * 100.0);
    let told = format!(
        "{turns} pairs of turns of {jobs} jobs\n\
         without figures a job takes {:.0} µs, {:.0} µs of CPU in the worker and {:.0} µs in all\n\
         with figures it takes {:+.1} % (± {:.1}) of time, {:+.1} µs (± {:.1}) of CPU in the worker: {:+.2} % (± {:.2}) of all\n",
        wall.0, own.0, cpu.0, slower.0, slower.1, more.0, more.1, part.0, part.1,
    );
    write!(std::io::stdout(), "{told}").ok();
    // Two standard errors: what is not within them is not noise.
    if part.0 - 2.0 * part.1 > 1.0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
