//! What does a person read when a job is over?

use super::escape;
use kiln_protocol::outcome::{ArtifactReport, ArtifactState, Outcome, Status};
use kiln_protocol::units::{format_duration_ms, format_size};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// Artifacts that are listed by name; the rest is counted.
const LISTED_MAX: usize = 20;

/// One line with the figures, then a line for each thing worth knowing.
pub(super) fn render(outcome: &Outcome, out_dir: &Path) -> String {
    let mut text = String::new();
    put(&mut text, &figures(outcome, out_dir));
    text + &notes(outcome)
}

/// The lines after the figures: a hint, each warning, and what there is of files.
pub(super) fn notes(outcome: &Outcome) -> String {
    let mut text = String::new();
    if let Some(hint) = &outcome.hint {
        put(&mut text, &format!("hint: {hint}"));
    }
    for warning in &outcome.warnings {
        put(&mut text, &format!("warning: {}", warning.message));
    }
    for artifact in outcome.artifacts.iter().take(LISTED_MAX) {
        put(&mut text, &format!("artifact: {}", line_of(artifact)));
    }
    let more = outcome.artifacts.len().saturating_sub(LISTED_MAX);
    if more > 0 {
        put(&mut text, &format!("artifact: and {more} more"));
    }
    for skipped in &outcome.skipped {
        let reason = word(&skipped.reason);
        put(&mut text, &format!("left out: {} ({reason})", skipped.path));
    }
    text
}

/// The warnings alone, of one job among many.
pub(super) fn warnings(outcome: &Outcome) -> String {
    let mut text = String::new();
    for warning in &outcome.warnings {
        let line = format!("{}: warning: {}", outcome.job_id, warning.message);
        put(&mut text, &line);
    }
    text
}

fn figures(outcome: &Outcome, out_dir: &Path) -> String {
    let mut parts = vec![status(outcome)];
    // Any other end is in the message.
    if outcome.status == Status::Succeeded {
        parts.extend(outcome.exit_code.map(|code| format!("exit {code}")));
    }
    let usage = &outcome.usage;
    parts.extend(usage.wall_us.map(|us| format!("wall {}", duration(us))));
    if let (Some(user), Some(system)) = (usage.cpu_user_us, usage.cpu_system_us) {
        parts.push(format!("cpu {}", duration(user + system)));
    }
    let peak = usage.memory_peak_bytes;
    parts.extend(peak.map(|bytes| format!("memory peak {}", format_size(bytes))));
    parts.extend(artifacts(&outcome.artifacts));
    parts.push(format!("files in {}", out_dir.display()));
    parts.join(", ")
}

fn status(outcome: &Outcome) -> String {
    let status = outcome.status.as_str();
    match (&outcome.reason, &outcome.message) {
        (Some(reason), Some(message)) => format!("{status} ({}): {message}", reason.as_str()),
        _ => status.to_owned(),
    }
}

/// How many there are, with the word of the scanner where it is one for all.
fn artifacts(all: &[ArtifactReport]) -> Option<String> {
    let first = all.first()?;
    let count = match all.len() {
        1 => "1 artifact".to_owned(),
        many => format!("{many} artifacts"),
    };
    let one_word = all.iter().all(|a| a.verdict == first.verdict);
    let words = if one_word {
        word(&first.verdict)
    } else {
        "see below".to_owned()
    };
    let kept = all.iter().filter(|a| a.state == ArtifactState::Withheld);
    Some(match kept.count() {
        0 => format!("{count} ({words})"),
        withheld => format!("{count} ({words}; {withheld} withheld)"),
    })
}

fn line_of(artifact: &ArtifactReport) -> String {
    let withheld = match artifact.state {
        ArtifactState::Released => "",
        ArtifactState::Withheld => ", withheld",
    };
    format!(
        "{} ({}, {}{withheld})",
        artifact.path,
        format_size(artifact.bytes),
        word(&artifact.verdict)
    )
}

/// The word of the contract for a value of one of its enums.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        other => format!("{other:?}"),
    }
}

fn duration(us: u64) -> String {
    format_duration_ms(us / 1000)
}

/// Names are the job's own choice, so no line is printed as it is.
fn put(text: &mut String, line: &str) {
    writeln!(text, "kiln: {}", escape::name(line)).expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::answer::Unrun;
    use kiln_protocol::outcome::{Reason, SkipReason, Skipped, Verdict, Warning};

    fn outcome() -> Outcome {
        let id = "j".parse().expect("an id");
        let mut outcome =
            Outcome::from(Unrun::platform_error(id, Reason::Sandbox, "m".into(), "w"));
        outcome.status = Status::Succeeded;
        outcome.reason = None;
        outcome.message = None;
        outcome.hint = None;
        outcome.exit_code = Some(0);
        outcome.usage.wall_us = Some(1_234_000);
        outcome.usage.cpu_user_us = Some(900_000);
        outcome.usage.cpu_system_us = Some(10_000);
        outcome.usage.memory_peak_bytes = Some(32 << 20);
        outcome
    }

    fn artifact(path: &str) -> ArtifactReport {
        ArtifactReport {
            path: path.into(),
            bytes: 812,
            sha256: String::new(),
            media_type: None,
            state: ArtifactState::Released,
            verdict: Verdict::Clean,
            findings: Vec::new(),
            serve: None,
            object: None,
        }
    }

    #[test]
    fn a_success_is_one_line_and_its_artifacts() {
        let mut outcome = outcome();
        outcome.artifacts = vec![artifact("a.csv"), artifact("b\x1b[2J\n.csv")];
        let wanted = "\
kiln: succeeded, exit 0, wall 1.2 s, cpu 910 ms, memory peak 32 MiB, 2 artifacts (clean), files in out
kiln: artifact: a.csv (812 B, clean)
kiln: artifact: b\\x1b[2J\\n.csv (812 B, clean)
";
        assert_eq!(render(&outcome, Path::new("out")), wanted);
    }

    #[test]
    fn what_is_withheld_is_counted() {
        let mut outcome = outcome();
        let mut key = artifact("key.txt");
        key.state = ArtifactState::Withheld;
        key.verdict = Verdict::Suspicious;
        outcome.artifacts = vec![artifact("a.csv"), key];
        let text = render(&outcome, Path::new("out"));
        assert!(
            text.contains("2 artifacts (see below; 1 withheld)"),
            "{text}"
        );
        assert!(
            text.contains("artifact: key.txt (812 B, suspicious, withheld)\n"),
            "{text}"
        );
    }

    #[test]
    fn a_failure_says_why_and_what_would_help() {
        let mut outcome = outcome();
        outcome.status = Status::LimitExceeded;
        outcome.reason = Some(Reason::Memory);
        outcome.message = Some("killed: memory limit of 512 MiB reached".into());
        outcome.hint = Some("ask for more".into());
        outcome.exit_code = None;
        outcome.signal = Some("SIGKILL".into());
        outcome.usage = kiln_protocol::outcome::Usage::default();
        outcome.warnings = vec![Warning {
            code: "pids".into(),
            message: "the limit of 64 was reached".into(),
            pointer: None,
        }];
        outcome.skipped = vec![Skipped {
            path: "link".into(),
            reason: SkipReason::Symlink,
        }];
        let wanted = "\
kiln: limit_exceeded (memory): killed: memory limit of 512 MiB reached, files in out
kiln: hint: ask for more
kiln: warning: the limit of 64 was reached
kiln: left out: link (symlink)
";
        assert_eq!(render(&outcome, Path::new("out")), wanted);
    }
}
