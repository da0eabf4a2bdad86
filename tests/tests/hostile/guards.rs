//! Does each guard bite: with it taken off, does the matching probe breach, and does the warden's proof notice where it
//! can? And does a keeper that disobeys reach nothing and pass no proof?
//!
//! The program is built with the feature `unguarded` (`KILN_UNGUARDED`, else `target/debug/kiln-unguarded`), which no
//! delivered program has: the last test shows that those refuse.

use crate::leaks::step;
use crate::{args, limits};
use acceptance::batch::{self, Batch, text};
use acceptance::hostile::{Canary, Probe, Verdict, index, verdict};
use acceptance::places;
use serde_json::{Value, json};
use std::path::Path;

/// A guard, the probe that must breach without it, and whether the warden's proof notices that it is gone.
struct Guard {
    words: &'static str,
    probe: &'static str,
    noticed: bool,
}

const fn guard(words: &'static str, probe: &'static str) -> Guard {
    Guard {
        words,
        probe,
        noticed: false,
    }
}

const fn noticed(words: &'static str, probe: &'static str) -> Guard {
    Guard {
        words,
        probe,
        noticed: true,
    }
}

const GUARDS: [Guard; 18] = [
    guard("job-filter", "A/userns_unshare.py"),
    guard("job-filter", "E/core_limit.py"),
    guard("job-filter,keeper-filter", "A/io_uring.py"),
    guard("job-filter,keeper-filter", "E/families.py"),
    guard("masks", "A/masked_paths_real.py"),
    guard("mount-flags", "A/mount_flags.py"),
    guard("hidden-processes", "E/pid_walk.py"),
    guard("memory-limit", "B/mem_anon.py"),
    guard("pids-limit", "B/thread_bomb.py"),
    guard("overlay", "E/shared_lock.py"),
    guard("links", "D/symlink_secret.py"),
    guard("deadline", "B/sleep_forever.py"),
    guard("network-proof", "C/net_state.py"),
    guard("cell-network,network-proof", "C/net_state.py"),
    noticed("disk-limit", "B/tmpfs_fill.py"),
    noticed("cell-ipc", "C/sysv_shm.py"),
    noticed("core-limit", "E/core_limit.py"),
    noticed("descriptors", "E/fd_cwd_leak.py"),
];

fn probe(file: &str) -> Probe {
    let group = file.chars().next().expect("a probe has a group");
    let found = index(group).into_iter().find(|probe| probe.file == file);
    found.unwrap_or_else(|| panic!("no probe `{file}`"))
}

/// What a probe comes to without a guard: why it is not contained, or nothing.
fn breach(words: &str, probe: &Probe, canary: &Canary, built: &Path) -> Option<String> {
    let beside = words == "overlay";
    let mut batch = Batch::without(words, if beside { 2 } else { 1 });
    if beside {
        // The neighbour holds the lock while the other looks.
        let hold = step(probe, "hold", &["hold".to_owned(), "S=8".to_owned()], built);
        batch.send(&hold);
        for n in 0..40 {
            let look = step(probe, &format!("look-{n}"), &["look".to_owned()], built);
            if let Some(why) = breached(&batch.run(&look)) {
                return Some(why);
            }
        }
        return None;
    }
    if probe.two_step {
        batch.run(&step(probe, "plant", &["plant".to_owned()], built));
        return breached(&batch.run(&step(probe, "look", &["look".to_owned()], built)));
    }
    let words = args(&[format!("CANARY={}", canary.path.display())]);
    let mut limits = limits();
    limits["wall_ms"] = json!(if probe.file == "B/sleep_forever.py" {
        500
    } else {
        20_000
    });
    let outcome = batch.run(&probe.job("alone", &words, &limits, built));
    match probe.group {
        'D' => {
            let taken = std::fs::read_dir(batch.out().join("alone/artifacts")).ok()?;
            let secret = taken
                .filter_map(Result::ok)
                .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
                .find(|text| text.contains("root:x:0:0"));
            secret.map(|_| "a file of the image was collected through a link".to_owned())
        }
        'B' if probe.name == "sleep_forever" => (outcome["reason"] != "wall_time")
            .then(|| format!("it outlived its limit: {}", outcome["message"])),
        _ => breached(&outcome),
    }
}

fn breached(outcome: &Value) -> Option<String> {
    match verdict(text(outcome, "stdout")) {
        Verdict::Breach(why) if !why.starts_with("inconclusive") => Some(why),
        _ => None,
    }
}

