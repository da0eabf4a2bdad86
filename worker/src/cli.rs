//! The command line: what may be asked of `kiln`, and with which exit code it answers.
//!
//! # Layout
//!
//! - [`run`]: one job, from a file or a command
//! - [`batch`]: many jobs, one JSON a line
//! - [`result`]: what became of a job, from the store
//! - [`scan`]: what is said of files, without a job; [`rescan`]: of those that were released;
//!   [`quarantine`]: those that were not
//! - [`doctor`]: what this machine offers
//! - [`config`]: what the configuration says
//! - [`topology`], [`dlq`]: what the broker holds, by [`link`]
//! - [`bench`]: what a running system does in a second
//! - [`pool`]: what all workers have; [`top`]: how one of them or all do, on a terminal
//! - [`exit`], [`stop`]: the codes, and the errors that end a command
//!
//! Data goes to stdout, everything else to stderr. There is no colour anywhere but in the log
//! and in `top`, and there only on a terminal and without `NO_COLOR`.

mod batch;
mod bench;
mod cancel;
mod cancelling;
mod claim;
mod client;
mod code;
mod config;
mod dlq;
mod doctor;
mod escape;
mod exit;
mod inputs;
mod limits;
mod link;
mod live;
mod logs;
mod pool;
#[cfg(test)]
pub(crate) mod profiles_for_tests;
mod quarantine;
mod replay;
mod request;
mod rescan;
mod result;
mod run;
mod scan;
#[cfg(test)]
pub(crate) mod scratch;
mod services;
mod signals;
mod stop;
mod submit;
mod summary;
mod top;
mod topology;
mod unkept;
mod usage;
mod withheld;
mod worker;

use clap::{Parser, Subcommand};
use exit::Exit;
use rustix::process::{Resource, Rlimit};
use std::ffi::OsString;
use std::process::ExitCode;
use stop::Stop;

/// Runs code that nobody reviewed, in sandboxes that are already warm.
#[derive(Debug, Parser)]
#[command(name = "kiln", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    Batch(batch::BatchArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigArgs),
    Topology(topology::TopologyArgs),
    Dlq(dlq::DlqArgs),
    Pool(pool::PoolArgs),
    Worker(worker::WorkerArgs),
    Submit(submit::SubmitArgs),
    Result(result::ResultArgs),
    Cancel(cancelling::CancelArgs),
    Replay(replay::ReplayArgs),
    Top(top::TopArgs),
    Bench(bench::BenchArgs),
    Scan(scan::ScanArgs),
    Rescan(rescan::RescanArgs),
    Quarantine(quarantine::QuarantineArgs),
}

/// The word after `kiln` that makes it the warden; not for people.
const WARDEN: &str = "warden";
/// The word that makes it the egress proxy; not for people either.
pub(crate) const PROXY: &str = "proxy";

/// Does what the arguments ask for.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<_> = args.collect();
    // The warden forks: no thread, runtime or log may have started before it.
    if args.get(1).is_some_and(|word| word == WARDEN) {
        return kiln_warden::main(args.into_iter().skip(2));
    }
    // What scans keeps one descriptor and no thread.
    if args
        .get(1)
        .is_some_and(|word| word == crate::screen::process::WORD)
    {
        return crate::screen::process::main();
    }
    // The proxy confines its one thread.
    if args.get(1).is_some_and(|word| word == PROXY) {
        return crate::egress::proxy::main();
    }
    let command = match Cli::try_parse_from(&args) {
        Ok(cli) => cli.command,
        Err(error) => return usage::answer(&error, &args).into(),
    };
    // A worker starts its logs as its configuration says.
    if !matches!(command, Command::Worker(_)) {
        logs::start();
    }
    raise_open_files();
    answer(command).unwrap_or_else(Stop::report).into()
}

fn answer(command: Command) -> Result<Exit, Stop> {
    match command {
        Command::Run(args) => run::run(*args),
        Command::Worker(args) => worker::run(args),
        Command::Submit(args) => submit::run(&args),
        Command::Result(args) => result::run(&args),
        Command::Cancel(args) => cancelling::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Rescan(args) => rescan::run(&args),
        Command::Quarantine(args) => quarantine::run(&args),
        Command::Batch(args) => batch::run(args),
        Command::Topology(args) => topology::run(&args),
        Command::Dlq(args) => dlq::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Config(args) => config::run(args),
        Command::Pool(args) => pool::run(args),
        Command::Top(args) => top::run(&args),
        Command::Bench(args) => bench::run(&args),
    }
}

/// Lets this process open as many files as it may: a job may have a thousand inputs. Where that is
/// refused the open that fails says so by name.
fn raise_open_files() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = rustix::process::setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    if let Err(errno) = raised {
        tracing::warn!(%errno, "the limit of open files stays where it is");
    }
}

/// A runtime for one command; its threads end with it.
fn runtime() -> Result<tokio::runtime::Runtime, Stop> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    built(&mut builder)
}

/// A runtime for the worker. Of the CPU time that a job takes a quarter at most is the worker's, and
/// a part of that passes on threads that wait for a disk or the broker: one thread beside those is
/// enough for four CPUs, and threads with little to do wake each other for nothing.
fn worker_runtime() -> Result<tokio::runtime::Runtime, Stop> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    built(builder.worker_threads(cpus.div_ceil(4)))
}

fn built(builder: &mut tokio::runtime::Builder) -> Result<tokio::runtime::Runtime, Stop> {
    let built = builder.enable_all().build();
    built.map_err(|error| Stop::unavailable(&error))
}

/// Does the work of a command that lasts on the runtime's own threads. What the first thread polls
/// itself is two ways between threads each time that something comes.
fn on_threads<T: Send + 'static>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = Result<T, Stop>> + Send + 'static,
) -> Result<T, Stop> {
    match runtime.block_on(runtime.spawn(work)) {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(Stop::unavailable(&error)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_tree_of_commands_is_sound() {
        Cli::command().debug_assert();
    }
}
