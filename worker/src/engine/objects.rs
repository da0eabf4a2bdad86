//! The inputs of a job that lie in the store, taken from there before it has a sandbox.

use super::types::Place;
use crate::execute::Cancel;
use crate::fault::Fault;
use crate::report::answer::{Unrun, now_unix_ms};
use crate::store::{InputProblem, StoreError};
use kiln_protocol::job::{Content, Job};
use kiln_protocol::outcome::{Reason, Status};
use serde_json::{Map, json};
use std::fs::File;
use std::time::Duration;

/// What became of a job's inputs in the store.
pub(super) enum Fetched {
    /// A file for each input, where it is an object.
    All(Vec<Option<File>>),
    /// Why the job does not run.
    Answered(Box<Unrun>),
}

/// Fetches every object of a job, of `bytes_max` together. A store that is away is waited for,
/// until the job is cancelled or its deadline passes.
pub(super) async fn fetch(
    place: &Place,
    job: &Job,
    bytes_max: u64,
    cancel: &mut Cancel,
    worker: &str,
) -> Result<Fetched, Fault> {
    let objects = job.files.iter().map(|file| match &file.content {
        Content::Bytes(_) => None,
        Content::Object { key, sha256 } => Some((key.as_str(), sha256.as_str())),
    });
    let objects: Vec<_> = objects.collect();
    if objects.iter().all(Option::is_none) {
        return Ok(Fetched::All(objects.iter().map(|_| None).collect()));
    }
    let late = async {
        match job.deadline_unix_ms {
            Some(at) => {
                let left = at.saturating_sub(now_unix_ms());
                tokio::time::sleep(Duration::from_millis(left)).await;
                now_unix_ms().saturating_sub(at)
            }
            None => std::future::pending().await,
        }
    };
    let answered = tokio::select! {
        fetched = all(place, job, &objects, bytes_max) => match fetched {
            Ok(files) => return Ok(Fetched::All(files)),
            Err(Unfetched::Problem { at, problem }) => refused(job, at, &problem, worker),
            Err(Unfetched::Fault(fault)) => return Err(fault),
        },
        () = cancel => Unrun::cancelled(job.id.clone(), worker),
        late_ms = late => Unrun::expired(job.id.clone(), late_ms, worker),
    };
    Ok(Fetched::Answered(Box::new(answered)))
}

enum Unfetched {
    Problem { at: usize, problem: InputProblem },
    Fault(Fault),
}

async fn all(
    place: &Place,
    job: &Job,
    objects: &[Option<(&str, &str)>],
    bytes_max: u64,
) -> Result<Vec<Option<File>>, Unfetched> {
    let (Place::Ledger(ledger) | Place::Replay { inputs: ledger, .. }) = place else {
        let why = "an input is an object, and there is no store".to_owned();
        return Err(Unfetched::Fault(Fault::Admit(why)));
    };
    let local = |key: &str, source| {
        let key = key.to_owned();
        Unfetched::Fault(Fault::Fetch(StoreError::Local { key, source }))
    };
    let mut left = bytes_max;
    let mut files = Vec::with_capacity(objects.len());
    for (at, object) in objects.iter().enumerate() {
        let Some((key, sha256)) = *object else {
            files.push(None);
            continue;
        };
        let got = ledger.wait_for_input(&job.tenant, key, sha256, left).await;
        let file = got.map_err(|error| match error.input_problem() {
            Some(problem) => Unfetched::Problem {
                at,
                problem: problem.clone(),
            },
            None => Unfetched::Fault(Fault::Fetch(error)),
        })?;
        let meta = file.metadata().map_err(|source| local(key, source))?;
        left = left.saturating_sub(meta.len());
        files.push(Some(file));
    }
    Ok(files)
}

