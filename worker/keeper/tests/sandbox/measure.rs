//! How long a cell takes, and what a waiting one costs. Run alone, with a static release build:
//! `cargo test -p kiln-keeper --test sandbox -- --ignored --nocapture`.

#![expect(clippy::print_stdout, reason = "figures are for people")]

use crate::harness::{SECOND, Sandbox, group, group_memory, stage};
use kiln_keeper::stage::Input;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

const TIMES: usize = 200;

fn show(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[times.len() * part / 100];
    println!(
        "{what}: p10 {:.0} p50 {:.0} p90 {:.0} p99 {:.0} us",
        at(10),
        at(50),
        at(90),
        at(99)
    );
}

fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}

#[test]
#[ignore = "measures; not a check"]
fn times() {
    let program = std::env::var("KILN_TEST_PROGRAM").unwrap_or_else(|_| "/usr/bin/true".into());
    let content = fs::read(&program).expect("read the program");
    let mut sandbox = Sandbox::new();
    sandbox.affinity = u64::MAX;
    let (mut prepared, mut ran, mut spawned) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let start = Instant::now();
        let mut waiting = sandbox.prepare();
        prepared.push(since(start));
        let socket = waiting.stage.take().expect("a staging socket");
        let input = Input {
            read_only: false,
            executable: true,
            path: b"program".to_vec(),
        };
        assert_eq!(stage(&socket, &input, &content).errno, 0);
        drop(socket);
        #[expect(
            clippy::disallowed_methods,
            reason = "the stager ends meanwhile, which is not to be measured"
        )]
        std::thread::sleep(std::time::Duration::from_millis(1));
        let start = Instant::now();
        let streams = sandbox.start(&["./program"], 10 * SECOND, 10 * SECOND);
        assert_eq!(sandbox.ended().status, Some(0));
        ran.push(since(start));
        drop(streams);
        sandbox.finish(&waiting);
        let start = Instant::now();
        let mut child = Command::new(&program);
        let child = child.stdin(Stdio::null()).stdout(Stdio::piped());
        assert!(
            child
                .spawn()
                .expect("spawn")
                .wait()
                .expect("wait")
                .success()
        );
        spawned.push(since(start));
    }
    show("make the leaf, Prepare to Prepared", prepared);
    show("Start to Ended", ran);
    show("spawn to waited", spawned);
    let usage = format!(
        "{}/cpuacct.usage",
        group("cpuacct", &sandbox.keeper_group())
    );
    let used = fs::read_to_string(usage).expect("a usage");
    let used: usize = used.trim().parse().expect("a number");
    println!(
        "CPU time of keeper and cell's init: {} us a cell",
        used / TIMES / 1000
    );
}

#[test]
#[ignore = "measures; not a check"]
fn listing() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare_with(256 << 20, 200 << 20);
    waiting.stage = None;
    let script = "for (1..20000) { open(F, '>', 'file-with-a-name-' . $_) or die }";
    let streams = sandbox.start(&["perl", "-e", script], 30 * SECOND, 30 * SECOND);
    assert_eq!(sandbox.ended().status, Some(0));
    let start = Instant::now();
    assert_eq!(sandbox.collect().0.len(), 20_000);
    println!("Collect to End, 20,000 files: {:.0} us", since(start));
    sandbox.finish(&waiting);
    drop(streams);
}

#[test]
#[ignore = "measures; not a check"]
fn memory() {
    let mut all: Vec<Sandbox> = (0..20).map(|_| Sandbox::new()).collect();
    let usage = |sandbox: &Sandbox| sandbox.keeper_memory();
    let idle = usage(&all[10]);
    let waiting: Vec<_> = all.iter_mut().map(Sandbox::prepare).collect();
    let sandbox = &all[10];
    let four = [
        sandbox.keeper,
        sandbox.cell_init(),
        sandbox.waiter(),
        sandbox.stager(),
    ];
    for (name, pid) in ["keeper", "init", "waiter", "stager"].iter().zip(four) {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("smaps");
        let of = |key: &str| {
            let line = rollup.lines().find(|line| line.starts_with(key));
            line.and_then(|line| line.split_whitespace().nth(1))
                .unwrap_or("?")
                .to_owned()
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
        let tables = status.lines().find(|line| line.starts_with("VmPTE"));
        println!(
            "{name}: rss {} pss {} private dirty {} kB, {}",
            of("Rss:"),
            of("Pss:"),
            of("Private_Dirty:"),
            tables.unwrap_or("?")
        );
    }
    println!("keeper's group before the cell (bytes, of it kernel): {idle:?}");
    println!("keeper's group with the cell: {:?}", usage(sandbox));
    println!("job's group: {:?}", group_memory(&waiting[10].job));
    drop(waiting);
}
