//! Group B: can a probe use up more than its limits, or hurt the job after it?

use crate::{args, limits};
use acceptance::batch::{self, Batch, text};
use acceptance::hostile::{Findings, Probe, Verdict, contained, index, verdict};
use acceptance::places;
use serde_json::{Value, json};

#[test]
fn b_exhaustion() {
    let built = places::scratch();
    let mut findings = Findings::default();
    let mut batch = Batch::start(1, &[]);
    for probe in index('B') {
        let ways: &[&str] = if probe.name == "exit_code_forgery" {
            &[
                "HOW=137",
                "HOW=124",
                "HOW=159",
                "HOW=SIGKILL",
                "HOW=SIGSYS",
                "HOW=SIGXCPU",
            ]
        } else {
            &[""]
        };
        for way in ways {
            let id = format!("{}-{}", probe.name, way.replace('=', "-"));
            let words = if probe.name == "vfork_churn" {
                vec!["5".to_owned()]
            } else {
                args(&[(*way).to_owned()])
            };
            let outcome = batch.run(&probe.job(&id, &words, &limits(), built.path()));
            findings.note(&probe.file, way, exhausted(&probe, way, &outcome));
            findings.note(&probe.file, "kept output", kept(&batch, &id, &outcome));
            let next = batch.run(&batch::python(&format!("after-{id}"), "print('clean')"));
            let clean = next["status"] == "succeeded"
                && text(&next, "stdout") == "clean\n"
                && next["warnings"] == json!([]);
            findings.note(
                &probe.file,
                "the next job",
                clean.then_some(()).ok_or_else(|| next.to_string()),
            );
        }
    }
    let ended = batch.end();
    assert!(
        ended.stderr.lines().all(|line| line.len() < 4096),
        "a log line has no bound"
    );
    assert!(
        !ended
            .stderr
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t'),
        "control characters in the log"
    );
    findings.settle();
}

/// What the out folder holds is within the limit, and it is what the outcome tells.
fn kept(batch: &Batch, id: &str, outcome: &Value) -> Result<(), String> {
    for stream in ["stdout", "stderr"] {
        let size =
            std::fs::metadata(batch.out().join(id).join(stream)).map_or(0, |file| file.len());
        let told = &outcome[stream];
        let whole = told["total_bytes"].as_u64().unwrap_or_default();
        if size > 1 << 20 || size != whole.min(1 << 20) || told["truncated"] != (whole > 1 << 20) {
            return Err(format!(
                "{stream}: {size} bytes kept, the outcome says {told}"
            ));
        }
    }
    Ok(())
}

/// Judges a probe of group B by its own word and by what the index asks of the harness.
fn exhausted(probe: &Probe, way: &str, outcome: &Value) -> Result<(), String> {
    let status = outcome["status"].as_str().unwrap_or_default();
    let reason = outcome["reason"].as_str().unwrap_or_default();
    let wall = outcome["usage"]["wall_us"].as_u64().unwrap_or(u64::MAX);
    let told = format!(
        "{status} {reason}, {wall} us, stdout ends {:?}",
        tail(text(outcome, "stdout"))
    );
    let or = |holds: bool| if holds { Ok(()) } else { Err(told.clone()) };
    if wall > 11_000_000 {
        return Err(format!("outlived its wall time: {told}"));
    }
    match probe.name.as_str() {
        "exec_storm" | "sleep_forever" | "sigstop_self" | "blocked_exit" => {
            or(reason == "wall_time")
        }
        "stdout_flood" | "interleaved_flood" => or(reason == "output" || reason == "wall_time"),
        "no_newline" => or(status == "succeeded" || reason == "output"),
        "binary_output" | "terminal_escapes" => {
            let raw = |c: char| c.is_control() && c != '\n' && c != '\t';
            or(status == "succeeded" && !text(outcome, "stdout").contains(raw))
        }
        "exit_code_forgery" => {
            let own = if way.contains("SIG") {
                "signal"
            } else {
                "exit_code"
            };
            or(status == "failed" && reason == own)
        }
        "daemon_holds_stdout" | "setsid_escape" | "write_after_parent_dies" => {
            or(verdict(text(outcome, "stdout")) == Verdict::Contained && wall < 3_000_000)
        }
        "page_cache" | "stdin_eof" | "disk_write_rate" | "huge_argv_env" | "long_names" => {
            contained(outcome)
        }
        "kill_everything" => or(matches!(status, "succeeded" | "failed")),
        _ => match verdict(text(outcome, "stdout")) {
            Verdict::Silent => or(matches!(status, "limit_exceeded" | "timed_out")),
            _ => contained(outcome),
        },
    }
}

fn tail(text: &str) -> String {
    text.chars()
        .rev()
        .take(80)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect()
}
