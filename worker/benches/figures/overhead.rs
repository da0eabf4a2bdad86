//! What a waiting sandbox adds to fork and exec of the same static program, in pairs.

use crate::host::Bench;
use crate::stats::{line, ms};
use crate::{Failure, STATIC_PROGRAM, rounds};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) async fn run() -> Result<(), Failure> {
    let bench = Bench::open(2).await?;
    let (mut floor, mut inside, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds(400) + 20 {
        let leased = bench.lease(false).await?;
        let began = Instant::now();
        let output = Command::new(STATIC_PROGRAM[0])
            .args(&STATIC_PROGRAM[1..])
            .output()?;
        let bare = ms(began.elapsed());
        if !output.status.success() {
            return Err("the program failed outside".into());
        }
        let job = bench.job(leased, None).await?;
        // The reset of this job must not be counted to the next.
        tokio::time::sleep(Duration::from_millis(8)).await;
        if round >= 20 {
            floor.push(bare);
            inside.push(job);
            differences.push(job - bare);
        }
    }
    line("fork and exec of a static program", floor);
    line("the same in a waiting sandbox", inside);
    line(
        "difference, paired (goal p50 <= 0.15, p99 <= 2)",
        differences,
    );
    bench.close().await
}
