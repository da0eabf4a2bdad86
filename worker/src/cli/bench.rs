//! `kiln bench`: what a running system does in a second.

mod load;
mod queue;
mod spread;

use super::exit::Exit;
use super::stop::Stop;
use clap::{Args, Subcommand};

/// Measure a system that runs.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Queue(queue::QueueArgs),
}

pub(super) fn run(args: &BenchArgs) -> Result<Exit, Stop> {
    match &args.what {
        What::Queue(args) => queue::run(args),
    }
}
