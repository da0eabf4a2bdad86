//! What is left, or changed, is found at the reset, and the sandbox is not used again.

use crate::sandbox::Sandbox;
use crate::worker::Worker;
use kiln_warden::wire::{Event, ResidueKind};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Runs a job, lets `spoil` do its worst, resets: the kinds of residue that are found.
fn found(spoil: impl FnOnce(&Worker, &Sandbox)) -> Vec<ResidueKind> {
    let worker = Worker::start();
    let mut sandbox = worker.create();
    sandbox.run(&["/bin/true"]);
    spoil(&worker, &sandbox);
    worker.ask_reset(&mut sandbox);
    let kinds = match worker.event() {
        Event::Dirty { residue, .. } => residue.iter().map(|r| r.kind).collect(),
        other => panic!("not dirty: {other:?}"),
    };
    worker.retired(sandbox.id);
    kinds
}

#[test]
fn a_changed_limit_of_the_keeper_is_found() {
    let kinds = found(|worker, sandbox| {
        let keeper = worker.keeper(sandbox);
        let uid = std::fs::metadata(format!("/proc/{keeper}/status")).expect("stat");
        let uid = std::os::unix::fs::MetadataExt::uid(&uid);
        // As the keeper's user: root may lack what it takes to change another's.
        let status = Command::new("setpriv")
            .args([format!("--reuid={uid}"), format!("--regid={uid}")])
            .args(["--clear-groups", "prlimit", "--nofile=77:77"])
            .arg(format!("--pid={keeper}"))
            .status()
            .expect("prlimit");
        assert!(status.success());
    });
    assert_eq!(kinds, [ResidueKind::Limit]);
}

#[test]
fn a_changed_limit_of_the_keepers_group_is_found() {
    let kinds = found(|worker, sandbox| {
        let name = worker.group(sandbox, "keeper");
        let group = worker
            .groups()
            .into_iter()
            .map(|group| group.join(&name).join("pids.max"))
            .find(|file| file.exists())
            .expect("a limit");
        fs::write(group, "17").expect("write");
    });
    assert_eq!(kinds, [ResidueKind::Cgroup]);
}

#[test]
fn a_process_in_the_jobs_group_is_found_and_ends_with_the_warden() {
    let mut child = Command::new("/bin/sleep")
        .arg("100")
        .spawn()
        .expect("spawn");
    let mut worker = Worker::start();
    let mut sandbox = worker.create();
    sandbox.run(&["/bin/true"]);
    let leaf = worker.group(&sandbox, &format!("job-{}", sandbox.generation()));
    for group in worker.groups() {
        let file = group.join(&leaf).join("cgroup.procs");
        if file.exists() {
            fs::write(file, child.id().to_string()).expect("write");
        }
    }
    worker.ask_reset(&mut sandbox);
    match worker.event() {
        // cgroup v1 does not even list it in the pool's pid namespace; the group cannot go.
        Event::Dirty { residue, .. } => assert!(
            matches!(residue[0].kind, ResidueKind::Process | ResidueKind::Cgroup),
            "{residue:?}"
        ),
        other => panic!("not dirty: {other:?}"),
    }
    // It is not of the pool, so the warden cannot kill it, and says so; the monitor can.
    match worker.event() {
        Event::Retired { failed, .. } => {
            let failed = failed.expect("a process is left");
            assert!(failed.contains("processes are left"), "{failed}");
        }
        other => panic!("not retired: {other:?}"),
    }
    worker.end();
    child.wait().expect("wait");
    assert_eq!(worker.left(), Vec::<String>::new());
}

/// The host's uid of the job that waits in a sandbox.
fn job_uid(worker: &Worker, sandbox: &Sandbox) -> String {
    let leaf = worker.group(sandbox, &format!("job-{}", sandbox.generation()));
    let group = worker.groups().remove(0);
    let members = fs::read_to_string(group.join(leaf).join("cgroup.procs")).expect("members");
    let status = members
        .lines()
        .map(|pid| fs::read_to_string(format!("/proc/{pid}/status")).expect("status"))
        .find(|status| status.starts_with("Name:\twaiter"))
        .expect("a waiter");
    let uids = status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .expect("uids");
    uids.split_whitespace().next().expect("a uid").to_owned()
}

#[test]
fn a_key_of_a_jobs_user_is_found() {
    let worker = Worker::start();
    let mut sandbox = worker.create();
    let uid = job_uid(&worker, &sandbox);
    sandbox.run(&["/bin/true"]);
    // The process's own keyring (-2): the user's (-4) would outlive this test, and a job of a later
    // one that draws the same uid would be told of it.
    let mut holder = Command::new("python3")
        .arg("-c")
        .arg(format!(
            "import ctypes, os, sys; os.setgroups([]); os.setresuid({uid}, {uid}, {uid}); \
             key = ctypes.CDLL(None).syscall(248, b'user', b'kiln-test', b'x', 1, -2); \
             print(key, flush=True); sys.stdin.read()"
        ))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("spawn");
    let mut line = String::new();
    BufReader::new(holder.stdout.take().expect("stdout"))
        .read_line(&mut line)
        .expect("read");
    assert!(line.trim().parse::<i64>().expect("a key") > 0, "{line}");
    worker.ask_reset(&mut sandbox);
    let event = worker.event();
    drop(holder.stdin.take());
    holder.wait().expect("wait");
    match event {
        Event::Dirty { residue, .. } => assert_eq!(residue[0].kind, ResidueKind::Key),
        other => panic!("not dirty: {other:?}"),
    }
    worker.retired(sandbox.id);
}
