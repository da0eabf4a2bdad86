//! Plays of a batch: which jobs start when, what is written when, and how it ends.

use super::*;
use crate::cli::batch::lines::Lines;
use crate::cli::batch::results::Known;
use crate::cli::profiles_for_tests;
use crate::cli::scratch::Folder;
use crate::store::folder as kept;
use kiln_protocol::decode::MESSAGE_BYTES_MAX;
use kiln_protocol::outcome::Status;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// A batch on a stage: jobs start when it starts them and end when they are told to.
struct Stage {
    dir: Folder,
    lines: Option<mpsc::Sender<io::Result<Line>>>,
    wishes: mpsc::UnboundedSender<()>,
    jobs: Arc<Jobs>,
    exit: tokio::task::JoinHandle<Result<Exit, Stop>>,
    number: u64,
}

#[derive(Default)]
struct Jobs {
    started: Mutex<Vec<String>>,
    ends: Mutex<HashMap<String, oneshot::Sender<Status>>>,
}

fn outcome(id: &str, status: Status) -> Outcome {
    let id = id.parse().expect("an id");
    let mut outcome = Outcome::from(Unrun::platform_error(id, Reason::Sandbox, "m".into(), "w"));
    outcome.status = status;
    outcome
}

impl Stage {
    fn start(slots: usize, held: &str) -> Self {
        let dir = Folder::new();
        let path = dir.path().join("results");
        std::fs::write(&path, held).expect("scratch");
        let (results, known) = Results::to_file(&path).expect("scratch");
        let jobs = Arc::new(Jobs::default());
        let (send, lines) = mpsc::channel(1);
        let (wishes, asked) = mpsc::unbounded_channel();
        let stage = Arc::clone(&jobs);
        let out = dir.path().join("out");
        let exit = tokio::spawn(async move {
            let batch = Batch {
                gone: Box::new(|| false),
                job: |submission: Submission, cancel: Cancel| {
                    let id = submission.job.id.to_string();
                    let Place::Folder(path) = submission.place else {
                        panic!("a batch has folders");
                    };
                    let (end, ended) = oneshot::channel();
                    stage.started.lock().expect("no panic").push(id.clone());
                    stage.ends.lock().expect("no panic").insert(id.clone(), end);
                    async move {
                        tokio::select! {
                            status = ended => {
                                let outcome = outcome(&id, status.expect("the end is sent"));
                                kept::Folder::open(&path)
                                    .and_then(|folder| folder.commit(&outcome))
                                    .expect("scratch");
                                outcome
                            }
                            () = cancel => outcome(&id, Status::Cancelled),
                        }
                    }
                },
                worker: "w".into(),
                slots,
                out: out.clone(),
                intake: intake(known),
                results,
                progress: Progress::start(false, None),
                tally: Tally::default(),
                twins: Twins::default(),
                exit: Exit::Succeeded,
            };
            batch.serve(lines, Asked::of(asked)).await
        });
        Self {
            dir,
            lines: Some(send),
            wishes,
            jobs,
            exit,
            number: 0,
        }
    }

    async fn line(&mut self, text: &str) {
        let mut one = Lines::new(text.as_bytes(), MESSAGE_BYTES_MAX);
        let mut line = one.next().expect("memory").expect("a line");
        self.number += 1;
        line.number = self.number;
        let lines = self.lines.as_ref().expect("the lines are open");
        lines.send(Ok(line)).await.expect("the batch takes lines");
    }

    async fn job(&mut self, id: &str) {
        let line = format!("{{\"schema\":\"kiln.job.v1\",\"id\":\"{id}\",\"code\":\"x\"}}");
        self.line(&line).await;
    }

    async fn keyed(&mut self, id: &str, tenant: &str) {
        let line = format!(
            "{{\"schema\":\"kiln.job.v1\",\"id\":\"{id}\",\"code\":\"x\",\"tenant\":\"{tenant}\",\
             \"idempotency_key\":\"k\"}}"
        );
        self.line(&line).await;
    }

    /// The outcome in a job's folder.
    fn kept(&self, id: &str) -> Outcome {
        let path = self.dir.path().join("out").join(id).join("outcome.json");
        serde_json::from_slice(&std::fs::read(path).expect("it is kept")).expect("an outcome")
    }

