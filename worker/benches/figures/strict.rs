//! What `isolation: strict` adds to a job where sandboxes that nobody used wait, in pairs.
//!
//! From the wish for a sandbox to the job's end: standard jobs follow each other on one sandbox,
//! strict ones have each a new one, and the sandboxes of both are made and ended between the jobs.

use crate::host::Bench;
use crate::stats::{line, ms};
use crate::{Failure, rounds};
use std::time::{Duration, Instant};

/// Sandboxes that wait for strict jobs.
const WARM: usize = 3;
/// Between two jobs: neither a reset nor a sandbox that is made counts for the next.
const REST: Duration = Duration::from_millis(25);

pub(crate) async fn run() -> Result<(), Failure> {
    let (standard, strict) = (Bench::open(1).await?, Bench::open(WARM + 1).await?);
    strict.pool.keep("command", WARM)?;
    let (mut used, mut unused, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds(200) + 20 {
        let usual = timed(&standard, false).await?;
        tokio::time::sleep(REST).await;
        let alone = timed(&strict, true).await?;
        tokio::time::sleep(REST).await;
        if round >= 20 {
            used.push(usual);
            unused.push(alone);
            differences.push(alone - usual);
        }
    }
    line("a standard job, sandbox and all", used);
    line("a strict job, sandbox and all", unused);
    line("difference, paired (goal <= 12)", differences);
    standard.close().await?;
    strict.close().await
}

async fn timed(bench: &Bench, strict: bool) -> Result<f64, Failure> {
    let began = Instant::now();
    let leased = bench.lease(strict).await?;
    bench.job(leased, strict.then_some("strict")).await?;
    Ok(ms(began.elapsed()))
}