#[test]
fn canary_every_guard_bites() {
    let canary = Canary::start();
    let built = places::scratch();
    let mut wrong = Vec::new();
    for guard in &GUARDS {
        let probe = probe(guard.probe);
        let words = if guard.noticed {
            format!("{},proof", guard.words)
        } else {
            guard.words.to_owned()
        };
        if breach(&words, &probe, &canary, built.path()).is_none() {
            wrong.push(format!("without {words}, {} is contained", guard.probe));
        }
        if guard.noticed {
            let outcome = refused(guard.words);
            if !told(&outcome, "prove") {
                wrong.push(format!(
                    "the proof does not notice that {} is off: {outcome}",
                    guard.words
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What becomes of a plain job without a guard.
fn refused(words: &str) -> Value {
    Batch::without(words, 1).run(&batch::python("plain", "print('ran')"))
}

fn told(outcome: &Value, word: &str) -> bool {
    let message = outcome["message"].as_str().unwrap_or_default();
    outcome["status"] == "platform_error" && message.contains(word)
}

/// A keeper that was taken over, before a job: no job starts in its sandbox.
#[test]
fn a_keeper_that_disobeys_before_a_job_gets_none() {
    for (word, why) in [
        ("unplaced", "prove"),
        ("babble", "accept"),
        ("silence", ""),
        ("capabilities", "prove"),
    ] {
        let outcome = refused(word);
        assert!(told(&outcome, why), "{word}: {outcome:#}");
        assert_eq!(text(&outcome, "stdout"), "", "{word}");
    }
}

/// Uses its network, so that the next job needs another.
const SENDS: &str = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('127.0.0.1', 0))\ns.sendto(b'x', s.getsockname())\n";

/// The sandboxes of two jobs, and what was logged.
fn two_after_each_other(mut batch: Batch) -> (String, String, String) {
    let [first, second] = ["first", "second"].map(|id| {
        let job = batch.run(&batch::python(id, SENDS));
        assert_eq!(job["status"], "succeeded", "{job:#}");
        batch::sandbox(&job).0
    });
    (first, second, batch.end().stderr)
}

/// After a job: the reset finds what it left, and the next job is in another sandbox, and clean.
#[test]
fn what_a_keeper_leaves_is_found_and_its_sandbox_ends() {
    const NOT_CLEAN: &str = "prove the sandbox clean";
    for (word, why) in [
        ("leave-process", NOT_CLEAN),
        ("leave-descriptor", NOT_CLEAN),
        ("leave-mount", NOT_CLEAN),
        ("leave-memory", NOT_CLEAN),
        ("change-limit", NOT_CLEAN),
        // It stays where the last job was.
        ("cell-network", "network of the cell"),
    ] {
        let (first, second, log) = two_after_each_other(Batch::without(word, 1));
        assert_ne!(first, second, "{word}: a dirty sandbox was used again");
        assert!(log.contains(why), "{word}: {log}");
    }
    let (first, second, log) = two_after_each_other(Batch::start(1, &[]));
    assert_eq!(first, second, "a clean sandbox was not used again: {log}");
}

/// It reaches no file, process, device, socket family or file system outside of its sandbox: the mask that it tells is
/// that of nothing.
#[test]
fn a_keeper_that_was_taken_over_reaches_nothing() {
    let outcome = refused("reach");
    let nothing = i32::from_str_radix("10000000", 16)
        .expect("a number")
        .to_string();
    assert!(
        told(&outcome, &format!("(os error {nothing})")),
        "{outcome:#}"
    );
}

#[test]
fn a_delivered_program_knows_no_guard_to_take_off() {
    let plain = places::kiln();
    let output = std::process::Command::new(&plain)
        .args(["warden", "--without", "job-filter"])
        .env("KILN_WITHOUT", "job-filter")
        .output()
        .expect("kiln starts");
    assert_eq!(output.status.code(), Some(64));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`--without` is not an option"), "{said}");
    // Nor does the environment change what a job may do.
    let mut batch = Batch::start_with(&plain, "job-filter,masks,proof", 1);
    let outcome = batch.run(&probe("E/unshare_each.py").job(
        "x",
        &args(&[]),
        &limits(),
        places::scratch().path(),
    ));
    assert_eq!(verdict(text(&outcome, "stdout")), Verdict::Contained);
}
