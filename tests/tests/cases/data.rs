//! Is the data image ready: numpy, pandas, plots, workbooks, and a clear word where something cannot be had?

use acceptance::check::{Expect, check};
use acceptance::kiln::Program;

fn case(folder: &str) -> Program {
    Program::case(folder).profile("python-data")
}

#[test]
fn c057_numpy_pandas_basics() {
    let expect = Expect::succeeded()
        .stdout("residual ok True")
        .stdout(r"\{'a': 3, 'b': 7, 'c': 5\}");
    check(
        &case("cases/057-numpy-pandas-basics"),
        &["memory=512MiB", "pids=64", "wall=30s"],
        &expect,
    );
}

#[test]
fn c059_pip_install_offline() {
    let expect = Expect::failed(1)
        .stdout(r"pip exit [1-9][0-9]* after ([0-9]|1[0-5]) s")
        .within(25.0);
    let run = check(
        &Program::case("cases/059-pip-install-offline"),
        &["wall=60s"],
        &expect,
    );
    let told =
        String::from_utf8_lossy(&run.raw("stdout")).into_owned() + &acceptance::check::told(&run);
    assert!(
        acceptance::check::matches(
            "(?i)cannot[- ]be[- ]installed|no[- ]network",
            told.as_bytes()
        ),
        "{told}"
    );
    assert!(
        !told.contains("--break-system-packages"),
        "sends the reader astray: {told}"
    );
}

#[test]
fn c060_list_packages() {
    let run = check(
        &case("cases/060-list-packages"),
        &["wall=10s"],
        &Expect::succeeded().artifacts(&["packages.json"]),
    );
    let list: serde_json::Value =
        serde_json::from_slice(&run.artifact("packages.json").expect("collected")).expect("JSON");
    for name in ["numpy", "pandas", "matplotlib"] {
        assert!(list[name].is_string(), "{name} is not in {list}");
    }
}

#[test]
fn c062_parquet_and_excel() {
    let expect = Expect::succeeded().stdout(r"written \['csv', 'xlsx',.* 'json'\]");
    let run = check(
        &case("cases/062-parquet-and-excel"),
        &["memory=512MiB", "wall=30s"],
        &expect,
    );
    for path in ["t.csv", "t.json", "t.xlsx"] {
        assert!(
            run.artifact(path).is_some(),
            "{path} is not collected: {:#}",
            run.outcome
        );
    }
}

#[test]
fn c063_mpl_import_clean() {
    let expect = Expect::succeeded()
        .stderr_exact("")
        .stdout(r"(?i)seconds [0-9.]+ backend agg")
        .artifacts(&["first.png"]);
    let run = check(
        &case("cases/063-mpl-import-clean"),
        &["memory=512MiB", "wall=30s"],
        &expect,
    );
    let out = String::from_utf8(run.raw("stdout")).expect("text");
    let seconds: f64 = out
        .split(' ')
        .nth(1)
        .expect("a figure")
        .parse()
        .expect("a number");
    assert!(seconds < 4.0, "the font cache is built anew: {out}");
}

#[test]
fn c065_show_in_headless() {
    let expect = Expect::succeeded()
        .stdout("show returned")
        .artifacts(&["after_show.png"])
        .within(15.0);
    check(
        &case("cases/065-show-in-headless"),
        &["memory=512MiB", "wall=30s"],
        &expect,
    );
}

#[test]
fn c067_blas_threads() {
    let expect = Expect::succeeded()
        .stdout(r"threads [12] affinity [0-9]+")
        .stderr_not("pthread_create")
        .stdout("'OMP_NUM_THREADS': '1'");
    check(
        &case("cases/067-blas-threads"),
        &["pids=32", "cpus=1", "memory=512MiB", "wall=20s"],
        &expect,
    );
}

#[test]
fn c072_executors_and_joblib() {
    let expect = Expect::succeeded()
        .stdout(r"sums 1275 1275 (1275|None)")
        .stderr_exact("");
    check(
        &case("cases/072-executors-and-joblib"),
        &["pids=64", "memory=512MiB", "wall=30s"],
        &expect,
    );
}
