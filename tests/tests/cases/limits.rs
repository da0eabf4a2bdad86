//! Are the limits that people run into named, exact, and without after-effects?

use crate::runtime::code;
use acceptance::batch::{self, Batch};
use acceptance::check::{Expect, check};
use acceptance::kiln::{Program, run};
use serde_json::json;

#[test]
fn c011_partial_output_then_hang() {
    let expect = Expect::ends("timed_out", "wall_time")
        .signal("SIGKILL")
        .stdout(r"row count 12345\nhalf a line")
        .stderr("(?i)warn")
        .says(r"\b3(\.0+)? ?s")
        .within(7.0);
    let run = check(
        &Program::case("cases/011-partial-output-then-hang"),
        &["wall=3s"],
        &expect,
    );
    assert_eq!(run.text("/fault"), "limit");
}

#[test]
fn c013_memory_grow() {
    let expect = Expect::ends("limit_exceeded", "memory")
        .says("256 ?M")
        .peak_mib(230..=257);
    let run = check(
        &Program::case("cases/013-memory-grow"),
        &["memory=256MiB", "wall=30s"],
        &expect,
    );
    let out = String::from_utf8(run.raw("stdout")).expect("text");
    let last: u64 = out
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("MB "))
        .expect("a figure")
        .parse()
        .expect("a number");
    assert!((192..=256).contains(&last), "{out}");
    assert!(run.number("/evidence/oom_kill") >= 1);
}

#[test]
fn c014_memory_one_shot() {
    let expect = Expect::ends("limit_exceeded", "memory")
        .says("256 ?M")
        .peak_mib(200..=257);
    check(
        &Program::case("cases/014-memory-one-shot"),
        &["memory=256MiB", "wall=30s"],
        &expect,
    );
}

#[test]
fn c016_tiny_memory_report() {
    let mut batch = Batch::start(1, &[]);
    let mut grow = batch::python("grow", &code("cases/013-memory-grow/job.py"));
    grow["limits"] = json!({"memory_bytes": 256 << 20});
    assert_eq!(batch.run(&grow)["reason"], "memory");
    let tiny = code("cases/016-tiny-memory-report/job.py");
    let mut peaks = Vec::new();
    for n in 0..20 {
        let result = batch.run(&batch::python(&format!("tiny-{n}"), &tiny));
        peaks.push(
            result["usage"]["memory_peak_bytes"]
                .as_u64()
                .unwrap_or_else(|| panic!("no peak in {result:#}"))
                >> 10,
        );
    }
    let (least, most) = (
        peaks.iter().min().expect("20"),
        peaks.iter().max().expect("20"),
    );
    assert!(
        *least >= 3 << 10 && *most <= 40 << 10 && most - least <= 6 << 10,
        "peaks in KiB: {peaks:?}"
    );
}

#[test]
fn c017_hello_with_8mb() {
    let run = run(
        &Program::case("cases/017-hello-with-8mb"),
        &["--limit", "memory=8MiB"],
    );
    assert_eq!(run.exit, Some(2), "{run:#?}");
    assert!(
        run.stderr.contains("16 MiB") && run.stderr.contains("8 MiB"),
        "both figures: {}",
        run.stderr
    );
}

#[test]
fn c019_infinite_loop() {
    let [first, second] = two_steps(
        "cases/019-infinite-loop",
        &json!({"cpu_ms": 2000, "wall_ms": 5000}),
    );
    assert!(
        ["cpu_time", "wall_time"].contains(&first["reason"].as_str().unwrap_or_default()),
        "{first:#}"
    );
    assert_eq!(batch::text(&first, "stdout"), "entering loop\n");
    assert_eq!(batch::text(&second, "stdout"), "strangers []\n");
}

#[test]
fn c020_long_c_call() {
    let expect = ended_by_time().stdout_exact("summing\n").within(10.0);
    check(
        &Program::case("cases/020-long-c-call"),
        &["cpu=3s", "wall=6s"],
        &expect,
    );
}

