//! Every row of the rule: what was seen, and what the outcome then says.

use super::*;

mod words;

const MIB: u64 = 1 << 20;

/// A wait status.
macro_rules! exit {
    ($code:expr) => {
        Some($code << 8)
    };
}
use exit;

macro_rules! killed_by {
    ($signal:expr) => {
        Some($signal)
    };
}
use killed_by;

fn limits() -> Limits {
    LimitTable::contract(2)
        .resolve(&kiln_protocol::limits::LimitRequest::default())
        .expect("the defaults are allowed")
}

fn seen() -> Evidence {
    Evidence {
        cause: Cause::Exited,
        status: exit!(0),
        cut_by_deadline: false,
        unstaged: None,
        oom_kills: 0,
        memory_peak_bytes: Some(512 * MIB),
        pids_max_events: 0,
        pids_peak: Some(3),
        cpu_user_us: 2_900_000,
        cpu_system_us: 210_000,
        wall_us: 3_204_118,
        noted: Vec::new(),
        noted_total: 0,
        fatal_call: None,
        network: Tally::default(),
        disk_used_bytes: 0,
        disk_full: false,
        inodes_full: false,
        stdout: Captured::default(),
        stderr: Captured::default(),
    }
}

fn decide(evidence: &Evidence) -> Ending {
    ending(evidence, &limits(), &LimitTable::contract(2))
}

/// Cause, status, deadline, OOM kills; then status, reason, exit code, signal.
type Row = (
    (Cause, Option<u32>, bool, u64),
    (
        &'static str,
        Option<&'static str>,
        Option<i32>,
        Option<&'static str>,
    ),
);

