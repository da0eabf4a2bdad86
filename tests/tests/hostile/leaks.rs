//! Group C, and E where it has two steps: does a job find anything of the job before it on the same sandbox?

use crate::{args, limits};
use acceptance::batch::{Batch, sandbox, text};
use acceptance::hostile::{Findings, Probe, Verdict, contained, index, verdict};
use acceptance::places;
use serde_json::{Value, json};
use std::path::Path;

/// The probes of two steps.
pub(crate) fn two_step() -> Vec<Probe> {
    let both = index('C').into_iter().chain(index('E'));
    both.filter(|probe| probe.two_step).collect()
}

/// Every plant of group C directly before every look, the tenants in this order; `part` of `parts` of the plants.
fn pairs(part: usize, parts: usize, tenants: [&str; 2]) {
    let built = places::scratch();
    let mut findings = Findings::default();
    let mut batch = Batch::start(1, &[]);
    let probes = index('C');
    let mut same = 0;
    for (row, plant) in probes
        .iter()
        .enumerate()
        .filter(|(row, _)| row % parts == part)
    {
        for (column, look) in probes.iter().enumerate() {
            let mut job = step(
                plant,
                &format!("{row}-{column}-plant"),
                &["plant".to_owned()],
                built.path(),
            );
            job["tenant"] = json!(tenants[0]);
            let first = batch.run(&job);
            let token = match verdict(text(&first, "stdout")) {
                Verdict::Planted(token) if plant.name == look.name => format!("TOKEN={token}"),
                Verdict::Breach(why) => {
                    findings.note(&plant.file, "plant", Err(why));
                    String::new()
                }
                _ => String::new(),
            };
            let words = ["look".to_owned(), token]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>();
            let mut job = step(look, &format!("{row}-{column}-look"), &words, built.path());
            job["tenant"] = json!(tenants[1]);
            let second = batch.run(&job);
            findings.note(
                &look.file,
                &format!("behind {}", plant.name),
                looked(&second),
            );
            let (planted, looked_in) = (sandbox(&first), sandbox(&second));
            same += usize::from(looked_in == (planted.0, planted.1 + 1));
        }
    }
    let rows = probes.len().div_ceil(parts);
    assert!(
        same * 2 > rows * probes.len(),
        "only {same} looks were on the sandbox of their plant"
    );
    findings.settle();
}

/// Contained, without a trace of the job before in output or outcome.
pub(crate) fn looked(outcome: &Value) -> Result<(), String> {
    contained(outcome)?;
    let late = ["HOSTILE-LATE", "LATE-HOSTILE-LINE"];
    if late.iter().any(|word| {
        text(outcome, "stdout").contains(word) || text(outcome, "stderr").contains(word)
    }) {
        return Err("output of the job before".to_owned());
    }
    let slow = outcome["timing_us"]["stage_in"]
        .as_u64()
        .is_some_and(|time| time > 2_000_000);
    if slow || outcome["evidence"].get("oom_kill").is_some() {
        return Err(format!("marks of the job before: {outcome}"));
    }
    Ok(())
}

/// A step of group C: room for the look that wants 128 MiB, a bound for the plant that fills all.
pub(crate) fn step(probe: &Probe, id: &str, words: &[String], built: &Path) -> Value {
    let mut limits = limits();
    limits["disk_bytes"] = json!(32 << 20);
    let words = if probe.is_c() {
        words.to_vec()
    } else {
        args(words)
    };
    probe.job(id, &words, &limits, built)
}

const ONE_TWO: [&str; 2] = ["one", "two"];
const TWO_ONE: [&str; 2] = ["two", "one"];

#[test]
fn long_c_pairs_1_of_2() {
    pairs(0, 2, ONE_TWO);
}

#[test]
fn long_c_pairs_2_of_2() {
    pairs(1, 2, ONE_TWO);
}

#[test]
fn long_c_pairs_the_other_way_1_of_2() {
    pairs(0, 2, TWO_ONE);
}

#[test]
fn long_c_pairs_the_other_way_2_of_2() {
    pairs(1, 2, TWO_ONE);
}

#[test]
fn each_plant_before_its_own_look() {
    let built = places::scratch();
    let mut findings = Findings::default();
    let mut batch = Batch::start(1, &[]);
    for probe in two_step() {
        let first = batch.run(&step(
            &probe,
            &format!("{}-plant", probe.name),
            &["plant".to_owned()],
            built.path(),
        ));
        let token = match verdict(text(&first, "stdout")) {
            Verdict::Planted(token) => token,
            _ => String::new(),
        };
        let words = ["look".to_owned(), format!("TOKEN={token}")];
        let second = batch.run(&step(
            &probe,
            &format!("{}-look", probe.name),
            &words,
            built.path(),
        ));
        findings.note(&probe.file, "behind itself", looked(&second));
    }
    findings.settle();
}
