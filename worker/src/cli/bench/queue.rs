//! `kiln bench queue`: jobs through the whole path, and what of their time it takes.

use super::load::{Back, Load};
use super::spread::Spread;
use crate::cli::config;
use crate::cli::exit::Exit;
use crate::cli::stop::Stop;
use crate::config::Amqp;
use clap::{Args, ValueEnum};
use kiln_protocol::outcome::Status;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Jobs one after the other.
const IDLE_MAX: usize = 300;
/// Jobs out at once where their latency under load is measured, and how many.
const LOADED_IN_FLIGHT: usize = 16;
const LOADED_MAX: usize = 3_000;
/// Cancelled jobs.
const CANCELS_MAX: usize = 40;
/// How long a job has to start before it is cancelled.
const HEAD_START: Duration = Duration::from_millis(150);

/// Measure jobs through the broker, by the worker that runs.
///
/// Prints jobs a second with many out, and what of them queue and store alone would let through;
/// the time from submit to outcome with one out and with 16, what of that is outside the worker's
/// own steps (broker, waiting for a slot, commit), and how long a running job takes to end when it
/// is cancelled. Exit: 0, 1 where a job ended otherwise, 69 where the broker is away or no outcome
/// comes.
#[derive(Clone, Debug, Args)]
pub(super) struct QueueArgs {
    /// Jobs for the throughput; the other figures take fewer
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: u32,
    /// Jobs that are out at once for the throughput: four for each slot is enough
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4_096))]
    in_flight: u16,
    /// Measure `print(1)` in Python, not `true`
    #[arg(long)]
    python: bool,
    /// Only these figures [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<Figure>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Figure {
    /// One job at a time
    Idle,
    /// 16 at a time
    Loaded,
    /// As many as keep every slot busy
    Full,
    /// Jobs that no sandbox has, as many at once as for `full`: their deadline has passed
    Floor,
    /// Jobs that are cancelled while they run
    Cancel,
}

/// What was found; a figure that was not wanted is null.
#[derive(Debug, Serialize)]
struct Found {
    program: &'static str,
    idle: Option<Spread>,
    loaded: Option<Loaded>,
    full: Option<Full>,
    /// The same jobs answered without a sandbox: what is taken by client, broker and store.
    floor: Option<Full>,
    cancel: Option<Spread>,
    /// Jobs that ended as they should not have, by status.
    wrong: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Serialize)]
struct Loaded {
    in_flight: usize,
    latency: Option<Spread>,
    /// The latency without the worker's own steps.
    outside: Option<Spread>,
}

#[derive(Debug, Serialize)]
struct Full {
    jobs: usize,
    in_flight: usize,
    seconds: f64,
    jobs_per_s: f64,
}

pub(super) fn run(args: &QueueArgs) -> Result<Exit, Stop> {
    let config = config::load(args.config.as_deref())?;
    let amqp = config::amqp(&config)?.clone();
    let found = crate::cli::on_threads(&crate::cli::runtime()?, measure(args.clone(), amqp))?;
    let text = if args.json {
        serde_json::to_string(&found).map_err(|error| Stop::unavailable(&error))?
    } else {
        found.table()
    };
    writeln!(std::io::stdout().lock(), "{text}").map_err(|error| Stop::output(&error))?;
    Ok(if found.wrong.is_empty() {
        Exit::Succeeded
    } else {
        Exit::Failed
    })
}

