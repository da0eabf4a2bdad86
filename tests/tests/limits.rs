//! Does each limit hold, from below, at, and above, and does the answer say which one it was?

use acceptance::check::{Expect, check};
use acceptance::kiln::{Program, Run};

fn cpu_us(run: &Run) -> u64 {
    run.number("/usage/cpu_user_us") + run.number("/usage/cpu_system_us")
}

fn warned(run: &Run, word: &str) {
    let warnings = run.at("/warnings").to_string();
    assert!(
        warnings.contains(word),
        "no warning names `{word}`: {:#}",
        run.outcome
    );
    assert!(
        acceptance::check::told(run).contains(word),
        "{:#}",
        run.outcome
    );
}

#[test]
fn wall_from_below() {
    check(
        &Program::python("import time; time.sleep(0.7)"),
        &["wall=2s"],
        &Expect::succeeded(),
    );
}

#[test]
fn wall_from_above() {
    let expect = Expect::ends("timed_out", "wall_time")
        .signal("SIGKILL")
        .says(r"wall.*\b1(\.0+)? ?s|\b1(\.0+)? ?s.*wall");
    let run = check(
        &Program::python("import time; print('up', flush=True); time.sleep(30)"),
        &["wall=1s"],
        &expect,
    );
    let wall = run.number("/usage/wall_us");
    assert!((950_000..1_700_000).contains(&wall), "{wall} us");
    assert_eq!(
        (run.text("/fault"), run.text("/stdout/text")),
        ("limit", "up\n")
    );
    assert_eq!(run.number("/limits/wall_ms"), 1000);
}

#[test]
fn cpu_counts_work_and_not_sleep() {
    let text = "import time; time.sleep(1.5)\nwhile time.process_time() < 0.4: pass\nprint('done')";
    check(
        &Program::python(text),
        &["cpu=1s", "wall=20s"],
        &Expect::succeeded().stdout("done"),
    );
}

#[test]
fn cpu_from_above() {
    let expect = Expect::ends("timed_out", "cpu_time")
        .or("limit_exceeded", Some("cpu_time"))
        .signal("SIGKILL")
        .says("(?i)cpu");
    let run = check(
        &Program::python("while True: pass"),
        &["cpu=1s", "wall=30s"],
        &expect,
    );
    let used = cpu_us(&run);
    assert!(
        (950_000..1_600_000).contains(&used),
        "{used} us of CPU time"
    );
}

#[test]
fn cpu_counts_the_whole_tree() {
    let text = "import os\nfor i in range(3): os.fork()\nwhile True: pass";
    let expect = Expect::ends("timed_out", "cpu_time").or("limit_exceeded", Some("cpu_time"));
    let run = check(&Program::python(text), &["cpu=2s", "wall=60s"], &expect);
    assert!(cpu_us(&run) < 3_000_000, "{:#}", run.outcome);
}

#[test]
fn cpus_slow_a_job_down_and_are_what_it_sees() {
    let text = "import os, time\nwhile time.process_time() < 0.8: pass\nprint(len(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])";
    let run = check(
        &Program::python(text),
        &["cpus=0.5", "wall=20s"],
        &Expect::succeeded().stdout_exact("1 1\n"),
    );
    let wall = run.number("/usage/wall_us");
    assert!(
        wall > 1_350_000,
        "0.8 s of CPU time at half a CPU took {wall} us"
    );
}

const TAKE: &str = "import sys\nx = bytearray(int(sys.argv[1]) << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('took', sys.argv[1])";

#[test]
fn memory_from_below_and_near() {
    for mib in ["100", "236"] {
        let expect = Expect::succeeded().stdout("^took").peak_mib(100..=256);
        check(
            &Program::python(TAKE).args(&[mib]),
            &["memory=256MiB"],
            &expect,
        );
    }
}

#[test]
fn memory_from_above() {
    let expect = Expect::ends("limit_exceeded", "memory")
        .says("256 ?MiB")
        .stdout_not("took")
        .peak_mib(240..=257);
    let run = check(
        &Program::python(TAKE).args(&["400"]),
        &["memory=256MiB"],
        &expect,
    );
    assert!(
        run.number("/evidence/oom_kill") >= 1 && !run.text("/hint").is_empty(),
        "{:#}",
        run.outcome
    );
}

