//! What became of the job? The one place where that is decided, from one record, in one match.
//!
//! ```text
//!  Evidence ──► fate ──► Ending          what ended the job: status, reason, message, hint
//!      └──────► noticed ──► warnings     what it ran into that ended nothing
//! ```
//!
//! The record holds the kernel's counters and what our clock did, never a word that the program
//! wrote: a program that exits with 137 has failed by itself. What runs before or instead of a
//! job (a refusal, a fault of ours) is in [`answer`].

pub mod answer;
pub(crate) mod faulted;
mod noticed;
mod signal;
pub(crate) mod whose;
mod words;

use crate::egress::tally::Tally;
use kiln_keeper::wire::Cause;
use kiln_protocol::limits::{LimitName, LimitTable, Limits};
use kiln_protocol::outcome::{Reason, Status, Warning};
use serde_json::{Map, Value};
use signal::MainEnd;

/// What one stream of the program came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// All that the program wrote.
    pub total_bytes: u64,
    /// Whether bytes past the limit were dropped.
    pub truncated: bool,
}

/// An input that met a limit of the job while it was staged; the program was not started then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstaged {
    pub path: String,
    /// Whether it was memory that ran out, and not the disk or its inodes.
    pub out_of_memory: bool,
}

/// Everything that is known of one run, taken when no process of the job lived any more.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What the keeper did.
    pub cause: Cause,
    /// The main program's wait status; `None` where it was killed before its own end was seen.
    pub status: Option<u32>,
    /// Whether the clock that ran out was the job's deadline and not its limit of wall time; also
    /// where the worker cut it by a kill.
    pub cut_by_deadline: bool,
    /// The first input that did not fit.
    pub unstaged: Option<Unstaged>,
    /// Processes of the job's group that the kernel killed for want of memory.
    pub oom_kills: u64,
    pub memory_peak_bytes: Option<u64>,
    /// Forks that the limit of processes refused.
    pub pids_max_events: u64,
    pub pids_peak: Option<u64>,
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    pub wall_us: u64,
    /// Names of the refused system calls, each once.
    pub noted: Vec<String>,
    /// Refused system calls in all.
    pub noted_total: u64,
    /// The call that is never allowed, where one ended the job.
    pub fatal_call: Option<String>,
    /// What was seen of its network, where it had one.
    pub network: Tally,
    /// The most that was seen in the writable places.
    pub disk_used_bytes: u64,
    /// Whether a sample, or the state at the end, had no byte left.
    pub disk_full: bool,
    /// Whether a sample, or the state at the end, had no inode left.
    pub inodes_full: bool,
    pub stdout: Captured,
    pub stderr: Captured,
}

/// What became of a job, as the outcome says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub status: Status,
    /// `None` only where it succeeded.
    pub reason: Option<Reason>,
    /// `None` only where it succeeded.
    pub message: Option<String>,
    pub hint: Option<String>,
    pub evidence: Map<String, Value>,
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
    pub retryable: bool,
    pub warnings: Vec<Warning>,
}

/// What ended the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Succeeded,
    ExitCode(i32),
    Signal(u32),
    WallTime,
    Deadline,
    CpuTime,
    /// Whether the main program had ended by itself is in its [`MainEnd`].
    Memory,
    Output,
    Syscall,
    Cancelled,
    /// The inputs met this limit, and nothing was started.
    Unfit(LimitName),
    /// Ours.
    Broken,
}

/// The limit that the inputs met.
fn unfit(evidence: &Evidence) -> Option<LimitName> {
    let unstaged = evidence.unstaged.as_ref()?;
    Some(
        match (
            unstaged.out_of_memory || evidence.oom_kills > 0,
            evidence.inodes_full,
        ) {
            (true, _) => LimitName::Memory,
            (false, true) => LimitName::Inodes,
            (false, false) => LimitName::Disk,
        },
    )
}

