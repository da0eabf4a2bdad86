//! What should a person know first of a worker, in one sentence?
//!
//! The page and `kiln top` show the same words, for they are made here.

use super::recent::{Failure, RETRIED, Shown};
use super::status::{Dependency, Drain, State};
use kiln_protocol::units::format_duration_ms;
use serde::{Deserialize, Serialize};

/// How long a failure that is tried again is worth a word.
const LATE_MS: u64 = 60_000;

/// How it is with a worker, in a word and what there is to say to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub grade: Grade,
    pub says: String,
    /// May be empty.
    pub more: String,
}

/// Whether somebody must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Good,
    /// Jobs are taken, or soon again, and something is to be looked at.
    Warn,
    /// Jobs are not taken, and somebody must act.
    Bad,
}

/// What the verdict is made of.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) live: bool,
    pub(super) busy: u64,
    pub(super) drain: Option<Drain>,
    pub(super) dependencies: &'a [Dependency],
    pub(super) recent: &'a Shown,
}

/// The worst of what is so.
pub(super) fn verdict(evidence: &Evidence<'_>) -> Verdict {
    let Evidence {
        live,
        busy,
        drain,
        dependencies,
        recent,
    } = *evidence;
    if !live {
        let more = "the worker's loop stands still: restart it".to_owned();
        return told(Grade::Bad, "stuck", more);
    }
    if let Some(drain) = drain {
        let left = drain.grace_ms.saturating_sub(drain.since_ms) / 1_000 * 1_000;
        let jobs = match busy {
            1 => "1 job still runs".to_owned(),
            jobs => format!("{jobs} jobs still run"),
        };
        let left = format_duration_ms(left);
        let more = format!("{jobs}; what is left in {left} is killed and given back");
        return told(Grade::Warn, "draining", more);
    }
    let of = |state, needed| {
        let found = dependencies.iter();
        found.filter(move |it| it.state == state && it.needed == needed)
    };
    let causes = |all: Vec<String>| all.join("; ");
    let down: Vec<_> = of(State::Down, true).map(cause).collect();
    if !down.is_empty() {
        return told(Grade::Bad, "takes no jobs", causes(down));
    }
    let unknown: Vec<_> = of(State::Unknown, true).map(|it| it.name.clone()).collect();
    if !unknown.is_empty() {
        let more = format!("not known yet: {}", unknown.join(", "));
        return told(Grade::Warn, "starting", more);
    }
    // What is away comes before what it did.
    let mut wrong: Vec<_> = of(State::Down, false).map(cause).collect();
    wrong.extend(retried(recent));
    let ours: u64 = recent.ended.iter().map(|bar| bar.ours).sum();
    if ours > 0 {
        let all = recent.ended.iter();
        let all: u64 = all.map(|bar| bar.succeeded + bar.theirs + bar.ours).sum();
        wrong.push(format!(
            "the platform failed {ours} of {all} jobs in the last 5 min"
        ));
    }
    if !wrong.is_empty() {
        return told(Grade::Warn, "takes jobs", causes(wrong));
    }
    told(Grade::Good, "takes jobs", String::new())
}

fn told(grade: Grade, says: &str, more: String) -> Verdict {
    Verdict {
        grade,
        says: says.to_owned(),
        more,
    }
}

/// Our own failures of the last minute whose jobs have no answer yet: nothing else shows them.
fn retried(recent: &Shown) -> Option<String> {
    let of_late = |it: &&Failure| it.what == RETRIED && it.last_ms < LATE_MS;
    let steps: Vec<_> = recent.failures.iter().filter(of_late).collect();
    let (first, others) = steps.split_first()?;
    let more = if others.is_empty() { "" } else { " and others" };
    let ago = format_duration_ms(first.last_ms / 1_000 * 1_000);
    let step = &first.reason;
    Some(format!(
        "jobs fail by us and are tried again (step {step}{more}), last {ago} ago"
    ))
}

fn cause(it: &Dependency) -> String {
    let why = it.why.as_deref().unwrap_or("down");
    match it.since_ms {
        Some(ms) if ms >= 1_000 => {
            let since = format_duration_ms(ms / 1_000 * 1_000);
            format!("{}: {why}, for {since}", it.name)
        }
        _ => format!("{}: {why}", it.name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recent::{Bar, Starts, Who};
    use super::*;

    fn need(name: &str, state: State, needed: bool) -> Dependency {
        Dependency {
            name: name.to_owned(),
            state,
            why: Some("no answer".to_owned()),
            since_ms: Some(42_900),
            needed,
        }
    }

    fn says(live: bool, drain: Option<Drain>, needs: &[Dependency], ours: u64) -> String {
        let bar = Bar {
            succeeded: 9,
            theirs: 0,
            ours,
        };
        let recent = Shown {
            bar_ms: 5_000,
            ended: vec![bar],
            starts: Starts::default(),
            stages: Vec::new(),
            failures: Vec::new(),
        };
        let told = verdict(&Evidence {
            live,
            busy: 1,
            drain,
            dependencies: needs,
            recent: &recent,
        });
        format!("{:?} {} ({})", told.grade, told.says, told.more)
    }

    #[test]
    fn jobs_that_are_tried_again_are_told_of_for_a_minute() {
        let failed = |reason: &str, last_ms: u64| Failure {
            what: RETRIED.to_owned(),
            reason: reason.to_owned(),
            who: Who::Operator,
            count: 7,
            last_ms,
        };
        let told = |failures: Vec<Failure>| {
            let recent = Shown {
                bar_ms: 5_000,
                ended: Vec::new(),
                starts: Starts::default(),
                stages: Vec::new(),
                failures,
            };
            retried(&recent)
        };
        let says = "jobs fail by us and are tried again (step lease and others), last 3 s ago";
        let three = vec![
            failed("lease", 3_400),
            failed("start", 9_000),
            failed("keep", 61_000),
        ];
        assert_eq!(told(three).as_deref(), Some(says));
        assert_eq!(told(vec![failed("keep", 61_000)]), None);
        assert_eq!(told(Vec::new()), None);
    }

    #[test]
    fn the_worst_comes_first() {
        let drain = Some(Drain {
            since_ms: 1_500,
            grace_ms: 30_000,
        });
        let store = need("store", State::Down, true);
        let redis = need("redis", State::Down, false);
        let broker = need("broker", State::Unknown, true);
        let all = [store.clone(), redis.clone(), broker.clone()];
        for (said, wanted) in [
            (says(true, None, &[], 0), "Good takes jobs ()"),
            (
                says(true, None, std::slice::from_ref(&redis), 0),
                "Warn takes jobs (redis: no answer, for 42 s)",
            ),
            (
                says(true, None, std::slice::from_ref(&redis), 1),
                "Warn takes jobs (redis: no answer, for 42 s; the platform failed 1 of 10 jobs in the last 5 min)",
            ),
            (
                says(true, None, &[redis, broker], 1),
                "Warn starting (not known yet: broker)",
            ),
            (
                says(true, None, &all, 1),
                "Bad takes no jobs (store: no answer, for 42 s)",
            ),
            (
                says(true, drain, &all, 1),
                "Warn draining (1 job still runs; what is left in 28 s is killed and given back)",
            ),
            (
                says(false, drain, &all, 1),
                "Bad stuck (the worker's loop stands still: restart it)",
            ),
        ] {
            assert_eq!(said, wanted);
        }
    }
}
