//! Does every hostile probe stay contained, first, second, after a killed job, and behind every other?

#[path = "hostile/beside.rs"]
mod beside;
#[path = "hostile/collection.rs"]
mod collection;
#[path = "hostile/exhaustion.rs"]
mod exhaustion;
#[path = "hostile/guards.rs"]
mod guards;
#[path = "hostile/leaks.rs"]
mod leaks;
#[path = "hostile/surface.rs"]
mod surface;

use serde_json::{Value, json};

/// The limits in force for probes, and the same as their arguments.
pub(crate) fn limits() -> Value {
    json!({"wall_ms": 10_000, "memory_bytes": 256 << 20, "pids": 64, "cpus": 1, "disk_bytes": 64 << 20, "inodes": 4096,
        "open_files": 256, "stdout_bytes": 1 << 20, "stderr_bytes": 1 << 20})
}

const ARGS: [&str; 8] = [
    "WALL_S=10",
    "MEM_MB=256",
    "PIDS=64",
    "CPUS=1",
    "TMP_MB=64",
    "INODES=4096",
    "FDS=256",
    "OUT_MB=1",
];

pub(crate) fn args(more: &[String]) -> Vec<String> {
    ARGS.iter()
        .map(|&arg| arg.to_owned())
        .chain(more.iter().cloned())
        .collect()
}
