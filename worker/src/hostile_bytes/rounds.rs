//! Does any byte changed at random make our own code panic, hang, or say two things?
//!
//! `KILN_FUZZ_RUNS` says how many runs each target has (some thousands unless told); `KILN_SEED`
//! names the same run again.

use super::change::Dice;
use super::{Target, hostile, targets};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const RUNS: u64 = 4_000;
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("it is a number"))
}

/// The seeds of a target, and what its corpus holds.
fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(target.name);
    let kept = std::fs::read_dir(folder).into_iter().flatten();
    let kept = kept.map(|entry| std::fs::read(entry.expect("readable").path()).expect("readable"));
    target.seeds.iter().cloned().chain(kept).collect()
}

fn run(target: &Target) {
    let seeds = seeds(target);
    let (runs, seed) = (number("KILN_FUZZ_RUNS", RUNS), number("KILN_SEED", SEED));
    let mut dice = Dice::new(seed);
    let mut accepted = 0_u64;
    for bytes in &target.seeds {
        assert!((target.take)(bytes), "{}: a seed is refused", target.name);
    }
    for round in 0..runs {
        let bytes = dice.changed(&seeds);
        let taken = catch_unwind(AssertUnwindSafe(|| (target.take)(&bytes)));
        let Ok(taken) = taken else {
            panic!(
                "{}: round {round} of seed {seed}: {bytes:02x?}",
                target.name
            );
        };
        accepted += u64::from(taken);
    }
    // A target that refuses all, or takes all, tries nothing.
    let told = format!("{}: {accepted} of {runs} were accepted", target.name);
    assert!(accepted > 0 && accepted < runs, "{told}");
}

#[test]
fn jobs() {
    run(&targets::jobs());
}

#[test]
fn what_a_keeper_says() {
    run(&targets::from_keeper());
}

#[test]
fn what_a_keeper_hears() {
    run(&targets::to_keeper());
}

#[test]
fn what_a_warden_hears() {
    run(&targets::to_warden());
}

#[test]
fn what_a_warden_says() {
    run(&targets::from_warden());
}

#[test]
fn what_a_stager_says_and_hears() {
    run(&targets::staged());
}

#[test]
fn listings_of_a_collector() {
    run(&targets::collected());
}

#[test]
fn names_of_outputs() {
    run(&targets::names());
}

#[test]
fn requests_to_the_proxy() {
    run(&hostile::requests());
}

#[test]
fn bodies_of_requests() {
    run(&hostile::bodies());
}

#[test]
fn what_a_tunnel_begins_with() {
    run(&hostile::hellos());
}

#[test]
fn spellings_of_hosts() {
    run(&hostile::spellings());
}

#[test]
fn every_target_has_a_name_and_a_test_of_its_own() {
    let all = super::all();
    let names: std::collections::BTreeSet<_> = all.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), all.len());
    let tests = include_str!("rounds.rs").matches("\n    run(&").count();
    // One of them is the target that breaks.
    assert_eq!(tests, all.len() + 1);
    let guided = include_str!("../../fuzz/targets");
    let listed: Vec<_> = all.iter().map(|target| target.name).collect();
    assert!(
        guided.contains(&format!(" {}\n", listed.join(" "))),
        "{listed:?}"
    );
}

#[test]
#[should_panic(expected = "round")]
fn a_target_that_breaks_is_found() {
    run(&Target {
        name: "breaks",
        seeds: vec![b"abc".to_vec()],
        take: |bytes| {
            assert!(bytes.first() != Some(&0xff));
            bytes == b"abc"
        },
    });
}
