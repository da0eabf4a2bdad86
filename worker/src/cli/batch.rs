//! `kiln batch`: many jobs through one pool, each started in its turn, each answered as it ends.
//!
//! ```text
//!  JOBS ─ lines ─► intake ─► engine ─► results        the loop is in `serve`
//!                    └────── refused ────►
//! ```
//!
//! JOBS is a stream: nothing is read that there is no slot for, so a pipe is never ahead of the
//! jobs by more than a line.

mod intake;
mod lines;
mod progress;
pub(super) mod results;
mod serve;
mod tally;
mod twins;

use super::exit::Exit;
use super::run::{engine_stop, shut_down};
use super::signals::Asked;
use super::stop::Stop;
use super::{claim, config, doctor, request};
use crate::engine::{Engine, Submission};
use crate::execute::Cancel;
use crate::report::faulted;
use intake::Intake;
use kiln_protocol::decode::MESSAGE_BYTES_MAX;
use kiln_protocol::outcome::Outcome;
use lines::{Line, Lines};
use progress::Progress;
use results::{Known, Results};
use serve::Batch;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Tally;
use tokio::sync::mpsc;
use twins::Twins;

/// A line of JOBS, for the help.
const EXAMPLE: &str = r#"A line of JOBS.jsonl, of which `schema` and one of `code` and `command` must be there:
  {"schema":"kiln.job.v1","id":"report-1","profile":"python","code":"print(2+3)","limits":{"wall_ms":10000}}
Its JSON Schema is protocol/schema/kiln.job.v1.json in the sources of Kiln, that of a result
protocol/schema/kiln.outcome.v1.json."#;

/// Run many jobs, one JSON a line, through one warm pool.
///
/// The exit code is 0 if all succeeded, else the highest in force of 78 (configuration), 69
/// (platform), 2 (a line was refused) and 1 (some did not succeed).
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(super) struct BatchArgs {
    /// The jobs; - is standard input, a pipe is read as a stream
    #[arg(value_name = "JOBS.jsonl")]
    jobs: PathBuf,
    /// Jobs that run at once [default: `slots` of the configuration, else the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    slots: Option<u16>,
    /// The folder for the files of each job, below its id
    #[arg(long, value_name = "DIR", default_value = request::OUT)]
    out: PathBuf,
    /// The file for the results; jobs whose id is in it are not run again. - is stdout
    /// [default: stdout]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
    /// Results are JSON lines in any case, whatever the exit code; for 78, and for 2 and 69 before
    /// the start, there are none
    #[arg(long)]
    json: bool,
}

/// Runs the batch.
pub(super) fn run(args: BatchArgs) -> Result<Exit, Stop> {
    let source = open(&args.jobs)?;
    request::check_out(&args.out).map_err(|error| Stop::usage(&error))?;
    let config = config::load(args.config.as_deref())?;
    let file = args
        .results
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let (results, known) = match file {
        Some(path) => Results::to_file(path).map_err(|error| Stop::usage(&error))?,
        None => (Results::to_stdout(), Known::default()),
    };
    doctor::preflight()?;
    let _claim = claim::whole(&args.out).map_err(|error| Stop::usage(&error))?;
    let slots = args.slots.map_or(config.worker.slots, usize::from);
    let progress = Progress::start(file.is_some(), progress::total(&args.jobs));
    let intake = Intake::new(
        Box::new(config.profiles.clone()),
        known,
        config.worker.name.clone(),
    )
    .with_secrets(config.secrets.clone());
    super::runtime()?.block_on(async {
        let mut asked = Asked::listen().map_err(|error| Stop::unavailable(&error))?;
        let options = config.engine(slots, Vec::new());
        let engine = tokio::select! {
            started = Engine::start(options) => started.map_err(|error| engine_stop(&error))?,
            () = asked.next() => return Ok(Exit::Failed),
        };
        let engine = Arc::new(engine);
        let worker: Arc<str> = config.worker.name.as_str().into();
        let batch = Batch {
            job: |submission, cancel| {
                job(Arc::clone(&engine), Arc::clone(&worker), submission, cancel)
            },
            gone: {
                let engine = Arc::downgrade(&engine);
                Box::new(move || engine.upgrade().is_none_or(|engine| engine.is_gone()))
            },
            worker: config.worker.name.clone(),
            slots,
            out: args.out,
            intake,
            results,
            progress,
            tally: Tally::default(),
            twins: Twins::default(),
            exit: Exit::Succeeded,
        };
        let exit = batch.serve(read_apart(source), asked).await;
        if let Ok(engine) = Arc::try_unwrap(engine) {
            shut_down(engine).await;
        } else {
            tracing::error!("a job still holds the engine");
        }
        exit
    })
}

/// How long after a fault the warden's end may take to be seen.
const GONE_MAX: Duration = Duration::from_millis(200);

/// Runs one job; a fault of ours is an answer too.
async fn job(
    engine: Arc<Engine>,
    worker: Arc<str>,
    submission: Submission,
    cancel: Cancel,
) -> Outcome {
    let id = submission.job.id.clone();
    match engine.run(submission, None, cancel, None).await {
        Ok(finished) => finished.outcome,
        Err(fault) => {
            // Where the warden died its sandboxes did a moment before its end is seen here.
            let until = Instant::now() + GONE_MAX;
            while !engine.is_gone() && Instant::now() < until {
                tokio::time::sleep(GONE_MAX / 20).await;
            }
            faulted::outcome(id, &fault, &worker)
        }
    }
}

type Source = Box<dyn BufRead + Send>;

fn open(path: &Path) -> Result<Source, Stop> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let usage = |why: String| Stop::new(Exit::Usage, vec![why]);
    let file = File::open(path).map_err(|error| usage(format!("`{}`: {error}", path.display())))?;
    match file.metadata() {
        Ok(meta) if meta.is_dir() => Err(usage(format!("`{}` is a directory", path.display()))),
        _ => Ok(Box::new(BufReader::with_capacity(64 * 1024, file))),
    }
}

/// Reads on a thread of its own: a pipe may stay silent for long, and nobody waits for it at the
/// end of a batch that was told to stop.
fn read_apart(source: Source) -> mpsc::Receiver<io::Result<Line>> {
    let (send, receive) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut lines = Lines::new(source, MESSAGE_BYTES_MAX);
        loop {
            let next = match lines.next() {
                Ok(None) => return,
                Ok(Some(line)) => Ok(line),
                Err(error) => Err(error),
            };
            let last = next.is_err();
            if send.blocking_send(next).is_err() || last {
                return;
            }
        }
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::profiles_for_tests;

    #[test]
    fn the_line_of_the_help_is_a_job() {
        let text = EXAMPLE.lines().nth(1).expect("it is the second line");
        let line = Lines::new(text.trim().as_bytes(), MESSAGE_BYTES_MAX).next();
        let line = line.expect("memory can be read").expect("a line");
        let profiles = Box::new(profiles_for_tests::Known::default());
        let mut intake = Intake::new(profiles, Known::default(), "w".into());
        assert!(
            matches!(intake.judge(&line), intake::Verdict::Job(job) if job.warnings.is_empty())
        );
    }
}
