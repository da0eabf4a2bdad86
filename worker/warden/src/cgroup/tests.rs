//! Do the groups hold what they should? On the machine's own kernel, as root, in a group of the
//! test's own; these tests fail without root.

mod ground;

use super::layout::Controller::{Cpu, Memory, Pids};
use super::*;
use crate::counters::Counter;
use ground::{Ground, MIB, counter, go, limits, place, tasks, until};
use kiln_keeper::wire::Placement;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

#[test]
fn limits_are_set_raised_lowered_and_proved() {
    let ground = Ground::new();
    let sandbox = ground.sandbox();
    let small = limits(64 * MIB + 1, 5, 50);
    let leaf = sandbox.leaf(1, &small).expect("a leaf");
    for next in [
        limits(512 * MIB, 64, 1000),
        limits(32 * MIB, 1, 2500),
        small,
    ] {
        leaf.set(&next).expect("set");
        leaf.prove(&next).expect("prove");
    }
    leaf.set(&small).expect("nothing differs");
    let wrong = [
        limits(64 * MIB + 4096, 5, 50),
        limits(64 * MIB, 6, 50),
        limits(64 * MIB, 5, 51),
    ];
    for wrong in wrong {
        let held = leaf.prove(&wrong);
        assert!(matches!(held, Err(CgroupError::Differs { .. })), "{held:?}");
    }
    leaf.remove().expect("remove");
    leaf.remove().expect("absent is fine");
    let gone = leaf.prove(&small);
    assert!(matches!(gone, Err(CgroupError::Read { .. })), "{gone:?}");
}

/// Each file changed behind the leaf's back must be caught.
#[test]
fn a_limit_that_was_changed_is_caught() {
    let ground = Ground::new();
    let leaf = ground
        .sandbox()
        .leaf(1, &limits(64 * MIB, 5, 500))
        .expect("a leaf");
    let changes: &[(_, &str, &str)] = match ground.hierarchy.version() {
        CgroupVersion::V1 => &[
            (Memory, "memory.swappiness", "60"),
            (Memory, "memory.memsw.limit_in_bytes", "134217728"),
            (Memory, "memory.limit_in_bytes", "33554432"),
            (Memory, "memory.kmem.tcp.limit_in_bytes", "134217728"),
            (Memory, "memory.oom_control", "1"),
            (Pids, "pids.max", "max"),
            (Cpu, "cpu.cfs_quota_us", "-1"),
            (Cpu, "cpu.cfs_period_us", "200000"),
        ],
        CgroupVersion::V2 => &[
            (Memory, "memory.swap.max", "max"),
            (Memory, "memory.oom.group", "0"),
            (Memory, "memory.max", "max"),
            (Pids, "pids.max", "max"),
            (Cpu, "cpu.max", "max"),
        ],
    };
    let held = limits(64 * MIB, 5, 500);
    for (controller, name, value) in changes {
        let file = leaf.tree.file(*controller, &leaf.path, name);
        let before = fs::read_to_string(&file).expect("readable");
        fs::write(&file, value).expect("writable");
        match leaf.prove(&held) {
            Err(CgroupError::Differs { file: told, .. }) => assert_eq!(told, file),
            other => panic!("{name}: {other:?}"),
        }
        let before = before.lines().next().expect("a line");
        fs::write(&file, before.trim_start_matches("oom_kill_disable ")).expect("writable");
        leaf.prove(&held).expect("as before");
    }
}

#[test]
fn the_pids_limit_bites_and_is_counted() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let leaf = sandbox.leaf(1, &limits(64 * MIB, 2, 1000)).expect("a leaf");
    let (pid, child) = ground.shell("sleep 60 & sleep 60 & sleep 60 & wait");
    place(&leaf.tree, &leaf.path, pid);
    go(child);
    let events = counter(&leaf, Counter::PidsEvents);
    until("a fork fails", || {
        Counter::PidsEvents.keyed(&events, "max").expect("readable") > 0
    });
    assert!(leaf.processes().expect("listed").len() <= 2);
}

