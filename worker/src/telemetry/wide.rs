//! What is said of a job when it has its answer: one event with all that an audit or a replay asks?
//!
//! Who, what by its hash, the limits in force, what came of it, what it used and how long each step
//! took. Never what a job says itself: no text of its code, arguments, variables, input, output, no
//! name of a file, no message that may quote one. A hash tells whether it is the same, and `kiln
//! result` and `kiln replay` have the rest for who may see it.

use super::log;
use kiln_protocol::digest::sha256_hex;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::{Class, Content, Job, Payload};
use kiln_protocol::limits::Limits;
use kiln_protocol::outcome::{
    ArtifactState, Fault, Outcome, Reason, SandboxReport, Status, StreamReport, TimingUs, Usage,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Inputs whose hashes are told one by one.
const INPUTS_MAX: usize = 32;

/// How a job came here.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    pub id: &'a JobId,
    pub tenant: &'a Tenant,
    pub class: Class,
    /// What it asked for.
    pub profile: &'a str,
    /// The queue that it came by.
    pub queue: Option<&'a str>,
    /// Of this execution, in the store's keys and the journal.
    pub run: Option<&'a str>,
}

/// What was asked for, by its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Of the code, or of the command as its words, each with a nought behind it.
    program_sha256: String,
    program: &'static str,
    program_bytes: usize,
    args: usize,
    env: usize,
    secrets: usize,
    stdin_bytes: usize,
    inputs: usize,
    inputs_bytes: u64,
    /// In the order of the job, 32 at most.
    inputs_sha256: Vec<String>,
}

impl Asked {
    /// Bytes that are hashed for it.
    pub fn weight(job: &Job) -> usize {
        let files = job.files.iter().map(|file| match &file.content {
            Content::Bytes(bytes) => bytes.len(),
            Content::Object { .. } => 0,
        });
        program(job).len() + files.take(INPUTS_MAX).sum::<usize>()
    }

    pub fn of(job: &Job) -> Self {
        let program = program(job);
        let sha256 = |content: &Content| match content {
            Content::Bytes(bytes) => sha256_hex(bytes),
            Content::Object { sha256, .. } => sha256.clone(),
        };
        let bytes = |content: &Content| match content {
            Content::Bytes(bytes) => bytes.len() as u64,
            // What lies in the store is not asked for its size.
            Content::Object { .. } => 0,
        };
        let contents = || job.files.iter().map(|file| &file.content);
        Self {
            program_sha256: sha256_hex(&program),
            program: match job.payload {
                Payload::Code(_) => "code",
                Payload::Command(_) => "command",
            },
            program_bytes: program.len(),
            args: job.args.len(),
            env: job.env.len(),
            secrets: job.secrets.len(),
            stdin_bytes: job.stdin.len(),
            inputs: job.files.len(),
            inputs_bytes: contents().map(bytes).sum(),
            inputs_sha256: contents().take(INPUTS_MAX).map(sha256).collect(),
        }
    }
}

fn program(job: &Job) -> Vec<u8> {
    match &job.payload {
        Payload::Code(code) => code.clone().into_bytes(),
        Payload::Command(words) => words
            .iter()
            .flat_map(|word| word.bytes().chain([0]))
            .collect(),
    }
}

/// The event.
#[derive(Debug, Serialize)]
struct JobDone<'a> {
    event: &'static str,
    job_id: &'a JobId,
    tenant: &'a Tenant,
    class: &'static str,
    profile: &'a str,
    queue: Option<&'a str>,
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<&'a Asked>,
    limits: Option<Limits>,
    status: Status,
    reason: Option<&'a Reason>,
    fault: Option<Fault>,
    retryable: bool,
    exit_code: Option<i32>,
    signal: Option<&'a str>,
    stdout: Stream<'a>,
    stderr: Stream<'a>,
    artifacts: Artifacts,
    warnings: BTreeSet<&'a str>,
    usage: &'a Usage,
    timing_us: TimingUs,
    sandbox: Option<&'a SandboxReport>,
    worker: &'a str,
    attempt: u32,
    redelivered: bool,
    duplicate_of: Option<&'a JobId>,
    finished_unix_ms: u64,
    trace_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Stream<'a> {
    bytes: u64,
    truncated: bool,
    sha256: &'a str,
}

impl<'a> From<&'a StreamReport> for Stream<'a> {
    fn from(report: &'a StreamReport) -> Self {
        Self {
            bytes: report.total_bytes,
            truncated: report.truncated,
            sha256: &report.sha256,
        }
    }
}

#[derive(Debug, Default, Serialize)]
struct Artifacts {
    released: usize,
    withheld: usize,
    skipped: usize,
    bytes: u64,
    verdicts: BTreeMap<String, usize>,
}

