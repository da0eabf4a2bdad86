//! Which jobs does a soak mix, and what must come of each?

use acceptance::batch::{sandbox, text};
use acceptance::hostile::{Probe, Verdict, contained, index, verdict};
use acceptance::seed::Seed;
use acceptance::stack::world::{bash, fresh};
use serde_json::{Value, json};
use std::path::Path;

/// What must have come of a job.
pub(crate) type Judge = fn(&Value) -> Result<(), String>;

/// A kind's parts of a thousand, what makes one of it, and its judge.
type Kind = (u64, fn() -> Value, Judge);

/// What of the network the profile `bash` grants; nobody is asked there.
pub(crate) const GRANTED: &str = "ok.test:443";

/// The parts of a thousand that each kind has; what is left is a program that does nothing.
const KINDS: [Kind; 13] = [
    (90, speaks, succeeded),
    (60, computes, succeeded),
    (80, files, made_a_file),
    (40, untidy, failed),
    (40, leaves_children, succeeded),
    (8, sleeps, |outcome| {
        ended(outcome, "timed_out", "wall_time")
    }),
    (6, eats, |outcome| {
        ended(outcome, "limit_exceeded", "memory")
    }),
    (6, floods, |outcome| {
        ended(outcome, "limit_exceeded", "output")
    }),
    (5, breeds, answered),
    (5, calls, |outcome| {
        ended(outcome, "policy_denied", "syscall")
    }),
    (5, strict, alone),
    (15, asks_outside, was_refused),
    (20, fills, answered),
];

/// The limits of a program that takes all it gets, as its arguments.
const SMALL: [&str; 8] = [
    "WALL_S=3",
    "MEM_MB=64",
    "PIDS=32",
    "CPUS=1",
    "TMP_MB=16",
    "INODES=1024",
    "FDS=256",
    "OUT_MB=1",
];

/// The hostile programs of groups B and C, as jobs of a soak.
pub(crate) struct Mix {
    exhausting: Vec<Probe>,
    leaving: Vec<Probe>,
    built: tempfile::TempDir,
    seed: Seed,
}

impl Mix {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            exhausting: index('B'),
            leaving: index('C'),
            built: acceptance::places::scratch(),
            seed,
        }
    }

    /// One job of every kind, and what must come of it.
    pub(crate) fn all(&mut self) -> Vec<(Value, Judge)> {
        let mut all: Vec<_> = KINDS
            .iter()
            .map(|(_, job, judge)| (job(), *judge))
            .collect();
        all.push(self.leaves());
        all.push(self.looks());
        all.push((quiet(), succeeded));
        all
    }

    /// Any job.
    pub(crate) fn one(&mut self) -> (Value, Judge) {
        let mut at = self.seed.below(1000);
        for (parts, job, judge) in KINDS {
            if at < parts {
                return (job(), judge);
            }
            at -= parts;
        }
        match at {
            0 => self.exhausts(),
            1..=6 => self.leaves(),
            7..=12 => self.looks(),
            _ => (quiet(), succeeded),
        }
    }

    fn exhausts(&mut self) -> (Value, Judge) {
        let probe = self.seed.one(&self.exhausting).clone();
        let words: &[&str] = if probe.is_c() { &["1"] } else { &SMALL };
        let mut job = hostile(&probe, words, self.built.path());
        job["limits"] = json!({"wall_ms": 3000, "memory_bytes": 64 << 20, "pids": 32, "cpus": 1,
            "disk_bytes": 16 << 20, "inodes": 1024, "open_files": 256, "stdout_bytes": 1 << 20});
        (job, answered)
    }

    /// Leaves what it can.
    fn leaves(&mut self) -> (Value, Judge) {
        let probe = self.seed.one(&self.leaving).clone();
        (hostile(&probe, &["plant"], self.built.path()), unbreached)
    }

    /// Looks for what any job before it has left.
    fn looks(&mut self) -> (Value, Judge) {
        let probe = self.seed.one(&self.leaving).clone();
        (hostile(&probe, &["look"], self.built.path()), contained)
    }
}

fn hostile(probe: &Probe, words: &[&str], built: &Path) -> Value {
    let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
    let limits = json!({"wall_ms": 10_000, "memory_bytes": 256 << 20, "pids": 64, "disk_bytes": 64 << 20,
        "inodes": 4096, "open_files": 256, "stdout_bytes": 1 << 20});
    probe.job(&fresh("job"), &words, &limits, built)
}

fn python(code: &str) -> Value {
    acceptance::batch::python(&fresh("job"), code)
}

