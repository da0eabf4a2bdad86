//! Is a wrong call answered by a clear line and the right exit code, before anything runs?

use acceptance::check::{Expect, check};
use acceptance::kiln::{Program, command, run, start};
use acceptance::leftovers::{Snapshot, assert_gone, descendants, wait_for};
use acceptance::places;
use std::path::Path;
use std::time::Duration;

/// Runs `kiln` with these words in a folder and expects a refusal that says all of these.
fn refused(folder: &Path, words: &[&str], exit: i32, says: &[&str]) {
    let output = command(folder)
        .args(words)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("kiln can be started");
    let stderr = String::from_utf8(output.stderr).expect("a message is text");
    let shown = format!("kiln {}\n{stderr}", words.join(" "));
    assert_eq!(output.status.code(), Some(exit), "{shown}");
    assert!(output.stdout.is_empty(), "data on stdout of {shown}");
    assert!(
        !stderr.trim().is_empty() && !stderr.contains("panicked"),
        "{shown}"
    );
    assert!(
        stderr.trim().lines().count() <= 8 && stderr.len() < 4000,
        "not a clear line: {shown}"
    );
    for word in says {
        assert!(stderr.contains(word), "does not say `{word}`: {shown}");
    }
    assert!(!folder.join("kiln-out").exists(), "something ran: {shown}");
}

fn folder() -> tempfile::TempDir {
    let folder = places::scratch();
    let put = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).expect("writable");
    };
    put("ok.py", b"print('ran')\n");
    put("data.csv", b"a\n");
    put("notes.txt", b"hello\n");
    put("binary.py", b"\x7fELF\x02\x01\x01\0\0\xff\xfe");
    std::os::unix::fs::symlink("data.csv", folder.path().join("link.csv")).expect("writable");
    std::fs::create_dir(folder.path().join("dir.py")).expect("writable");
    folder
}

#[test]
fn a_run_without_a_program() {
    refused(folder().path(), &["run"], 2, &["FILE"]);
}

#[test]
fn a_file_that_is_not_there() {
    refused(folder().path(), &["run", "absent.py"], 2, &["absent.py"]);
}

#[test]
fn a_folder_as_the_program() {
    refused(folder().path(), &["run", "dir.py"], 2, &["dir.py"]);
}

#[test]
fn an_ending_that_no_profile_has() {
    refused(
        folder().path(),
        &["run", "notes.txt"],
        2,
        &["notes.txt", "profile"],
    );
}

#[test]
fn bytes_that_are_not_text_as_code() {
    refused(folder().path(), &["run", "binary.py"], 2, &["binary.py"]);
}

#[test]
fn code_of_100_megabytes() {
    let folder = folder();
    let text = "# a comment\n".repeat((100 << 20) / 12);
    std::fs::write(folder.path().join("huge.py"), text).expect("writable");
    refused(folder.path(), &["run", "huge.py"], 2, &["huge.py", "1 MiB"]);
}

#[test]
fn an_empty_file() {
    let folder = folder();
    std::fs::write(folder.path().join("empty.py"), "").expect("writable");
    refused(
        folder.path(),
        &["run", "empty.py"],
        2,
        &["empty.py", "is empty"],
    );
}

#[test]
fn limits_that_are_not_limits() {
    let folder = folder();
    let cases: &[(&str, &[&str])] = &[
        ("walls=3s", &["walls", "wall"]),
        ("wall=10", &["wall", "10"]),
        ("memory=512", &["memory", "512"]),
        ("memory=lots", &["memory", "lots"]),
        ("wall=-1s", &["wall"]),
        ("wall", &["wall"]),
        ("pids=3MiB", &["pids"]),
        ("wall=1MiB", &["wall"]),
        ("memory=8GiB", &["memory", "4 GiB", "8 GiB"]),
        ("memory=1MiB", &["memory", "16 MiB", "1 MiB"]),
        ("pids=5000", &["pids", "1,024"]),
        ("pids=0", &["pids"]),
        ("wall=1ms", &["wall", "10 ms"]),
        ("wall=3h", &["wall"]),
        ("cpus=0.01", &["cpus", "0.05"]),
        ("cpus=4096", &["cpus"]),
        ("artifact-count=100000", &["artifact", "1,000"]),
        ("memory=99999999999999999999GiB", &["memory"]),
    ];
    for (limit, says) in cases {
        // Figures may be written with or without a separator.
        let says: Vec<_> = says
            .iter()
            .map(|word| word.split(',').next_back().unwrap_or(word))
            .collect();
        refused(folder.path(), &["run", "--limit", limit, "ok.py"], 2, &says);
    }
}

