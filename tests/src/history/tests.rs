//! Does the judge see each broken promise, and none where there is none?

use super::{History, Violation};

fn outcome(job: &str, more: &str) -> Vec<u8> {
    format!(r#"{{"schema":"kiln.outcome.v1","job_id":"{job}","attempt":1{more}}}"#).into_bytes()
}

fn started(job: &str) -> String {
    format!(r#"{{"level":"INFO","event":"job.started","job_id":"{job}"}}"#)
}

/// A history in which job `a` was served as it should be.
fn served() -> History {
    let mut history = History::default();
    history.submitted("a");
    history.stored("a", &outcome("a", ""));
    history.published("a", &outcome("a", ""));
    history.read_log(&started("a"));
    history
}

#[test]
fn a_job_that_was_served_breaks_nothing() {
    let mut history = served();
    assert_eq!(history.judge(1), []);
    // Again and again the same, and a second start after a fault: all that is promised.
    history.submitted("a");
    history.published("a", &outcome("a", ""));
    history.read_log(&started("a"));
    assert_eq!(history.judge(2), []);
    assert_eq!(
        (history.jobs(), history.results(), history.starts("a")),
        (1, 1, 2)
    );
}

#[test]
fn a_lost_job_is_seen() {
    let mut history = served();
    history.submitted("b");
    let lost = Violation::Lost {
        job: "b".to_owned(),
    };
    assert_eq!(history.judge(2), [lost]);
}

#[test]
fn a_silent_result_is_seen() {
    let mut history = served();
    history.submitted("b");
    history.stored("b", &outcome("b", ""));
    let silent = Violation::Unpublished {
        job: "b".to_owned(),
    };
    assert_eq!(history.judge(2), [silent]);
}

#[test]
fn a_copy_that_differs_by_a_byte_is_seen() {
    let mut history = served();
    history.published("a", &outcome("a", " "));
    let broken = history.judge(2);
    assert!(matches!(&broken[..], [Violation::Divergent { job, .. }] if job == "a"));
}

#[test]
fn a_copy_without_a_stored_result_is_seen_twice() {
    let mut history = History::default();
    history.submitted("a");
    history.published("a", &outcome("a", ""));
    let broken = history.judge(2);
    assert!(matches!(
        &broken[..],
        [Violation::Lost { .. }, Violation::Divergent { .. }]
    ));
}

#[test]
fn one_start_too_many_is_seen() {
    let mut history = served();
    history.read_log(&[started("a"), started("a")].join("\n"));
    let thrice = Violation::Restarted {
        job: "a".to_owned(),
        starts: 3,
    };
    assert_eq!(history.judge(2), [thrice]);
    assert_eq!(history.judge(3), []);
}

#[test]
fn a_result_nobody_asked_for_is_seen() {
    let mut history = served();
    history.stored("x", &outcome("x", ""));
    history.read_log(&started("y"));
    let stray = |job: &str| Violation::Stray {
        job: job.to_owned(),
    };
    assert_eq!(history.judge(2), [stray("x"), stray("y")]);
}

#[test]
fn a_result_under_another_name_is_seen() {
    let mut history = served();
    history.submitted("b");
    history.stored("b", &outcome("a", ""));
    history.published("b", &outcome("a", ""));
    let broken = history.judge(2);
    assert_eq!(broken.len(), 2);
    assert!(
        broken
            .iter()
            .all(|one| matches!(one, Violation::Misfiled { found, .. } if found == "a"))
    );
}

#[test]
fn half_a_result_is_seen() {
    let mut history = served();
    history.submitted("b");
    history.stored("b", b"{\"job_id\":\"b\"");
    assert!(
        history
            .judge(2)
            .iter()
            .any(|one| matches!(one, Violation::Misfiled { .. }))
    );
}

#[test]
fn an_attempt_is_a_start_even_if_its_log_is_lost() {
    let mut history = History::default();
    history.submitted("a");
    let third = br#"{"job_id":"a","attempt":3,"sandbox":{"id":"s"}}"#.to_vec();
    history.stored("a", &third);
    history.published("a", &third);
    let thrice = Violation::Restarted {
        job: "a".to_owned(),
        starts: 3,
    };
    assert_eq!(history.judge(2), [thrice]);
}

#[test]
fn an_outcome_without_a_run_is_no_start() {
    let mut history = History::default();
    history.submitted("a");
    let refused = br#"{"job_id":"a","attempt":1,"sandbox":null}"#;
    history.stored("a", refused);
    history.published("a", refused);
    assert_eq!(history.judge(0), []);
}

#[test]
fn results_are_read_from_the_files_of_a_store() {
    let store = crate::places::scratch();
    std::fs::create_dir(store.path().join("results")).expect("writable");
    std::fs::write(store.path().join("results/a.json"), outcome("a", "")).expect("writable");
    std::fs::write(store.path().join("results/.tmp"), "half").expect("writable");
    let mut history = History::default();
    history.submitted("a");
    history.read_store(store.path());
    history.published("a", &outcome("a", ""));
    assert_eq!(history.judge(1), []);
    assert_eq!(history.outcome("a").expect("it is there")["attempt"], 1);
}
