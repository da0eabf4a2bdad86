//! What each line becomes, in one batch and in the one after it.

use super::*;
use crate::cli::batch::lines::Lines;
use crate::cli::batch::results::Results;
use crate::cli::profiles_for_tests;
use crate::cli::scratch::Folder;
use kiln_protocol::outcome::{Reason, Status};

fn intake(known: Known) -> Intake {
    Intake::new(
        Box::new(profiles_for_tests::Known::default()),
        known,
        "w".into(),
    )
}

fn lines(text: &str) -> Vec<Line> {
    let mut lines = Lines::new(text.as_bytes(), MESSAGE_BYTES_MAX);
    std::iter::from_fn(|| lines.next().expect("memory can be read")).collect()
}

/// One word for each line.
fn judged(intake: &mut Intake, text: &str) -> Vec<String> {
    lines(text)
        .iter()
        .map(|line| match intake.judge(line) {
            Verdict::Job(accepted) => format!("job {}", accepted.job.id),
            Verdict::Known { exit, .. } => format!("known {exit:?}"),
            Verdict::Refused(outcome) => format!("refused {}", outcome.job_id),
        })
        .collect()
}

fn refused(text: &str) -> Outcome {
    let mut intake = intake(Known::default());
    let mut last = None;
    for line in lines(text) {
        last = Some(intake.judge(&line));
    }
    match last {
        Some(Verdict::Refused(outcome)) => *outcome,
        other => panic!("the last line is refused, not {other:?}"),
    }
}

const A: &str = r#"{"schema":"kiln.job.v1","id":"a","code":"print(1)"}"#;

#[test]
fn a_line_without_an_id_gets_one() {
    let line = r#"{"schema":"kiln.job.v1","code":"print(1)"}"#;
    let text = format!("{A}\n{line}\n");
    let wanted = JobId::for_line(2, line.as_bytes());
    assert_eq!(
        judged(&mut intake(Known::default()), &text),
        ["job a".to_owned(), format!("job {wanted}")]
    );
}

#[test]
fn a_refused_line_says_where_and_why() {
    let outcome = refused(concat!(
        "\n",
        r#"{"schema":"kiln.job.v1","id":"b","code":"x","limits":{"pids":0}}"#
    ));
    assert_eq!(outcome.status, Status::Rejected);
    assert_eq!(outcome.reason, Some(Reason::BadJob));
    assert_eq!(outcome.job_id.as_str(), "b");
    assert_eq!(outcome.evidence["line"], 2);
    assert_eq!(outcome.evidence["pointer"], "/limits/pids");
    assert_eq!(outcome.contradictions(), Vec::<&str>::new());
}

#[test]
fn a_job_that_asks_for_what_nobody_gives_is_refused_not_run_with_less() {
    let outcome = refused(
        r#"{"schema":"kiln.job.v1","id":"n","code":"x","network":{"allow":["example.com:443"]}}"#,
    );
    assert_eq!(outcome.status, Status::Rejected);
    assert_eq!(outcome.job_id.as_str(), "n");
    assert_eq!(outcome.evidence["pointer"], "/network/allow/0");
    assert_eq!(outcome.evidence["allowed"], "none");
}

#[test]
fn what_is_not_json_is_answered_by_its_line() {
    for text in ["not json", "[1]", "{\"schema\":", "\u{1}"] {
        let outcome = refused(text);
        assert_eq!(outcome.status, Status::Rejected);
        assert_eq!(outcome.job_id, JobId::for_line(1, text.as_bytes()));
        assert_eq!(outcome.evidence["line"], 1);
    }
}

#[test]
fn a_byte_order_mark_and_another_encoding_are_told_apart_from_a_slip() {
    let message = |bytes: &[u8]| {
        let mut one = Lines::new(bytes, MESSAGE_BYTES_MAX);
        let line = one.next().expect("memory").expect("a line");
        match intake(Known::default()).judge(&line) {
            Verdict::Refused(outcome) => outcome.message.expect("a refusal has a message"),
            other => panic!("the line is refused, not {other:?}"),
        }
    };
    let marked = [b"\xef\xbb\xbf", A.as_bytes()].concat();
    assert_eq!(
        message(&marked),
        "line 1: the message begins with a byte order mark; save it as UTF-8 without one"
    );
    assert_eq!(
        message(b"{\"code\":\"caf\xe9\"}"),
        "line 1: the message is not UTF-8: byte 12 of it; save it as UTF-8"
    );
}

#[test]
fn a_line_that_is_too_long_is_too_large() {
    let long = format!("{{\"code\":\"{}\"}}", "x".repeat(MESSAGE_BYTES_MAX));
    let outcome = refused(&long);
    assert_eq!(outcome.reason, Some(Reason::TooLarge));
    assert_eq!(outcome.evidence["line"], 1);
}

#[test]
fn a_second_job_of_one_id_is_refused_under_the_lines_own() {
    let outcome = refused(&format!("{A}\n{A}\n"));
    assert_eq!(outcome.job_id, JobId::for_line(2, A.as_bytes()));
    assert_eq!(
        outcome.message.as_deref(),
        Some("line 2: /id: the id `a` is that of line 1 already")
    );
}

#[test]
fn a_resumed_batch_runs_only_what_has_no_answer() {
    let refused_line = r#"{"schema":"kiln.job.v1","id":"r","code":"x","limits":{"pids":0}}"#;
    let b = A.replace("\"a\"", "\"b\"");
    let text = format!("{A}\n{A}\n{refused_line}\n{b}\n");
    let second = JobId::for_line(2, A.as_bytes());
    assert_eq!(
        judged(&mut intake(Known::default()), &text),
        [
            "job a".to_owned(),
            format!("refused {second}"),
            "refused r".to_owned(),
            "job b".to_owned(),
        ]
    );
    // Interrupted before `a` and `b` had answers, then before `b` had one.
    let dir = Folder::new();
    let path = dir.path().join("results");
    let answer =
        |id: &str, status: &str| format!("{{\"job_id\":\"{id}\",\"status\":\"{status}\"}}\n");
    let both = answer(second.as_str(), "rejected") + &answer("r", "rejected");
    std::fs::write(&path, &both).expect("scratch");
    let (_, known) = Results::to_file(&path).expect("results");
    assert_eq!(
        judged(&mut intake(known), &text),
        ["job a", "known Usage", "known Usage", "job b"]
    );
    std::fs::write(&path, both + &answer("a", "succeeded")).expect("scratch");
    let (_, known) = Results::to_file(&path).expect("results");
    assert_eq!(
        judged(&mut intake(known), &text),
        ["known Succeeded", "known Usage", "known Usage", "job b"]
    );
}