#[test]
fn inputs_that_cannot_be() {
    let folder = folder();
    let at = folder.path();
    refused(
        at,
        &["run", "--input", "absent.csv", "ok.py"],
        2,
        &["absent.csv"],
    );
    refused(
        at,
        &["run", "--input", "link.csv", "ok.py"],
        2,
        &["link.csv", "symlink"],
    );
    refused(
        at,
        &["run", "--input", "data.csv:../up.csv", "ok.py"],
        2,
        &["../up.csv"],
    );
    refused(
        at,
        &["run", "--input", "data.csv:/etc/up.csv", "ok.py"],
        2,
        &["/etc/up.csv"],
    );
    refused(
        at,
        &[
            "run",
            "--input",
            "data.csv",
            "--input",
            "notes.txt:data.csv",
            "ok.py",
        ],
        2,
        &["data.csv"],
    );
    refused(
        at,
        &["run", "--input", "data.csv:main.py", "ok.py"],
        2,
        &["main.py"],
    );
    refused(
        at,
        &["run", "--stdin", "absent.txt", "ok.py"],
        2,
        &["absent.txt"],
    );
    refused(at, &["run", "--env", "NOVALUE", "ok.py"], 2, &["NOVALUE"]);
}

#[test]
fn names_that_nobody_knows() {
    let folder = folder();
    let at = folder.path();
    refused(
        at,
        &["run", "--profile", "cobol", "ok.py"],
        2,
        &["cobol", "python"],
    );
    refused(
        at,
        &["run", "--limmit", "wall=1s", "ok.py"],
        2,
        &["--limmit"],
    );
    refused(at, &["rum", "ok.py"], 2, &["rum"]);
    refused(
        at,
        &["run", "--tenant", "no/slash", "ok.py"],
        2,
        &["no/slash"],
    );
    refused(
        at,
        &["run", "--isolation", "perfect", "ok.py"],
        2,
        &["perfect", "standard"],
    );
    refused(at, &["batch", "absent.jsonl"], 2, &["absent.jsonl"]);
    refused(at, &["batch", "--slots", "0", "data.csv"], 2, &["slots"]);
}

#[test]
fn a_configuration_that_is_wrong_is_78() {
    let folder = folder();
    let config = folder.path().join("kiln.toml");
    let text = "[profiles.python]\nmemroy = 1\nlimits = { wall = 5 }\n";
    std::fs::write(&config, text).expect("written");
    let output = command(folder.path())
        .args(["run", "--config", "kiln.toml", "ok.py"])
        .output()
        .expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{stderr}");
    for key in ["profiles.python.memroy", "profiles.python.limits.wall"] {
        assert!(stderr.contains(key), "every mistake by its key: {stderr}");
    }
}

#[test]
fn a_command_that_is_not_there() {
    let run = run(&Program::command(&["no-such-program"]), &[]);
    assert_eq!(
        (run.exit, run.at("/exit_code").as_i64()),
        (Some(1), Some(127)),
        "{run:#?}"
    );
    assert!(String::from_utf8_lossy(&run.raw("stderr")).contains("no-such-program"));
}

#[test]
fn arguments_standard_input_and_folders_arrive() {
    let folder = folder();
    std::fs::create_dir_all(folder.path().join("tree/deep")).expect("writable");
    std::fs::write(
        folder.path().join("tree/deep/x.sh"),
        "#!/bin/sh\necho tree\n",
    )
    .expect("writable");
    let tool = folder.path().join("tree/deep/x.sh");
    std::fs::set_permissions(tool, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("writable");
    let text = "import subprocess, sys\nprint(sys.argv[1:], sys.stdin.read(), subprocess.check_output(['./tree/deep/x.sh']))";
    let program = Program::python(text)
        .input(folder.path().join("tree"))
        .stdin(b"fed")
        .args(&["--a b", "c"]);
    check(
        &program,
        &[],
        &Expect::succeeded().stdout_exact("['--a b', 'c'] fed b'tree\\n'\n"),
    );
}

#[test]
fn alone_ctrl_c_cancels() {
    let before = Snapshot::take();
    let program = Program::python(
        "import signal, time\nsignal.signal(2, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)",
    );
    let started = start(&program, &[]);
    let pid = started.child.id();
    let job = || {
        descendants(pid).iter().any(|&pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with("python"))
        })
    };
    assert!(
        wait_for(Duration::from_secs(20), job),
        "the job does not start"
    );
    let kiln = rustix::process::Pid::from_child(&started.child);
    rustix::process::kill_process(kiln, rustix::process::Signal::INT).expect("it runs");
    let run = started.end();
    assert_eq!(
        (run.exit, run.text("/status")),
        (Some(1), "cancelled"),
        "{run:#?}"
    );
    assert!(run.took < Duration::from_secs(20));
    assert_gone(&before, Duration::from_secs(5));
}