async fn measure(args: QueueArgs, amqp: Amqp) -> Result<Found, Stop> {
    let mut load = Load::open(&amqp).await?;
    let wanted = |figure| args.only.is_empty() || args.only.contains(&figure);
    let (jobs, in_flight) = (
        usize::try_from(args.jobs).unwrap_or(usize::MAX),
        usize::from(args.in_flight),
    );
    let program = if args.python {
        load.python("print(1)");
        "print(1)"
    } else {
        load.command(&["/usr/bin/true"]);
        "true"
    };
    let mut found = Found {
        program,
        idle: None,
        loaded: None,
        full: None,
        floor: None,
        cancel: None,
        wrong: BTreeMap::new(),
    };
    // What is made once is made before anything is measured.
    found.judge(&load.run(in_flight.min(jobs), in_flight).await?);
    if wanted(Figure::Idle) {
        let back = load.run(jobs.min(IDLE_MAX), 1).await?;
        found.judge(&back);
        found.idle = Spread::of(back.iter().map(|back| back.took).collect());
    }
    if wanted(Figure::Loaded) {
        let back = load.run(jobs.min(LOADED_MAX), LOADED_IN_FLIGHT).await?;
        found.judge(&back);
        found.loaded = Some(Loaded {
            in_flight: LOADED_IN_FLIGHT,
            latency: Spread::of(back.iter().map(|back| back.took).collect()),
            outside: Spread::of(back.iter().filter_map(outside).collect()),
        });
    }
    if wanted(Figure::Full) {
        let (full, back) = Full::measure(&mut load, args.jobs, in_flight).await?;
        found.judge(&back);
        found.full = Some(full);
    }
    if wanted(Figure::Floor) {
        load.overdue();
        let (floor, back) = Full::measure(&mut load, args.jobs, in_flight).await?;
        found.expect(&back, Status::Expired);
        found.floor = Some(floor);
    }
    if wanted(Figure::Cancel) {
        found.cancel = cancels(&mut load, jobs.min(CANCELS_MAX)).await?;
    }
    load.close().await;
    Ok(found)
}

/// The end of jobs that run when they are cancelled; one that had not started is not looked at.
async fn cancels(load: &mut Load, jobs: usize) -> Result<Option<Spread>, Stop> {
    load.command(&["/usr/bin/sleep", "60"]);
    let mut took = Vec::with_capacity(jobs);
    for _ in 0..jobs {
        let back = load.cancelled(HEAD_START).await?;
        if back.ran && back.status == Status::Cancelled {
            took.push(back.took);
        }
    }
    Ok(Spread::of(took))
}

/// The time of a job that is not the worker's own steps.
fn outside(back: &Back) -> Option<Duration> {
    Some(back.took.saturating_sub(back.served?))
}

impl Full {
    async fn measure(
        load: &mut Load,
        count: u32,
        in_flight: usize,
    ) -> Result<(Self, Vec<Back>), Stop> {
        let jobs = usize::try_from(count).unwrap_or(usize::MAX);
        let began = Instant::now();
        let back = load.run(jobs, in_flight).await?;
        let seconds = began.elapsed().as_secs_f64();
        let full = Self {
            jobs,
            in_flight,
            seconds,
            jobs_per_s: f64::from(count) / seconds,
        };
        Ok((full, back))
    }
}

impl Found {
    fn judge(&mut self, back: &[Back]) {
        self.expect(back, Status::Succeeded);
    }

    fn expect(&mut self, back: &[Back], status: Status) {
        for back in back.iter().filter(|back| back.status != status) {
            *self.wrong.entry(back.status.as_str()).or_default() += 1;
        }
    }

    /// For people.
    fn table(&self) -> String {
        let spread = |spread: &Option<Spread>| match spread {
            Some(Spread { n, p50_ms, p99_ms }) => {
                format!("p50 {p50_ms:>8.2} ms   p99 {p99_ms:>8.2} ms   of {n}")
            }
            None => "-".to_owned(),
        };
        let mut lines = vec![format!("{:<28}{}", "program", self.program)];
        let mut line = |name: &str, value: String| lines.push(format!("{name:<28}{value}"));
        if self.idle.is_some() {
            line("one at a time", spread(&self.idle));
        }
        if let Some(loaded) = &self.loaded {
            line(
                &format!("{} at a time", loaded.in_flight),
                spread(&loaded.latency),
            );
            line("  outside the worker", spread(&loaded.outside));
        }
        for (full, how) in [(&self.full, ""), (&self.floor, ", no sandbox")] {
            let Some(full) = full else { continue };
            let Full {
                jobs,
                in_flight,
                seconds,
                jobs_per_s,
            } = full;
            let value = format!("{jobs_per_s:.0} jobs/s: {jobs} in {seconds:.1} s");
            line(&format!("{in_flight} at a time{how}"), value);
        }
        if self.cancel.is_some() {
            line("a cancelled job's end", spread(&self.cancel));
        }
        for (status, n) in &self.wrong {
            line("ended otherwise", format!("{n} {status}"));
        }
        lines.join("\n")
    }
}
