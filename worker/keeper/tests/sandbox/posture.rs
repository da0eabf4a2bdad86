//! What a waiting process and a job may and see, and that a sandbox stays as it was.

use crate::filters;
use crate::harness::{self, SECOND, Sandbox, group, stage};
use crate::sys;
use kiln_keeper::calls;
use kiln_keeper::stage::Input;
use kiln_keeper::wire::{Cause, FromWarden, Placement, ToWarden};
use std::fs;
use std::os::fd::OwnedFd;

fn status(pid: u32) -> String {
    let raw = fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    raw.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_waiter_is_locked_before_it_is_announced() {
    let mut sandbox = Sandbox::new();
    let inode = |pid: u32, name: &str| {
        fs::read_link(format!("/proc/{pid}/ns/{name}")).expect("a namespace")
    };
    let network = inode(sandbox.keeper, "net");
    let waiting = sandbox.prepare();
    let waiter = sandbox.waiter();
    let text = status(waiter);
    let id = sandbox.uid_base + 2002;
    for line in [
        &format!("Uid: {id} {id} {id} {id}"),
        &format!("Gid: {id} {id} {id} {id}"),
        "Groups: NStgid",
        "Threads: 1",
        "SigBlk: 0000000000000000 SigIgn: 0000000000000000 SigCgt: 0000000000000000",
        "CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000",
        "CapBnd: 0000000000000000 CapAmb: 0000000000000000",
        "NoNewPrivs: 1 Seccomp: 2 Seccomp_filters: 2",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(harness::descriptors(waiter).len(), 3);
    let limits = fs::read_to_string(format!("/proc/{waiter}/limits")).expect("limits");
    let limits: Vec<String> = limits
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "Max open files 256 256 files",
        "Max core file size 1 1 bytes",
        "Max msgqueue size 819200 819200 bytes",
        "Max locked memory 8388608 8388608 bytes",
        "Max nice priority 0 0",
        "Max realtime priority 0 0",
        "Max address space unlimited unlimited bytes",
    ] {
        assert!(limits.iter().any(|has| has == line), "{line}: {limits:?}");
    }
    let procs = |controller: &str| {
        let path = format!("{}/cgroup.procs", group(controller, &waiting.job));
        let mut all: Vec<u32> = fs::read_to_string(path)
            .expect("procs")
            .lines()
            .map(|line| line.parse().expect("a number"))
            .collect();
        all.sort_unstable();
        all
    };
    let stager = sandbox.stager();
    let mut expected = vec![waiter, stager];
    expected.sort_unstable();
    for controller in ["memory", "pids", "cpu", "cpuacct"] {
        assert_eq!(procs(controller), expected);
    }
    let text = status(stager);
    for line in [
        "CapPrm: 000000000000000b CapEff: 000000000000000b CapBnd: 0000000000000000",
        "NoNewPrivs: 1 Seccomp: 2 Seccomp_filters: 2",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let init = status(sandbox.cell_init());
    assert!(init.contains("CapEff: 0000000000000000"), "{init}");
    for name in ["user", "pid", "mnt", "ipc", "net", "uts", "cgroup"] {
        let shared = inode(waiter, name) == inode(sandbox.keeper, name);
        assert_eq!(shared, name == "net", "{name}");
        assert_eq!(inode(waiter, name), inode(stager, name), "{name}");
    }
    assert_ne!(
        inode(waiter, "net"),
        network,
        "the keeper went into a new one first"
    );
}

#[test]
fn a_job_sees_its_cell_and_nothing_of_the_machine() {
    let mut sandbox = Sandbox::new();
    let script = r#"
        [ -e /proc/1 ] && echo "init is visible"
        echo "self $$ cpus $(nproc) $(grep -c ^cpu /proc/stat) $(grep -c ^processor /proc/cpuinfo)"
        echo "host $(hostname) files $(ulimit -n) core $(ulimit -c) mask $(umask) cwd $(pwd)"
        read a b c d e sid rest < /proc/self/stat; echo "session $sid"
        for f in keys key-users kallsyms interrupts diskstats vmstat locks swaps modules cmdline; do
            [ -e /proc/$f ] && [ -n "$(head -c 9 /proc/$f)" ] && echo "readable $f"; done
        for f in acpi buddyinfo bus cgroups cmdline cpuinfo diskstats fs interrupts iomem irq kallsyms \
            kcore key-users keys kmsg loadavg locks partitions pressure schedstat softirqs stat swaps \
            sysrq-trigger timer_list vmstat zoneinfo; do
            [ -e /proc/$f ] && ! grep -q " /proc/$f ro," /proc/self/mountinfo && echo "not masked $f"; done
        for f in kcore kmsg sysrq-trigger; do ( : < /proc/$f ) 2>/dev/null && echo "opens $f"; done
        grep -q " /proc/sys ro," /proc/self/mountinfo || echo "sys is not read-only"
        for d in acpi bus fs irq driver tty pressure scsi; do
            [ -n "$(ls -A /proc/$d 2>/dev/null)" ] && echo "not empty $d"; done
        for f in sys/kernel/hostname sys/net/ipv4/ip_forward sysrq-trigger stat; do
            ( : > /proc/$f ) 2>/dev/null && echo "writable $f"; done
        for d in / /usr /proc /dev /home; do touch $d/x 2>/dev/null && echo "writable $d"; done
        for d in /job /tmp /home/job /dev/shm; do touch $d/x || echo "not writable $d"; done
        grep -q MemTotal /proc/meminfo && cat /proc/loadavg
        grep -c : /proc/net/dev; echo "$(cat /proc/self/cgroup | cut -d: -f3 | sort -u)""#;
    let (ended, stdout, stderr) = sandbox.run(&["bash", "-c", script]);
    assert_eq!(ended.cause, Cause::Exited, "{stderr}");
    assert_eq!(
        stdout,
        "self 2 cpus 1 2 1\nhost kiln files 256 core 0 mask 0022 cwd /job\nsession 2\n\
         0.00 0.00 0.00 1/1 2\n1\n/\n",
        "{stderr}\n{stdout}"
    );
}

#[test]
fn two_hundred_cells_leave_the_keeper_as_it_was() {
    let mut sandbox = Sandbox::new();
    let look = |sandbox: &Sandbox| {
        let keeper = sandbox.keeper;
        let read = |name: &str| fs::read_to_string(format!("/proc/{keeper}/{name}")).expect("read");
        let children = read(&format!("task/{keeper}/children"));
        let status = status(keeper);
        let posture = status.split_once("Uid:").expect("a uid").1;
        let posture = posture.split("FDSize").next().map(str::to_owned);
        let caps = status.split_once("CapInh").expect("capabilities").1;
        let caps = caps.split("Speculation").next().map(str::to_owned);
        let maps = read("maps");
        let kept: String = maps
            .lines()
            .filter(|line| {
                let mode = line.split_whitespace().nth(1).expect("a mode");
                mode.contains('x') || mode.contains('s')
            })
            .collect();
        let look = [read("mountinfo"), read("limits"), children, kept];
        (sandbox.descriptors(), look, posture, caps)
    };
    let before = look(&sandbox);
    for generation in 0..200 {
        let mut waiting = sandbox.prepare();
        waiting.stage = None;
        let streams = sandbox.start(&["true"], 10 * SECOND, 10 * SECOND);
        assert_eq!(sandbox.ended().status, Some(0), "{generation}");
        let collected = (generation % 10 == 0).then(|| sandbox.collect());
        sandbox.finish(&waiting);
        drop((streams, collected));
    }
    harness::until(|| look(&sandbox) == before);
}

#[test]
fn a_cell_can_be_placed_by_clone_into_cgroup() {
    let mut sandbox = Sandbox::new();
    let top = format!(
        "/sys/fs/cgroup/unified/kiln-keeper-test-v2-{}",
        std::process::id()
    );
    let job = format!("{top}/job");
    fs::create_dir_all(format!("{top}/keeper")).expect("this test needs a cgroup v2 tree");
    fs::create_dir(&job).expect("make the leaf");
    for path in [&top, &job] {
        let path = format!("{path}/cgroup.procs");
        std::os::unix::fs::chown(path, Some(sandbox.uid_base), None).expect("chown");
    }
    fs::write(
        format!("{top}/keeper/cgroup.procs"),
        sandbox.keeper.to_string(),
    )
    .expect("move");
    sandbox.generation += 1;
    let leaf: OwnedFd = fs::File::open(&job).expect("open the leaf").into();
    let usage: OwnedFd = fs::File::open(format!("{job}/cpu.stat"))
        .expect("cpu.stat")
        .into();
    let mut waiting = sandbox.order(Placement::V2, 1 << 20, &[leaf, usage], String::new());
    let procs = fs::read_to_string(format!("{job}/cgroup.procs")).expect("procs");
    assert_eq!(procs.lines().count(), 2);
    waiting.stage = None;
    let limit = SECOND / 5;
    let script = "cat /proc/self/cgroup | grep ^0; while :; do :; done";
    let streams = sandbox.start(&["sh", "-c", script], 20 * SECOND, limit);
    let ended = sandbox.ended();
    assert_eq!((ended.cause, ended.status), (Cause::Cpu, None));
    assert_eq!(harness::read(streams.stdout), "0::/\n");
    drop(sandbox);
    harness::until(|| fs::remove_dir(&job).is_ok());
    fs::remove_dir(format!("{top}/keeper")).expect("remove");
    fs::remove_dir(top).expect("remove");
}

#[test]
fn the_calls_of_the_list_are_enough() {
    // Std's debug assertions look at each descriptor that is closed.
    let debug: &[_] = if cfg!(debug_assertions) {
        &[libc::SYS_fcntl]
    } else {
        &[]
    };
    let own = filters::allow_list(&[calls::UNLOCKED, calls::LOCKED, &calls::STAGER, debug]);
    let job = filters::allow_list(&[calls::LOCKED, debug]);
    let mut sandbox = Sandbox::with_filters(&job, &own);
    for _ in 0..2 {
        let mut waiting = sandbox.prepare();
        let socket = waiting.stage.take().expect("a staging socket");
        let input = Input {
            read_only: true,
            executable: true,
            path: b"folder/file".to_vec(),
        };
        assert_eq!(stage(&socket, &input, b"content").errno, 0);
        let resize = FromWarden::Resize {
            disk_bytes: 1 << 20,
            inodes: 100,
        };
        let bytes = kiln_keeper::wire::to_bytes(&resize.encode());
        sys::send(&sandbox.warden, &bytes, &[]).expect("send Resize");
        assert_eq!(sandbox.answer().0, ToWarden::Resized);
        // The socket is still open: the start ends the stager.
        let streams = sandbox.start(&["no-such-program"], 10 * SECOND, 10 * SECOND);
        assert_eq!(sandbox.ended().status, Some(127 << 8));
        let (entries, _, collector) = sandbox.collect();
        assert_eq!(entries.len(), 2);
        sandbox.finish(&waiting);
        drop((streams, collector));
    }
}
