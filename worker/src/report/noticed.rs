//! What did the job run into that ended nothing?
//!
//! The kernel reports these limits to the program as errors, and the program's own end stands;
//! the outcome names them, for they are often why it ended as it did.

use super::words::{Facts, calls, object};
use super::{Captured, Fate};
use crate::egress::tally::{Decision, Tally};
use kiln_protocol::limits::LimitName;
use kiln_protocol::outcome::{Reason, Warning};
use kiln_protocol::units::format_size;
use serde_json::{Map, Value, json};

/// One thing that a job ran into.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) warning: Warning,
    pub(super) hint: Option<String>,
    pub(super) evidence: Map<String, Value>,
}

/// All of them, the likeliest cause of a failure first.
pub(super) fn all(fate: Fate, facts: &Facts<'_>) -> Vec<Notice> {
    let limits = facts.limits;
    let e = facts.evidence;
    if let Fate::Unfit(_) = fate {
        // No program ran into anything; the message says what the inputs did.
        return Vec::new();
    }
    [
        pids(facts),
        disk(facts),
        inodes(facts),
        // Where the calls ended the job its message says so already.
        (fate != Fate::Syscall)
            .then(|| refused_calls(facts))
            .flatten(),
        network(facts),
        dropped("stdout", LimitName::Stdout, e.stdout, limits.stdout_bytes),
        dropped("stderr", LimitName::Stderr, e.stderr, limits.stderr_bytes),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn limit_warning(reason: &Reason, name: LimitName, message: String) -> Warning {
    Warning {
        code: reason.as_str().to_owned(),
        message,
        pointer: Some(format!("/limits/{}", name.wire_name())),
    }
}

fn pids(facts: &Facts<'_>) -> Option<Notice> {
    let e = facts.evidence;
    (e.pids_max_events > 0).then(|| Notice {
        warning: limit_warning(
            &Reason::Pids,
            LimitName::Pids,
            format!(
                "the limit of {} processes and threads was reached; refused: {}",
                facts.limits.pids, e.pids_max_events
            ),
        ),
        hint: Some(facts.ask_more(LimitName::Pids, "start fewer processes and threads")),
        evidence: object(json!({
            "pids_max_events": e.pids_max_events,
            "pids_peak": e.pids_peak,
        })),
    })
}

fn disk(facts: &Facts<'_>) -> Option<Notice> {
    let e = facts.evidence;
    e.disk_full.then(|| Notice {
        warning: limit_warning(
            &Reason::Disk,
            LimitName::Disk,
            format!(
                "the limit of {} for files in `/job`, `/home/job`, `/tmp` and `/dev/shm` was \
                 reached",
                format_size(facts.limits.disk_bytes)
            ),
        ),
        hint: Some(facts.ask_more(LimitName::Disk, "write less")),
        evidence: object(json!({"source": "sampled", "disk_bytes": e.disk_used_bytes})),
    })
}

fn inodes(facts: &Facts<'_>) -> Option<Notice> {
    facts.evidence.inodes_full.then(|| Notice {
        warning: limit_warning(
            &Reason::Inodes,
            LimitName::Inodes,
            format!(
                "the limit of {} files and folders was reached",
                facts.limits.inodes
            ),
        ),
        hint: Some(facts.ask_more(LimitName::Inodes, "make fewer files")),
        evidence: object(json!({"source": "sampled", "inodes": facts.limits.inodes})),
    })
}

fn refused_calls(facts: &Facts<'_>) -> Option<Notice> {
    let e = facts.evidence;
    (e.noted_total > 0).then(|| Notice {
        warning: Warning {
            code: Reason::Syscall.as_str().to_owned(),
            message: format!(
                "system calls that are not allowed here, refused: {}{}",
                e.noted_total,
                calls(&e.noted)
            ),
            pointer: None,
        },
        hint: Some("do without the refused system calls".into()),
        evidence: object(json!({
            "refused_calls": e.noted,
            "refused_total": e.noted_total,
        })),
    })
}

fn network(facts: &Facts<'_>) -> Option<Notice> {
    let network = &facts.evidence.network;
    if network.refused == 0 && network.lost == 0 {
        return None;
    }
    let mut said = Vec::new();
    if network.refused > 0 {
        said.push(format!(
            "attempts to reach a network, refused: {}{}",
            network.refused,
            named(network)
        ));
    }
    if network.lost > 0 {
        said.push(format!(
            "the proxy that carries the job's connections died under it, {} times, and cut them",
            network.lost
        ));
    }
    Some(Notice {
        warning: Warning {
            code: Reason::Network.as_str().to_owned(),
            message: said.join("; "),
            pointer: Some("/network/allow".to_owned()),
        },
        hint: (network.refused > 0).then(|| {
            "give the data by `files`, or ask for the host in `network.allow`; a job has no \
             other network"
                .into()
        }),
        evidence: object(json!({
            "network_refused": network.refused,
            "network_allowed": network.allowed,
            "network_bytes": network.bytes,
            "network_lost": network.lost,
        })),
    })
}

/// The first targets that were refused, and why.
fn named(network: &Tally) -> String {
    let one = |((target, decision), times): (&(String, Decision), &u64)| {
        let target = if target.is_empty() { "?" } else { target };
        let why = decision.as_str().replace('_', " ");
        let often = if *times > 1 {
            format!(", {times} times")
        } else {
            String::new()
        };
        format!("`{target}` {why}{often}")
    };
    let all: Vec<_> = network.named.iter().map(one).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" ({})", all.join("; "))
    }
}

fn dropped(stream: &str, name: LimitName, captured: Captured, limit: u64) -> Option<Notice> {
    captured.truncated.then(|| Notice {
        warning: limit_warning(
            &Reason::Output,
            name,
            format!(
                "{stream} passed its limit of {}; dropped: {} of {}",
                format_size(limit),
                format_size(captured.total_bytes.saturating_sub(limit)),
                format_size(captured.total_bytes)
            ),
        ),
        hint: None,
        evidence: Map::new(),
    })
}