#[test]
fn memory_of_a_child_ends_the_whole_job() {
    let text = "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', 'x = b\"x\" * (900 << 20)'])\nprint('went on', flush=True)\ntime.sleep(20)";
    let expect = Expect::ends("limit_exceeded", "memory").within(15.0);
    check(&Program::python(text), &["memory=128MiB"], &expect);
}

#[test]
fn memory_of_files_counts() {
    let text = "open('/dev/shm/f', 'wb').write(b'x' * (200 << 20))";
    check(
        &Program::python(text),
        &["memory=128MiB", "disk=1GiB"],
        &Expect::ends("limit_exceeded", "memory"),
    );
}

const FORK: &str = "import os, sys, time\nmade = 0\ntry:\n    for i in range(int(sys.argv[1])):\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n        made += 1\nexcept OSError as e: print(e.errno)\nprint('made', made)";

#[test]
fn pids_at_the_limit() {
    let run = check(
        &Program::python(FORK).args(&["7"]),
        &["pids=8"],
        &Expect::succeeded().stdout_exact("made 7\n"),
    );
    assert_eq!(run.number("/usage/pids_peak"), 8);
    assert_eq!(
        run.at("/warnings").as_array().map(Vec::len),
        Some(0),
        "{:#}",
        run.outcome
    );
}

#[test]
fn pids_above_the_limit_are_refused_and_named() {
    let expect = Expect::succeeded().stdout_exact("11\nmade 7\n");
    let run = check(&Program::python(FORK).args(&["9"]), &["pids=8"], &expect);
    warned(&run, "pids");
}

const WRITE: &str = "import sys\nn = 0\ntry:\n    with open('/tmp/f', 'wb') as f:\n        for i in range(int(sys.argv[1])): f.write(b'z' * 65536); f.flush(); n += 1\nexcept OSError as e: print(e.errno)\nprint(n * 64, 'KiB')";

#[test]
fn disk_from_below() {
    check(
        &Program::python(WRITE).args(&["120"]),
        &["disk=8MiB"],
        &Expect::succeeded().stdout_exact("7680 KiB\n"),
    );
}

#[test]
fn disk_from_above() {
    let run = check(
        &Program::python(WRITE).args(&["200"]),
        &["disk=8MiB"],
        &Expect::succeeded().stdout("^28\n(7[0-9]{3}|8[01][0-9]{2}) KiB"),
    );
    warned(&run, "disk");
    assert!(
        acceptance::check::told(&run).contains("8 MiB"),
        "{:#}",
        run.outcome
    );
}

#[test]
fn disk_is_one_budget_for_four_places() {
    let text = "n = 0\nfor d in ('/job', '/home/job', '/tmp', '/dev/shm'):\n    try:\n        with open(d + '/f', 'wb') as f:\n            for i in range(16): f.write(b'z' * 262144); f.flush(); n += 1\n    except OSError: pass\nprint(n)";
    check(
        &Program::python(text),
        &["disk=8MiB"],
        &Expect::succeeded().stdout("^(2[89]|3[012])\n"),
    );
}

const FILES: &str = "import sys\nn = 0\ntry:\n    for i in range(int(sys.argv[1])): open(f'/tmp/f{i}', 'w').close(); n += 1\nexcept OSError as e: print(e.errno)\nprint(n)";

#[test]
fn inodes_from_below() {
    check(
        &Program::python(FILES).args(&["90"]),
        &["inodes=128"],
        &Expect::succeeded().stdout_exact("90\n"),
    );
}

#[test]
fn inodes_from_above() {
    let run = check(
        &Program::python(FILES).args(&["300"]),
        &["inodes=128"],
        &Expect::succeeded().stdout("^28\n1[0-2][0-9]\n"),
    );
    warned(&run, "inodes");
}

