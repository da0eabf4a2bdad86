//! How a job ends, from outside: one keeper in a sandbox.

use crate::filters::{FATAL, NOTED};
use crate::harness::{self, SECOND, Sandbox, read};
use crate::sys;
use kiln_keeper::stage::Input;
use kiln_keeper::wire::{self, Cause, FromWarden, FromWorker, Placement, Prepare};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

const EXIT: u32 = 256;

#[test]
fn a_job_runs_and_its_output_comes_back() {
    let mut sandbox = Sandbox::new();
    let (ended, stdout, stderr) = sandbox.run(&["echo", "hello"]);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("hello\n", ""));
    assert_eq!((ended.cause, ended.status), (Cause::Exited, Some(0)));
}

#[test]
fn its_own_end_is_told_as_it_was() {
    let mut sandbox = Sandbox::new();
    let (ended, ..) = sandbox.run(&["sh", "-c", "exit 7"]);
    assert_eq!((ended.cause, ended.status), (Cause::Exited, Some(7 * EXIT)));
    let (ended, ..) = sandbox.run(&["sh", "-c", "ulimit -c 0; kill -SEGV $$"]);
    assert_eq!((ended.cause, ended.status), (Cause::Exited, Some(11)));
    let (ended, ..) = sandbox.run(&["sh", "-c", "kill -KILL $$"]);
    assert_eq!((ended.cause, ended.status), (Cause::Exited, Some(9)));
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    let mut sandbox = Sandbox::new();
    let (ended, _, stderr) = sandbox.run(&["no-such-program"]);
    assert_eq!(ended.status, Some(127 * EXIT));
    assert_eq!(
        stderr,
        "kiln: exec `no-such-program`: No such file or directory\n"
    );
    let (ended, _, stderr) = sandbox.run(&["/usr/bin"]);
    assert_eq!(ended.status, Some(126 * EXIT));
    assert_eq!(stderr, "kiln: exec `/usr/bin`: Permission denied\n");
}

#[test]
fn the_wall_clock_ends_a_job() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    waiting.stage = None;
    let streams = sandbox.start(&["sleep", "60"], SECOND / 3, 10 * SECOND);
    let ended = sandbox.ended();
    assert_eq!((ended.cause, ended.status), (Cause::Wall, None));
    assert!((SECOND / 3..SECOND).contains(&ended.wall_ns), "{ended:?}");
    assert_eq!(read(streams.stdout), "");
    sandbox.finish(&waiting);
}

#[test]
fn cpu_time_ends_a_job() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    waiting.stage = None;
    let limit = SECOND / 5;
    let streams = sandbox.start(&["sh", "-c", "while :; do :; done"], 30 * SECOND, limit);
    let ended = sandbox.ended();
    assert_eq!((ended.cause, ended.status), (Cause::Cpu, None));
    assert!(ended.wall_ns >= limit, "{ended:?}");
    let usage = format!("/sys/fs/cgroup/cpuacct/{}/cpuacct.usage", waiting.job);
    let used: u64 = std::fs::read_to_string(usage)
        .expect("the usage")
        .trim()
        .parse()
        .expect("a number");
    assert!((limit..limit * 3 / 2).contains(&used), "{used} ns");
    drop(streams);
    sandbox.finish(&waiting);
}

#[test]
fn want_of_memory_ends_a_job() {
    let mut sandbox = Sandbox::new();
    let (ended, ..) = sandbox.run(&["tail", "/dev/zero"]);
    assert_eq!(ended.cause, Cause::Memory);
    // A child that is killed for memory ends the job as well.
    let script = "tail /dev/zero; sleep 60";
    let (ended, ..) = sandbox.run(&["sh", "-c", script]);
    assert_eq!((ended.cause, ended.status), (Cause::Memory, None));
    assert!(ended.wall_ns < 9 * SECOND);
}

