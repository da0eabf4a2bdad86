//! What do all workers of a fleet have, and how is one of them told to stop?

mod ls;
mod sweep;

use super::config;
use super::exit::Exit;
use super::run::engine_stop;
use super::services::Services;
use super::stop::Stop;
use crate::config::Redis;
use crate::registry::fleet::Fleet;
use clap::Subcommand;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Show the sandboxes of all workers, ask a worker to drain, take out what is gone.
#[derive(Debug, clap::Args)]
pub(super) struct PoolArgs {
    #[command(subcommand)]
    command: PoolCommand,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML", global = true)]
    config: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum PoolCommand {
    /// Show every worker with its slots and sandboxes
    Ls {
        /// Show sandboxes of this profile alone
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
        /// Show each sandbox, as JSON always does
        #[arg(long)]
        sandboxes: bool,
    },
    /// Ask a worker to finish its jobs, take no more and end
    ///
    /// It hears of it with its next heartbeat, within 5 s.
    Drain {
        /// Its name, as `kiln pool ls` shows it
        #[arg(value_name = "WORKER")]
        worker: String,
    },
    /// Take records of workers out that are gone, and what dead instances left on this machine
    Sweep {
        /// Only say what would be taken out of the record
        #[arg(long)]
        dry_run: bool,
    },
}

/// Does what is asked of the pool.
pub(super) fn run(args: PoolArgs) -> Result<Exit, Stop> {
    let config = config::load(args.config.as_deref())?;
    let Some(redis) = Services::of(&config).redis else {
        let line = "find the record of the pool: `redis.url` is not configured".to_owned();
        return Err(Stop::new(Exit::Config, vec![line]));
    };
    super::runtime()?.block_on(async {
        let mut fleet = connect(&redis).await?;
        match args.command {
            PoolCommand::Ls { profile, sandboxes } => {
                // A program is given everything.
                let filter = ls::Filter {
                    profile: profile.as_deref(),
                    sandboxes: sandboxes || args.json,
                };
                ls::run(&mut fleet, &filter, args.json).await
            }
            PoolCommand::Drain { worker } => drain(&mut fleet, &worker, args.json).await,
            PoolCommand::Sweep { dry_run } => {
                sweep::run(&mut fleet, &config, dry_run, args.json).await
            }
        }
    })
}

async fn connect(redis: &Redis) -> Result<Fleet, Stop> {
    Fleet::connect(redis)
        .await
        .map_err(|error| Stop::unavailable(&error))
}

async fn drain(fleet: &mut Fleet, worker: &str, json: bool) -> Result<Exit, Stop> {
    let asked = fleet.drain(worker).await;
    if !asked.map_err(|error| Stop::unavailable(&error))? {
        let line = format!("ask `{worker}` to drain: the record knows no such worker");
        return Err(Stop::new(Exit::Failed, vec![line]));
    }
    put(&if json {
        format!(
            "{}\n",
            serde_json::json!({ "worker": worker, "asked": true })
        )
    } else {
        format!("asked `{worker}` to drain; it hears of it with its next heartbeat\n")
    })
}

/// Prints an answer.
fn put(text: &str) -> Result<Exit, Stop> {
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Stop::output(&error))?;
    Ok(Exit::Succeeded)
}
