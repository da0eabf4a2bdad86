//! Group D: can a job make the collection of its outputs read, write or wait for what it should not?

use crate::{args, limits};
use acceptance::batch::{Batch, text};
use acceptance::hostile::{Canary, Findings, Probe, Verdict, index, verdict};
use acceptance::places;
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn canary_d_collection() {
    let canary = Canary::start();
    let built = places::scratch();
    let guard = places::scratch();
    std::fs::create_dir_all(guard.path().join("tree/deep")).expect("writable");
    std::fs::write(guard.path().join("tree/deep/file"), "kept\n").expect("writable");
    let mut findings = Findings::default();
    let mut batch = Batch::start(1, &[]);
    for probe in index('D') {
        let snap = built.path().join("guard.json");
        let dirs = [
            guard.path().to_str().expect("text"),
            canary.path.parent().and_then(Path::to_str).expect("text"),
            "/usr/local",
        ];
        std::fs::write(&snap, checker(&[&["snap"][..], &dirs].concat()).0).expect("writable");
        let repeat = if probe.name.starts_with("race_") || probe.name == "removed_while_read" {
            10
        } else {
            1
        };
        for round in 0..repeat {
            let id = format!("{}-{round}", probe.name);
            let mut limits = limits();
            limits["artifact_bytes"] = json!(64 << 20);
            limits["inodes"] = json!(60_000);
            let words = args(&[format!("CANARY={}", canary.path.display())]);
            let outcome = batch.run(&probe.job(&id, &words, &limits, built.path()));
            findings.note(
                &probe.file,
                "collected",
                collected(&probe, &batch.out().join(&id), &outcome, &canary, &snap),
            );
        }
    }
    findings.settle();
}

/// Judges what is in the out folder of a job.
fn collected(
    probe: &Probe,
    out: &Path,
    outcome: &Value,
    canary: &Canary,
    snap: &Path,
) -> Result<(), String> {
    if probe.name == "reserved_names" {
        let own = std::fs::read(out.join("outcome.json")).map_err(|error| error.to_string())?;
        if outcome["exit_code"] != 7
            || serde_json::from_slice::<Value>(&own).ok().as_ref() != Some(outcome)
        {
            return Err(format!("its own records are not as they were: {outcome}"));
        }
    } else if !matches!(
        verdict(text(outcome, "stdout")),
        Verdict::Planted(_) | Verdict::Contained
    ) {
        return Err(format!(
            "did not plant: {} {} {}",
            outcome["status"], outcome["reason"], outcome["message"]
        ));
    }
    let [artifacts, quarantine] = ["artifacts", "quarantine"].map(|name| out.join(name));
    for artifact in outcome["artifacts"].as_array().into_iter().flatten() {
        let text = |name: &str| {
            artifact[name]
                .as_str()
                .ok_or(format!("no {name}: {artifact}"))
        };
        let (path, object) = (text("path")?, text("object")?);
        let released = artifact["state"] == "released";
        let top = if released {
            "artifacts/"
        } else {
            "quarantine/"
        };
        let kept = object.starts_with(top) && out.join(object).is_file();
        if !kept || artifacts.join(path).is_file() != released {
            return Err(format!("`{path}` is not where it says: {artifact}"));
        }
    }
    let took = outcome["timing_us"]["collect"]
        .as_u64()
        .ok_or("no time of collection")?;
    let seconds = (took / 1000).to_string();
    let seconds = format!(
        "{}.{:0>3}",
        took / 1_000_000,
        &seconds[seconds.len().saturating_sub(3)..]
    );
    // What is withheld has nothing harmless that must be there.
    for (folder, name) in [(&artifacts, &*probe.name), (&quarantine, "")] {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        check(name, folder, canary, snap, &seconds)?;
    }
    Ok(())
}

/// What the checker of the probes says of a folder of collected files.
fn check(
    name: &str,
    folder: &Path,
    canary: &Canary,
    snap: &Path,
    seconds: &str,
) -> Result<(), String> {
    let words = [
        "check",
        folder.to_str().expect("text"),
        "--probe",
        name,
        "--canary",
        &canary.text,
        "--seconds",
        seconds,
        "--guard",
        snap.to_str().expect("text"),
        "--max-mb",
        "64",
        "--max-files",
        "1000",
    ];
    match checker(&words) {
        (_, true) => Ok(()),
        (said, false) => Err(String::from_utf8_lossy(&said).trim().to_owned()),
    }
}

fn checker(words: &[&str]) -> (Vec<u8>, bool) {
    let script = places::home().join("hostile/check_collected.py");
    let output = std::process::Command::new("/usr/bin/python3")
        .arg(script)
        .args(words)
        .output()
        .expect("python3 is there");
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (output.stdout, output.status.success())
}

#[test]
fn the_checker_of_group_d_bites() {
    let folder = places::scratch();
    std::fs::write(folder.path().join("good.txt"), "ok\n").expect("writable");
    let at = folder.path().to_str().expect("text");
    assert!(checker(&["check", at, "--probe", "symlink_secret"]).1);
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).expect("writable");
    assert!(!checker(&["check", at, "--probe", "symlink_secret"]).1);
}
