//! Does what a program prints arrive whole, marked where cut, and harmless?

use acceptance::check::{Expect, check};
use acceptance::kiln::{Program, run};
use acceptance::places;
use std::process::Command;

#[test]
fn c030_self_sigkill() {
    let expect = Expect::ends("failed", "signal")
        .signal("SIGKILL")
        .stdout("bye");
    check(
        &Program::case("cases/030-self-sigkill"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c032_exit_codes() {
    let case = |word: &str| Program::case("cases/032-exit-codes").args(&[word]);
    for (word, code) in [("three", 3), ("big", 7), ("neg", 255), ("hard", 9)] {
        check(
            &case(word),
            &[],
            &Expect::failed(code).stdout(&format!("case {word}")),
        );
    }
    check(
        &case("text"),
        &[],
        &Expect::failed(1).stderr("fatal: nothing to do"),
    );
    check(&case("none"), &[], &Expect::succeeded());
    check(
        &case("abort"),
        &[],
        &Expect::ends("failed", "signal").signal("SIGABRT"),
    );
    let interrupted = Expect::ends("failed", "signal")
        .or("failed", Some("exit_code"))
        .stderr("KeyboardInterrupt");
    let run = check(&case("kbd"), &[], &interrupted);
    assert!(
        run.text("/signal") == "SIGINT" || run.at("/exit_code") == 130,
        "{}",
        run.outcome
    );
}

#[test]
fn c034_print_3000_lines() {
    let all = (1..=3000)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join("\n")
        + "\n";
    assert_eq!(all.len(), 13_893);
    let expect = Expect::succeeded()
        .stdout_exact(all)
        .truncated("stdout", false);
    check(
        &Program::case("cases/034-print-3000-lines"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c036_output_just_over_limit() {
    for over in [-1_i64, 0, 1] {
        let bytes = (1_i64 << 20) + over;
        let program =
            Program::case("cases/036-output-just-over-limit").env(&format!("CASE_BYTES={bytes}"));
        let expect = Expect::succeeded()
            .stdout("^HEAD-MARK")
            .truncated("stdout", over > 0);
        let run = check(&program, &["stdout=1MiB", "wall=10s"], &expect);
        assert_eq!(run.at("/stdout/total_bytes").as_i64(), Some(bytes));
        assert_eq!(
            run.raw("stdout").len(),
            usize::try_from(bytes.min(1 << 20)).expect("small")
        );
        assert!(run.text("/stdout/text").contains("HEAD-MARK"));
        assert!(
            over > 0 || run.text("/stdout/text").ends_with("END-MARK\n"),
            "head and tail"
        );
        assert_eq!(run.at("/stdout/text_truncated"), true);
    }
}

#[test]
fn c037_json_300kb() {
    let expect = Expect::succeeded()
        .stdout("^\\{\"rows\"")
        .stdout(r"\}\n$")
        .truncated("stdout", false);
    let run = check(
        &Program::case("cases/037-json-300kb"),
        &["wall=10s"],
        &expect,
    );
    let told = run.artifact("sha.txt").expect("collected");
    assert_eq!(run.text("/stdout/sha256").as_bytes(), told);
}

#[test]
fn c039_one_line_5mb() {
    let program = Program::case("cases/039-one-line-5mb");
    let cut = check(
        &program,
        &["stdout=1MiB"],
        &Expect::succeeded().truncated("stdout", true).within(5.0),
    );
    assert_eq!(cut.number("/stdout/total_bytes"), (5 << 20) + 1);
    assert!(cut.text("/stdout/text").len() <= 66 << 10);
    let whole = check(
        &program,
        &["stdout=8MiB"],
        &Expect::succeeded().truncated("stdout", false),
    );
    assert_eq!(whole.raw("stdout").len(), (5 << 20) + 1);
}

#[test]
fn c041_prints_json_envelope() {
    let expect = Expect::failed(4).stdout_exact(
        "{\"status\": \"succeeded\", \"exit_code\": 0, \"stdout\": \"all good\", \"stderr\": \"\"}\n",
    );
    check(
        &Program::case("cases/041-prints-json-envelope"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c043_utf8_output() {
    let file = places::home().join("cases/043-utf8-output/job.py");
    let plain = Command::new("/usr/bin/python3")
        .arg(file)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("python3 is there");
    let expect = Expect::succeeded()
        .stdout_exact(&plain.stdout)
        .stderr_exact(&plain.stderr);
    let run = check(
        &Program::case("cases/043-utf8-output"),
        &["wall=10s"],
        &expect,
    );
    assert_eq!(run.text("/stdout/text").as_bytes(), plain.stdout);
    assert_eq!(run.stdout, plain.stdout, "the job's output passes through");
}

#[test]
fn c044_invalid_utf8() {
    let expect = Expect::succeeded()
        .stdout_exact(b"start\n\xff\xfe raw \xc3\x28 \xe2\x82 end\nfinish\n")
        .stderr_exact(b"\x80\x81 bad stderr\n");
    let run = check(
        &Program::case("cases/044-invalid-utf8"),
        &["wall=10s"],
        &expect,
    );
    let text = run.text("/stdout/text");
    assert!(
        text.starts_with("start\n\u{fffd}") && text.ends_with("end\nfinish\n"),
        "{text:?}"
    );
}

#[test]
fn c046_ansi_and_control() {
    let run = check(
        &Program::case("cases/046-ansi-and-control"),
        &["wall=10s"],
        &Expect::succeeded().stdout("tail"),
    );
    assert!(run.raw("stdout").contains(&0x1b), "kept as it is");
    let text = run.text("/stdout/text");
    let raw = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(text.contains("tail") && !text.contains(raw), "{text:?}");
}

#[test]
fn c046_on_a_terminal() {
    let job = places::home().join("cases/046-ansi-and-control/job.py");
    let folder = places::scratch();
    let words = format!(
        "exec '{}' run '{}'",
        places::kiln().display(),
        job.display()
    );
    let mut script = Command::new("script");
    let script = script
        .args(["-qec", &words, "/dev/null"])
        .current_dir(folder.path())
        .env("TERM", "xterm");
    let output = script
        .stdin(std::process::Stdio::null())
        .output()
        .expect("script is there");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && shown.contains("tail"),
        "{shown:?}"
    );
    for raw in [
        "\u{1b}]0;window",
        "\u{1b}[2J",
        "\u{1b}[31mred",
        "\u{7}",
        "\u{8}",
        "\u{202e}",
    ] {
        assert!(
            !shown.contains(raw),
            "{raw:?} reaches the terminal: {shown:?}"
        );
    }
}

#[test]
fn json_on_stdout_is_the_outcome_alone() {
    let run = run(&Program::python("print('hello')"), &["--json"]);
    let outcome: serde_json::Value =
        serde_json::from_slice(&run.stdout).expect("stdout is one JSON value");
    assert_eq!(outcome["schema"], "kiln.outcome.v1");
    assert_eq!(outcome, run.outcome, "the same as outcome.json");
}
