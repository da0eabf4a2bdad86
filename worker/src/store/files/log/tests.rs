//! What does a machine that goes down leave, and what does the next boot find?

use super::super::root::Root;
use super::*;
use crate::cli::scratch::Folder;
use std::fs;
use std::path::Path;

mod power;

const NEXT_BOOT: &str = "the next";

fn commit(root: &Root, id: &str, outcome: &str) {
    let key = format!("results/{id}.json");
    let unnamed = root.unnamed().expect("a file");
    let put = root.commit(unnamed, (&key, outcome.as_bytes()), "jobs/none.json");
    assert_eq!(put.expect("committed"), crate::store::backend::Put::Made);
}

fn logs(path: &Path) -> usize {
    fs::read_dir(path.join(LOGS)).map_or(0, Iterator::count)
}

/// Another store with what this one's disk would hold had nothing but the log got there.
fn cut(path: &Path) -> Folder {
    let after = Folder::new();
    let (from, to) = (path.join(LOGS), after.path().join(LOGS));
    fs::create_dir(&to).expect("scratch");
    for entry in fs::read_dir(from).expect("the log is there") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("scratch");
    }
    after
}

fn opened(path: &Path, boot: &str) -> Root {
    Root::open_at(path, boot).expect("it opens")
}

#[test]
fn what_the_disk_had_not_got_to_is_put_back() {
    let store = Folder::new();
    let root = opened(store.path(), "this");
    root.log_ahead();
    commit(&root, "a", "{\"a\": 1}");
    commit(&root, "torn", "{\"torn\": 1}");
    commit(&root, "theirs", "{\"ours\": 1}");
    let unnamed = root.unnamed().expect("a file");
    root.put_logged(unnamed, "logs/a/r/stdout", b"hello\n")
        .expect("written");
    commit(&root, "b", "{\"b\": 1}");
    let after = cut(store.path());
    let results = after.path().join("results");
    fs::create_dir(&results).expect("scratch");
    fs::write(results.join("torn.json"), "{\"to").expect("scratch");
    fs::write(results.join("theirs.json"), "{\"theirs\": 1}").expect("scratch");
    drop(opened(after.path(), NEXT_BOOT));
    let read = |key: &str| fs::read_to_string(after.path().join(key)).expect(key);
    assert_eq!(read("results/a.json"), "{\"a\": 1}");
    assert_eq!(read("results/torn.json"), "{\"torn\": 1}");
    assert_eq!(read("results/theirs.json"), "{\"theirs\": 1}");
    assert_eq!(read("logs/a/r/stdout"), "hello\n");
    assert_eq!(read("results/b.json"), "{\"b\": 1}");
    assert_eq!(logs(after.path()), 0, "it is not needed any more");
}

#[test]
fn what_was_removed_before_a_process_ended_stays_removed() {
    let store = Folder::new();
    let root = opened(store.path(), "this");
    root.log_ahead();
    commit(&root, "a", "{}");
    let after = cut(store.path());
    drop(opened(after.path(), "this"));
    assert!(!after.path().join("results/a.json").exists());
    assert_eq!(logs(after.path()), 0);
}

#[test]
fn a_log_in_use_is_left_alone_and_goes_with_its_process() {
    let store = Folder::new();
    let root = opened(store.path(), "this");
    root.log_ahead();
    commit(&root, "a", "{}");
    let beside = opened(store.path(), NEXT_BOOT);
    beside.log_ahead();
    assert_eq!(logs(store.path()), 2);
    drop(beside);
    assert_eq!(logs(store.path()), 1);
    drop(root);
    assert_eq!(logs(store.path()), 0);
}

#[test]
fn more_than_a_log_holds_is_committed() {
    let store = Folder::new();
    let root = opened(store.path(), "this");
    root.log_ahead();
    let outcome = format!("\"{}\"", "x".repeat(BODY_MAX - 2));
    let halves = 3 * usize::try_from(HALF).expect("small") / BODY_MAX;
    for n in 0..halves {
        commit(&root, &n.to_string(), &outcome);
    }
    // Past a body's size the disk is waited for.
    let large = format!("\"{}\"", "x".repeat(BODY_MAX));
    commit(&root, "large", &large);
    let after = cut(store.path());
    drop(opened(after.path(), NEXT_BOOT));
    let last = format!("results/{}.json", halves - 1);
    let last = fs::read_to_string(after.path().join(last)).expect("the last is held");
    assert_eq!(last, outcome);
    assert!(
        !after.path().join("results/0.json").exists(),
        "it was freed"
    );
    assert_eq!(
        fs::read_dir(store.path().join("results"))
            .expect("there")
            .count(),
        halves + 1
    );
}

#[test]
fn a_half_is_freed_when_it_is_old() {
    let store = Folder::new();
    let top = File::open(store.path()).expect("scratch");
    let log = Log::open(&top.into(), "this").expect("made");
    let key = "results/a.json";
    assert!(log.append(&[(key, b"{}")]).expect("appended"));
    log.sync().expect("synced");
    let shared = &log.0;
    let held = |round| layout::records(&shared.file, 0, round).expect("read");
    assert_eq!(held(1).len(), 1);
    let freed = shared
        .changed
        .wait_timeout_while(shared.lock(), 3 * AGE_MAX, |state| state.rounds == [1, 1]);
    let (state, waited) = freed.expect("no panic");
    assert!(!waited.timed_out());
    assert_eq!((state.rounds, state.half, state.full), ([2, 1], 1, false));
    assert_eq!(held(2), []);
}

#[test]
fn a_log_that_cannot_be_made_is_done_without() {
    let store = Folder::new();
    fs::write(store.path().join(LOGS), "in the way").expect("scratch");
    let root = Root::open_at(store.path(), "this");
    assert!(root.is_err(), "nobody knows what lies there");
    fs::remove_file(store.path().join(LOGS)).expect("scratch");
    let root = opened(store.path(), "this");
    fs::write(store.path().join(LOGS), "in the way").expect("scratch");
    root.log_ahead();
    assert!(!root.has_log());
    commit(&root, "a", "{}");
    assert!(store.path().join("results/a.json").exists());
}
