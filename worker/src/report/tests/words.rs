//! Golden messages and hints.

use super::*;
use crate::egress::tally::Decision;

/// The message and the hint, on two lines.
fn said(evidence: &Evidence) -> String {
    let found = decide(evidence);
    format!(
        "{}\n{}",
        found.message.unwrap_or_default(),
        found.hint.unwrap_or_default()
    )
}

fn cause(cause: Cause, status: Option<u32>) -> Evidence {
    Evidence {
        cause,
        status,
        ..seen()
    }
}

#[test]
fn words_about_limits() {
    for (evidence, wanted) in [
        (
            Evidence {
                oom_kills: 1,
                ..cause(Cause::Memory, None)
            },
            "killed: memory limit of 512 MiB reached after 3.2 s\n\
             ask for more than 512 MiB (`memory_bytes`, at most 4 GiB), or read the file in chunks",
        ),
        (
            Evidence {
                oom_kills: 1,
                disk_used_bytes: 300 * MIB,
                ..cause(Cause::Exited, exit!(0))
            },
            "memory limit of 512 MiB reached: a process of the job was killed; the main program \
             ended with code 0 after 3.2 s\n\
             ask for more than 512 MiB (`memory_bytes`, at most 4 GiB), or read the file in \
             chunks; files in `/job`, `/tmp` and `/dev/shm` count as memory: 300 MiB",
        ),
        (
            Evidence {
                cpu_user_us: 59_990_000,
                cpu_system_us: 9_000,
                ..cause(Cause::Cpu, None)
            },
            "killed after 60 s of CPU time; the limit is 60 s\n\
             ask for more than 60 s (`cpu_ms`, at most 20 min), or compute less in one job",
        ),
        (
            Evidence {
                wall_us: 60_001_000,
                cpu_user_us: 20_000,
                cpu_system_us: 0,
                ..cause(Cause::Wall, None)
            },
            "killed after 60 s of wall time; the limit is 60 s\n\
             ask for more than 60 s (`wall_ms`, at most 20 min), or look for what it waits for: \
             it used 20 ms of CPU time",
        ),
        (
            Evidence {
                wall_us: 60_001_000,
                cpu_user_us: 50_000_000,
                ..cause(Cause::Wall, None)
            },
            "killed after 60 s of wall time; the limit is 60 s\n\
             ask for more than 60 s (`wall_ms`, at most 20 min), or do less in one job",
        ),
        (
            Evidence {
                unstaged: Some(Unstaged {
                    path: "big.parquet".into(),
                    out_of_memory: false,
                }),
                ..cause(Cause::Cancelled, None)
            },
            "the inputs do not fit: disk limit of 512 MiB reached at `big.parquet`; the program \
             was not started\n\
             ask for more than 512 MiB (`disk_bytes`, at most 4 GiB), or give the job less",
        ),
        (
            Evidence {
                cut_by_deadline: true,
                ..cause(Cause::Wall, None)
            },
            "killed after 3.2 s: the job's deadline passed\n\
             give a later `deadline_unix_ms`, or less to do",
        ),
        (
            Evidence {
                stdout: Captured {
                    total_bytes: 65 * MIB,
                    truncated: true,
                },
                ..cause(Cause::Output, None)
            },
            "killed: wrote 65 MiB to stdout, far more than the limit of 1 MiB\n\
             print less, or write it to a file in `/job`",
        ),
    ] {
        assert_eq!(said(&evidence), wanted);
    }
}

#[test]
fn words_about_the_rest() {
    for (evidence, wanted) in [
        (
            Evidence {
                fatal_call: Some("bpf".into()),
                ..cause(Cause::Syscall, None)
            },
            "killed after 3.2 s: the system call `bpf` is never allowed\ndo without `bpf`",
        ),
        (
            Evidence {
                noted: vec!["ptrace".into(), "mount".into()],
                noted_total: 65,
                ..cause(Cause::Syscall, None)
            },
            "killed after 3.2 s: 65 system calls that are not allowed (`ptrace`, `mount`)\n\
             do without these calls, or stop when one is refused",
        ),
        (cause(Cause::Exited, exit!(1)), "exited with code 1\n"),
        (
            cause(Cause::Exited, exit!(137)),
            "exited with code 137\n137 is the program's own exit code: no limit ended it",
        ),
        (
            cause(Cause::Exited, killed_by!(11)),
            "ended by SIGSEGV after 3.2 s (a bad memory access)\n",
        ),
        (
            cause(Cause::Exited, killed_by!(9)),
            "ended by SIGKILL after 3.2 s (sent from within the job: no limit was reached)\n",
        ),
        (cause(Cause::Cancelled, None), "cancelled after 3.2 s\n"),
        (
            cause(Cause::Broken, None),
            "the sandbox broke; the job has no part in it\n",
        ),
    ] {
        assert_eq!(said(&evidence), wanted);
    }
}

#[test]
fn at_the_ceiling_no_more_is_suggested() {
    let mut limits = limits();
    limits.memory_bytes = 4096 * MIB;
    let evidence = Evidence {
        oom_kills: 1,
        ..seen()
    };
    let found = ending(&evidence, &limits, &LimitTable::contract(2));
    assert_eq!(
        found.hint.as_deref(),
        Some("read the file in chunks; 4 GiB is the most that this profile allows")
    );
}

#[test]
fn what_ended_nothing_is_named_and_the_programs_own_end_stands() {
    let full = |status| Evidence {
        status,
        pids_max_events: 7,
        disk_full: true,
        disk_used_bytes: 512 * MIB,
        inodes_full: true,
        noted: vec!["ptrace".into()],
        noted_total: 2,
        network: Tally {
            refused: 3,
            named: [(("evil.example:443".to_owned(), Decision::NotListed), 2)].into(),
            ..Tally::default()
        },
        stdout: Captured {
            total_bytes: 3 * MIB,
            truncated: true,
        },
        ..seen()
    };
    for (status, wanted) in [
        (exit!(0), Status::Succeeded),
        (exit!(1), Status::Failed),
        (exit!(137), Status::Failed),
    ] {
        let found = decide(&full(status));
        assert_eq!(found.status, wanted);
        let warned: Vec<_> = found
            .warnings
            .iter()
            .map(|w| (w.code.as_str(), w.pointer.as_deref()))
            .collect();
        assert_eq!(
            warned,
            [
                ("pids", Some("/limits/pids")),
                ("disk", Some("/limits/disk_bytes")),
                ("inodes", Some("/limits/inodes")),
                ("syscall", None),
                ("network", Some("/network/allow")),
                ("output", Some("/limits/stdout_bytes")),
            ]
        );
        assert_eq!(
            found.hint.as_deref(),
            Some(
                "ask for more than 64 (`pids`, at most 1024), or start fewer processes and threads"
            )
        );
        let network = &found.warnings[4].message;
        assert_eq!(
            network,
            "attempts to reach a network, refused: 3 (`evil.example:443` not listed, 2 times)"
        );
        assert_eq!(found.evidence["source"], "sampled");
        assert_eq!(found.evidence["pids_max_events"], 7);
        assert_eq!(found.evidence["refused_calls"][0], "ptrace");
    }
}

#[test]
fn what_is_not_known_is_null() {
    let found = decide(&Evidence {
        oom_kills: 1,
        memory_peak_bytes: None,
        ..seen()
    });
    assert_eq!(found.evidence["memory_peak_bytes"], Value::Null);
    assert_eq!(found.evidence["oom_kill"], 1);
}
