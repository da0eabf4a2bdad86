//! Whoever dies, nothing lives on and nothing is left.

use crate::worker::{PATIENCE, Worker, wait_readable, within};
use kiln_warden::wire::{CellLimits, Event, Request};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("kill");
}

/// The processes of the machine whose command line holds `mark`.
fn running(mark: &str) -> usize {
    std::fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

/// A worker with two sandboxes, one of them running a job that does not end by itself.
fn busy(mark: &str) -> (Worker, Vec<crate::sandbox::Sandbox>) {
    let worker = Worker::start();
    let mut first = worker.create();
    let second = worker.create();
    let (out, err) = first.start(&["/bin/sh", "-c", &format!("sleep {mark} & sleep {mark}")]);
    assert!(
        within(PATIENCE, || running(mark) >= 2),
        "the job does not run"
    );
    drop((out, err));
    (worker, vec![first, second])
}

#[test]
fn a_killed_worker_leaves_nothing_within_a_second() {
    let mark = "98761.5";
    let (mut worker, sandboxes) = busy(mark);
    let took = worker.end();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(running(mark), 0);
    assert_eq!(worker.left(), Vec::<String>::new());
    drop(sandboxes);
}

#[test]
fn a_killed_warden_leaves_nothing() {
    let mark = "98762.5";
    let (mut worker, sandboxes) = busy(mark);
    kill(worker.warden(), Signal::KILL);
    let socket = &worker.spawned().socket;
    assert!(wait_readable(socket, PATIENCE), "no end of file");
    assert_eq!(running(mark), 0);
    worker.end();
    assert_eq!(worker.left(), Vec::<String>::new());
    drop(sandboxes);
}

#[test]
fn a_killed_monitor_takes_the_warden_along_and_the_next_start_sweeps() {
    let mark = "98763.5";
    let (mut worker, sandboxes) = busy(mark);
    let monitor = worker.spawned().child.id();
    kill(i32::try_from(monitor).expect("a pid"), Signal::KILL);
    assert!(within(PATIENCE, || running(mark) == 0), "a job lives on");
    worker.end();
    assert!(!worker.left().is_empty(), "this test could not tell");
    drop(sandboxes);

    let next = Worker::start_beside(&worker);
    assert_eq!(worker.left(), Vec::<String>::new());
    next.retire(next.create());
    drop(next);
}

#[test]
fn a_live_instance_is_not_swept() {
    let first = Worker::start();
    let mut sandbox = first.create();
    let second = Worker::start_beside(&first);
    assert_eq!(sandbox.sh("echo alive").stdout, "alive\n");
    second.retire(second.create());
    drop(second);
    first.reset(&mut sandbox);
}

#[test]
fn a_killed_keeper_is_told_and_nothing_is_left_of_its_sandbox() {
    let worker = Worker::start();
    let mut other = worker.create();
    let sandbox = worker.create();
    kill(worker.keeper(&sandbox), Signal::KILL);
    match worker.event() {
        Event::Broken { sandbox: id, .. } => assert_eq!(id, sandbox.id),
        other => panic!("{other:?}"),
    }
    worker.retired(sandbox.id);
    let name = sandbox.id.to_string();
    assert!(worker.groups().iter().all(|g| !g.join(&name).exists()));
    assert_eq!(other.sh("echo fine").stdout, "fine\n");
}

#[test]
fn a_keeper_that_does_not_answer_is_killed() {
    let worker = Worker::start();
    let sandbox = worker.create();
    kill(worker.keeper(&sandbox), Signal::STOP);
    let limits = sandbox.cell.as_ref().expect("a cell").limits;
    let begin = Instant::now();
    worker.send(&Request::Limit {
        sandbox: sandbox.id,
        generation: sandbox.generation(),
        limits: CellLimits {
            disk_bytes: limits.disk_bytes / 2,
            ..limits
        },
    });
    match worker.event() {
        Event::Broken { message, .. } => assert!(message.contains("in time"), "{message}"),
        other => panic!("{other:?}"),
    }
    assert!(begin.elapsed() >= Duration::from_millis(1900));
    worker.retired(sandbox.id);
}

#[test]
fn shutdown_ends_it_all() {
    let mut worker = Worker::start();
    let sandbox = worker.create();
    worker.send(&Request::Shutdown);
    let socket = &worker.spawned().socket;
    assert!(wait_readable(socket, PATIENCE), "no end of file");
    worker.end();
    assert_eq!(worker.left(), Vec::<String>::new());
    drop(sandbox);
}