#[test]
fn c022_fill_tmp() {
    let mut batch = Batch::start(1, &[]);
    let mut fill = batch::python("fill", &code("cases/022-fill-tmp/job.py"));
    fill["limits"] = json!({"disk_bytes": 256 << 20, "memory_bytes": 512 << 20});
    let first = batch.run(&fill);
    assert_eq!(first["status"], "failed", "{first:#}");
    assert!(
        batch::text(&first, "stderr").contains("Errno 28"),
        "{first:#}"
    );
    let out = batch::text(&first, "stdout");
    let stopped: u64 = out
        .split("after MB ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .expect("a figure")
        .parse()
        .expect("a number");
    assert!((240..=257).contains(&stopped), "{out}");
    let told = format!("{}{}{}", first["message"], first["hint"], first["warnings"]);
    assert!(told.contains("disk") && told.contains("256 MiB"), "{told}");
    let free = "import os; s = os.statvfs('/tmp'); print(os.listdir('/tmp'), s.f_bavail * s.f_frsize >> 20)";
    let second = batch.run(&batch::python("next", free));
    assert!(
        batch::text(&second, "stdout").starts_with("[] "),
        "{second:#}"
    );
    assert_eq!(batch::sandbox(&first).0, batch::sandbox(&second).0);
}

#[test]
fn c023_temp_200mb() {
    let expect = Expect::succeeded().stdout("staged MB 200");
    check(
        &Program::case("cases/023-temp-200mb"),
        &["disk=512MiB", "memory=256MiB", "wall=30s"],
        &expect,
    );
}

#[test]
fn c025_prints_scary_words() {
    let run = check(
        &Program::case("cases/025-prints-scary-words"),
        &["wall=10s"],
        &Expect::failed(1).stdout(r"^Killed\nTime limit"),
    );
    assert_eq!(run.text("/fault"), "user");
}

#[test]
fn c027_ignore_sigterm() {
    let expect = Expect::ends("timed_out", "wall_time")
        .stdout("still here 1")
        .within(7.0);
    check(
        &Program::case("cases/027-ignore-sigterm"),
        &["wall=3s"],
        &expect,
    );
}

#[test]
fn c029_sigstop_group() {
    let expect = Expect::ends("timed_out", "wall_time")
        .stdout("about to stop")
        .within(7.0);
    check(
        &Program::case("cases/029-sigstop-group"),
        &["wall=3s"],
        &expect,
    );
}

#[test]
fn c085_cpu_hog_then_control() {
    let expect = ended_by_cpu().stdout("burning 32").within(60.0);
    check(
        &Program::case("cases/085-cpu-hog-then-control"),
        &["cpu=5s", "wall=90s", "pids=64"],
        &expect,
    );
}

/// Ended by its CPU time; the contract leaves the status word open.
pub(crate) fn ended_by_cpu() -> Expect {
    Expect::ends("timed_out", "cpu_time")
        .or("limit_exceeded", Some("cpu_time"))
        .signal("SIGKILL")
}

/// Ended by its CPU time or its wall time.
pub(crate) fn ended_by_time() -> Expect {
    ended_by_cpu().or("timed_out", Some("wall_time"))
}

/// Runs `job.py`, then `job_b.py`, one after the other on one slot. Where the first ended by
/// itself both run in the same sandbox; where a limit ended it, that one is not used again.
pub(crate) fn two_steps(folder: &str, limits: &serde_json::Value) -> [serde_json::Value; 2] {
    let mut batch = Batch::start(1, &[]);
    let [first, second] = ["job", "job_b"].map(|step| {
        let mut job = batch::python(step, &code(&format!("{folder}/{step}.py")));
        job["limits"] = limits.clone();
        batch.run(&job)
    });
    assert_eq!(second["status"], "succeeded", "{second:#}");
    let ((id, uses), (other, uses_then)) = (batch::sandbox(&first), batch::sandbox(&second));
    if first["signal"].is_null() {
        assert_eq!(
            (&id, uses + 1),
            (&other, uses_then),
            "another sandbox: {first:#} {second:#}"
        );
    } else {
        assert_ne!(id, other, "used again after a kill: {first:#} {second:#}");
    }
    [first, second]
}
