//! Do inputs arrive where programs look, and do outputs come back under their names?

use acceptance::check::{Expect, check};
use acceptance::kiln::Program;
use acceptance::places;
use std::time::Duration;

#[test]
fn c048_unicode_filenames() {
    let run = check(
        &Program::case("cases/048-unicode-filenames"),
        &["wall=10s"],
        &Expect::succeeded().stdout("wrote 6"),
    );
    let paths = run.artifacts();
    assert_eq!(paths.len(), 6, "{paths:?}");
    let mut bodies: Vec<_> = paths
        .iter()
        .map(|path| run.artifact(path).expect("collected"))
        .collect();
    bodies.sort();
    let wanted: Vec<_> = (0..6).map(|n| format!("file {n}\n").into_bytes()).collect();
    assert_eq!(bodies, wanted);
}

#[test]
fn c050_inputs_relative_and_spaces() {
    let expect = Expect::succeeded()
        .stdout("sales.csv 2 rows")
        .stdout("beauty contest 2016.csv 1 rows")
        .artifacts(&[]);
    check(
        &Program::case("cases/050-inputs-relative-and-spaces"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c051_input_path_guesses() {
    let without = Expect::failed(1)
        .stdout("no: FileNotFoundError /mnt/data/figures.csv")
        .stdout("no: FileNotFoundError figures.csv")
        .stderr("No such file or directory: 'figures.csv'");
    check(
        &Program::case("cases/051-input-path-guesses"),
        &["wall=10s"],
        &without,
    );
    let folder = places::scratch();
    let figures = folder.path().join("figures.csv");
    std::fs::write(&figures, "a,b\n1,2\n").expect("writable");
    let with = Program::case("cases/051-input-path-guesses").input(&figures);
    check(
        &with,
        &["wall=10s"],
        &Expect::succeeded().stdout("opened figures.csv 8"),
    );
}

#[test]
fn c053_links_and_special_files() {
    let expect = Expect::succeeded().stdout("made ").within(5.0);
    let run = check(
        &Program::case("cases/053-links-and-special-files"),
        &["wall=10s"],
        &expect,
    );
    let paths = run.artifacts();
    for wanted in ["out/real.txt", "out/hard.txt", "out/setuid.sh"] {
        assert!(
            paths.iter().any(|path| path == wanted),
            "{wanted} is not in {paths:?}"
        );
    }
    for path in &paths {
        let body = run.artifact(path).expect("collected");
        assert!(
            !body.windows(10).any(|part| part == b"root:x:0:0"),
            "{path} holds a followed link"
        );
        let kind =
            std::fs::symlink_metadata(run.out.join("artifacts").join(path)).expect("collected");
        assert!(
            kind.is_file()
                && std::os::unix::fs::PermissionsExt::mode(&kind.permissions()) & 0o7111 == 0,
            "{path}"
        );
    }
    let skipped = run.skipped();
    for (path, reason) in [
        ("out/passwd_link.txt", "symlink"),
        ("out/root_dir", "symlink"),
        ("out/loop_a", "symlink"),
        ("out/pipe.txt", "fifo"),
        ("out/sock.txt", "socket"),
    ] {
        assert!(
            skipped.contains(&(path.to_owned(), reason.to_owned())),
            "{path}: {reason} is not in {skipped:?}"
        );
    }
    assert!(Duration::from_micros(run.number("/timing_us/collect")) < Duration::from_secs(2));
}

#[test]
fn c054_sparse_10g() {
    let expect = Expect::succeeded()
        .stdout("size 10737418240")
        .artifacts(&[])
        .within(10.0);
    let run = check(
        &Program::case("cases/054-sparse-10g"),
        &["disk=256MiB", "wall=20s"],
        &expect,
    );
    assert_eq!(
        run.skipped(),
        [("sparse.bin".to_owned(), "too_large".to_owned())]
    );
}

#[test]
fn c056_many_small_files() {
    let run = check(
        &Program::case("cases/056-many-small-files"),
        &["wall=20s"],
        &Expect::succeeded().stdout("wrote 3000"),
    );
    assert_eq!(run.artifacts().len(), 100, "the limit of files");
    assert!(
        run.skipped().iter().any(|(_, reason)| reason == "too_many"),
        "{:#}",
        run.outcome
    );
    assert!(
        run.number("/timing_us/collect") < 2_000_000,
        "{:#}",
        run.outcome
    );
    let all = check(
        &Program::case("cases/056-many-small-files"),
        &["artifact-count=1000", "wall=20s"],
        &Expect::succeeded(),
    );
    assert_eq!(all.artifacts().len(), 1000);
}

#[test]
fn c075_locale_report() {
    let expect = Expect::succeeded()
        .stdout(r"(?i)preferred utf-?8 stdout utf-8 fs utf-8")
        .stdout("żółć ✓")
        .artifacts(&["naïve.txt"]);
    check(
        &Program::case("cases/075-locale-report"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c091_archive_traps() {
    let expect = Expect::succeeded().stdout("zip bytes").within(20.0);
    let run = check(
        &Program::case("cases/091-archive-traps"),
        &["disk=256MiB", "wall=20s"],
        &expect,
    );
    let mut listed = run.artifacts();
    listed.retain(|path| path == "nested.zip" || path == "report.zip");
    assert_eq!(
        listed.len(),
        2,
        "both archives are answered for: {:#}",
        run.outcome
    );
    assert!(
        !run.out.join("outside.txt").exists()
            && !run
                .out
                .parent()
                .expect("a parent")
                .join("outside.txt")
                .exists()
    );
}
