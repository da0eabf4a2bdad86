//! Do the data-analysis jobs that people queue come out as their authors expect?

use crate::limits::ended_by_time;
use acceptance::check::{Expect, check, matches, told};
use acceptance::kiln::Program;

fn job(folder: &str) -> Program {
    Program::case(folder).profile("python-data")
}

#[test]
fn j01_csv_groupby() {
    let expect = Expect::succeeded()
        .stdout(r"total [0-9.]+\n$")
        .artifacts(&["summary.csv"]);
    let run = check(&job("jobs/J01-csv-groupby"), &[], &expect);
    let table = String::from_utf8(run.artifact("summary.csv").expect("collected")).expect("text");
    assert_eq!(table.lines().count(), 5, "{table}");
}

#[test]
fn j03_xlsx_report() {
    let expect = Expect::succeeded()
        .stdout(r"\(4, 4\)")
        .artifacts(&["report.xlsx"]);
    let run = check(&job("jobs/J03-xlsx-report"), &[], &expect);
    // Unknown is null, never a guess.
    let kind = run.at("/artifacts/0/media_type");
    let fits = kind.is_null() || kind.to_string().contains("spreadsheetml");
    assert!(fits, "{:#}", run.outcome);
    assert_eq!(run.text("/artifacts/0/state"), "released");
}

#[test]
fn j04_parquet_or_fallback() {
    let run = check(
        &job("jobs/J04-parquet-or-fallback"),
        &[],
        &Expect::succeeded().stdout(r"(parquet|csv.gz) \(240, 7\)"),
    );
    let path = run.artifacts().pop().expect("one file");
    let bytes = run.artifact(&path).expect("collected");
    assert_eq!(run.number("/artifacts/0/bytes"), bytes.len() as u64);
}

#[test]
fn j06_sklearn_train() {
    let expect = Expect::succeeded()
        .stdout("accuracy")
        .artifacts(&["metrics.json", "model.joblib"]);
    let run = check(
        &job("jobs/J06-sklearn-train"),
        &["memory=512MiB", "pids=64", "cpus=1"],
        &expect,
    );
    let metrics: serde_json::Value =
        serde_json::from_slice(&run.artifact("metrics.json").expect("collected")).expect("JSON");
    assert!(
        metrics["accuracy"]
            .as_f64()
            .is_some_and(|share| share > 0.9),
        "{metrics}"
    );
}

#[test]
fn j07_sqlite_query() {
    let expect = Expect::succeeded()
        .stdout(r"\('")
        .artifacts(&["result.json", "shop.db"]);
    check(&job("jobs/J07-sqlite-query"), &[], &expect);
}

#[test]
fn j09_subprocess_tools() {
    let expect = Expect::succeeded()
        .stdout("grep rc 1")
        .stdout("own timeout works: 0.5\nmissing tool")
        .within(8.0);
    check(&job("jobs/J09-subprocess-tools"), &[], &expect);
}

#[test]
fn j10_pool_stats() {
    check(
        &job("jobs/J10-pool-stats"),
        &["pids=64"],
        &Expect::succeeded().stdout("rows 240 units"),
    );
}

#[test]
fn j12_progress_prints() {
    let expect = Expect::succeeded()
        .stdout(r"epoch 5 loss [0-9.]+\ndone")
        .stderr(r"\rtraining 100%");
    check(&job("jobs/J12-progress-prints"), &[], &expect);
}

#[test]
fn j13_bad_rows_traceback() {
    let expect = Expect::failed(1)
        .stdout("line 2 ok\nline 3 ok\nline 4 ok")
        .stderr(r"ValueError: could not convert string to float: 'n/a'\s*$")
        .stderr(r"main\.py.*line 6")
        .artifacts(&["clean.csv"]);
    let run = check(&job("jobs/J13-bad-rows-traceback"), &[], &expect);
    let rows = String::from_utf8(run.artifact("clean.csv").expect("collected")).expect("text");
    assert_eq!(rows.lines().count(), 3, "{rows}");
}

#[test]
fn j15_memory_blowup() {
    let expect = Expect::ends("limit_exceeded", "memory")
        .stdout("^rows 240\n")
        .says("512 ?M")
        .within(40.0);
    check(&job("jobs/J15-memory-blowup"), &["memory=512MiB"], &expect);
}

#[test]
fn j16_infinite_loop() {
    let expect = ended_by_time()
        .stdout("^start")
        .stdout("iter 1000 ")
        .stdout_not("converged")
        .within(15.0);
    check(
        &job("jobs/J16-infinite-loop"),
        &["cpu=5s", "wall=10s"],
        &expect,
    );
}

#[test]
fn j18_network_fetch_with_fallback() {
    let expect = Expect::succeeded().stdout(r"local \{'EUR': 1.0, 'CHF': 0.95\} quick");
    check(&job("jobs/J18-network-fetch-with-fallback"), &[], &expect);
}

#[test]
fn j19_pip_install_attempt() {
    let expect = Expect::succeeded()
        .stdout(r"pip rc [1-9].* seconds ([0-9]|1[0-5])\n")
        .stdout("fallback table");
    let run = check(&job("jobs/J19-pip-install-attempt"), &["wall=60s"], &expect);
    let told = String::from_utf8_lossy(&run.raw("stderr")).into_owned() + &told(&run);
    assert!(
        matches(
            "(?i)cannot[- ]be[- ]installed|no[- ]network|No matching distribution",
            told.as_bytes()
        ),
        "{told}"
    );
}
