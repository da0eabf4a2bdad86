//! The labelled samples of this repository, and variants of them that are made here.

#[path = "../corpus/hold.rs"]
mod hold;
#[path = "corpus/mutate.rs"]
mod mutate;
#[path = "corpus/readers.rs"]
mod readers;
#[path = "../corpus/table.rs"]
mod table;
#[path = "../corpus/targets.rs"]
mod targets;
#[path = "../corpus/variants.rs"]
mod variants;

use artifact_scanner::Unscannable;
use std::path::Path;
use table::{Outcome, Table};

/// The least share of verdicts exactly as labelled, in per mille.
const EXACT_PER_MILLE: usize = 920;

#[track_caller]
fn judge(outcomes: &[Outcome]) {
    let bad = outcomes
        .iter()
        .filter(|outcome| outcome.is_missed() || outcome.is_false())
        .count();
    let exact = outcomes.iter().filter(|outcome| outcome.is_exact()).count();
    assert!(
        bad == 0 && exact * 1000 >= outcomes.len() * EXACT_PER_MILLE,
        "\n{}",
        Table(outcomes)
    );
}

#[test]
fn the_samples_are_judged_as_labelled() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let samples = table::read(&dir).expect("the corpus is in the repository");
    assert!(samples.len() > 190);
    judge(&table::run(samples));
}

#[test]
fn the_variants_are_judged_as_labelled() {
    judge(&table::run(variants::all()));
}

/// Made by `corpus/make`, at least three of each family that other files of it could be.
#[test]
fn the_variants_that_are_stored_are_judged_as_labelled() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/variants");
    let samples = table::read(&dir).expect("the variants are in the repository");
    assert!(samples.len() > 950);
    judge(&table::run(samples));
}

#[test]
fn a_verdict_does_not_depend_on_the_run() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let run = || {
        let outcomes = table::run(table::read(&dir).expect("the corpus is in the repository"));
        outcomes
            .iter()
            .map(|outcome| format!("{:?}", outcome.report))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

/// Damaged samples are answered like any other: without a panic, and in time.
#[test]
fn damaged_samples_end_in_an_answer() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let samples = table::read(&dir).expect("the corpus is in the repository");
    let mut state = 0x9e37_79b9_7f4a_7c13u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits") % below.max(1)
    };
    let mut damaged = Vec::new();
    for sample in samples
        .iter()
        .filter(|sample| (1..16_384).contains(&sample.bytes.len()))
    {
        for round in 0..8 {
            let mut bytes = sample.bytes.clone();
            for _ in 0..=random(4) {
                let at = random(bytes.len());
                bytes[at] = [
                    0,
                    0xff,
                    0x7f,
                    0x80,
                    bytes[at] ^ 1,
                    bytes[at].wrapping_add(1),
                ][random(6)];
            }
            if round % 4 == 3 {
                bytes.truncate(random(bytes.len()));
            }
            damaged.push(table::Sample {
                name: sample.name.clone(),
                expected: sample.expected.clone(),
                family: sample.family.clone(),
                bytes,
            });
        }
    }
    for outcome in table::run(damaged) {
        let reason = outcome.report.unscannable_reason();
        assert!(
            !matches!(
                reason,
                Some(Unscannable::EngineError | Unscannable::Timeout)
            ),
            "{:?}: {reason:?} {:02x?}",
            outcome.sample.name,
            outcome.sample.bytes
        );
    }
}
