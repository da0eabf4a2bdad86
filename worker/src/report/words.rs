//! How is a job's end put into words that a model or a person can act on?

use super::signal::{self, MainEnd};
use super::{Evidence, Fate};
use kiln_protocol::limits::{LimitName, LimitTable, Limits};
use kiln_protocol::units::{format_duration_ms, format_size};
use serde_json::{Map, Value, json};

/// What there is to speak about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) evidence: &'a Evidence,
    pub(super) limits: &'a Limits,
    pub(super) table: &'a LimitTable,
    pub(super) main: MainEnd,
}

/// The words about an end.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) message: Option<String>,
    pub(super) hint: Option<String>,
    /// A hint that gives way to one about a limit that was reached on the way.
    pub(super) aside: Option<String>,
    pub(super) evidence: Map<String, Value>,
}

/// A job that waited used less than this part of its time.
const WAITED_PART: u64 = 10;

/// The words for a fate.
pub(super) fn of(fate: Fate, facts: &Facts<'_>) -> Words {
    let e = facts.evidence;
    let after = format_duration_ms(e.wall_us / 1000);
    match fate {
        Fate::Succeeded => Words::default(),
        Fate::ExitCode(code) => Words {
            aside: (code > 128)
                .then(|| format!("{code} is the program's own exit code: no limit ended it")),
            ..say(format!("exited with code {code}"))
        },
        Fate::Signal(number) => {
            let name = signal::name(number);
            say(match signal::meaning(number) {
                Some(meaning) => format!("ended by {name} after {after} ({meaning})"),
                None => format!("ended by {name} after {after}"),
            })
        }
        Fate::WallTime => wall_time(facts),
        Fate::Deadline => Words {
            hint: Some("give a later `deadline_unix_ms`, or less to do".into()),
            evidence: object(json!({"wall_us": e.wall_us})),
            ..say(format!("killed after {after}: the job's deadline passed"))
        },
        Fate::CpuTime => cpu_time(facts),
        Fate::Memory => memory(facts, &after),
        Fate::Output => output(facts),
        Fate::Syscall => syscall(facts, &after),
        Fate::Cancelled => Words {
            evidence: object(json!({"wall_us": e.wall_us})),
            ..say(format!("cancelled after {after}"))
        },
        Fate::Unfit(limit) => unfit(limit, facts),
        Fate::Broken => say("the sandbox broke; the job has no part in it".into()),
    }
}

fn say(message: String) -> Words {
    Words {
        message: Some(message),
        ..Words::default()
    }
}

fn wall_time(facts: &Facts<'_>) -> Words {
    let (e, limits) = (facts.evidence, facts.limits);
    let cpu_us = e.cpu_user_us + e.cpu_system_us;
    let limit = format_duration_ms(limits.wall_ms);
    let waited = cpu_us < e.wall_us / WAITED_PART;
    let otherwise = if waited {
        format!(
            "look for what it waits for: it used {} of CPU time",
            format_duration_ms(cpu_us / 1000)
        )
    } else {
        "do less in one job".to_owned()
    };
    Words {
        hint: Some(facts.ask_more(LimitName::Wall, &otherwise)),
        evidence: object(json!({
            "wall_us": e.wall_us,
            "cpu_user_us": e.cpu_user_us,
            "cpu_system_us": e.cpu_system_us,
        })),
        ..say(format!(
            "killed after {limit} of wall time; the limit is {limit}"
        ))
    }
}

fn cpu_time(facts: &Facts<'_>) -> Words {
    let (e, limits) = (facts.evidence, facts.limits);
    // The keeper's look at the kernel's own counter is the proof that the limit was reached; the
    // two figures here are counted in ticks and may be a little behind it.
    let used_ms = ((e.cpu_user_us + e.cpu_system_us) / 1000).max(limits.cpu_ms);
    Words {
        hint: Some(facts.ask_more(LimitName::Cpu, "compute less in one job")),
        evidence: object(json!({
            "cpu_user_us": e.cpu_user_us,
            "cpu_system_us": e.cpu_system_us,
        })),
        ..say(format!(
            "killed after {} of CPU time; the limit is {}",
            format_duration_ms(used_ms),
            format_duration_ms(limits.cpu_ms)
        ))
    }
}

