//! Does a control group hold each process that scans, and what becomes of one that is past it?

use super::{file, gate};
use artifact_scanner::Verdict;
use kiln::screen::scanner::Grouping;
use kiln::screen::table::Fate;
use kiln::screen::{GateOptions, Outputs};
use rustix::process::Pid;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Everybody in the groups below one.
pub(super) fn members(parent: &str) -> Vec<Pid> {
    let groups = groups("memory", parent).into_iter();
    let read = groups.map(|group| std::fs::read_to_string(group.join("cgroup.procs")));
    // A group may be gone by now.
    let texts: Vec<_> = read.filter_map(Result::ok).collect();
    let pids = texts.iter().flat_map(|text| text.split_whitespace());
    pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

/// Groups of a test's own.
fn below(name: &str, memory_bytes: u64) -> GateOptions {
    GateOptions {
        processes: 1,
        grouping: Grouping {
            parent: format!("/kiln-gate-{name}-{}", std::process::id()),
            memory_bytes,
            needed: true,
        },
        ..GateOptions::default()
    }
}

/// The folder of a controller's hierarchy: v1 has one for each, v2 one for all.
fn hierarchy(controller: &str) -> PathBuf {
    let v1 = PathBuf::from("/sys/fs/cgroup").join(controller);
    if v1.is_dir() {
        v1
    } else {
        "/sys/fs/cgroup".into()
    }
}

pub(super) fn groups(controller: &str, parent: &str) -> Vec<PathBuf> {
    let folder = hierarchy(controller).join(parent.trim_start_matches('/'));
    let entries = std::fs::read_dir(folder).expect("the parent is there");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.is_dir()).collect()
}

fn value(folder: &std::path::Path, names: [&str; 2]) -> String {
    let read = names.map(|name| std::fs::read_to_string(folder.join(name)));
    let text = read.into_iter().find_map(Result::ok);
    text.expect("a limit is there").trim().to_owned()
}

/// Waits until no group is left, and takes their parent away.
pub(super) async fn gone(parent: &str) {
    let late = Instant::now() + Duration::from_secs(20);
    while !groups("memory", parent).is_empty() {
        assert!(Instant::now() < late, "a group stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for controller in ["memory", "pids", "cpu", "cpuacct"] {
        let folder = hierarchy(controller).join(parent.trim_start_matches('/'));
        if folder.exists() {
            std::fs::remove_dir(folder).expect("nothing is left in it");
        }
    }
}

#[tokio::test]
async fn each_process_is_held_and_its_group_goes_with_it() {
    let options = below("held", 256 << 20);
    let parent = options.grouping.parent.clone();
    let gate = gate(options);
    let (held, _) = gate.scanner().prove().await.expect("it scans");
    assert!(held.group, "{held:?}");
    let memory = groups("memory", &parent);
    assert_eq!(memory.len(), 1, "{memory:?}");
    let limit = value(&memory[0], ["memory.limit_in_bytes", "memory.max"]);
    assert_eq!(limit, (256 << 20).to_string());
    let pids = groups("pids", &parent);
    assert_eq!(value(&pids[0], ["pids.max", "pids.max"]), "1");
    // It is the process that scans, and it is alone.
    let member = value(&memory[0], ["cgroup.procs", "cgroup.procs"]);
    let line = std::fs::read_to_string(format!("/proc/{member}/cmdline")).expect("it lives");
    assert!(line.contains("scan-process"), "{line}");
    drop(gate);
    gone(&parent).await;
}

#[tokio::test]
async fn one_that_is_past_it_is_killed_and_what_it_was_at_is_unscannable() {
    // Room for the program and its rules, and not for the file as well.
    let options = below("past", 64 << 20);
    let parent = options.grouping.parent.clone();
    let gate = gate(options);
    let large = b"a,b\n1,2\n".repeat(12 << 20);
    let files = vec![
        file("a.csv", b"1,2\n"),
        file("b.csv", &large),
        file("c.csv", b"1,3\n"),
    ];
    let outputs = Outputs::of([b"hello\n", b""], files, Vec::new());
    let cleared = gate.screen(outputs).await.expect("others are scanned");
    let said: Vec<_> = cleared
        .files()
        .map(|(path, word, fate)| (path, word.verdict(), word.reason(), fate))
        .collect();
    let clean = |path| (path, Verdict::Clean, None, Fate::Release);
    let past = (
        "b.csv",
        Verdict::Unscannable,
        Some("engine_error"),
        Fate::Withhold,
    );
    assert_eq!(said, [clean("a.csv"), past, clean("c.csv")]);
    assert_eq!(gate.scanner().lost(), 2, "once, and once alone");
    drop(gate);
    gone(&parent).await;
}

#[tokio::test]
async fn where_there_can_be_no_group_nothing_is_scanned_unless_none_is_needed() {
    let mut options = below("none", 256 << 20);
    options.grouping.parent = "/.no-name-of-a-group".to_owned();
    let outputs = || Outputs::of([b"hello\n", b""], Vec::new(), Vec::new());
    let needed = gate(options.clone());
    let error = needed.screen(outputs()).await.expect_err("nobody scans");
    let told = kiln::fault::chain(&error);
    assert!(told.contains("in a control group of its own"), "{told}");
    options.grouping.needed = false;
    let by_hand = gate(options);
    let (held, _) = by_hand.scanner().prove().await.expect("it scans");
    assert!(!held.group && held.nobody, "{held:?}");
    by_hand.screen(outputs()).await.expect("it is scanned");
}
