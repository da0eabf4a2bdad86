//! Is what happened of late told, by whom it must be mended, and in bounded room?

use super::*;
use crate::report::answer::Unrun;
use kiln_protocol::id::JobId;
use kiln_protocol::job::Isolation;
use kiln_protocol::outcome::SandboxReport;

fn outcome(status: Status, reason: Option<Reason>) -> Outcome {
    let id = JobId::for_line(1, b"any");
    let unrun = Unrun::platform_error(id, Reason::Sandbox, "a text".to_owned(), "test");
    Outcome {
        status,
        reason,
        sandbox: Some(SandboxReport {
            id: "sbx-1".to_owned(),
            generation: 1,
            uses: 1,
            start: Start::Warm,
            isolation: Isolation::Standard,
            image: "sha256:0".to_owned(),
            profile: "python".to_owned(),
        }),
        timing_us: TimingUs {
            acquire: Some(100),
            run: Some(5_000),
            store: Some(300),
            ..TimingUs::default()
        },
        ..unrun.into()
    }
}

#[test]
fn jobs_are_counted_by_who_must_act() {
    let recent = Recent::new();
    recent.ran(&outcome(Status::Succeeded, None));
    recent.ran(&outcome(Status::LimitExceeded, Some(Reason::Memory)));
    recent.ran(&outcome(Status::LimitExceeded, Some(Reason::Memory)));
    recent.answered(&outcome(Status::PlatformError, Some(Reason::WorkerLost)));
    recent.retried("start");
    recent.dead_lettered("no_id");
    let shown = recent.shown();
    let bar = Bar {
        succeeded: 1,
        theirs: 2,
        ours: 1,
    };
    assert_eq!(shown.ended, [bar]);
    assert_eq!(shown.starts, Starts { warm: 3, cold: 0 });
    let told: Vec<_> = shown
        .failures
        .iter()
        .map(|it| (it.what.as_str(), it.reason.as_str(), it.who, it.count))
        .collect();
    assert_eq!(
        told,
        [
            ("dead_letter", "no_id", Who::Sender, 1),
            ("retried", "start", Who::Operator, 1),
            ("platform_error", "worker_lost", Who::Operator, 1),
            ("limit_exceeded", "memory", Who::Sender, 2),
        ]
    );
}

#[test]
fn each_stage_has_its_times_and_what_is_unknown_has_none() {
    let recent = Recent::new();
    recent.ran(&outcome(Status::Succeeded, None));
    let shown = recent.shown();
    let of = |stage: &str| {
        let found = shown.stages.iter().find(|it| it.stage == stage);
        found.expect("every stage is told")
    };
    assert_eq!((of("acquire").count, of("acquire").p50_us), (1, Some(111)));
    assert_eq!((of("scan").count, of("scan").p50_us), (0, None));
    assert!(
        of("overhead")
            .p99_us
            .is_some_and(|us| (400..500).contains(&us))
    );
}

#[test]
fn words_of_another_version_make_no_rows_of_their_own() {
    let recent = Recent::new();
    for n in 0..1_000 {
        let reason = Some(Reason::Other(format!("\u{1b}[2J{n}")));
        recent.ran(&outcome(Status::Failed, reason));
    }
    let shown = recent.shown();
    assert_eq!(shown.failures.len(), 1);
    assert_eq!(
        (shown.failures[0].reason.as_str(), shown.failures[0].count),
        ("other", 1_000)
    );
}
