//! Does `kiln doctor --isolation` say what holds on this machine, and does it say so when something does not?

use acceptance::kiln::command_of;
use acceptance::places;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

fn doctor(program: &Path, without: &str, words: &[&str]) -> Output {
    let folder = places::scratch();
    let mut kiln = command_of(program, folder.path());
    kiln.env("KILN_WITHOUT", without);
    kiln.args(["doctor", "--isolation"]).args(words);
    kiln.output().expect("kiln starts")
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The hard properties that do not hold.
fn open(report: &Value) -> BTreeSet<String> {
    let all = report["properties"].as_array().expect("properties");
    let open = all
        .iter()
        .filter(|one| one["hardness"] == "hard" && one["holds"] == false);
    open.map(|one| one["property"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn every_hard_property_is_tried_in_every_position_and_holds() {
    let output = doctor(&places::kiln(), "", &["--json"]);
    let report = report(&output);
    assert_eq!(open(&report), BTreeSet::new(), "{report:#}");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(report["holds"], true);
    let all = report["properties"].as_array().expect("properties");
    assert!(all.len() >= 45, "{}", all.len());
    for one in all {
        let name = one["property"].as_str().expect("a name");
        let positions: BTreeSet<_> = one["sightings"]
            .as_array()
            .expect("sightings")
            .iter()
            .map(|sighting| sighting["position"].as_str().expect("a position"))
            .collect();
        let wanted: &[&str] = match name {
            _ if name.ends_with("-limit") || name == "fatal-calls" => &["first"],
            _ if name.starts_with("residue-") => &["second", "after_kill", "beside"],
            _ => &["first", "second", "after_kill"],
        };
        let missing: Vec<_> = wanted
            .iter()
            .filter(|at| !positions.contains(**at))
            .collect();
        assert!(missing.is_empty(), "{name} was not tried: {missing:?}");
        for word in ["promise", "by", "tried"] {
            assert!(!one[word].as_str().expect("text").is_empty(), "{name}");
        }
    }
}

#[test]
fn a_guard_that_is_off_is_told_by_name() {
    let program = places::kiln_unguarded();
    for (without, wanted) in [
        ("masks", "proc-masks"),
        ("overlay", "residue-locks"),
        ("cell-network,network-proof", "residue-counters"),
        ("pids-limit", "process-limit"),
    ] {
        let output = doctor(&program, without, &["--json"]);
        assert_eq!(output.status.code(), Some(1), "without {without}");
        let open = open(&report(&output));
        assert!(open.contains(wanted), "without {without}: {open:?}");
    }
}

#[test]
fn the_table_ends_with_the_verdict_and_what_is_not_promised() {
    let output = doctor(&places::kiln_unguarded(), "job-filter", &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    for line in [
        "namespaces         OPEN",
        "- The kernel is shared.",
        "run no hostile code here",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let output = doctor(&places::kiln(), "", &["--profile", "no-such"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no profile is named `no-such`"), "{said}");
}