/// The job names what it cannot have.
fn refused(job: &Job, at: usize, problem: &InputProblem, worker: &str) -> Unrun {
    let path = &job.files[at].path;
    let (field, reason, hint) = match problem {
        InputProblem::Elsewhere(_) | InputProblem::NoFile => ("object", Reason::BadJob, None),
        InputProblem::Absent => ("object", Reason::BadJob, Some("put it there first")),
        InputProblem::TooLarge(_) => (
            "object",
            Reason::TooLarge,
            Some("ask for more `disk_bytes`, which all inputs count to"),
        ),
        InputProblem::Digest(_) => (
            "sha256",
            Reason::BadJob,
            Some("give the digest of what is there now"),
        ),
    };
    let mut evidence = Map::new();
    let pointer = format!("/files/{at}/{field}");
    evidence.insert("pointer".to_owned(), json!(pointer));
    Unrun {
        job_id: job.id.clone(),
        status: Status::Rejected,
        reason,
        message: format!("the input `{path}` cannot be taken: {problem}"),
        hint: hint.map(str::to_owned),
        evidence,
        warnings: Vec::new(),
        worker: worker.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{S3, Secret, Store};
    use crate::store::ledger::Ledger;
    use crate::telemetry::metric::Metrics;
    use kiln_protocol::admission::{Admission, IdRule, TenantRule};
    use kiln_protocol::digest::sha256_hex;
    use kiln_protocol::outcome::Outcome;
    use kiln_warden::profile::Profiles;
    use std::future::pending;
    use std::io::Read as _;
    use std::path::PathBuf;

    /// A store with one input of four bytes.
    struct Stage {
        path: PathBuf,
        place: Place,
    }

    impl Stage {
        async fn set() -> Self {
            let token = uuid::Uuid::now_v7().simple().to_string();
            let path = std::env::temp_dir().join(format!("kiln-objects-{token}"));
            let inputs = path.join("inputs/acme");
            std::fs::create_dir_all(&inputs).expect("scratch");
            std::fs::write(inputs.join("x"), "rows").expect("scratch");
            let ledger = Ledger::open(&Store::Files(path.clone()), Metrics::new()).await;
            let place = Place::Ledger(ledger.expect("a store"));
            Self { path, place }
        }

        async fn fetch(&self, job: &Job, bytes_max: u64, mut cancel: Cancel) -> Fetched {
            let fetched = fetch(&self.place, job, bytes_max, &mut cancel, "w").await;
            fetched.expect("the store is there")
        }
    }

    impl Drop for Stage {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }

    /// The first input is text, the second and third are objects.
    fn job(sha256: &str, deadline_unix_ms: Option<u64>) -> Job {
        let admission = Admission {
            profiles: &Profiles::built_in(),
            id: IdRule::Given("j".parse().expect("an id")),
            tenant: TenantRule::Default("acme".parse().expect("a tenant")),
            class: None,
        };
        let message = json!({
            "schema": "kiln.job.v1",
            "command": ["true"],
            "files": [
                {"path": "a", "text": "a"},
                {"path": "b", "object": "inputs/acme/x", "sha256": sha256_hex(b"rows")},
                {"path": "c", "object": "inputs/acme/x", "sha256": sha256},
            ],
            // Half an eternity where there is none.
            "deadline_unix_ms": deadline_unix_ms.unwrap_or(u64::MAX >> 12),
        });
        let message = message.to_string();
        kiln_protocol::decode(message.as_bytes(), &admission)
            .expect("a job")
            .job
    }

    fn answer(fetched: Fetched) -> Outcome {
        match fetched {
            Fetched::Answered(unrun) => (*unrun).into(),
            Fetched::All(files) => panic!("{files:?}"),
        }
    }

    #[tokio::test]
    async fn objects_are_fetched_beside_what_the_job_brings() {
        let stage = Stage::set().await;
        let job = job(&sha256_hex(b"rows"), None);
        let Fetched::All(files) = stage.fetch(&job, 8, Box::pin(pending())).await else {
            panic!("both are there");
        };
        assert!(files[0].is_none());
        for file in &files[1..] {
            let mut text = String::new();
            let mut file = file.as_ref().expect("fetched");
            file.read_to_string(&mut text).expect("readable");
            assert_eq!(text, "rows");
        }
    }

    #[tokio::test]
    async fn what_is_wrong_with_an_input_is_the_jobs_answer() {
        let stage = Stage::set().await;
        let right = sha256_hex(b"rows");
        for (sha256, bytes_max, reason, pointer) in [
            (sha256_hex(b"x"), 8, Reason::BadJob, "/files/2/sha256"),
            // They count together.
            (right, 7, Reason::TooLarge, "/files/2/object"),
        ] {
            let job = job(&sha256, None);
            let fetched = stage.fetch(&job, bytes_max, Box::pin(pending())).await;
            let outcome = answer(fetched);
            assert_eq!(outcome.status, Status::Rejected);
            assert_eq!(outcome.reason, Some(reason));
            assert_eq!(outcome.evidence["pointer"], pointer);
            assert_eq!(outcome.contradictions(), Vec::<&str>::new());
        }
    }

    #[tokio::test]
    async fn whoever_waits_for_a_store_can_be_cancelled_and_expires() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        // Nobody listens there any more.
        drop(listener);
        let store = Store::S3(S3 {
            bucket: "bucket".to_owned(),
            prefix: String::new(),
            endpoint: Some(format!("http://127.0.0.1:{port}")),
            region: "us-east-1".to_owned(),
            access_key_id: Some(Secret::new("key")),
            secret_access_key: Some(Secret::new("secret")),
        });
        let ledger = Ledger::open(&store, Metrics::new()).await;
        let place = Place::Ledger(ledger.expect("one that is away is waited for"));
        let right = sha256_hex(b"rows");
        let soon = Duration::from_millis(500);
        let expires = job(&right, Some(now_unix_ms() + 500));
        let mut never: Cancel = Box::pin(pending());
        let late = fetch(&place, &expires, 8, &mut never, "w").await;
        let late = answer(late.unwrap_or_else(|fault| panic!("{fault:?}")));
        assert_eq!(late.status, Status::Expired);
        let mut cancel: Cancel = Box::pin(tokio::time::sleep(soon));
        let ended = fetch(&place, &job(&right, None), 8, &mut cancel, "w").await;
        let ended = answer(ended.unwrap_or_else(|fault| panic!("{fault:?}")));
        assert_eq!(ended.status, Status::Cancelled);
        assert_eq!(ended.contradictions(), Vec::<&str>::new());
    }
}