#[test]
fn the_end_of_the_main_process_is_the_end_of_all() {
    let mut sandbox = Sandbox::new();
    let start = Instant::now();
    let (ended, stdout, _) = sandbox.run(&["sh", "-c", "sleep 60 & setsid sleep 61 & echo done"]);
    assert_eq!((ended.cause, ended.status), (Cause::Exited, Some(0)));
    assert_eq!(stdout, "done\n");
    assert!(start.elapsed() < Duration::from_secs(5));
}

fn call(number: u32, times: u32) -> Vec<String> {
    let script = format!(
        "for (1..{times}) {{ $r = syscall({number}, 0, 0, 0, 0, 0); $e = $! + 0 }} print \"$r $e\""
    );
    ["perl", "-e", &script].map(str::to_owned).to_vec()
}

#[test]
fn a_noted_call_is_refused_and_told() {
    let mut sandbox = Sandbox::new();
    let argv = call(NOTED, 3);
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (ended, stdout, _) = sandbox.run(&argv);
    assert_eq!((ended.cause, ended.status), (Cause::Exited, Some(0)));
    assert_eq!(stdout, "-1 1", "EPERM");
    assert_eq!((ended.noted_total, ended.fatal), (3, None));
    assert_eq!(ended.noted[..2], [Some(NOTED), None]);
}

#[test]
fn a_fatal_call_and_too_many_refused_ones_end_a_job() {
    let mut sandbox = Sandbox::new();
    for (number, times, total) in [(FATAL, 1, 1), (NOTED, 100, 65)] {
        let argv = call(number, times);
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (ended, stdout, _) = sandbox.run(&argv);
        assert_eq!((ended.cause, ended.status), (Cause::Syscall, None));
        assert_eq!((ended.fatal, ended.noted_total), (Some(number), total));
        assert_eq!(stdout, "");
    }
}

#[test]
fn the_worker_may_cancel_before_and_after_the_start() {
    let mut sandbox = Sandbox::new();
    for started in [false, true] {
        let mut waiting = sandbox.prepare();
        waiting.stage = None;
        let streams = started.then(|| sandbox.start(&["sleep", "60"], 30 * SECOND, 30 * SECOND));
        let kill = FromWorker::Kill {
            generation: sandbox.generation,
            cause: Cause::Cancelled,
        };
        sandbox.say(kill, &[]);
        let ended = sandbox.ended();
        assert_eq!((ended.cause, ended.status), (Cause::Cancelled, None));
        // One that comes too late does no harm.
        sandbox.say(kill, &[]);
        sandbox.finish(&waiting);
        drop(streams);
    }
    assert_eq!(sandbox.run(&["true"]).0.cause, Cause::Exited);
}

#[test]
fn the_end_of_the_workers_socket_ends_everything() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    waiting.stage = None;
    let streams = sandbox.start(&["sleep", "60"], 30 * SECOND, 30 * SECOND);
    sandbox.worker = None;
    assert!(sandbox.process.wait().expect("wait").success());
    assert_eq!(read(streams.stdout), "", "nobody holds the output any more");
}

#[test]
fn a_message_out_of_its_phase_ends_the_sandbox() {
    let start = |generation| FromWorker::Start {
        generation,
        wall_ns: 1,
        cpu_ns: 1,
        cpus_milli: 1,
        affinity: 0,
        egress: false,
    };
    let null: OwnedFd = std::fs::File::open("/dev/null").expect("open").into();
    let four = [&null, &null, &null, &null];
    let play: [(FromWorker, &[&OwnedFd]); 4] = [
        (start(2), &four),
        (start(1), &four[..3]),
        (FromWorker::Finish { generation: 1 }, &[]),
        (FromWorker::Collect { generation: 1 }, &four[..1]),
    ];
    for (message, fds) in play {
        let mut sandbox = Sandbox::new();
        let waiting = sandbox.prepare();
        sandbox.say(message, fds);
        let code = sandbox.process.wait().expect("wait").code();
        assert_eq!(code, Some(2), "{message:?}");
        drop(waiting);
    }
}

