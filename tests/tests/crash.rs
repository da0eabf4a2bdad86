//! When `kiln` is killed, how soon is nothing of its jobs left?

use acceptance::batch::{self, Batch};
use acceptance::kiln::{Program, run};
use acceptance::leftovers::{Snapshot, assert_gone, descendants, helpers, lives, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

const JOB: &str = "trap '' TERM INT HUP\n(setsid sleep 321 >/dev/null 2>&1 &)\nsleep 321\n";

/// Starts twenty jobs and waits until all of them run; returns all processes of theirs.
fn twenty(batch: &mut Batch) -> Vec<u32> {
    for n in 0..20 {
        batch.send(&batch::bash(&format!("sleeper-{n}"), JOB));
    }
    let sleepers = |pids: &[u32]| {
        let name = |pid: &&u32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
        };
        pids.iter().filter(name).count()
    };
    let pid = batch.pid();
    assert!(
        wait_for(Duration::from_mins(1), || sleepers(&descendants(pid)) == 40),
        "not all run: {}",
        batch.log()
    );
    descendants(pid)
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("it runs");
}

#[test]
fn alone_killed_with_20_jobs_nothing_is_left_within_a_second() {
    let before = Snapshot::take();
    let mut batch = Batch::start(20, &[]);
    let pids = twenty(&mut batch);
    kill(batch.pid());
    let took = assert_gone(&before, Duration::from_secs(1));
    assert!(
        !pids.iter().any(|&pid| lives(pid)),
        "after {took:?} some of {pids:?} live"
    );
}

#[test]
fn alone_killed_with_its_helpers_the_next_start_sweeps() {
    let before = Snapshot::take();
    let mut batch = Batch::start(20, &[]);
    let pids = twenty(&mut batch);
    let mut own = helpers(batch.pid());
    assert!(!own.is_empty(), "kiln has no helper of its own");
    own.insert(0, batch.pid());
    for pid in own {
        if lives(pid) {
            kill(pid);
        }
    }
    let gone = wait_for(Duration::from_secs(2), || {
        !pids.iter().any(|&pid| lives(pid))
    });
    assert!(gone, "jobs outlive a killed warden");
    let next = run(&Program::python("print('swept')"), &[]);
    assert_eq!(next.text("/stdout/text"), "swept\n", "{next:#?}");
    assert_gone(&before, Duration::from_secs(2));
}

#[test]
fn alone_a_job_that_ends_leaves_nothing() {
    let before = Snapshot::take();
    let run = run(
        &Program::bash(
            "(setsid sleep 321 >/dev/null 2>&1 &)\nmkdir -p /tmp/a/b; touch /tmp/a/b/c; chmod 0 /tmp/a",
        ),
        &[],
    );
    assert_eq!(run.text("/status"), "succeeded", "{run:#?}");
    assert_gone(&before, Duration::from_secs(2));
}
