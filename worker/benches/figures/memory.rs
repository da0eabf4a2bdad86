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
    let before = Held::without_caches()?;
    for _ in 0..n {
        made.push(bench.host.create("command").await?);
    }
    let after = Held::without_caches()?;
    let each = |after: u64, before: u64| after.saturating_sub(before) / n as u64;
    let kernel = each(after.kernel, before.kernel);
    let cache = each(after.cache, before.cache);
    let user = each(after.user, before.user);
    println!(
        "an idle warm sandbox, from {n}: {} KiB = kernel {kernel} + names and nodes that it keeps \
         {cache} + processes (PSS) {user}; MemAvailable fell by {} KiB each (goal <= 1171: 1.2 MB)",
        kernel + cache + user,
        each(before.available, after.available)
    );
    drop(made);
    bench.close().await
}

/// The machine's memory, in KiB.
struct Held {
    /// Slab that cannot be reclaimed, per-CPU areas, kernel stacks and page tables.
    kernel: u64,
    /// Of the slab that can what is left when it was asked to go: it is in use.
    cache: u64,
    user: u64,
    available: u64,
}

impl Held {
    fn without_caches() -> Result<Self, Failure> {
        // Twice: what the first lets go may have held something else.
        for _ in 0..2 {
            fs::write("/proc/sys/vm/drop_caches", "2")?;
        }
        let kernel = ["SUnreclaim:", "Percpu:", "KernelStack:", "PageTables:"]
            .into_iter()
            .map(field)
            .sum::<Result<u64, Failure>>()?;
        Ok(Self {
            kernel,
            cache: field("SReclaimable:")?,
            user: user_kib()?,
            available: field("MemAvailable:")?,
        })
    }
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
