//! The outcome of a run, put together from what each step left.

use super::types::Delivered;
use crate::execute::Run;
use crate::heavy;
use crate::report::answer::now_unix_ms;
use crate::report::{self, Ending, Evidence};
use crate::screen::table::Fate;
use crate::screen::word::Word;
use crate::store::folder::{Kept, KeptFile, KeptStream};
use artifact_scanner::Serve as Served;
use kiln_protocol::job::Job;
use kiln_protocol::limits::Limits;
use kiln_protocol::outcome::{
    ArtifactReport, ArtifactState, OUTCOME_SCHEMA, Outcome, Reason, SandboxReport, Serve, Status,
    StreamReport, TimingUs, Usage, Warning,
};
use kiln_warden::profile::Profile;

/// Findings that an outcome tells, of all artifacts together.
const FINDINGS_MAX: usize = 1_000;

/// What the steps left of one job.
pub(super) struct Record<'a> {
    pub(super) job: &'a Job,
    pub(super) profile: &'a Profile,
    pub(super) limits: Limits,
    pub(super) run: Run,
    pub(super) kept: Kept,
    pub(super) warnings: Vec<Warning>,
    pub(super) timing: TimingUs,
    pub(super) sandbox: Option<SandboxReport>,
    pub(super) worker: &'a str,
    pub(super) delivery: Delivered,
}

pub(super) fn outcome(record: Record<'_>) -> Outcome {
    let Record {
        job,
        profile,
        limits,
        run,
        kept,
        mut warnings,
        timing,
        sandbox,
        worker,
        delivery,
    } = record;
    let evidence = evidence(&run, &kept);
    let ending = report::ending(&evidence, &limits, &profile.limits);
    let Ending {
        status,
        reason,
        message,
        hint,
        evidence: shown,
        exit_code,
        signal,
        retryable,
        warnings: noticed,
    } = ending;
    warnings.extend(noticed);
    warnings.extend(withheld(&kept));
    // An outcome is a message: the more files, the less is told of each.
    let findings_max = (FINDINGS_MAX / kept.files.len().max(1)).max(1);
    Outcome {
        schema: OUTCOME_SCHEMA.to_owned(),
        job_id: job.id.clone(),
        status,
        reason,
        fault: status.fault(),
        retryable,
        message,
        hint,
        evidence: shown,
        exit_code,
        signal,
        stdout: stream(kept.stdout),
        stderr: stream(kept.stderr),
        artifacts: kept
            .files
            .into_iter()
            .map(|file| artifact(file, findings_max))
            .collect(),
        skipped: kept.skipped,
        limits: Some(limits),
        warnings,
        usage: Usage {
            wall_us: Some(evidence.wall_us),
            cpu_user_us: Some(evidence.cpu_user_us),
            cpu_system_us: Some(evidence.cpu_system_us),
            memory_peak_bytes: evidence.memory_peak_bytes,
            memory_peak_source: evidence.memory_peak_bytes.map(|_| "cgroup".to_owned()),
            pids_peak: evidence.pids_peak,
            disk_bytes: Some(evidence.disk_used_bytes),
        },
        timing_us: timing,
        sandbox,
        worker: worker.to_owned(),
        attempt: delivery.attempt,
        redelivered: delivery.redelivered,
        finished_unix_ms: now_unix_ms(),
        trace_id: delivery.trace_id,
        duplicate_of: None,
    }
}

/// The outcome of a job that ran, but of which something could not be kept.
pub(super) fn unkept(outcome: Outcome, why: &str) -> Outcome {
    let mut evidence = outcome.evidence;
    evidence.insert("ended".to_owned(), outcome.status.as_str().into());
    Outcome {
        status: Status::PlatformError,
        reason: Some(Reason::Store),
        fault: Status::PlatformError.fault(),
        retryable: true,
        message: Some(format!(
            "the job ran (`{}`), but what it made could not be kept: failed to {why}",
            outcome.status.as_str()
        )),
        hint: Some("make room where the results go, or name another folder".to_owned()),
        evidence,
        ..outcome
    }
}

