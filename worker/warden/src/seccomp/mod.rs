//! Which system calls may a job make, and a keeper, and what happens at the others?
//!
//! The policy is data: one line for calls that are treated alike, with the reason. A call is
//! allowed, refused *quietly* (an errno that libraries probe for), *noted* (told to the keeper:
//! `EPERM`, a warning in the outcome, the sandbox retires) or *fatal* (told to the keeper, which
//! ends the job). Numbers that the tables do not know are newer than they are: `ENOSYS`. Another
//! calling convention ends the process.
//!
//! A job is under two filters, the keeper's (inherited) and its own; where they differ the kernel
//! takes the stricter. The keeper's therefore refuses by a verdict that ranks below a
//! notification, or nothing of what it refuses could ever be noted.
//!
//! # Layout
//!
//! - [`policy`]: verdicts, tests of arguments, lines
//! - [`allowed`], [`refused`], [`arguments`]: the tables; [`scanner`]: that of a scan process
//! - [`proxy`]: the table of the egress proxy, which is nobody's job
//! - [`machine`]: names and numbers
//! - [`bpf`]: from verdicts to a program

mod allowed;
mod arguments;
mod bpf;
mod machine;
mod policy;
mod proxy;
mod refused;
mod scanner;

use kiln_keeper::guard::{Guard, off};
use kiln_keeper::spec::Filter;
use machine::{Machine, X86_64};
use policy::{Line, Rule, Verdict, refuse};
use std::collections::BTreeMap;

/// The tables of the job's filter.
const JOB: [&[Line]; 8] = [
    allowed::FILES,
    allowed::WAITING,
    allowed::MEMORY,
    allowed::PROCESSES,
    arguments::JOB,
    refused::QUIET,
    refused::NOTED,
    refused::FATAL,
];

/// The filter of a job.
#[must_use]
pub fn job_filter() -> Filter {
    if off(Guard::JobFilter) {
        return everything();
    }
    filter(&X86_64, job_rule())
}

/// The filter of a keeper and of all that it makes; it allows whatever the job's filter allows.
#[must_use]
pub fn keeper_filter() -> Filter {
    if off(Guard::KeeperFilter) {
        return everything();
    }
    filter(&X86_64, keeper_rule())
}

/// The filter of a process that scans: whatever it does not need ends it.
#[must_use]
pub fn scanner_filter() -> Filter {
    let rules = rules(&X86_64, &[scanner::TABLE]);
    let rule = move |nr| rules.get(&nr).copied();
    filter(&X86_64, move |nr| {
        rule(nr).unwrap_or(Rule::always(Verdict::Kill))
    })
}

/// A filter that allows every call: what is left where a test takes one off.
fn everything() -> Filter {
    Filter {
        instructions: vec![bpf::everything().to_bytes()],
        fatal: Vec::new(),
    }
}

/// The filter of the egress proxy.
#[must_use]
pub fn proxy_filter() -> Filter {
    let rules = rules(&X86_64, &[proxy::PROXY]);
    let otherwise = Rule::always(refuse(libc::EPERM));
    filter(&X86_64, move |nr| {
        rules.get(&nr).copied().unwrap_or(otherwise)
    })
}

/// The name of a system call of this machine.
#[must_use]
pub fn name(nr: u32) -> Option<&'static str> {
    X86_64.name(nr)
}

/// Why a call is treated as it is in a job, in a few words for an outcome's warning or a person.
#[must_use]
pub fn reason(nr: u32) -> Option<&'static str> {
    let name = name(nr)?;
    JOB.iter()
        .flat_map(|table| table.iter())
        .find(|line| line.calls.split_whitespace().any(|call| call == name))
        .map(|line| line.reason)
}

fn filter(machine: &Machine, rule: impl Fn(u32) -> Rule) -> Filter {
    let fatal = machine
        .calls()
        .map(|(nr, _)| nr)
        .filter(|nr| rule(*nr).otherwise == Verdict::Fatal)
        .collect();
    let program = bpf::compile(machine, rule);
    Filter {
        instructions: program.into_iter().map(bpf::Insn::to_bytes).collect(),
        fatal,
    }
}

fn job_rule() -> impl Fn(u32) -> Rule {
    let rules = rules(&X86_64, &JOB);
    move |nr| {
        rules
            .get(&nr)
            .copied()
            .unwrap_or(Rule::always(refuse(libc::ENOSYS)))
    }
}

fn keeper_rule() -> impl Fn(u32) -> Rule {
    let own = rules(&X86_64, &[arguments::KEEPER]);
    let job = job_rule();
    move |nr| match own.get(&nr) {
        Some(rule) => *rule,
        None => match job(nr) {
            rule if rule.otherwise == Verdict::Allow => rule,
            _ => Rule::always(Verdict::Absent),
        },
    }
}

/// The tables by number.
fn rules(machine: &Machine, tables: &[&[Line]]) -> BTreeMap<u32, Rule> {
    let numbers: BTreeMap<&str, u32> = machine.calls().map(|(nr, name)| (name, nr)).collect();
    tables
        .iter()
        .flat_map(|table| table.iter())
        .flat_map(|line| line.calls.split_whitespace().map(|call| (call, line.rule)))
        .map(|(call, rule)| {
            let nr = numbers
                .get(call)
                .expect("a test looks up every name of every table");
            (*nr, rule)
        })
        .collect()
}

#[cfg(test)]
mod live;
#[cfg(test)]
mod tests;
