//! `kiln run`: one job, here and now.

use super::batch::results::exit_of;
use super::exit::Exit;
use super::signals::Asked;
use super::stop::Stop;
use super::{cancel, claim, config, doctor, limits, live, request, summary};
use crate::config::Config;
use crate::engine::{Engine, EngineError, EngineOptions, Finished, Submission};
use crate::fault::chain;
use crate::report::faulted;
use kiln_protocol::limits::Limits;
use kiln_protocol::outcome::{Outcome, Status};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Run one job: a file of code, or a command.
///
/// The ending of FILE picks the profile: `.py` python, `.sh` bash, `.js` node. The exit code is 0
/// if the job succeeded, 1 if it did not, 2 for a wrong call, 69 if the platform failed, 78 for a
/// wrong configuration.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "kiln run [OPTIONS] FILE [-- ARGS...]\n       kiln run [OPTIONS] -- COMMAND..."
)]
pub(super) struct RunArgs {
    /// The code to run
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Arguments of the code, or the command where there is no FILE
    #[arg(last = true, value_name = "ARGS")]
    pub(super) rest: Vec<String>,
    /// The kind of sandbox: python, python-data, bash, node, command
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// A limit, such as wall=10s, memory=256MiB, pids=64; --help lists all
    #[arg(long = "limit", value_name = "NAME=VALUE", long_help = limits::help())]
    pub(super) limits: Vec<String>,
    /// A file, or a folder with all files below it, for the job's folder
    ///
    /// DEST is relative to /job; without it the own name of SRC counts. The executable bit is
    /// kept, symlinks are refused, empty folders are not made.
    #[arg(long = "input", value_name = "SRC[:DEST]")]
    pub(super) inputs: Vec<String>,
    /// Files to take out, such as '*.csv' or 'plots/**'; without it everything new or changed
    ///
    /// Relative to /job. What matches is taken where it is new or changed; an input as it came is
    /// not. May be given many times; * stops at /, ** does not.
    #[arg(long, value_name = "GLOB")]
    pub(super) artifacts: Vec<String>,
    /// The folder for outcome.json, stdout, stderr and artifacts/ [default: kiln-out/<job id>]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// What the job reads; - is kiln's own standard input [default: nothing]
    #[arg(long, value_name = "FILE")]
    pub(super) stdin: Option<PathBuf>,
    /// A variable of the job's environment
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) env: Vec<String>,
    /// A host and port that the job may reach, such as api.example.com:443; may be repeated
    ///
    /// By a proxy that the job finds in its usual variables. Private addresses are refused, but for what `egress.allow_private` opens. Where the profile has a ceiling of hosts it holds
    /// here too. Whatever is allowed can be sent anything that the job knows.
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) allow: Vec<String>,
    /// How far apart from other jobs: standard, strict
    #[arg(long, value_name = "WORD")]
    pub(super) isolation: Option<String>,
    /// For whom it runs
    #[arg(long, value_name = "NAME")]
    pub(super) tenant: Option<String>,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    pub(super) config: Option<PathBuf>,
    /// Print the outcome alone on stdout, as JSON
    ///
    /// One line for exit 0 and 1, but for a job that was ended by asking twice or before it
    /// started; for 69 where the job had been taken (status `platform_error`), else nothing; for 2
    /// and 78 nothing, but the outcome of a job that was refused at its start (status `rejected`).
    #[arg(long)]
    pub(super) json: bool,
}

/// Runs the job and prints what became of it.
pub(super) fn run(args: RunArgs) -> Result<Exit, Stop> {
    let request = request::read(&args).map_err(|error| Stop::usage(&error))?;
    let config = config::load(args.config.as_deref())?;
    let out_dir = request.out_dir().to_owned();
    let (submission, limits) = request
        .admit(&config.profiles)
        .map_err(|error| Stop::usage(&error))?;
    doctor::preflight()?;
    let _claim = claim::job(&out_dir).map_err(|error| Stop::usage(&error))?;
    super::runtime()?.block_on(serve(args, &config, submission, limits, &out_dir))
}

/// How an engine that did not start ends a command.
pub(super) fn engine_stop(error: &EngineError) -> Stop {
    match error {
        EngineError::Profiles(errors) => config::wrong(errors),
        EngineError::Refused { .. }
        | EngineError::Spawn(_)
        | EngineError::Warden(_)
        | EngineError::Pool(_)
        | EngineError::Scanner(_)
        | EngineError::Cpus(_)
        | EngineError::Wait(_) => Stop::unavailable(error),
    }
}

async fn serve(
    args: RunArgs,
    config: &Config,
    submission: Submission,
    limits: Limits,
    out_dir: &Path,
) -> Result<Exit, Stop> {
    let mut asked = Asked::listen().map_err(|error| Stop::unavailable(&error))?;
    let warm = vec![(submission.job.profile.clone(), 1)];
    let options = EngineOptions {
        single: true,
        own: true,
        ..config.engine(1, warm)
    };
    let engine = tokio::select! {
        started = Engine::start(options) => started.map_err(|error| engine_stop(&error))?,
        () = asked.next() => return Ok(Exit::Failed),
    };
    let id = submission.job.id.clone();
    let (live, passing) = live::start(!args.json, &limits);
    let (canceller, hearer) = cancel::pair();
    let finished = {
        let running = engine.run(submission, Some(live), hearer.cancel(), None);
        tokio::pin!(running);
        let mut wishes = 0;
        loop {
            tokio::select! {
                finished = &mut running => break Some(finished),
                () = asked.next() => {
                    wishes += 1;
                    if wishes > 1 {
                        break None;
                    }
                    canceller.cancel();
                }
            }
        }
    };
    // Whoever asked twice does not wait for a slow reader either.
    let open_line = finished.is_some() && passing.finish();
    let answer = match finished {
        Some(Ok(Finished { outcome, .. })) => print(&outcome, out_dir, args.json, open_line),
        Some(Err(fault)) => failed(
            &faulted::outcome(id, &fault, &config.worker.name),
            args.json,
        ),
        None => Ok(Exit::Failed),
    };
    shut_down(engine).await;
    answer
}

/// Ends the engine; what is left behind is told, and hides no answer.
pub(super) async fn shut_down(engine: Engine) {
    if let Err(error) = engine.shut_down().await {
        tracing::error!(error = chain(&error), "the engine left something behind");
    }
}

/// A job without a run: the outcome on stdout where it is asked for, and one line on stderr.
fn failed(outcome: &Outcome, json: bool) -> Result<Exit, Stop> {
    if json {
        put(outcome)?;
    }
    let why = outcome.message.clone().unwrap_or_default();
    Err(Stop::new(exit_of(outcome.status), vec![why]))
}

fn put(outcome: &Outcome) -> Result<(), Stop> {
    let mut line = outcome.to_json();
    line.push('\n');
    io::stdout()
        .lock()
        .write_all(line.as_bytes())
        .map_err(|error| Stop::output(&error))
}

/// The outcome on stdout where it is asked for, the summary on stderr.
fn print(outcome: &Outcome, out_dir: &Path, json: bool, open_line: bool) -> Result<Exit, Stop> {
    if outcome.status == Status::Rejected {
        return failed(outcome, json);
    }
    if json {
        put(outcome)?;
    }
    let mut text = String::new();
    if open_line {
        text.push('\n');
    }
    text.push_str(&summary::render(outcome, out_dir));
    // The outcome is in its folder, whether or not anybody reads the summary.
    drop(io::stderr().lock().write_all(text.as_bytes()));
    Ok(exit_of(outcome.status))
}