#[test]
fn the_memory_limit_bites_and_the_keeper_is_told() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let leaf = sandbox.leaf(1, &limits(16 * MIB, 8, 1000)).expect("a leaf");
    let fds = leaf.keeper_fds().expect("the keeper's descriptors");
    // One long line: tail must hold it all.
    let (pid, child) = ground.shell("exec tail -n 1 /dev/zero");
    place(&leaf.tree, &leaf.path, pid);
    go(child);
    let status = child.wait().expect("it ends");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
    let kills = counter(&leaf, Counter::OomKill);
    assert!(
        Counter::OomKill
            .keyed(&kills, "oom_kill")
            .expect("readable")
            >= 1
    );
    let peak = counter(&leaf, Counter::MemoryPeak);
    let peak = Counter::MemoryPeak.number(&peak).expect("readable");
    assert!((8 * MIB..=16 * MIB).contains(&peak), "{peak}");
    if ground.hierarchy.version() == CgroupVersion::V1 {
        let [.., event, oom_control] = <[OwnedFd; 7]>::try_from(fds).expect("seven");
        let mut word = [0; 8];
        File::from(event)
            .read_exact(&mut word)
            .expect("the eventfd fired");
        assert!(u64::from_ne_bytes(word) >= 1);
        let oom_control = File::from(oom_control);
        assert!(
            Counter::OomKill
                .keyed(&oom_control, "oom_kill")
                .expect("readable")
                >= 1
        );
    }
}

#[test]
fn the_cpu_quota_bites_and_cpu_time_is_counted() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let leaf = sandbox.leaf(1, &limits(64 * MIB, 8, 100)).expect("a leaf");
    let (pid, child) = ground.shell("while :; do :; done");
    place(&leaf.tree, &leaf.path, pid);
    go(child);
    #[expect(
        clippy::disallowed_methods,
        reason = "what is used in a second is the question"
    )]
    std::thread::sleep(Duration::from_secs(1));
    let used = match ground.hierarchy.version() {
        CgroupVersion::V1 => {
            let user = Counter::CpuUser.number(&counter(&leaf, Counter::CpuUser));
            let system = Counter::CpuSystem.number(&counter(&leaf, Counter::CpuSystem));
            user.expect("readable") + system.expect("readable")
        }
        CgroupVersion::V2 => {
            let stat = counter(&leaf, Counter::CpuStat);
            let part = |key| Counter::CpuStat.keyed(&stat, key).expect("readable");
            (part("user_usec") + part("system_usec")) * 1000
        }
    };
    assert!(
        (10_000_000..=250_000_000).contains(&used),
        "{used} ns of 1 s at a tenth"
    );
}

#[test]
fn every_counter_of_a_fresh_leaf_says_nothing_happened() {
    let ground = Ground::new();
    let leaf = ground
        .sandbox()
        .leaf(1, &limits(64 * MIB, 8, 1000))
        .expect("a leaf");
    for (counter, fd) in leaf.counters().expect("counters") {
        let file = File::from(fd);
        match counter {
            Counter::MemoryPeak | Counter::CpuUser | Counter::CpuSystem | Counter::PidsPeak => {
                assert_eq!(counter.number(&file).expect("a number"), 0, "{counter:?}");
            }
            Counter::OomKill => assert_eq!(counter.keyed(&file, "oom_kill").expect("a line"), 0),
            Counter::PidsEvents => assert_eq!(counter.keyed(&file, "max").expect("a line"), 0),
            Counter::CpuStat => {
                assert_eq!(counter.keyed(&file, "user_usec").expect("a line"), 0);
            }
            Counter::Processes => assert!(counter.is_empty(&file).expect("readable")),
        }
        assert!((&file).write_all(b"1").is_err(), "{counter:?} is read-only");
    }
}

#[test]
fn the_keepers_descriptors_come_in_the_order_of_the_wire() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let leaf = sandbox.leaf(1, &limits(64 * MIB, 8, 1000)).expect("a leaf");
    let fds = leaf.keeper_fds().expect("descriptors");
    let (pid, _) = ground.shell("sleep 60");
    let CgroupVersion::V1 = ground.hierarchy.version() else {
        assert_eq!((fds.len(), leaf.placement()), (2, Placement::V2));
        return;
    };
    assert_eq!(fds.len(), tasks(&leaf) + 3);
    let mut files = fds.into_iter().map(File::from);
    for mut file in files.by_ref().take(tasks(&leaf)) {
        write!(file, "{pid}").expect("a tasks file takes a process");
    }
    for dir in leaf.tree.dirs(&leaf.path) {
        assert_eq!(knob::numbers(&dir.join("tasks")).expect("listed"), [pid]);
    }
    let usage = files.next().expect("cpuacct.usage");
    Counter::CpuUser.number(&usage).expect("a number");
}