fn memory(facts: &Facts<'_>, after: &str) -> Words {
    let (e, limits) = (facts.evidence, facts.limits);
    let limit = format_size(limits.memory_bytes);
    let message = match facts.main {
        MainEnd::Exited(code) => format!(
            "memory limit of {limit} reached: a process of the job was killed; the main program \
             ended with code {code} after {after}"
        ),
        MainEnd::Signalled(_) | MainEnd::Unseen => {
            format!("killed: memory limit of {limit} reached after {after}")
        }
    };
    let mut hint = facts.ask_more(LimitName::Memory, "read the file in chunks");
    if e.disk_used_bytes >= limits.memory_bytes / 4 {
        hint.push_str("; files in `/job`, `/tmp` and `/dev/shm` count as memory: ");
        hint.push_str(&format_size(e.disk_used_bytes));
    }
    Words {
        hint: Some(hint),
        evidence: object(json!({
            "oom_kill": e.oom_kills,
            "memory_peak_bytes": e.memory_peak_bytes,
        })),
        ..say(message)
    }
}

fn output(facts: &Facts<'_>) -> Words {
    let (e, limits) = (facts.evidence, facts.limits);
    let streams = [
        ("stdout", e.stdout.total_bytes, limits.stdout_bytes),
        ("stderr", e.stderr.total_bytes, limits.stderr_bytes),
    ];
    let (name, total, limit) = streams
        .into_iter()
        .max_by_key(|(_, total, limit)| u128::from(*total) * 1024 / u128::from((*limit).max(1)))
        .expect("there are two streams");
    Words {
        hint: Some("print less, or write it to a file in `/job`".into()),
        evidence: object(json!({
            "stdout_total_bytes": e.stdout.total_bytes,
            "stderr_total_bytes": e.stderr.total_bytes,
        })),
        ..say(format!(
            "killed: wrote {} to {name}, far more than the limit of {}",
            format_size(total),
            format_size(limit)
        ))
    }
}

fn syscall(facts: &Facts<'_>, after: &str) -> Words {
    let e = facts.evidence;
    let (message, hint) = match &e.fatal_call {
        Some(call) => (
            format!("killed after {after}: the system call `{call}` is never allowed"),
            format!("do without `{call}`"),
        ),
        None => (
            format!(
                "killed after {after}: {} system calls that are not allowed{}",
                e.noted_total,
                calls(&e.noted)
            ),
            "do without these calls, or stop when one is refused".to_owned(),
        ),
    };
    Words {
        hint: Some(hint),
        evidence: object(json!({
            "syscall": e.fatal_call,
            "refused_total": e.noted_total,
        })),
        ..say(message)
    }
}

fn unfit(limit: LimitName, facts: &Facts<'_>) -> Words {
    let e = facts.evidence;
    let path = e.unstaged.as_ref().map_or("", |unstaged| &unstaged.path);
    let (what, figure) = match limit {
        LimitName::Memory => ("memory limit", format_size(facts.limits.memory_bytes)),
        LimitName::Inodes => ("limit of files", facts.limits.inodes.to_string()),
        _ => ("disk limit", format_size(facts.limits.disk_bytes)),
    };
    let mut evidence = object(json!({"input": path, "disk_bytes": e.disk_used_bytes}));
    if limit == LimitName::Memory {
        evidence.insert("oom_kill".into(), e.oom_kills.into());
    }
    Words {
        hint: Some(facts.ask_more(limit, "give the job less")),
        evidence,
        ..say(format!(
            "the inputs do not fit: {what} of {figure} reached at `{path}`; the program was not \
             started"
        ))
    }
}

/// Names in parentheses, or nothing.
pub(super) fn calls(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(" ({})", quoted.join(", "))
}

/// The map of a JSON object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => unreachable!("every caller writes an object"),
    }
}

impl Facts<'_> {
    /// Asks for more of a limit where the profile has more, and for something else beside.
    pub(super) fn ask_more(&self, name: LimitName, otherwise: &str) -> String {
        let (limit, ceiling) = (self.limits.get(name), self.table.get(name).ceiling);
        let format = |value| name.unit().format(value);
        if limit < ceiling {
            format!(
                "ask for more than {} (`{}`, at most {}), or {otherwise}",
                format(limit),
                name.wire_name(),
                format(ceiling)
            )
        } else {
            format!(
                "{otherwise}; {} is the most that this profile allows",
                format(limit)
            )
        }
    }
}
