//! How long a sandbox takes to make, to reset and to retire. Bounds are loose: the machine may be
//! busy; the figures are printed.

use crate::worker::Worker;
use std::time::{Duration, Instant};

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// CPU time of the warden's own thread.
fn used(worker: &Worker) -> Duration {
    let text =
        std::fs::read_to_string(format!("/proc/{}/schedstat", worker.warden())).expect("stat");
    let first = text.split_whitespace().next().expect("a figure");
    Duration::from_nanos(first.parse().expect("a number"))
}

fn say(what: &str, times: Vec<Duration>, cpu: Duration) {
    use std::io::Write;
    let count = u32::try_from(times.len()).expect("few");
    writeln!(
        std::io::stderr(),
        "{what}: median {:?} wall, {:?} CPU of the warden each",
        median(times),
        cpu / count
    )
    .expect("stderr");
}

#[test]
fn sandboxes_are_made_and_reset_at_a_pace() {
    let worker = Worker::start();
    worker.retire(worker.create());

    let begin = used(&worker);
    let mut times = Vec::new();
    let mut sandboxes = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        sandboxes.push(worker.create());
        times.push(start.elapsed());
    }
    assert!(median(times.clone()) < Duration::from_millis(300));
    say("create", times, used(&worker).saturating_sub(begin));

    let sandbox = &mut sandboxes[0];
    let mut times = Vec::new();
    let begin = used(&worker);
    for _ in 0..100 {
        sandbox.run(&["/bin/true"]);
        let start = Instant::now();
        worker.reset(sandbox);
        times.push(start.elapsed());
    }
    assert!(median(times.clone()) < Duration::from_millis(100));
    say("reset", times, used(&worker).saturating_sub(begin));

    let mut times = Vec::new();
    let begin = used(&worker);
    for sandbox in sandboxes {
        let start = Instant::now();
        worker.retire(sandbox);
        times.push(start.elapsed());
    }
    assert!(median(times.clone()) < Duration::from_millis(200));
    say("retire", times, used(&worker).saturating_sub(begin));
}
