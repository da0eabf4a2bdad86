//! Does each reader by itself hold whatever bytes come, in time and without a panic?
//!
//! The targets are those of `corpus/targets.rs`. What led the fuzzer somewhere new is replayed; and
//! seeds are changed at random, some hundreds of times a target here, as often as `KILN_FUZZ_RUNS`
//! says by `artifact-scanner/fuzz/run`. `KILN_FUZZ_TARGET` names one target, `KILN_SEED` other
//! changes.

use super::hold;
use super::mutate::{Dice, change, said};
use super::targets::{ALL, Target, samples};
use artifact_scanner::{Policy, Rules, Subject, scan};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Takes the bytes, and says which they were where something does not hold.
#[track_caller]
fn take(target: &Target, bytes: &[u8], policy: &Policy, told: &str) {
    let held = catch_unwind(AssertUnwindSafe(|| target.take(bytes, policy)));
    assert!(held.is_ok(), "{}: {told}: {bytes:02x?}", target.name);
}

#[test]
fn each_reader_holds_by_itself() {
    let (runs, seed) = (said("KILN_FUZZ_RUNS", 200), said("KILN_SEED", 5));
    let wanted = std::env::var("KILN_FUZZ_TARGET").ok();
    let samples = samples().expect("the corpus is in the repository");
    let policy = hold::policy(Rules::own());
    let is_wanted = |target: &&Target| wanted.as_deref().is_none_or(|name| name == target.name);
    let tried: Vec<_> = ALL.iter().filter(is_wanted).collect();
    assert!(
        !tried.is_empty(),
        "KILN_FUZZ_TARGET: there is no such target"
    );
    for target in tried {
        let seeds = target.seeds(&samples);
        assert!(!seeds.is_empty(), "{}: no seed", target.name);
        let (mut dice, start) = (Dice(seed), Instant::now());
        for round in 0..runs {
            let at = dice.roll(seeds.len());
            let (other, mut bytes) = (dice.roll(seeds.len()), seeds[at].clone());
            change(&mut bytes, &seeds[other], &mut dice);
            let told = || format!("round {round} of seed {seed}");
            take(target, &bytes, &policy, &told());
        }
        let told = format!("{}: {runs} runs, {:?}\n", target.name, start.elapsed());
        std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes()).expect("stderr");
    }
}

#[test]
fn what_led_the_fuzzer_somewhere_new_holds() {
    let policy = hold::policy(Rules::own());
    for target in ALL {
        let kept = target.kept().expect("the corpus is in the repository");
        for (number, bytes) in kept.iter().enumerate() {
            take(target, bytes, &policy, &format!("kept {number}"));
        }
    }
}

#[test]
fn the_fuzzer_knows_every_target() {
    let listed = include_str!("../../fuzz/targets").replace("\\\n", " ");
    let listed = listed
        .lines()
        .find_map(|line| line.strip_prefix("printf '%s\\n' "));
    let listed: Vec<_> = listed.expect("it prints them").split_whitespace().collect();
    let names: Vec<_> = ALL.iter().map(|target| target.name).collect();
    assert_eq!(listed, names);
}

/// What `hold` demands can be missing: each demand bites.
#[test]
fn an_answer_that_does_not_hold_is_found() {
    let policy = hold::policy(Rules::own());
    let broken = |bytes: &[u8], said: &[u8], spend: u64| {
        let subject = Subject {
            name: "a.csv",
            bytes: said,
        };
        let run = || {
            hold::report(bytes, |budget| {
                let report = scan(subject, &policy, budget);
                // The limit is found out only when the word is out.
                assert_eq!(budget.unpack(spend).is_ok(), spend < 1 << 20);
                report
            })
        };
        catch_unwind(AssertUnwindSafe(run)).is_err()
    };
    assert!(!broken(b"1,2\n", b"1,2\n", 1));
    assert!(broken(b"1,2,3\n", b"1,2\n", 1), "another file's report");
    assert!(
        broken(b"1,2\n", b"1,2\n", 1 << 40),
        "clean beyond its budget"
    );
}