fn quiet() -> Value {
    json!({"schema": "kiln.job.v1", "id": fresh("job"), "profile": "python", "command": ["true"]})
}

fn speaks() -> Value {
    bash("echo served; echo aside >&2")
}

fn computes() -> Value {
    python(
        "import json, random; print(json.dumps(sorted(random.random() for _ in range(1000)))[:99])",
    )
}

fn files() -> Value {
    let mut job = bash("tr a-z A-Z < in.txt > made.txt");
    job["files"] = json!([{"path": "in.txt", "text": "abc"}]);
    job
}

fn untidy() -> Value {
    bash(
        "mkdir -p /tmp/a/b/c; echo x > /dev/shm/x; mkfifo f; ln -s / all; ln f g; chmod 0 /tmp/a; \
         echo x > ~/.profile; umask 777; exit 3",
    )
}

fn leaves_children() -> Value {
    bash(
        "trap '' TERM HUP; (setsid sleep 300 >/dev/null 2>&1 &); sleep 300 >/dev/null 2>&1 & \
         nohup bash -c 'while :; do sleep 1; done' >/dev/null 2>&1 &",
    )
}

fn sleeps() -> Value {
    let mut job = bash("sleep 60");
    job["limits"] = json!({"wall_ms": 100});
    job
}

fn eats() -> Value {
    let mut job = python("x = bytearray(1 << 30)");
    job["limits"] = json!({"memory_bytes": 32 << 20});
    job
}

fn floods() -> Value {
    let mut job = bash("yes");
    job["limits"] = json!({"stdout_bytes": 65_536});
    job
}

fn breeds() -> Value {
    let mut job = bash("for i in {1..40}; do sleep 9 & done; exit 0");
    job["limits"] = json!({"pids": 16, "wall_ms": 500});
    job
}

fn fills() -> Value {
    let mut job =
        bash("for i in {1..300}; do echo > /tmp/$i; done; head -c 8M /dev/zero > /dev/shm/x");
    job["limits"] = json!({"inodes": 200, "disk_bytes": 4 << 20});
    job
}

/// A call that nothing but an attack makes.
fn calls() -> Value {
    python("import ctypes; ctypes.CDLL(None).syscall(175, 0, 0, 0); print('it went on')")
}

fn strict() -> Value {
    let mut job = bash("echo alone");
    job["isolation"] = json!("strict");
    job
}

fn asks_outside() -> Value {
    let mut job = bash(
        "exec 3<>/dev/tcp/127.0.0.1/3128; \
         printf 'CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n' >&3; head -1 <&3",
    );
    job["network"] = json!({"allow": [GRANTED]});
    job
}

fn or(holds: bool, outcome: &Value) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(outcome.to_string())
    }
}

fn ended(outcome: &Value, status: &str, reason: &str) -> Result<(), String> {
    or(
        outcome["status"] == status && outcome["reason"] == reason,
        outcome,
    )
}

fn succeeded(outcome: &Value) -> Result<(), String> {
    or(outcome["status"] == "succeeded", outcome)
}

fn failed(outcome: &Value) -> Result<(), String> {
    or(
        outcome["status"] == "failed" && outcome["exit_code"] == 3,
        outcome,
    )
}

fn made_a_file(outcome: &Value) -> Result<(), String> {
    let made = &outcome["artifacts"][0];
    or(made["path"] == "made.txt" && made["bytes"] == 3, outcome)
}

/// Nobody else was or will be in its sandbox.
fn alone(outcome: &Value) -> Result<(), String> {
    succeeded(outcome)?;
    or(
        sandbox(outcome).1 == 1 && outcome["sandbox"]["isolation"] == "strict",
        outcome,
    )
}

fn was_refused(outcome: &Value) -> Result<(), String> {
    succeeded(outcome)?;
    let told = outcome["warnings"][0]["code"] == "network";
    or(
        told && text(outcome, "stdout").starts_with("HTTP/1.1 403 "),
        outcome,
    )
}

/// It ended in any way that a job may, by its own fault.
fn answered(outcome: &Value) -> Result<(), String> {
    unbreached(outcome)?;
    or(
        !matches!(
            outcome["status"].as_str(),
            None | Some("platform_error" | "rejected")
        ),
        outcome,
    )
}

fn unbreached(outcome: &Value) -> Result<(), String> {
    match verdict(text(outcome, "stdout")) {
        Verdict::Breach(why) => Err(why),
        _ => or(outcome["status"] != "platform_error", outcome),
    }
}