#[test]
fn a_waiter_that_dies_before_the_start_is_broken() {
    let mut sandbox = Sandbox::new();
    let waiting = sandbox.prepare();
    let waiter = sandbox.waiter();
    harness::kill(waiter);
    let ended = sandbox.ended();
    assert_eq!((ended.cause, ended.status), (Cause::Broken, None));
    sandbox.finish(&waiting);
    assert_eq!(sandbox.run(&["true"]).0.cause, Cause::Exited);
}

#[test]
fn a_message_of_the_wardens_out_of_its_phase_ends_the_sandbox() {
    let null: OwnedFd = std::fs::File::open("/dev/null").expect("open").into();
    let resize = FromWarden::Resize {
        disk_bytes: 1 << 20,
        inodes: 100,
    };
    let prepare = |generation, tasks| {
        FromWarden::Prepare(Prepare {
            generation,
            placement: Placement::V1 { tasks },
            job_id: 2000,
            owner_id: 2001,
            disk_bytes: 1 << 20,
            inodes: 100,
            open_files: 100,
            open_files_max: 100,
            affinity: 1,
            network_kept: false,
        })
    };
    let whole = |message: FromWarden| wire::to_bytes(&message.encode()).to_vec();
    let play = [
        ("no cell to resize", whole(resize), 0),
        ("generation 0", whole(prepare(0, 1)), 9),
        ("too few descriptors", whole(prepare(1, 4)), 11),
        ("too many descriptors", whole(prepare(1, 4)), 13),
        ("a second Init", whole(FromWarden::Init), 3),
        ("cut", whole(resize)[1..].to_vec(), 0),
        ("too long", [whole(resize), vec![0]].concat(), 0),
    ];
    for (what, bytes, count) in play {
        let mut sandbox = Sandbox::new();
        let fds = vec![null.as_fd(); count];
        sys::send(&sandbox.warden, &bytes, &fds).expect("send");
        let code = sandbox.process.wait().expect("wait").code();
        assert_eq!(code, Some(2), "{what}");
    }
}

#[test]
fn a_step_that_fails_is_told_with_its_name() {
    let mut sandbox = Sandbox::new();
    // Only root's own limit may be raised, and the keeper is not root outside.
    sandbox.open_files = 1 << 40;
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sandbox.prepare()));
    let told = failed.err().expect("a failure");
    let told = told.downcast_ref::<String>().expect("a message");
    assert_eq!(
        told,
        "failed to set a resource limit: Operation not permitted (os error 1)"
    );
    assert_eq!(sandbox.process.wait().expect("wait").code(), Some(3));
}

#[test]
fn want_of_memory_while_staging_ends_the_cell_before_its_start() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare_with(4 << 20, 64 << 20);
    let socket = waiting.stage.take().expect("a staging socket");
    let input = Input {
        read_only: false,
        executable: false,
        path: b"large".to_vec(),
    };
    let content = sys::memfd(&vec![1; 16 << 20]);
    sys::send(&socket, &input.encode(), &[content.as_fd()]).expect("send an input");
    assert!(sys::receive(&socket).0.is_empty(), "the stager is gone");
    let ended = sandbox.ended();
    assert_eq!(
        (ended.cause, ended.status, ended.wall_ns),
        (Cause::Memory, None, 0)
    );
    sandbox.finish(&waiting);
    assert_eq!(sandbox.run(&["true"]).0.cause, Cause::Exited);
}

#[test]
fn a_fork_bomb_dies_as_one() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    waiting.stage = None;
    let bomb = "sub bomb { fork; bomb() } $SIG{TERM} = 'IGNORE'; bomb()";
    let streams = sandbox.start(&["perl", "-e", bomb], SECOND / 2, 30 * SECOND);
    let ended = sandbox.ended();
    assert_eq!(ended.cause, Cause::Wall);
    let procs = format!("{}/cgroup.procs", harness::group("pids", &waiting.job));
    assert_eq!(std::fs::read_to_string(procs).expect("procs"), "");
    drop(streams);
    sandbox.finish(&waiting);
    assert_eq!(sandbox.run(&["true"]).0.cause, Cause::Exited);
}
