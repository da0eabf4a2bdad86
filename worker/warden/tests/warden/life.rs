//! A sandbox is made, used, reset and retired.

use crate::worker::Worker;
use kiln_keeper::wire::Cause;
use kiln_warden::wire::{CellLimits, Event, Request, SandboxId};

#[test]
fn a_job_runs_and_its_sandbox_is_used_again() {
    let worker = Worker::start();
    let mut sandbox = worker.create();
    for turn in 1..=20 {
        assert_eq!(sandbox.generation(), turn);
        let scratch = &sandbox.cell.as_ref().expect("a cell").scratch;
        rustix::fs::statat(scratch, "job", rustix::fs::AtFlags::empty()).expect("a scratch");
        let ran = sandbox.run(&["/bin/echo", "hello"]);
        assert_eq!(ran.stdout, "hello\n", "{}", ran.stderr);
        assert_eq!(ran.ended.cause, Cause::Exited);
        assert_eq!(ran.ended.status, Some(0));
        worker.reset(&mut sandbox);
    }
    worker.retire(sandbox);
}

#[test]
fn nothing_is_left_of_a_retired_sandbox() {
    let worker = Worker::start();
    let sandbox = worker.create();
    let name = sandbox.id.to_string();
    let groups = worker.groups();
    let of_it = || -> Vec<_> {
        groups
            .iter()
            .flat_map(|group| std::fs::read_dir(group).expect("a group"))
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.to_string_lossy().contains(&name))
            .collect()
    };
    assert!(!of_it().is_empty());
    worker.retire(sandbox);
    assert_eq!(of_it(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_devices_are_closed_as_a_whole() {
    let worker = Worker::start();
    let mut sandbox = worker.create();
    let ran = sandbox.run(&["/bin/cat", "/proc/self/mountinfo"]);
    let line = ran.stdout.lines().find(|line| line.contains(" /dev "));
    let (_, kind) = line.and_then(|line| line.split_once(" - ")).expect("/dev");
    // Not this mount alone, which who owns the mount namespace could change: the file system.
    assert!(kind.starts_with("tmpfs tmpfs ro,"), "{kind}");
}

#[test]
fn fifty_sandboxes_live_side_by_side() {
    let worker = Worker::start();
    let mut sandboxes: Vec<_> = (0..50).map(|_| worker.create()).collect();
    for sandbox in &mut sandboxes {
        let ran = sandbox.run(&["/bin/echo", "here"]);
        assert_eq!(ran.stdout, "here\n", "{}", ran.stderr);
    }
    for sandbox in &mut sandboxes {
        worker.reset(sandbox);
    }
}

#[test]
fn an_unknown_profile_is_the_requests_fault() {
    let worker = Worker::start();
    worker.ask_create("no-such-profile");
    match worker.event() {
        Event::CreateFailed {
            platform, message, ..
        } => {
            assert!(!platform);
            assert!(message.contains("no-such-profile"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_out_of_turn_ends_the_sandbox_and_not_the_warden() {
    let worker = Worker::start();
    let sandbox = worker.create();
    worker.send(&Request::Reset {
        sandbox: sandbox.id,
        generation: 9,
    });
    assert!(matches!(worker.event(), Event::Broken { .. }));
    worker.retired(sandbox.id);

    let stranger = SandboxId(4000);
    worker.send(&Request::Reset {
        sandbox: stranger,
        generation: 1,
    });
    assert!(matches!(worker.event(), Event::Broken { .. }));
    let limits = CellLimits {
        memory_bytes: 1,
        pids: 1,
        cpus_milli: 1,
        disk_bytes: 1,
        inodes: 1,
        open_files: 1,
    };
    worker.send(&Request::Limit {
        sandbox: stranger,
        generation: 1,
        limits,
    });
    assert!(matches!(worker.event(), Event::Broken { .. }));
    worker.send(&Request::Retire { sandbox: stranger });
    assert!(matches!(
        worker.event(),
        Event::Retired {
            failed: Some(_),
            ..
        }
    ));
    worker.retire(worker.create());
}
