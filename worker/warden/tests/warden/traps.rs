//! What libcontainer would do wrong if it were let: each trap has its test.

use crate::worker::Worker;
use kiln_warden::wire::Event;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;

fn keeper_file(worker: &Worker, sandbox: &crate::sandbox::Sandbox, name: &str) -> String {
    let pid = worker.keeper(sandbox);
    fs::read_to_string(format!("/proc/{pid}/{name}")).expect("read")
}

fn status(text: &str, name: &str) -> String {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .expect("a line")
        .trim()
        .to_owned()
}

#[test]
fn a_keeper_inherits_no_descriptor_and_no_environment() {
    let worker = Worker::start_dirty();
    let sandbox = worker.create();
    let pid = worker.keeper(&sandbox);
    assert_eq!(fs::read(format!("/proc/{pid}/environ")).expect("read"), b"");
    let seen = targets(pid);
    assert!(!seen.is_empty());
    assert!(!seen.iter().any(|at| at.contains("/etc/")), "{seen:?}");
    let seen = targets(worker.warden());
    assert!(!seen.is_empty());
    assert!(!seen.iter().any(|at| at.starts_with("/etc/")), "{seen:?}");
}

/// What the descriptors of a process lead to, but for those it closes meanwhile.
fn targets(pid: impl std::fmt::Display) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("fds");
    entries
        .filter_map(|entry| fs::read_link(entry.expect("fd").path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_keeper_is_filtered_though_its_spec_names_no_filter() {
    let worker = Worker::start();
    let sandbox = worker.create();
    let text = keeper_file(&worker, &sandbox, "status");
    assert_eq!(status(&text, "Seccomp"), "2");
    assert_eq!(status(&text, "NoNewPrivs"), "1");
    assert_eq!(status(&text, "CapEff"), status(&text, "CapBnd"));
    assert_eq!(status(&text, "CapEff"), "00000000002011c5");
}

#[test]
fn a_keeper_may_not_use_devices_that_its_sandbox_does_not_show() {
    let worker = Worker::start();
    let sandbox = worker.create();
    let groups = keeper_file(&worker, &sandbox, "cgroup");
    let Some(path) = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        (parts.next() == Some("devices")).then(|| parts.next())?
    }) else {
        // On cgroup v2 there is no such list: the sandbox has the nodes it shows, and can make
        // none.
        return;
    };
    let file = format!("/sys/fs/cgroup/devices{path}/devices.list");
    let mut list: Vec<String> = fs::read_to_string(file)
        .expect("read")
        .lines()
        .map(str::to_owned)
        .collect();
    list.sort();
    assert_eq!(
        list,
        [
            "c 1:3 rw", "c 1:5 rw", "c 1:7 rw", "c 1:8 rw", "c 1:9 rw", "c 5:0 rw"
        ]
    );
}

#[test]
fn the_wardens_mounts_do_not_grow() {
    let worker = Worker::start();
    let mounts = || {
        let file = format!("/proc/{}/mountinfo", worker.warden());
        fs::read_to_string(file).expect("mounts").lines().count()
    };
    let first = worker.create();
    let before = mounts();
    let others: Vec<_> = (0..5).map(|_| worker.create()).collect();
    assert_eq!(mounts(), before);
    drop((first, others));
}

#[test]
fn the_job_sees_its_own_small_world() {
    let worker = Worker::start();
    let mut sandbox = worker.create();
    let ran = sandbox.sh(
        "hostname; ls -A /dev; touch /dev/x /x /usr/x 2>&1 | grep -c Read-only; \
         id -u; cat /proc/self/cgroup | cut -d: -f3 | sort -u; ls /sys 2>/dev/null | wc -l; \
         echo x > /dev/null && echo writable; head -c 4 /dev/zero | wc -c",
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "kiln", "{} {}", ran.stdout, ran.stderr);
    assert!(lines.contains(&"null") && lines.contains(&"urandom"));
    assert!(!lines.contains(&"console"));
    assert!(lines.contains(&"3"), "{}", ran.stdout);
    assert!(lines.contains(&"1000"));
    assert!(lines.contains(&"writable"));
    assert_eq!(lines.last(), Some(&"4"));
}

#[test]
fn no_cgroup_of_the_host_is_seen_inside() {
    assert!(Path::new("/sys/fs/cgroup").exists());
    let worker = Worker::start();
    let mut sandbox = worker.create();
    let ran =
        sandbox.sh("grep -c ' cgroup2* ' /proc/self/mounts; test -e /sys/fs/cgroup || echo none");
    assert_eq!(ran.stdout, "0\nnone\n", "{}", ran.stderr);
}

#[test]
fn device_nodes_are_shared_with_nobody() {
    let worker = Worker::start();
    let mut seen = vec![std::os::linux::fs::MetadataExt::st_dev(
        &fs::metadata("/dev/null").expect("stat"),
    )];
    let mut live = Vec::new();
    for _ in 0..2 {
        let mut sandbox = worker.create();
        let ran = sandbox.sh("stat -c %d /dev/null; stat -c %t:%T /dev/null /dev/urandom");
        let (folder, kinds) = ran.stdout.split_once('\n').expect("lines");
        assert_eq!(kinds, "1:3\n1:9\n");
        let folder = folder.parse().expect("a number");
        assert!(!seen.contains(&folder), "{folder} of {seen:?}");
        seen.push(folder);
        // A number of a sandbox that is gone could be given again.
        live.push(sandbox);
    }
}

#[test]
fn without_root_the_worker_is_told_what_is_missing() {
    match Worker::refused(|command| command.uid(65_534)) {
        Event::Refused { message, remedy } => {
            assert!(message.contains("65534"), "{message}");
            assert!(remedy.contains("root"), "{remedy}");
        }
        other => panic!("{other:?}"),
    }
}