fn evidence(run: &Run, kept: &Kept) -> Evidence {
    let call = |nr: u32| {
        kiln_warden::seccomp::name(nr).map_or_else(|| format!("system call {nr}"), str::to_owned)
    };
    let captured = |stream: &KeptStream| report::Captured {
        total_bytes: stream.total_bytes,
        truncated: stream.truncated,
    };
    Evidence {
        cause: run.ended.cause,
        status: run.ended.status,
        cut_by_deadline: run.deadline_first,
        unstaged: run.unstaged.as_ref().map(|(path, errno)| report::Unstaged {
            path: path.clone(),
            out_of_memory: *errno == rustix::io::Errno::NOMEM.raw_os_error().cast_unsigned(),
        }),
        oom_kills: run.figures.oom_kills,
        memory_peak_bytes: run.figures.memory_peak_bytes,
        pids_max_events: run.figures.pids_refused,
        pids_peak: run.figures.pids_peak,
        cpu_user_us: run.figures.cpu_user_us,
        cpu_system_us: run.figures.cpu_system_us,
        wall_us: run.ended.wall_ns / 1000,
        noted: run
            .ended
            .noted
            .iter()
            .flatten()
            .map(|nr| call(*nr))
            .collect(),
        noted_total: run.ended.noted_total,
        fatal_call: run.ended.fatal.map(call),
        network: run.network.clone(),
        disk_used_bytes: run.disk.bytes,
        disk_full: run.disk_full,
        inodes_full: run.inodes_full,
        stdout: captured(&kept.stdout),
        stderr: captured(&kept.stderr),
    }
}

fn stream(kept: KeptStream) -> StreamReport {
    heavy::work(kept.raw.len(), || match kept.withheld {
        None => StreamReport::new(&kept.raw, kept.total_bytes, kept.object),
        Some((shown, _)) => StreamReport::withheld(&kept.raw, kept.total_bytes, &shown),
    })
}

/// A warning for each thing that the gate did not let out.
fn withheld(kept: &Kept) -> Vec<Warning> {
    let streams = [("stdout", &kept.stdout), ("stderr", &kept.stderr)];
    let streams = streams.into_iter().filter_map(|(name, stream)| {
        let (_, word) = stream.withheld.as_ref()?;
        Some(Warning {
            code: "stream_withheld".to_owned(),
            message: format!(
                "what was written to {name} is withheld: {}{}",
                because(word),
                place(stream.object.as_deref())
            ),
            pointer: None,
        })
    });
    let files = kept.files.iter().filter(|file| file.fate != Fate::Release);
    let files = files.map(|file| Warning {
        code: "artifact_withheld".to_owned(),
        message: format!(
            "`{}` is withheld: {}{}",
            file.path,
            because(&file.word),
            place(file.object.as_deref())
        ),
        pointer: None,
    });
    streams.chain(files).collect()
}

fn because(word: &Word) -> String {
    let said = word.told().as_str();
    match word.why() {
        why if why.is_empty() => format!("{said}, by policy"),
        why => format!("{said}, {why}"),
    }
}

fn place(object: Option<&str>) -> String {
    object.map_or("; it is not kept".to_owned(), |object| {
        format!("; it is kept as `{object}`")
    })
}

/// An artifact with at most so many findings.
fn artifact(kept: KeptFile, findings_max: usize) -> ArtifactReport {
    let KeptFile {
        path,
        bytes,
        sha256,
        word,
        fate,
        object,
    } = kept;
    let state = match fate {
        Fate::Release => ArtifactState::Released,
        Fate::Withhold | Fate::Drop => ArtifactState::Withheld,
    };
    let serve = match (state, word.serve()) {
        (ArtifactState::Withheld, _) => None,
        (ArtifactState::Released, Some(Served::Inline)) => Some(Serve::Inline),
        (ArtifactState::Released, Some(Served::Sandbox)) => Some(Serve::Sandbox),
        (ArtifactState::Released, Some(Served::Attachment) | None) => Some(Serve::Attachment),
    };
    ArtifactReport {
        path,
        bytes,
        sha256,
        media_type: Some(word.media_type().to_owned()),
        state,
        verdict: word.told(),
        findings: word.findings().iter().take(findings_max).cloned().collect(),
        serve,
        object,
    }
}
