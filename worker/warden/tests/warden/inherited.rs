//! What a careless caller hands down reaches no job, or is refused with a remedy.

use crate::worker::{Worker, program};
use kiln_warden::client::Spawned;
use kiln_warden::socket;
use kiln_warden::wire::Event;
use std::os::fd::OwnedFd;
use std::process::Command;

/// A root that may not raise hard limits, as in many containers.
const WEAK: [&str; 3] = ["setpriv", "--bounding-set=-sys_resource", "prlimit"];

/// A warden that `wrapper` starts, and the worker's end of its socket.
fn wrapped(wrapper: &[&str]) -> (Command, OwnedFd) {
    let (socket, theirs) = socket::pair().expect("pair");
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(program())
        .arg("warden")
        .stdin(theirs);
    (command, socket)
}

fn start_by(wrapper: &[&str]) -> Worker {
    let (runtime, parent) = Worker::place();
    let (mut command, socket) = wrapped(wrapper);
    rustix::io::ioctl_fionbio(&socket, true).expect("non-blocking");
    command.arg("--runtime").arg(&runtime);
    command.args(["--cgroup-parent", &parent]);
    let child = command.spawn().expect("spawn");
    Worker::welcome(Spawned { socket, child }, runtime, parent)
}

#[test]
fn limits_that_are_too_low_are_named_with_their_remedy() {
    for (low, named, value, cure) in [
        ("--core=0:0", "RLIMIT_CORE", "is 0,", "ulimit -Hc"),
        (
            "--nofile=1024:1024",
            "RLIMIT_NOFILE",
            "is 1024,",
            "LimitNOFILE=",
        ),
    ] {
        let (mut command, socket) = wrapped(&[&WEAK[..], &[low]].concat());
        match Worker::refusal(&socket, &mut command) {
            Event::Refused { message, remedy } => {
                assert!(message.contains(named), "{message}");
                assert!(message.contains(value), "{message}");
                assert!(remedy.contains(cure), "{remedy}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn limits_that_are_just_enough_will_do() {
    let low = ["--core=1:1", "--nofile=8192:8192"];
    let worker = start_by(&[&WEAK[..], &low].concat());
    let ran = worker.create().sh("ulimit -Hn; ulimit -Hc");
    assert!(ran.stdout.starts_with("1024\n"), "{}", ran.stdout);
}

#[test]
fn what_the_caller_was_the_job_is_not() {
    let caller = "trap '' CHLD; exec setarch -R nice -n 5 chrt --idle 0 \"$0\" \"$@\"";
    let worker = start_by(&["sh", "-c", caller]);
    let mut sandbox = worker.create();
    let ran = sandbox.run(&[
        "python3",
        "-c",
        "import ctypes, os, signal\n\
         print(ctypes.CDLL(None).personality(0xffffffff), os.nice(0), os.sched_getscheduler(0),\n\
         signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL,\n\
         open('/proc/self/oom_score_adj').read().startswith('-'))",
    ]);
    assert_eq!(ran.stdout, "0 0 0 True False\n", "{}", ran.stderr);
    worker.reset(&mut sandbox);
    worker.retire(sandbox);
}
