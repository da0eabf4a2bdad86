//! After many jobs in a row, is there more of anything than after a few?

#[path = "soak/jobs.rs"]
mod jobs;
#[path = "soak/mixed.rs"]
mod mixed;

use acceptance::batch::{self, Batch};
use acceptance::leftovers::{Snapshot, assert_gone, descendants, descriptors, helpers, wait_for};
use serde_json::{Value, json};
use std::time::Duration;

/// Every tenth job leaves what it can behind.
const UNTIDY: &str = "(setsid sleep 300 >/dev/null 2>&1 &)\nmkdir -p /tmp/a/b/c; echo x > /dev/shm/x; mkfifo f; ln -s / all; chmod 0 /tmp/a\nexit 3\n";

fn job(n: usize) -> Value {
    let id = format!("soak-{n}");
    match n % 10 {
        9 => batch::bash(&id, UNTIDY),
        4 => batch::python(&id, "print('x' * 1000); open('y.txt', 'w').write('y')"),
        _ => json!({"schema": "kiln.job.v1", "id": id, "command": ["true"]}),
    }
}

/// Descriptors of `kiln` and of each helper of its own, added up; processes below it; things of Kiln on the machine.
fn sizes(pid: u32) -> (usize, usize, usize) {
    let below = descendants(pid);
    let fds = helpers(pid)
        .iter()
        .map(|&pid| descriptors(pid))
        .sum::<usize>();
    (
        descriptors(pid) + fds,
        below.len(),
        Snapshot::take().only(&["mount", "cgroup", "folder"]).len(),
    )
}

#[test]
fn alone_soak() {
    let count: usize = std::env::var("KILN_SOAK_JOBS").map_or(300, |text| {
        text.parse().expect("KILN_SOAK_JOBS is a number")
    });
    let before = Snapshot::take();
    let mut batch = Batch::start(4, &[]);
    let pid = batch.pid();
    let mut done = 0;
    let mut most = (0, 0, 0);
    while done < count {
        let round = 50.min(count - done);
        for n in done..done + round {
            batch.send(&job(n));
        }
        for _ in 0..round {
            let result = batch
                .next(Duration::from_mins(2))
                .unwrap_or_else(|| panic!("no result: {}", batch.log()));
            let wanted = if result["job_id"]
                .as_str()
                .is_some_and(|id| id.ends_with('9'))
            {
                "failed"
            } else {
                "succeeded"
            };
            assert_eq!(result["status"], wanted, "{result:#}");
        }
        done += round;
        // The pool grows to its size in the first half; then it stays, give or take the four sandboxes that may be
        // made beside the four slots, each with its keeper, its cell, its descriptors and its groups.
        let (fds, processes, things) = sizes(pid);
        if done <= count / 2 {
            most = (most.0.max(fds), most.1.max(processes), most.2.max(things));
            continue;
        }
        let level = || {
            let now = sizes(pid);
            now.0 <= most.0 + 60 && now.1 <= most.1 + 24 && now.2 <= most.2 + 64
        };
        assert!(
            wait_for(Duration::from_secs(5), level),
            "after {done} jobs {:?}, before {most:?}",
            sizes(pid)
        );
    }
    let ended = batch.end();
    assert_eq!(
        ended.exit,
        Some(1),
        "some jobs fail on purpose: {}",
        ended.stderr
    );
    assert_gone(&before, Duration::from_secs(5));
}