const ROWS: &[Row] = &[
    // The program's own end.
    (
        (Cause::Exited, exit!(0), false, 0),
        ("succeeded", None, Some(0), None),
    ),
    (
        (Cause::Exited, exit!(3), false, 0),
        ("failed", Some("exit_code"), Some(3), None),
    ),
    (
        (Cause::Exited, exit!(124), false, 0),
        ("failed", Some("exit_code"), Some(124), None),
    ),
    (
        (Cause::Exited, exit!(137), false, 0),
        ("failed", Some("exit_code"), Some(137), None),
    ),
    (
        (Cause::Exited, exit!(139), false, 0),
        ("failed", Some("exit_code"), Some(139), None),
    ),
    (
        (Cause::Exited, killed_by!(9), false, 0),
        ("failed", Some("signal"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Exited, killed_by!(31), false, 0),
        ("failed", Some("signal"), None, Some("SIGSYS")),
    ),
    (
        (Cause::Exited, killed_by!(24), false, 0),
        ("failed", Some("signal"), None, Some("SIGXCPU")),
    ),
    (
        (Cause::Exited, killed_by!(0x8b), false, 0),
        ("failed", Some("signal"), None, Some("SIGSEGV")),
    ),
    // It ended by itself just before the cut: its own end stands.
    (
        (Cause::Exited, exit!(0), true, 0),
        ("succeeded", None, Some(0), None),
    ),
    // Ours.
    (
        (Cause::Exited, None, false, 0),
        ("platform_error", Some("sandbox"), None, None),
    ),
    (
        (Cause::Exited, Some(0x137f), false, 0),
        ("platform_error", Some("sandbox"), None, None),
    ),
    (
        (Cause::Broken, None, false, 0),
        ("platform_error", Some("sandbox"), None, None),
    ),
    (
        (Cause::Broken, exit!(0), true, 0),
        ("platform_error", Some("sandbox"), None, None),
    ),
    // Time.
    (
        (Cause::Wall, None, false, 0),
        ("timed_out", Some("wall_time"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Wall, killed_by!(9), false, 0),
        ("timed_out", Some("wall_time"), None, Some("SIGKILL")),
    ),
    // Its end and the kill in one moment: the clock had run out.
    (
        (Cause::Wall, exit!(0), false, 0),
        ("timed_out", Some("wall_time"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Wall, None, true, 0),
        ("timed_out", Some("deadline"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Cancelled, None, true, 0),
        ("timed_out", Some("deadline"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Cpu, None, false, 0),
        ("timed_out", Some("cpu_time"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Cpu, killed_by!(9), true, 0),
        ("timed_out", Some("cpu_time"), None, Some("SIGKILL")),
    ),
    // Memory, by whichever of the two interfaces.
    (
        (Cause::Memory, None, false, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Memory, None, false, 0),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Exited, killed_by!(9), false, 2),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Exited, None, false, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    // A child was killed, the main program ended by itself: its code is kept.
    (
        (Cause::Exited, exit!(0), false, 1),
        ("limit_exceeded", Some("memory"), Some(0), None),
    ),
    (
        (Cause::Memory, exit!(1), false, 1),
        ("limit_exceeded", Some("memory"), Some(1), None),
    ),
    (
        (Cause::Exited, killed_by!(6), false, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGABRT")),
    ),
    // An OOM kill in the same moment as another end: any of them ends the job as memory.
    (
        (Cause::Wall, None, false, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Cpu, None, false, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Cancelled, None, true, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Syscall, None, false, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Broken, None, false, 1),
        ("limit_exceeded", Some("memory"), None, Some("SIGKILL")),
    ),
    // The rest of what the keeper does.
    (
        (Cause::Output, None, false, 0),
        ("limit_exceeded", Some("output"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Syscall, None, false, 0),
        ("policy_denied", Some("syscall"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Cancelled, None, false, 0),
        ("cancelled", Some("client"), None, Some("SIGKILL")),
    ),
    (
        (Cause::Cancelled, exit!(0), false, 0),
        ("cancelled", Some("client"), None, Some("SIGKILL")),
    ),
];

#[test]
fn every_row() {
    for (seen_row, wanted) in ROWS {
        let (cause, status, cut_by_deadline, oom_kills) = *seen_row;
        let found = decide(&Evidence {
            cause,
            status,
            cut_by_deadline,
            oom_kills,
            ..seen()
        });
        let words = (
            found.status.as_str(),
            found.reason.as_ref().map(Reason::as_str),
            found.exit_code,
            found.signal.as_deref(),
        );
        assert_eq!(words, *wanted, "{seen_row:?}");
        assert_eq!(found.message.is_none(), found.status == Status::Succeeded);
        assert_eq!(found.retryable, found.status == Status::PlatformError);
    }
}

/// What no row may say, over every combination of what the record can hold.
#[test]
fn no_record_is_contradictory() {
    let statuses = [
        None,
        exit!(0),
        exit!(1),
        exit!(137),
        killed_by!(9),
        Some(0x137f),
    ];
    for cause in Cause::ALL {
        for status in statuses {
            for (cut_by_deadline, oom_kills) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
                let found = decide(&Evidence {
                    cause,
                    status,
                    cut_by_deadline,
                    oom_kills,
                    ..seen()
                });
                assert!(found.exit_code.is_none() || found.signal.is_none());
                assert_eq!(found.reason.is_none(), found.status == Status::Succeeded);
                assert_eq!(
                    found.reason == Some(Reason::Memory),
                    oom_kills > 0 || cause == Cause::Memory
                );
                if found.status == Status::Succeeded {
                    assert_eq!((cause, status), (Cause::Exited, exit!(0)));
                }
            }
        }
    }
}

#[test]
fn inputs_that_do_not_fit_start_nothing() {
    for (out_of_memory, oom_kills, inodes_full, cause, wanted) in [
        (false, 0, false, Cause::Cancelled, Reason::Disk),
        (false, 0, true, Cause::Cancelled, Reason::Inodes),
        (true, 0, false, Cause::Cancelled, Reason::Memory),
        (false, 1, false, Cause::Broken, Reason::Memory),
        // A wish to cancel in the same moment: nothing had started that could be cancelled.
        (false, 0, false, Cause::Broken, Reason::Disk),
    ] {
        let found = decide(&Evidence {
            cause,
            status: killed_by!(9),
            oom_kills,
            inodes_full,
            disk_full: true,
            unstaged: Some(Unstaged {
                path: "big.parquet".into(),
                out_of_memory,
            }),
            ..seen()
        });
        assert_eq!(found.status, Status::LimitExceeded);
        assert_eq!(found.reason, Some(wanted));
        assert_eq!((found.exit_code, found.signal), (None, None));
        assert_eq!(found.warnings, []);
    }
}
