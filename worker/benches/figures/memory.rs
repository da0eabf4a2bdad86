//! What an idle warm sandbox with its cell ready holds of the machine's memory, kernel's included.

use crate::Failure;
use crate::host::Bench;
use crate::rounds;
use std::fs;

pub(crate) async fn run() -> Result<(), Failure> {
    let n = rounds(200);
    let bench = Bench::open(n).await?;
    // The first ones pay for what all share.
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(bench.host.create("command").await?);
    }
    let before = (kernel_kib()?, user_kib()?, field("MemAvailable:")?);
    for _ in 0..n {
        made.push(bench.host.create("command").await?);
    }
    let after = (kernel_kib()?, user_kib()?, field("MemAvailable:")?);
    let each = |after: u64, before: u64| after.saturating_sub(before) / n as u64;
    let (kernel, user) = (each(after.0, before.0), each(after.1, before.1));
    println!(
        "an idle warm sandbox, from {n}: {} KiB = kernel {kernel} + processes (PSS) {user}; \
         MemAvailable fell by {} KiB each (goal <= 1229)",
        kernel + user,
        before.2.saturating_sub(after.2) / n as u64
    );
    drop(made);
    bench.close().await
}

/// Slab, per-CPU areas, kernel stacks and page tables of the machine.
fn kernel_kib() -> Result<u64, Failure> {
    ["Slab:", "Percpu:", "KernelStack:", "PageTables:"]
        .into_iter()
        .map(field)
        .sum()
}

fn field(name: &str) -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .ok_or("a line of meminfo")?;
    Ok(line.split_whitespace().nth(1).ok_or("a figure")?.parse()?)
}

/// PSS of every keeper and what it forked.
fn user_kib() -> Result<u64, Failure> {
    let mut sum = 0;
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let Ok(comm) = fs::read_to_string(path.join("comm")) else {
            continue;
        };
        if !["keeper", "cell-init", "waiter", "stager"].contains(&comm.trim()) {
            continue;
        }
        let Ok(rollup) = fs::read_to_string(path.join("smaps_rollup")) else {
            continue;
        };
        sum += rollup
            .lines()
            .find_map(|line| {
                line.strip_prefix("Pss:")?
                    .split_whitespace()
                    .next()?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
    }
    Ok(sum)
}