#[test]
fn a_leaf_with_a_process_is_busy() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let leaf = sandbox.leaf(1, &limits(64 * MIB, 8, 1000)).expect("a leaf");
    let (pid, _) = ground.shell("sleep 60");
    place(&leaf.tree, &leaf.path, pid);
    let busy = leaf.remove();
    assert!(
        matches!(busy, Err(CgroupError::Survivors { .. })),
        "{busy:?}"
    );
    let busy = sandbox.remove();
    assert!(matches!(busy, Err(CgroupError::Busy { .. })), "{busy:?}");
}

#[test]
fn a_killed_sandbox_can_be_removed() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let leaf = sandbox.leaf(7, &limits(64 * MIB, 8, 1000)).expect("a leaf");
    let (pid, child) = ground.shell("sleep 60 & sleep 60 & wait");
    place(&leaf.tree, &leaf.path, pid);
    go(child);
    until("it has children", || {
        leaf.processes().expect("listed").len() == 3
    });
    sandbox.kill().expect("kill");
    let child = ground.children.last_mut().expect("the shell");
    let status = child.wait().expect("it ends");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
    until("all are dead", || {
        leaf.processes().expect("listed").is_empty()
    });
    sandbox.remove().expect("remove");
    let instance = ground.instance.take().expect("still there");
    instance.remove().expect("remove");
    assert!(ground.groups().iter().all(|dir| !dir.exists()));
}

#[test]
fn a_sweep_kills_and_removes_whatever_is_left() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let leaf = sandbox.leaf(1, &limits(64 * MIB, 8, 1000)).expect("a leaf");
    for path in [
        &leaf.path,
        &Path::new(&sandbox.keeper_path())
            .strip_prefix("/")
            .expect("absolute")
            .to_owned(),
    ] {
        let (pid, child) = ground.shell("sleep 60 & sleep 60 & wait");
        place(&leaf.tree, path, pid);
        go(child);
    }
    until("they have children", || {
        leaf.processes().expect("listed").len() == 3
    });
    ground
        .hierarchy
        .sweep(&ground.parent, "one")
        .expect("sweep");
    assert!(ground.groups().iter().all(|dir| !dir.exists()));
    for child in &mut ground.children {
        child.wait().expect("it was killed");
    }
    ground
        .hierarchy
        .sweep(&ground.parent, "one")
        .expect("absent is fine");
    ground
        .hierarchy
        .sweep(&ground.parent, "never")
        .expect("absent is fine");
}

#[test]
fn the_keeper_is_proved_to_be_alone() {
    let mut ground = Ground::new();
    let sandbox = ground.sandbox();
    let path = sandbox.keeper_path();
    let name = match ground.hierarchy.version() {
        CgroupVersion::V1 => "one/sbx-1-keeper",
        CgroupVersion::V2 => "one/sbx-1/keeper",
    };
    assert_eq!(path, Path::new(&ground.parent).join(name));
    let relative = path.strip_prefix("/").expect("absolute").to_owned();
    let tree = Arc::clone(&ground.hierarchy.tree);
    let (keeper, _) = ground.shell("sleep 60");
    let differs = |held| assert!(matches!(held, Err(CgroupError::Differs { .. })), "{held:?}");
    differs(sandbox.prove_keeper(keeper));
    place(&tree, &relative, keeper);
    if let Some(devices) = sandbox.keeper_devices() {
        crate::devices::limit(&devices).expect("limited");
        differs(sandbox.prove_keeper(keeper));
        std::fs::write(devices.join("tasks"), keeper.to_string()).expect("placed");
    }
    sandbox.prove_keeper(keeper).expect("alone");
    differs(sandbox.prove_keeper(keeper + 1));
    let (other, _) = ground.shell("sleep 60");
    place(&tree, &relative, other);
    differs(sandbox.prove_keeper(keeper));
}

#[test]
fn names_cannot_leave_the_parent() {
    for (parent, name) in [
        ("/kiln", ".."),
        ("/kiln/../x", "a"),
        ("/kiln", "a/b"),
        ("/kiln", ""),
    ] {
        let refused = below(parent, name);
        assert!(
            matches!(refused, Err(CgroupError::Name { .. })),
            "{parent} {name}"
        );
    }
    let ground = Ground::new();
    let again = ground.hierarchy.instance(&ground.parent, "one");
    assert!(
        matches!(again, Err(CgroupError::Make { .. })),
        "an instance is made once"
    );
}