    fn end(&self, id: &str, status: Status) {
        let end = self.jobs.ends.lock().expect("no panic").remove(id);
        end.expect("it has started").send(status).expect("it waits");
    }

    fn results(&self) -> Vec<String> {
        #[derive(serde::Deserialize)]
        struct Short {
            job_id: String,
            status: Status,
        }
        let text = std::fs::read(self.dir.path().join("results")).expect("scratch");
        text.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice::<Short>(line).expect("a result"))
            .map(|short| format!("{} {}", short.job_id, short.status.as_str()))
            .collect()
    }

    /// Waits until both are so.
    async fn sees(&self, started: &[&str], results: &[&str]) {
        let so =
            || *self.jobs.started.lock().expect("no panic") == started && self.results() == results;
        for _ in 0..1000 {
            if so() {
                // And stays so: what must not happen has had its chance.
                tokio::time::sleep(Duration::from_millis(5)).await;
                if so() {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let seen = self.jobs.started.lock().expect("no panic").clone();
        panic!("started {seen:?}, results {:?}", self.results());
    }

    async fn exit(&mut self) -> Exit {
        drop(self.lines.take());
        let ended = tokio::time::timeout(Duration::from_secs(5), &mut self.exit);
        let exit = ended.await.expect("the batch ends").expect("no panic");
        exit.expect("the results can be written")
    }
}

fn intake(known: Known) -> Intake {
    Intake::new(
        Box::new(profiles_for_tests::Known::default()),
        known,
        "w".into(),
    )
}

#[tokio::test]
async fn started_in_order_and_answered_as_they_end() {
    let mut stage = Stage::start(2, "");
    stage.job("a").await;
    // A job starts when its line is there, not when the next one is.
    stage.sees(&["a"], &[]).await;
    stage.job("b").await;
    stage.job("c").await;
    stage.sees(&["a", "b"], &[]).await;
    stage.end("b", Status::Succeeded);
    stage.sees(&["a", "b", "c"], &["b succeeded"]).await;
    stage.end("c", Status::Succeeded);
    stage.end("a", Status::Succeeded);
    assert_eq!(stage.exit().await, Exit::Succeeded);
    assert_eq!(stage.results().len(), 3);
}

#[tokio::test]
async fn a_refused_line_stops_nobody_and_the_highest_exit_wins() {
    for (status, wanted) in [
        (Status::Succeeded, Exit::Usage),
        (Status::Failed, Exit::Usage),
        (Status::PlatformError, Exit::Unavailable),
    ] {
        let mut stage = Stage::start(1, "");
        stage
            .line("{\"schema\":\"kiln.job.v1\",\"id\":\"r\"}")
            .await;
        stage.job("a").await;
        stage.sees(&["a"], &["r rejected"]).await;
        stage.end("a", status);
        assert_eq!(stage.exit().await, wanted);
    }
}

#[tokio::test]
async fn a_batch_with_failures_alone_ends_with_1() {
    let mut stage = Stage::start(1, "");
    stage.job("a").await;
    stage.sees(&["a"], &[]).await;
    stage.end("a", Status::TimedOut);
    assert_eq!(stage.exit().await, Exit::Failed);
}

#[tokio::test]
async fn what_has_an_answer_is_not_run_again_and_counts() {
    let held = "{\"job_id\":\"a\",\"status\":\"failed\"}\n{\"job_id\":\"b\",\"sta";
    let mut stage = Stage::start(1, held);
    stage.job("a").await;
    stage.job("b").await;
    stage.sees(&["b"], &["a failed"]).await;
    stage.end("b", Status::Succeeded);
    assert_eq!(stage.exit().await, Exit::Failed);
    assert_eq!(stage.results(), ["a failed", "b succeeded"]);
}

#[tokio::test]
async fn the_first_wish_lets_what_runs_finish() {
    let mut stage = Stage::start(1, "");
    stage.job("a").await;
    stage.job("b").await;
    stage.sees(&["a"], &[]).await;
    stage.wishes.send(()).expect("the batch listens");
    stage.sees(&["a"], &[]).await;
    stage.end("a", Status::Succeeded);
    assert_eq!(stage.exit().await, Exit::Failed, "`b` did not run");
    stage.sees(&["a"], &["a succeeded"]).await;
}

#[tokio::test]
async fn the_second_wish_ends_what_runs_without_a_result() {
    let mut stage = Stage::start(2, "");
    stage.job("a").await;
    stage.job("b").await;
    stage.sees(&["a", "b"], &[]).await;
    stage.end("b", Status::Succeeded);
    stage.sees(&["a", "b"], &["b succeeded"]).await;
    stage.wishes.send(()).expect("the batch listens");
    stage.wishes.send(()).expect("the batch listens");
    assert_eq!(stage.exit().await, Exit::Failed);
    assert_eq!(stage.results(), ["b succeeded"]);
}

#[tokio::test]
async fn a_job_whose_task_panics_is_answered_and_the_others_run() {
    let mut stage = Stage::start(1, "");
    stage.job("a").await;
    stage.sees(&["a"], &[]).await;
    drop(stage.jobs.ends.lock().expect("no panic").remove("a"));
    stage.sees(&["a"], &["a platform_error"]).await;
    stage.job("b").await;
    stage.sees(&["a", "b"], &["a platform_error"]).await;
    stage.end("b", Status::Succeeded);
    assert_eq!(stage.exit().await, Exit::Unavailable);
}

#[tokio::test]
async fn jobs_that_cannot_be_read_to_the_end_are_a_platform_error() {
    let mut stage = Stage::start(1, "");
    let lines = stage.lines.as_ref().expect("open");
    let broken = Err(io::Error::other("gone"));
    lines.send(broken).await.expect("the batch takes lines");
    assert_eq!(stage.exit().await, Exit::Unavailable);
}

#[tokio::test]
async fn a_second_job_of_one_key_waits_and_copies_the_first() {
    let mut stage = Stage::start(3, "");
    stage.keyed("a", "acme").await;
    stage.keyed("b", "acme").await;
    stage.keyed("other", "umbra").await;
    stage.job("keyless").await;
    // `b` waits without a slot; another tenant's key is another key.
    stage.sees(&["a", "other", "keyless"], &[]).await;
    stage.end("a", Status::TimedOut);
    let both = ["a timed_out", "b timed_out"];
    stage.sees(&["a", "other", "keyless"], &both).await;
    stage.keyed("c", "acme").await;
    let all = ["a timed_out", "b timed_out", "c timed_out"];
    stage.sees(&["a", "other", "keyless"], &all).await;
    for id in ["b", "c"] {
        let kept = stage.kept(id);
        assert_eq!(kept.job_id.as_str(), id);
        let first = kept.duplicate_of.expect("it is a copy");
        assert_eq!(first.as_str(), "a");
    }
    assert_eq!(stage.kept("a").duplicate_of, None);
    stage.end("other", Status::Succeeded);
    stage.end("keyless", Status::Succeeded);
    assert_eq!(stage.exit().await, Exit::Failed);
}

#[tokio::test]
async fn a_copy_of_a_platform_error_and_one_whose_first_is_lost_are_told() {
    let mut stage = Stage::start(1, "");
    stage.keyed("a", "acme").await;
    stage.sees(&["a"], &[]).await;
    drop(stage.jobs.ends.lock().expect("no panic").remove("a"));
    stage.sees(&["a"], &["a platform_error"]).await;
    stage.keyed("b", "acme").await;
    let both = ["a platform_error", "b platform_error"];
    stage.sees(&["a"], &both).await;
    assert!(stage.kept("b").duplicate_of.is_some());
    assert_eq!(stage.exit().await, Exit::Unavailable);

    let mut resumed = Stage::start(1, "{\"job_id\":\"a\",\"status\":\"succeeded\"}\n");
    resumed.keyed("a", "acme").await;
    resumed.keyed("b", "acme").await;
    let both = ["a succeeded", "b platform_error"];
    resumed.sees(&[], &both).await;
    assert_eq!(resumed.exit().await, Exit::Unavailable);
}

#[test]
fn what_a_copy_names_is_in_the_folder_of_the_first() {
    let mut first = outcome("a", Status::Failed);
    first.stdout.object = Some("stdout".into());
    let copied = twins::copy(&first, "b".parse().expect("an id"));
    assert_eq!(copied.stdout.object.as_deref(), Some("../a/stdout"));
    assert_eq!(copied.stderr.object, None);
}
