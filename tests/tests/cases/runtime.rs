//! Do interpreters start, run and end as at home?

use acceptance::batch::{self, Batch};
use acceptance::check::{Expect, check};
use acceptance::kiln::Program;

#[test]
fn c001_stdlib_import_sweep() {
    let run = check(
        &Program::case("cases/001-stdlib-import-sweep"),
        &["memory=256MiB", "wall=30s"],
        &Expect::succeeded(),
    );
    let out = String::from_utf8(run.raw("stdout")).expect("text");
    let words: Vec<_> = out.lines().last().unwrap_or_default().split(' ').collect();
    assert!(
        matches!(words[..], ["imported", n, "of", all] if n == all),
        "{out}"
    );
}

#[test]
fn c003_uncaught_exception() {
    let expect = Expect::failed(1)
        .stdout_exact("before the error\n")
        .stderr("a note on stderr")
        .stderr(r"line [0-9]+")
        .stderr(r"ZeroDivisionError: division by zero\s*$");
    let run = check(
        &Program::case("cases/003-uncaught-exception"),
        &["wall=10s"],
        &expect,
    );
    assert!(
        run.at("/signal").is_null()
            && run.at("/stdout/text").is_string()
            && run.at("/stderr/text").is_string()
    );
    assert_eq!(run.text("/fault"), "user");
}

#[test]
fn long_c004_quiet_for_70s() {
    let expect = Expect::succeeded()
        .stdout_exact("start\ndone\n")
        .within(85.0);
    let run = check(
        &Program::case("cases/004-quiet-for-70s"),
        &["wall=120s"],
        &expect,
    );
    assert!(run.number("/usage/wall_us") > 69_000_000, "{}", run.outcome);
}

#[test]
fn c006_rlimit_calls() {
    let expect = Expect::succeeded()
        .stdout("lowered NOFILE")
        .stdout("lowered AS to 4 GiB")
        .stdout("raise refused")
        .stdout(r"RLIMIT_CORE \([01], [01]\)");
    check(
        &Program::case("cases/006-rlimit-calls"),
        &["memory=512MiB", "wall=10s"],
        &expect,
    );
}

#[test]
fn c007_node_workers() {
    let limits = ["memory=512MiB", "pids=64", "wall=20s"];
    let expect = Expect::succeeded().stdout(r"^workers 4 total [0-9]+\n$");
    let first = check(&Program::case("cases/007-node-workers"), &limits, &expect);
    let second = check(&Program::case("cases/007-node-workers"), &limits, &expect);
    assert_eq!(first.raw("stdout"), second.raw("stdout"));
}

#[test]
fn c009_atexit_and_threads() {
    let expect = Expect::succeeded().stdout(r"main ends\nthread finished after main\natexit ran");
    check(
        &Program::case("cases/009-atexit-and-threads"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c087_small_compute_under_load() {
    let code = code("cases/087-small-compute-under-load/job.py");
    let mut batch = Batch::start(2, &[]);
    for n in 0..16 {
        let mut job = batch::python(&format!("small-{n}"), &code);
        job["limits"] = serde_json::json!({"cpu_ms": 2000, "wall_ms": 60_000});
        batch.send(&job);
    }
    let ended = batch.end();
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert_eq!(ended.results.len(), 16);
    assert!(
        ended
            .results
            .iter()
            .all(|result| batch::text(result, "stdout").contains("cpu ok"))
    );
}

#[test]
fn alone_c088_start_latency_probe() {
    let code = code("cases/088-start-latency-probe/job.py");
    let mut batch = Batch::start(1, &[]);
    let mut totals = Vec::new();
    for n in 0..60 {
        let result = batch.run(&batch::python(&format!("latency-{n}"), &code));
        assert_eq!(result["status"], "succeeded", "{result:#}");
        let timing = &result["timing_us"];
        totals.push(
            timing["total"].as_u64().expect("a time")
                - timing["queue_wait"].as_u64().unwrap_or_default(),
        );
        if n > 0 {
            let log = batch.log();
            assert_eq!(result["sandbox"]["start"], "warm", "{result:#} {log}");
        }
    }
    totals.sort_unstable();
    let (median, late) = (totals[30], totals[56]);
    assert!(
        median < 150_000 && late < 500_000,
        "p50 {median} us, p95 {late} us"
    );
}

#[test]
fn c089_run_once_marker() {
    let program = Program::case("cases/089-run-once-marker").env("CASE_SEC=1");
    let expect = Expect::succeeded()
        .stdout(r"finished [0-9a-f]{8}\n$")
        .artifacts(&["result.txt"]);
    let run = check(&program, &["wall=30s"], &expect);
    let token = run.artifact("result.txt").expect("collected");
    let lines = String::from_utf8(run.raw("stdout")).expect("text");
    let token = String::from_utf8(token).expect("text");
    assert!(
        lines.lines().all(|line| line.contains(&token)),
        "two runs are mixed: {lines}"
    );
    assert_eq!(run.number("/attempt"), 1);
}

/// The text of a job file, from `tests/` on.
pub(crate) fn code(file: &str) -> String {
    std::fs::read_to_string(acceptance::places::home().join(file))
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}
