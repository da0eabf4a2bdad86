//! What the kernel counts for a user, not for a control group, a job takes from nobody else.

use crate::sandbox::{Ran, Sandbox};
use crate::worker::{PATIENCE, Worker, wait_readable};
use kiln_warden::wire::{CellLimits, Event, Request};
use rustix::fs::inotify;
use std::os::fd::OwnedFd;

/// Takes what it gets, says how many that were, and keeps them where it is told to.
const INOTIFY: &str = r"
import ctypes, sys, time
libc = ctypes.CDLL(None)
count = 0
while count < 1000 and libc.inotify_init() >= 0:
    count += 1
print(count, flush=True)
time.sleep(float(sys.argv[1]))
";

/// As many timers as there are to have, each with a queued signal's place.
const TIMERS: &str = r"
import ctypes, sys, time
libc = ctypes.CDLL(None)
count, timer = 0, ctypes.c_void_p()
while count < 100_000 and libc.timer_create(0, None, ctypes.byref(timer)) == 0:
    count += 1
print(count, flush=True)
time.sleep(float(sys.argv[1]))
";

/// Fills both directions of many TCP connections and the queues of many UDP sockets.
const SOCKETS: &str = r"
import socket, sys, time
listener = socket.create_server(('127.0.0.1', 0), backlog=200)
block, kept = bytes(1 << 16), []
for _ in range(100):
    one = socket.create_connection(listener.getsockname())
    kept += [one, listener.accept()[0]]
for _ in range(200):
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind(('127.0.0.1', 0))
    end.connect(end.getsockname())
    kept.append(end)
for one in kept:
    one.setblocking(False)
    for _ in range(200):
        try:
            one.send(block[:60000])
        except OSError:
            break
print('full', flush=True)
time.sleep(float(sys.argv[1]))
";

fn hold(sandbox: &mut Sandbox, script: &str) -> (OwnedFd, OwnedFd) {
    let streams = sandbox.start(&["python3", "-c", script, "100"]);
    assert!(wait_readable(&streams.0, PATIENCE), "it does not run");
    streams
}

fn count(sandbox: &mut Sandbox, script: &str) -> u64 {
    let Ran { stdout, stderr, .. } = sandbox.run(&["python3", "-c", script, "0"]);
    stdout
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("{stdout} {stderr}"))
}

#[test]
fn inotify_instances_that_one_job_holds_are_missed_by_no_other_user() {
    let worker = Worker::start();
    let mut greedy = worker.create();
    let mut other = worker.create();
    let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
    let most: u64 = most.expect("read").trim().parse().expect("a number");
    let streams = hold(&mut greedy, INOTIFY);
    assert_eq!(count(&mut other, INOTIFY), most.min(1000));
    inotify::init(inotify::CreateFlags::CLOEXEC).expect("root has its own");
    drop(streams);
}

#[test]
fn timers_that_one_job_holds_are_missed_by_no_other() {
    let worker = Worker::start();
    let mut greedy = worker.create();
    let mut other = worker.create();
    let streams = hold(&mut greedy, TIMERS);
    assert_eq!(count(&mut other, TIMERS), 4096);
    drop(streams);
}

#[test]
fn what_sockets_hold_is_bounded_by_the_memory_limit() {
    const LIMIT: u64 = 64 << 20;
    let worker = Worker::start();
    let mut sandbox = worker.create();
    let cell = sandbox.cell.as_ref().expect("a cell");
    worker.send(&Request::Limit {
        sandbox: sandbox.id,
        generation: cell.generation,
        limits: CellLimits {
            memory_bytes: LIMIT,
            ..cell.limits
        },
    });
    assert!(matches!(worker.event(), Event::Limited { .. }));
    let leaf = worker.group(&sandbox, "job-1");
    let streams = hold(&mut sandbox, SOCKETS);
    let held = worker.groups().into_iter().find_map(|group| {
        let file = group.join(&leaf).join("memory.kmem.tcp.usage_in_bytes");
        std::fs::read_to_string(file).ok()
    });
    drop(streams);
    // v2 counts sockets with the rest of the memory.
    if let Some(held) = held {
        let held: u64 = held.trim().parse().expect("a number");
        // Above the limit each socket still gets its least.
        assert!((LIMIT / 2..LIMIT + LIMIT / 4).contains(&held), "{held}");
    }
}