#[test]
fn open_files_at_the_limit() {
    let text = "import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))\nheld = []\ntry:\n    while True: held.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(held))";
    let run = check(
        &Program::python(text),
        &["open-files=64"],
        &Expect::succeeded().stdout(r"^\(64, 64\)\n24 6[01]\n"),
    );
    assert_eq!(run.number("/limits/open_files"), 64);
}

#[test]
fn output_below_at_and_above() {
    for stream in ["stdout", "stderr"] {
        for (bytes, cut) in [(65_535, false), (65_536, false), (65_537, true)] {
            let text = format!(
                "import os\nfor i in range({bytes} // 4096): os.write({fd}, b'y' * 4096)\nos.write({fd}, b'z' * ({bytes} % 4096))",
                fd = 1 + u8::from(stream == "stderr")
            );
            let expect = Expect::succeeded().truncated(stream, cut);
            let run = check(
                &Program::python(&text),
                &[&format!("{stream}=64KiB")],
                &expect,
            );
            assert_eq!(run.number(&format!("/{stream}/total_bytes")), bytes);
            assert_eq!(run.raw(stream).len() as u64, bytes.min(65_536));
        }
    }
}

#[test]
fn output_of_nothing() {
    let run = check(
        &Program::python("print('x')"),
        &["stdout=0KiB"],
        &Expect::succeeded().truncated("stdout", true),
    );
    assert_eq!(
        (run.raw("stdout").len(), run.number("/stdout/total_bytes")),
        (0, 2)
    );
}

#[test]
fn output_of_a_flood_ends_the_job() {
    let text = "import os\nwhile True: os.write(1, b'y' * 65536)";
    let expect = Expect::ends("limit_exceeded", "output")
        .truncated("stdout", true)
        .within(20.0);
    let run = check(
        &Program::python(text),
        &["stdout=64KiB", "wall=30s"],
        &expect,
    );
    assert_eq!(run.raw("stdout").len(), 65_536);
}

#[test]
fn artifact_count_at_and_above() {
    for (files, kept) in [(3, 3), (5, 3)] {
        let text = format!("for i in range({files}): open(f'f{{i}}.txt', 'w').write(str(i))");
        let run = check(
            &Program::python(&text),
            &["artifact-count=3"],
            &Expect::succeeded(),
        );
        assert_eq!(
            run.artifacts(),
            (0..kept).map(|n| format!("f{n}.txt")).collect::<Vec<_>>(),
            "{:#}",
            run.outcome
        );
        assert_eq!(
            run.skipped().iter().any(|(_, reason)| reason == "too_many"),
            files > 3,
            "{:#}",
            run.outcome
        );
    }
}

#[test]
fn artifact_bytes_at_and_above() {
    for (second, kept) in [
        (448 << 10, vec!["a.bin", "b.bin"]),
        ((448 << 10) + 1, vec!["a.bin"]),
    ] {
        let text = format!(
            "open('a.bin', 'wb').write(b'a' * (576 << 10)); open('b.bin', 'wb').write(b'b' * {second})"
        );
        let run = check(
            &Program::python(&text),
            &["artifact-size=1MiB"],
            &Expect::succeeded().artifacts(&kept),
        );
        assert_eq!(
            run.skipped()
                .iter()
                .any(|(path, reason)| path == "b.bin" && reason == "too_large"),
            kept.len() == 1
        );
    }
}

#[test]
fn limits_in_force_are_told() {
    let limits = [
        "wall=5s",
        "memory=64MiB",
        "pids=16",
        "disk=16MiB",
        "inodes=200",
        "open-files=100",
        "cpus=0.5",
    ];
    let run = check(&Program::python("pass"), &limits, &Expect::succeeded());
    for (name, value) in [
        ("wall_ms", 5000),
        ("memory_bytes", 64 << 20),
        ("pids", 16),
        ("disk_bytes", 16 << 20),
        ("inodes", 200),
        ("open_files", 100),
    ] {
        assert_eq!(run.number(&format!("/limits/{name}")), value, "{name}");
    }
    assert_eq!(run.at("/limits/cpus").as_f64(), Some(0.5));
    assert_eq!(run.number("/limits/cpu_ms"), 60_000, "the default");
}
