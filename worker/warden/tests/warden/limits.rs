//! Other limits than the profile's are set, and proved.

use crate::sandbox::Sandbox;
use crate::worker::{PATIENCE, Worker, wait_readable};
use kiln_warden::wire::{CellLimits, Event, Request};

const MIB: u64 = 1 << 20;

fn limit(worker: &Worker, sandbox: &Sandbox, limits: CellLimits) -> Event {
    worker.send(&Request::Limit {
        sandbox: sandbox.id,
        generation: sandbox.generation(),
        limits,
    });
    worker.event()
}

fn limited(worker: &Worker, sandbox: &Sandbox, limits: CellLimits) {
    match limit(worker, sandbox, limits) {
        Event::Limited {
            sandbox: id,
            generation,
        } => {
            assert_eq!(id, sandbox.id);
            assert_eq!(generation, sandbox.generation());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn limits_are_raised_and_lowered_and_the_job_meets_them() {
    let worker = Worker::start();
    let mut sandbox = worker.create();
    let usual = sandbox.cell.as_ref().expect("a cell").limits;
    let high = CellLimits {
        memory_bytes: 1024 * MIB,
        pids: 200,
        cpus_milli: 2000,
        disk_bytes: 700 * MIB,
        inodes: 50_000,
        open_files: 2048,
    };
    let low = CellLimits {
        memory_bytes: 64 * MIB,
        pids: 8,
        cpus_milli: 100,
        disk_bytes: 3 * MIB,
        inodes: 40,
        open_files: 32,
    };
    let script = "ulimit -Sn; ulimit -Hn; nproc; stat -f -c '%b %s %c' /job; \
                  head -c 5000000 /dev/zero > /job/big 2>/dev/null; echo $?";
    for (limits, fits) in [(high, true), (low, false)] {
        limited(&worker, &sandbox, limits);
        let ran = sandbox.sh(script);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines[0], limits.open_files.to_string(), "{}", ran.stderr);
        assert_eq!(lines[1], lines[0], "the hard limit is the soft one");
        let cpus = usize::try_from(limits.cpus_milli.div_ceil(1000)).expect("few");
        let host = std::thread::available_parallelism().expect("cpus").get();
        assert_eq!(lines[2], cpus.min(host).to_string());
        let pages = limits.disk_bytes / 4096;
        assert_eq!(lines[3], format!("{pages} 4096 {}", limits.inodes));
        assert_eq!(lines[4], if fits { "0" } else { "1" });
        worker.reset(&mut sandbox);
        let now = sandbox.cell.as_ref().expect("a cell").limits;
        assert_eq!(now, usual, "the next cell has the profile's");
    }
    // Raised after lowered, on one cell.
    limited(&worker, &sandbox, low);
    limited(&worker, &sandbox, high);
    limited(&worker, &sandbox, low);
    let ran = sandbox.sh("ulimit -Hn; nproc");
    assert_eq!(ran.stdout, "32\n1\n");
    worker.reset(&mut sandbox);
}

#[test]
fn a_limit_outside_of_the_profile_ends_the_sandbox() {
    let worker = Worker::start();
    for change in [
        (|l| l.memory_bytes = 1 << 50) as fn(&mut CellLimits),
        |l| l.open_files = 0,
        |l| l.pids = u64::MAX,
    ] {
        let sandbox = worker.create();
        let mut limits = sandbox.cell.as_ref().expect("a cell").limits;
        change(&mut limits);
        match limit(&worker, &sandbox, limits) {
            Event::LimitFailed { message, .. } => {
                assert!(message.contains("is not between"), "{message}");
            }
            other => panic!("{other:?}"),
        }
        worker.retired(sandbox.id);
    }
}

#[test]
fn limits_do_not_change_under_a_running_job() {
    let worker = Worker::start();
    let mut sandbox = worker.create();
    let limits = sandbox.cell.as_ref().expect("a cell").limits;
    let streams = sandbox.start(&["/bin/sh", "-c", "echo up; sleep 100"]);
    assert!(wait_readable(&streams.0, PATIENCE), "it does not run");
    match limit(&worker, &sandbox, limits) {
        Event::LimitFailed { .. } => {}
        other => panic!("{other:?}"),
    }
    worker.retired(sandbox.id);
    drop(streams);
}
