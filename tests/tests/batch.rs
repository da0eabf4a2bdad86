//! Does a batch answer every line once, in spite of a wrong line, an interruption, or a crash?

use acceptance::batch::{self, Batch, text};
use acceptance::kiln::command;
use acceptance::leftovers::{descendants, wait_for};
use acceptance::{places, programs};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

#[test]
fn programs_164_on_two_slots_with_a_wrong_line_among_them() {
    let programs = programs::all();
    let mut batch = Batch::start(2, &[]);
    for (n, program) in programs.iter().enumerate() {
        if n == 80 {
            batch.send_raw(r#"{"schema": "kiln.job.v1", "id": "wrong", "code": "print(1)", "limits": {"wall_ms": "long"}}"#);
        }
        batch.send(&batch::python(&program.name, &program.code));
    }
    let ended = batch.end();
    assert_eq!(ended.exit, Some(2), "a refused line: {}", ended.stderr);
    let by_id: BTreeMap<_, _> = ended
        .results
        .iter()
        .map(|result| (result["job_id"].as_str().unwrap_or_default(), result))
        .collect();
    assert_eq!((ended.results.len(), by_id.len()), (165, 165));
    for program in &programs {
        let result = by_id[program.name.as_str()];
        assert_eq!(result["status"], "succeeded", "{result:#}");
        assert_eq!(text(result, "stdout"), format!("ok {}\n", program.name));
    }
    let wrong = by_id["wrong"];
    assert_eq!(
        (&wrong["status"], &wrong["reason"]),
        (&json!("rejected"), &json!("bad_job")),
        "{wrong:#}"
    );
    assert_eq!(wrong["evidence"]["pointer"], "/limits/wall_ms");
    let told = wrong["message"]
        .as_str()
        .is_some_and(|told| told.contains("81"));
    assert!(
        told || wrong["evidence"]["line"] == 81,
        "no line number: {wrong:#}"
    );
    let sandboxes: BTreeSet<_> = ended
        .results
        .iter()
        .filter_map(|result| result["sandbox"]["id"].as_str())
        .collect();
    assert!(
        sandboxes.len() <= 8,
        "sandboxes are not reused: {sandboxes:?}"
    );
}

#[test]
fn a_line_that_is_not_json_is_answered_too() {
    let mut batch = Batch::start(1, &[]);
    batch.send_raw("{not json");
    batch.send(&json!({"code": "print('second')"}));
    batch.send(&json!({"schema": "kiln.job.v1", "code": "print('third')"}));
    let ended = batch.end();
    assert_eq!(
        (ended.exit, ended.results.len()),
        (Some(2), 3),
        "{:#?}",
        ended.results
    );
    let rejected: Vec<_> = ended
        .results
        .iter()
        .filter(|result| result["status"] == "rejected")
        .collect();
    assert_eq!(
        rejected.len(),
        2,
        "a schema is required: {:#?}",
        ended.results
    );
    let third = ended
        .results
        .iter()
        .find(|result| result["status"] == "succeeded")
        .expect("one ran");
    let id = third["job_id"].as_str().expect("an id");
    assert!(
        id.starts_with("line-3-") && id.len() == "line-3-".len() + 16,
        "{id}"
    );
}

#[test]
fn a_stream_is_answered_as_it_comes() {
    let mut batch = Batch::start(1, &[]);
    let first = batch.run(&batch::python("first", "print('one')"));
    assert_eq!(
        (text(&first, "stdout"), batch::sandbox(&first).1),
        ("one\n", 1),
        "{first:#}"
    );
    let second = batch.run(&batch::python("second", "print('two')"));
    assert_eq!(
        (batch::sandbox(&second).1, &second["sandbox"]["start"]),
        (2, &json!("warm")),
        "{second:#}"
    );
    assert!(second["sandbox"]["generation"].as_u64() > first["sandbox"]["generation"].as_u64());
    for file in ["outcome.json", "stdout", "stderr"] {
        assert!(batch.out().join("second").join(file).is_file(), "{file}");
    }
    assert_eq!(batch.end().exit, Some(0));
}

#[test]
fn jobs_start_in_order_and_failures_are_exit_1() {
    let mut batch = Batch::start(1, &[]);
    for n in 0..5 {
        batch.send(&batch::bash(
            &format!("n{n}"),
            &format!("exit {}", u8::from(n == 3)),
        ));
    }
    let ended = batch.end();
    assert_eq!(ended.exit, Some(1), "{}", ended.stderr);
    let ids: Vec<_> = ended
        .results
        .iter()
        .filter_map(|result| result["job_id"].as_str())
        .collect();
    assert_eq!(ids, ["n0", "n1", "n2", "n3", "n4"]);
}

/// A folder with 30 jobs of some 0.3 s in `jobs.jsonl`.
fn thirty() -> tempfile::TempDir {
    let folder = places::scratch();
    let job = |n: i32| {
        batch::python(
            &format!("job-{n}"),
            &format!("import time; time.sleep(0.3); print({n})"),
        )
    };
    let jobs = (0..30)
        .map(|n| job(n).to_string())
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(folder.path().join("jobs.jsonl"), jobs).expect("writable");
    folder
}

fn resumable(folder: &Path) -> Child {
    let words = [
        "batch",
        "jobs.jsonl",
        "--slots",
        "2",
        "--out",
        "out",
        "--results",
        "results.jsonl",
    ];
    command(folder)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("kiln can be started")
}

fn lines(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("results.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whom a signal of [`interrupted`] reaches.
#[derive(Clone, Copy, PartialEq)]
enum Whom {
    Batch,
    Warden,
}

/// Interrupts after six results, resumes, and expects every job answered once and nothing answered changed.
fn interrupted(whom: Whom, signal: rustix::process::Signal) {
    let folder = thirty();
    let mut first = resumable(folder.path());
    assert!(
        wait_for(Duration::from_mins(1), || lines(folder.path()).len() >= 6),
        "no results"
    );
    let pid = match whom {
        Whom::Batch => rustix::process::Pid::from_child(&first),
        Whom::Warden => warden(first.id()),
    };
    rustix::process::kill_process(pid, signal).expect("it runs");
    let status = first.wait().expect("it ends");
    let text = std::fs::read_to_string(folder.path().join("results.jsonl")).expect("results");
    let whole: Vec<_> = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| line.trim_end().to_owned())
        .collect();
    assert!(
        whole.len() >= 6 && whole.len() < 30,
        "{} results before the interruption",
        whole.len()
    );
    if signal == rustix::process::Signal::INT {
        assert_eq!(
            text.split_inclusive('\n').count(),
            whole.len(),
            "a line is cut"
        );
        assert!(
            status.code().is_some(),
            "the first Ctrl-C lets running jobs finish"
        );
    }
    if whom == Whom::Warden {
        assert_eq!(status.code(), Some(69), "nothing can run without a warden");
    }
    let status = resumable(folder.path()).wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    let all = lines(folder.path());
    assert_eq!(
        all[..whole.len()],
        whole[..],
        "what was answered is answered anew"
    );
    let parsed: Vec<Value> = all
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let ids: BTreeSet<_> = parsed
        .iter()
        .filter_map(|result| result["job_id"].as_str())
        .collect();
    assert_eq!(
        (parsed.len(), ids.len()),
        (30, 30),
        "some job is answered twice or not at all"
    );
    assert!(parsed.iter().all(|result| result["status"] == "succeeded"));
    let status = resumable(folder.path()).wait().expect("it ends");
    assert_eq!(
        (status.code(), lines(folder.path()).len()),
        (Some(0), 30),
        "a third time nothing is run"
    );
}

#[test]
fn interrupted_and_resumed() {
    interrupted(Whom::Batch, rustix::process::Signal::INT);
}

#[test]
fn killed_and_resumed() {
    interrupted(Whom::Batch, rustix::process::Signal::KILL);
}

#[test]
fn warden_killed_and_resumed() {
    interrupted(Whom::Warden, rustix::process::Signal::KILL);
}

/// The warden of a batch, by its name.
fn warden(batch: u32) -> rustix::process::Pid {
    let named = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name.trim() == "kiln-warden")
    };
    let pid = descendants(batch).into_iter().find(named);
    let pid = i32::try_from(pid.expect("a batch has a warden")).expect("a pid");
    rustix::process::Pid::from_raw(pid).expect("a pid")
}

#[test]
fn tenants_share_a_sandbox_and_files_arrive() {
    let mut batch = Batch::start(1, &[]);
    let mut job = batch::python(
        "files",
        "import os; print(open('in/a.txt').read(), os.access('in/a.txt', os.W_OK), os.access('tool.sh', os.X_OK))",
    );
    job["files"] = json!([{"path": "in/a.txt", "text": "hello", "read_only": true}, {"path": "tool.sh", "base64": "IyEvYmluL3NoCg==", "executable": true}]);
    job["tenant"] = json!("acme");
    let first = batch.run(&job);
    assert_eq!(text(&first, "stdout"), "hello False True\n", "{first:#}");
    let mut job = batch::python("other", "import os; print(os.listdir('/job'))");
    job["tenant"] = json!("zeta");
    let second = batch.run(&job);
    assert_eq!(text(&second, "stdout"), "['main.py']\n", "{second:#}");
    assert_eq!(batch::sandbox(&first).0, batch::sandbox(&second).0);
}
