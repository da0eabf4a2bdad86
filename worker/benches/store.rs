//! What do the two writes of a job cost in a local store, beside a bare synced file?
//!
//! `cargo bench -p kiln --bench store [-- FOLDER]`; as root it runs whole jobs too.

#![expect(clippy::print_stdout, reason = "the figures are for people")]

use kiln::config::Store;
use kiln::engine::{Delivered, Engine, EngineOptions, Place, Sizing, Submission};
use kiln::store::ledger::Ledger;
use kiln::telemetry::metric::Metrics;
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::id::Tenant;
use kiln_protocol::job::Job;
use kiln_protocol::outcome::Status;
use kiln_warden::profile::{Profiles, Reuse};
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore as _, PutMode, PutPayload};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// As long as the outcome of `true` is.
const OUTCOME_BYTES: usize = 1_600;
const JOBS: usize = 1_600;
const WHOLE_JOBS: usize = 400;

fn main() -> ExitCode {
    // The warden and what scans are this program again: a bench has no other binary to start.
    let first = std::env::args_os().nth(1);
    if first.is_some_and(|first| first == "warden" || first == "scan-process") {
        return kiln::cli::main(std::env::args_os());
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime for the benchmark");
    match runtime.block_on(run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("failed: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let named = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let parent = named.map_or_else(std::env::temp_dir, PathBuf::from);
    let root = parent.join(format!("kiln-store-{}", std::process::id()));
    std::fs::create_dir_all(&root)?;
    let measured = measure(&root).await;
    std::fs::remove_dir_all(&root)?;
    measured
}

async fn measure(root: &Path) -> Result<(), Failure> {
    println!("jobs a second, and as a ratio to bare synced files at the same concurrency");
    for at_once in [1, 2, 8, 16] {
        let jobs = if at_once < 8 { JOBS / 8 } else { JOBS };
        let bare = bare(&root.join(format!("bare-{at_once}")), jobs, at_once)?;
        let object_store = local(&root.join(format!("local-{at_once}")), jobs, at_once).await?;
        let plain = open(&root.join(format!("ledger-{at_once}"))).await?;
        let plain = ledger(plain, jobs, at_once).await?;
        let logged = open(&root.join(format!("log-{at_once}"))).await?;
        let logged = ledger(logged.with_log().await, jobs, at_once).await?;
        println!(
            "{at_once:>3} at once: bare {bare:>6.0}   object_store {object_store:>6.0} ({:.2})   ledger {plain:>6.0} ({:.2})   with its log {logged:>6.0} ({:.2})",
            object_store / bare,
            plain / bare,
            logged / bare,
        );
    }
    if rustix::process::geteuid().is_root() {
        let plain = open(&root.join("whole")).await?;
        let logged = open(&root.join("whole-log")).await?.with_log().await;
        for (what, command) in [("true", r#"["true"]"#), ("echo", r#"["echo","x"]"#)] {
            for at_once in [2, 8] {
                let without = whole(&plain, what, command, at_once).await?;
                let with = whole(&logged, what, command, at_once).await?;
                println!(
                    "{at_once:>3} at once: whole jobs `{what}` {without:>6.0}   with the log {with:>6.0} ({:.2})",
                    with / without
                );
            }
        }
    }
    Ok(())
}

/// Jobs from acceptance to their committed outcome, which must be the stored one.
async fn whole(ledger: &Ledger, what: &str, command: &str, at_once: usize) -> Result<f64, Failure> {
    let engine = Engine::start(EngineOptions {
        slots: at_once,
        sizing: Sizing::Worker,
        reuse: Reuse::Tenant,
        warm: vec![
            ("command".to_owned(), at_once * 2),
            ("python".to_owned(), 0),
        ],
        worker: "bench".to_owned(),
        ..EngineOptions::default()
    })
    .await?;
    let engine = Arc::new(engine);
    let message = format!(r#"{{"schema":"kiln.job.v1","command":{command}}}"#);
    let jobs: Vec<Job> = (0..WHOLE_JOBS)
        .map(|number| job(&format!("{what}-{at_once}-{number}"), message.as_bytes()))
        .collect();
    let jobs = Arc::new(jobs);
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for first in 0..at_once {
        let (engine, ledger, jobs) = (Arc::clone(&engine), ledger.clone(), Arc::clone(&jobs));
        tasks.spawn(async move {
            for job in jobs.iter().skip(first).step_by(at_once) {
                ledger.accept(job).await?;
                let submission = Submission {
                    job: job.clone(),
                    inputs: Vec::new(),
                    stdin: None,
                    place: Place::Ledger(ledger.clone()),
                    warnings: Vec::new(),
                    delivery: Delivered::default(),
                };
                let never = Box::pin(std::future::pending());
                let finished = engine.run(submission, None, never, None).await?;
                let stored = ledger.result(&job.id).await?;
                if finished.outcome.status != Status::Succeeded
                    || !finished.ours
                    || stored.as_ref() != Some(&finished.document)
                {
                    return Err(format!("{}: {:?}", job.id, finished.outcome).into());
                }
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let pace = per_second(jobs.len(), began);
    if let Ok(engine) = Arc::try_unwrap(engine) {
        engine.shut_down().await?;
    }
    Ok(pace)
}

/// One file a job: written, synced, and its folder synced.
fn bare(root: &Path, jobs: usize, at_once: usize) -> Result<f64, Failure> {
    std::fs::create_dir(root)?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once)
            .map(|thread| {
                scope.spawn(move || -> std::io::Result<()> {
                    let folder = File::open(root)?;
                    for job in (thread..jobs).step_by(at_once) {
                        let path = root.join(job.to_string());
                        let mut file =
                            OpenOptions::new().write(true).create_new(true).open(path)?;
                        file.write_all(&[b'x'; OUTCOME_BYTES])?;
                        file.sync_data()?;
                        folder.sync_all()?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(per_second(jobs, began))
}

/// Two create-only writes a job by `object_store`.
async fn local(root: &Path, jobs: usize, at_once: usize) -> Result<f64, Failure> {
    std::fs::create_dir(root)?;
    let store = Arc::new(LocalFileSystem::new_with_prefix(root)?.with_fsync(true));
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for first in 0..at_once {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for job in (first..jobs).step_by(at_once) {
                for folder in ["jobs", "results"] {
                    let path = format!("{folder}/{job}.json").into();
                    let payload = PutPayload::from(vec![b'x'; OUTCOME_BYTES]);
                    store
                        .put_opts(&path, payload, PutMode::Create.into())
                        .await?;
                }
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(per_second(jobs, began))
}

async fn open(root: &Path) -> Result<Ledger, Failure> {
    Ok(Ledger::open(&Store::Files(root.to_owned()), Metrics::new()).await?)
}

/// A job is accepted and its outcome committed.
async fn ledger(ledger: Ledger, jobs: usize, at_once: usize) -> Result<f64, Failure> {
    let message = br#"{"schema":"kiln.job.v1","command":["true"]}"#;
    let jobs_to_do: Vec<Job> = (0..jobs)
        .map(|number| job(&format!("job-{number}"), message))
        .collect();
    let jobs_to_do = Arc::new(jobs_to_do);
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for first in 0..at_once {
        let (ledger, all) = (ledger.clone(), Arc::clone(&jobs_to_do));
        tasks.spawn(async move {
            for job in all.iter().skip(first).step_by(at_once) {
                ledger.accept(job).await?;
                ledger.commit(&job.id, [b'x'; OUTCOME_BYTES].into()).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(per_second(jobs, began))
}

fn job(id: &str, message: &[u8]) -> Job {
    let admission = Admission {
        profiles: &Profiles::built_in(),
        id: IdRule::Given(id.parse().expect("an id")),
        tenant: TenantRule::Default(Tenant::default()),
        class: None,
    };
    kiln_protocol::decode(message, &admission)
        .expect("a job")
        .job
}

fn per_second(jobs: usize, began: Instant) -> f64 {
    f64::from(u32::try_from(jobs).unwrap_or(u32::MAX)) / began.elapsed().as_secs_f64()
}
