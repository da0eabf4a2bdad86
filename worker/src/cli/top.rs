//! `kiln top`: how is it with one worker, or with all of a fleet, on a terminal?
//!
//! # Layout
//!
//! - `one`, `fleet`: what is shown of a worker (from its listener) and of all (from Redis)
//! - `frame`: lines with their ink, and how they fit a narrow place
//! - `screen`: the terminal: borrowed, painted over and over, and given back as it was

mod fleet;
mod frame;
mod one;
mod screen;

use super::config;
use super::exit::Exit;
use super::services::Services;
use super::signals::Asked;
use super::stop::Stop;
use frame::{Frame, Ink};
use screen::Screen;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

/// How wide lines are where nobody says.
const COLUMNS: usize = 100;

/// Show a worker, or all of a fleet, and how it goes on.
///
/// One worker is asked at its listener (`telemetry.listen`), a fleet is read from Redis. `q` or
/// Ctrl-C ends it. What is no terminal gets one picture, as with `--once`. Exit: 0, or 69 where
/// nobody answers at the first time.
#[derive(Debug, clap::Args)]
pub(super) struct TopArgs {
    /// The configuration, which says where the listener and Redis are
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
    /// The listener of another worker, as `http://10.0.0.7:9464`
    #[arg(long, value_name = "URL", conflicts_with = "fleet", value_parser = one::address)]
    url: Option<String>,
    /// Show all workers, from Redis
    #[arg(long)]
    fleet: bool,
    /// Show it once and end
    #[arg(long)]
    once: bool,
    /// Print JSON, once: of a worker its `/status.json`, of a fleet every worker
    #[arg(long)]
    json: bool,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    every: u64,
}

/// Where what is shown comes from.
enum Source {
    One(one::Worker),
    Fleet(Box<fleet::Workers>),
}

impl Source {
    async fn of(args: &TopArgs) -> Result<Self, Stop> {
        if let Some(url) = &args.url {
            return Ok(Self::One(one::Worker::at(url.clone())?));
        }
        let config = config::load(args.config.as_deref())?;
        if !args.fleet {
            return Ok(Self::One(one::Worker::of(&config)?));
        }
        let Some(redis) = Services::of(&config).redis else {
            let line = "find the fleet: `redis.url` is not configured".to_owned();
            return Err(Stop::new(Exit::Config, vec![line]));
        };
        Ok(Self::Fleet(Box::new(fleet::Workers::of(&redis).await?)))
    }

    async fn json(&mut self) -> Result<String, Stop> {
        match self {
            Self::One(worker) => worker.json().await,
            Self::Fleet(workers) => workers.json().await,
        }
    }

    async fn frame(&mut self) -> Result<Frame, Stop> {
        match self {
            Self::One(worker) => worker.frame().await,
            Self::Fleet(workers) => workers.frame().await,
        }
    }
}

/// Shows it until somebody has seen enough.
pub(super) fn run(args: &TopArgs) -> Result<Exit, Stop> {
    super::runtime()?.block_on(async {
        let mut source = Source::of(args).await?;
        if args.json {
            let text = source.json().await?;
            return print(&format!("{text}\n"));
        }
        let frame = source.frame().await?;
        let stdout = io::stdout();
        if args.once || !stdout.is_terminal() {
            let columns = screen::size().map_or(COLUMNS, |size| size.columns);
            let coloured = stdout.is_terminal() && screen::colour();
            return print(&frame.text(columns, coloured));
        }
        watch(source, frame, Duration::from_secs(args.every)).await
    })
}

/// Paints it anew after each look.
async fn watch(mut source: Source, mut frame: Frame, every: Duration) -> Result<Exit, Stop> {
    let mut asked = Asked::listen().map_err(|error| Stop::unavailable(&error))?;
    let mut screen = Screen::open().map_err(|error| Stop::output(&error))?;
    loop {
        screen.paint(&frame).map_err(|error| Stop::output(&error))?;
        tokio::select! {
            () = asked.next() => break,
            ended = screen.enough() => if ended { break } else { continue },
            () = tokio::time::sleep(every) => {}
        }
        let looked = tokio::select! {
            looked = source.frame() => looked,
            () = asked.next() => break,
        };
        match looked {
            Ok(now) => frame = now,
            Err(stop) => frame.stale(&stop.lines().join("; ")),
        }
    }
    Ok(Exit::Succeeded)
}

fn print(text: &str) -> Result<Exit, Stop> {
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|error| Stop::output(&error))?;
    Ok(Exit::Succeeded)
}

/// A share of a place as a bar of blocks.
fn meter(part: u64, whole: u64, places: usize) -> String {
    let filled = if whole == 0 {
        0
    } else {
        let filled = part.saturating_mul(places as u64).div_ceil(whole);
        usize::try_from(filled).unwrap_or(places).min(places)
    };
    "█".repeat(filled) + &"░".repeat(places - filled)
}

/// The ink of a grade of state.
fn ink(good: bool, bad: bool) -> Ink {
    match (good, bad) {
        (true, _) => Ink::Good,
        (false, true) => Ink::Bad,
        (false, false) => Ink::Warn,
    }
}
