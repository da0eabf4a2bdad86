//! What a journal remembers of a worker that died.

use super::*;

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("kiln-journal-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&path));
    path
}

fn note(id: &str) -> Note {
    Note {
        job_id: id.parse().expect("an id"),
        tenant: Tenant::default(),
        run: "r1".into(),
        began_unix_ms: 5,
    }
}

/// What a worker that dies leaves: entries that nobody drops.
fn die(entry: Entry) {
    let _never_dropped = std::mem::ManuallyDrop::new(entry);
}

#[test]
fn only_what_ran_at_the_death_is_left() {
    let state = scratch("left");
    let journal = Journal::open(&state).expect("a fresh folder");
    let [ended, held, ran] = ["ended", "held", "ran"].map(|id| {
        let entry = journal.begin(&note(id)).expect("written");
        (entry, note(id))
    });
    ended.0.started().expect("renamed");
    ran.0.started().expect("renamed");
    drop(ended);
    die(held.0);
    die(ran.0);
    drop(journal);
    let journal = Journal::open(&state).expect("the lock went with the worker");
    let left = journal.left().expect("read");
    assert_eq!(left, std::slice::from_ref(&ran.1));
    journal.told().expect("removed");
    assert_eq!(journal.left().expect("read"), []);
    std::fs::remove_dir_all(state).expect("our own folder");
}

#[test]
fn what_had_started_is_left_where_the_warden_ends_the_worker() {
    let state = scratch("kept");
    let journal = Journal::open(&state).expect("a fresh folder");
    let [ended, held, ran] = ["ended", "held", "ran"].map(|id| {
        let entry = journal.begin(&note(id)).expect("written");
        (entry, note(id))
    });
    ended.0.started().expect("written");
    ran.0.started().expect("written");
    drop(ended);
    journal.keep();
    drop((held.0, ran.0));
    assert_eq!(journal.left().expect("read"), [ran.1]);
    std::fs::remove_dir_all(state).expect("our own folder");
}

#[test]
fn a_file_serves_one_job_after_another() {
    let state = scratch("again");
    let journal = Journal::open(&state).expect("a fresh folder");
    let long = journal.begin(&note(&"long".repeat(20))).expect("written");
    long.started().expect("written");
    drop(long);
    let short = journal.begin(&note("short")).expect("written");
    short.started().expect("written");
    let beside = journal.begin(&note("beside")).expect("written");
    assert_eq!(journal.left().expect("read"), [note("short")]);
    assert_eq!(journal.entries().expect("listed").len(), 2);
    drop((short, beside));
    assert_eq!(journal.left().expect("read"), []);
    std::fs::remove_dir_all(state).expect("our own folder");
}

#[test]
fn a_second_worker_is_refused() {
    let state = scratch("lock");
    let _first = Journal::open(&state).expect("a fresh folder");
    let second = Journal::open(&state).expect_err("it is taken");
    assert!(matches!(second, JournalError::Taken { .. }), "{second}");
    std::fs::remove_dir_all(state).expect("our own folder");
}

#[test]
fn a_folder_that_takes_nothing_is_told_until_it_does() {
    let state = scratch("able");
    let journal = Journal::open(&state).expect("a fresh folder");
    // Root may write anywhere; a folder in a note's place stops root too.
    let held = state.join("journal/0.entry");
    std::fs::create_dir(&held).expect("made");
    assert!(journal.begin(&note("j")).is_err());
    assert!(!journal.is_able());
    let probe = state.join("journal/probe");
    std::fs::create_dir(&probe).expect("made");
    journal.look_again();
    assert!(!journal.is_able());
    std::fs::remove_dir(&probe).expect("ours");
    std::fs::remove_dir(&held).expect("ours");
    journal.look_again();
    assert!(journal.is_able());
    drop(journal.begin(&note("j")).expect("written"));
    std::fs::remove_dir_all(state).expect("our own folder");
}

#[test]
fn a_torn_entry_stops_nothing() {
    let state = scratch("torn");
    let journal = Journal::open(&state).expect("a fresh folder");
    std::fs::write(state.join("journal/9.entry"), b"s{\"job").expect("written");
    assert_eq!(journal.left().expect("read"), []);
    assert!(!state.join("journal/9.entry").exists());
    std::fs::remove_dir_all(state).expect("our own folder");
}