impl Artifacts {
    fn of(outcome: &Outcome) -> Self {
        let mut artifacts = Self {
            skipped: outcome.skipped.len(),
            ..Self::default()
        };
        for artifact in &outcome.artifacts {
            match artifact.state {
                ArtifactState::Released => artifacts.released += 1,
                ArtifactState::Withheld => artifacts.withheld += 1,
            }
            artifacts.bytes += artifact.bytes;
            let verdict = serde_json::to_value(artifact.verdict).unwrap_or_default();
            let verdict = verdict.as_str().unwrap_or_default().to_owned();
            *artifacts.verdicts.entry(verdict).or_default() += 1;
        }
        artifacts
    }
}

/// Whether anybody reads it.
pub fn is_wanted() -> bool {
    log::is_wanted()
}

/// Writes it, where anybody wants to read it.
pub fn done(delivery: &Delivery<'_>, asked: Option<&Asked>, outcome: &Outcome) {
    log::event(&event(delivery, asked, outcome));
}

fn event<'a>(
    delivery: &Delivery<'a>,
    asked: Option<&'a Asked>,
    outcome: &'a Outcome,
) -> JobDone<'a> {
    JobDone {
        event: "job.done",
        job_id: delivery.id,
        tenant: delivery.tenant,
        class: delivery.class.as_str(),
        profile: delivery.profile,
        queue: delivery.queue,
        run: delivery.run,
        asked,
        limits: outcome.limits,
        status: outcome.status,
        reason: outcome.reason.as_ref(),
        fault: outcome.fault,
        retryable: outcome.retryable,
        exit_code: outcome.exit_code,
        signal: outcome.signal.as_deref(),
        stdout: Stream::from(&outcome.stdout),
        stderr: Stream::from(&outcome.stderr),
        artifacts: Artifacts::of(outcome),
        warnings: outcome.warnings.iter().map(|it| it.code.as_str()).collect(),
        usage: &outcome.usage,
        timing_us: outcome.timing_us,
        sandbox: outcome.sandbox.as_ref(),
        worker: &outcome.worker,
        attempt: outcome.attempt,
        redelivered: outcome.redelivered,
        duplicate_of: outcome.duplicate_of.as_ref(),
        finished_unix_ms: outcome.finished_unix_ms,
        trace_id: outcome.trace_id.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::answer::Unrun;
    use kiln_protocol::admission::{Admission, IdRule, TenantRule};

    fn job(more: &str) -> Job {
        let text = format!(
            r#"{{"schema": "kiln.job.v1", "id": "j", "code": "print('marker')", "args": ["marker-a"],
                "env": {{"MARKER_N": "marker-v"}}, "stdin": "marker-in", "labels": {{"marker-k": "marker-l"}},
                "idempotency_key": "marker-key"{more}}}"#
        );
        let profiles = kiln_warden::profile::Profiles::built_in();
        let admission = Admission {
            profiles: &profiles,
            id: IdRule::Required,
            tenant: TenantRule::Default(Tenant::default()),
            class: None,
        };
        let accepted = kiln_protocol::decode::decode(text.as_bytes(), &admission);
        accepted.expect("it is a job").job
    }

    #[test]
    fn what_was_asked_for_is_told_by_its_hash_alone() {
        let files = r#", "files": [{"path": "marker.txt", "text": "abc"}, {"path": "b",
            "object": "inputs/default/b", "sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]"#;
        let job = job(files);
        let asked = Asked::of(&job);
        assert_eq!(asked.program_sha256, sha256_hex(b"print('marker')"));
        assert_eq!(asked.inputs_sha256, [sha256_hex(b"abc"), "a".repeat(64)]);
        assert_eq!(
            (asked.inputs, asked.inputs_bytes, asked.args, asked.env),
            (2, 3, 1, 1)
        );
        assert_eq!(Asked::weight(&job), 15 + 3);
        let outcome: Outcome = Unrun::cancelled(job.id.clone(), "w").into();
        let delivery = Delivery {
            id: &job.id,
            tenant: &job.tenant,
            class: job.class,
            profile: &job.profile,
            queue: Some("kiln.jobs.interactive"),
            run: Some("r"),
        };
        let text = serde_json::to_string(&event(&delivery, Some(&asked), &outcome));
        let text = text.expect("it is JSON");
        assert!(!text.to_lowercase().contains("marker"), "{text}");
        for told in [
            "\"status\":\"cancelled\"",
            "\"tenant\":\"default\"",
            "\"run\":\"r\"",
            "\"worker\":\"w\"",
        ] {
            assert!(text.contains(told), "`{told}` is not in {text}");
        }
    }

    #[test]
    fn the_words_of_a_command_are_told_apart() {
        let of = |words: &[&str]| {
            let mut job = job("");
            job.payload = Payload::Command(words.iter().map(|&it| it.to_owned()).collect());
            Asked::of(&job).program_sha256
        };
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
    }
}