/// The rule. Precedence is the order of the arms: inputs that did not fit, for then there was no
/// program; the kernel's OOM count, for it ends the whole job whatever else happened at that
/// moment; then what the keeper did; then, where it did nothing, the program's own end.
fn fate(evidence: &Evidence, main: MainEnd) -> Fate {
    match (
        unfit(evidence),
        evidence.oom_kills,
        evidence.cause,
        evidence.cut_by_deadline,
        main,
    ) {
        (Some(limit), ..) => Fate::Unfit(limit),
        (None, 1.., ..) | (None, 0, Cause::Memory, ..) => Fate::Memory,
        (None, 0, Cause::Wall | Cause::Cancelled, true, _) => Fate::Deadline,
        (None, 0, Cause::Wall, false, _) => Fate::WallTime,
        (None, 0, Cause::Cancelled, false, _) => Fate::Cancelled,
        (None, 0, Cause::Cpu, ..) => Fate::CpuTime,
        (None, 0, Cause::Output, ..) => Fate::Output,
        (None, 0, Cause::Syscall, ..) => Fate::Syscall,
        (None, 0, Cause::Exited, _, MainEnd::Exited(0)) => Fate::Succeeded,
        (None, 0, Cause::Exited, _, MainEnd::Exited(code)) => Fate::ExitCode(code),
        (None, 0, Cause::Exited, _, MainEnd::Signalled(number)) => Fate::Signal(number),
        (None, 0, Cause::Exited, _, MainEnd::Unseen) | (None, 0, Cause::Broken, ..) => Fate::Broken,
    }
}

/// Decides what became of a job. `table` is the profile's, for what a hint may suggest.
pub fn ending(evidence: &Evidence, limits: &Limits, table: &LimitTable) -> Ending {
    let main = MainEnd::of(evidence.status);
    let fate = fate(evidence, main);
    let facts = words::Facts {
        evidence,
        limits,
        table,
        main,
    };
    let words = words::of(fate, &facts);
    let noticed = noticed::all(fate, &facts);
    let (exit_code, signal) = own_end(fate, main);
    let mut all_evidence = words.evidence;
    let mut hint = words.hint;
    let mut warnings = Vec::new();
    for notice in noticed {
        all_evidence.extend(notice.evidence);
        hint = hint.or(notice.hint);
        warnings.push(notice.warning);
    }
    let (status, reason) = status(fate);
    Ending {
        status,
        reason,
        message: words.message,
        hint: hint.or(words.aside),
        evidence: all_evidence,
        exit_code,
        signal,
        retryable: status == Status::PlatformError,
        warnings,
    }
}

/// The words of the contract for each fate.
fn status(fate: Fate) -> (Status, Option<Reason>) {
    let (status, reason) = match fate {
        Fate::Succeeded => return (Status::Succeeded, None),
        Fate::ExitCode(_) => (Status::Failed, Reason::ExitCode),
        Fate::Signal(_) => (Status::Failed, Reason::Signal),
        Fate::WallTime => (Status::TimedOut, Reason::WallTime),
        Fate::Deadline => (Status::TimedOut, Reason::Deadline),
        Fate::CpuTime => (Status::TimedOut, Reason::CpuTime),
        Fate::Memory | Fate::Unfit(LimitName::Memory) => (Status::LimitExceeded, Reason::Memory),
        Fate::Output => (Status::LimitExceeded, Reason::Output),
        Fate::Syscall => (Status::PolicyDenied, Reason::Syscall),
        Fate::Cancelled => (Status::Cancelled, Reason::Client),
        Fate::Unfit(LimitName::Inodes) => (Status::LimitExceeded, Reason::Inodes),
        Fate::Unfit(_) => (Status::LimitExceeded, Reason::Disk),
        Fate::Broken => (Status::PlatformError, Reason::Sandbox),
    };
    (status, Some(reason))
}

/// Exit code and signal: never both. What we killed was killed by `SIGKILL`, whatever its main
/// program managed in the same moment; after an OOM kill the main program's own end is kept.
fn own_end(fate: Fate, main: MainEnd) -> (Option<i32>, Option<String>) {
    match (fate, main) {
        (Fate::Succeeded, _) => (Some(0), None),
        (Fate::ExitCode(code), _) | (Fate::Memory, MainEnd::Exited(code)) => (Some(code), None),
        (Fate::Signal(number), _) | (Fate::Memory, MainEnd::Signalled(number)) => {
            (None, Some(signal::name(number)))
        }
        (
            Fate::Memory
            | Fate::WallTime
            | Fate::Deadline
            | Fate::CpuTime
            | Fate::Output
            | Fate::Syscall
            | Fate::Cancelled,
            _,
        ) => (None, Some("SIGKILL".to_owned())),
        (Fate::Unfit(_) | Fate::Broken, _) => (None, None),
    }
}

#[cfg(test)]
mod tests;
