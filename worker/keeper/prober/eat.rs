//! Does a limit hold against a job that takes as much as it gets?

use super::call::breed;
use super::{Seen, residue};
use std::fs::File;
use std::io::Write as _;

const MIB: usize = 1 << 20;
/// More than a doctor's job may have of each, and less than four times as much, so that a limit
/// that is set wrong is seen.
const MEMORY_MIB: usize = 160;
const PROCESSES: usize = 40;
const DISK_MIB: usize = 48;

/// Takes of one thing until it is stopped, or says how much it got.
pub(crate) fn eat(what: &str) -> Seen {
    match what {
        "memory-limit" => memory(),
        "process-limit" => processes(),
        "disk-limit" => disk(),
        "cpu-limit" => loop {
            std::hint::spin_loop();
        },
        "time-limit" => {
            residue::stay(600);
            Err("it slept for ten minutes".to_owned())
        }
        other => Err(format!("cannot tell: nobody eats `{other}`")),
    }
}

fn memory() -> Seen {
    let mut all = Vec::new();
    for _ in 0..MEMORY_MIB {
        let mut block = vec![0_u8; MIB];
        for at in (0..MIB).step_by(4096) {
            block[at] = 1;
        }
        all.push(std::hint::black_box(block));
    }
    Err(format!("it got {} MiB", all.len()))
}

fn processes() -> Seen {
    match (0..PROCESSES).position(|_| !breed()) {
        Some(got) => Ok(format!("{got} beside itself, then an error")),
        None => Err(format!("it got {PROCESSES} processes")),
    }
}

fn disk() -> Seen {
    let mut file = File::create("/tmp/eaten").map_err(|e| super::unsure("/tmp", e))?;
    let block = vec![1; MIB];
    for got in 0..DISK_MIB {
        if let Err(error) = file.write_all(&block) {
            return Ok(format!("{got} MiB, then {error}"));
        }
    }
    Err(format!("it got {DISK_MIB} MiB"))
}
