//! What is said of files on a disk? `cargo run --release -p artifact-scanner --example files -- FILE...`
//!
//! A line for each: microseconds, verdict, path. A file above the limit is answered by its size
//! alone, as whoever holds it on a disk does: it is never read. The last line says how much memory
//! was held at most, in KiB.

use artifact_scanner::{Budget, Limits, Policy, Rules, Subject, scan, too_large};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let policy = Policy::standard(Rules::own());
    let limits = Limits::default();
    let mut out = std::io::stdout().lock();
    let mut bytes = Vec::new();
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let name = path.to_string_lossy();
        let start = Instant::now();
        let size = std::fs::metadata(&path)?.len();
        let report = if size > limits.size_bytes {
            too_large(&name, size)
        } else {
            bytes.clear();
            std::fs::File::open(&path)?.read_to_end(&mut bytes)?;
            let subject = Subject {
                name: &name,
                bytes: &bytes,
            };
            scan(subject, &policy, &mut Budget::new(limits))
        };
        let micros = start.elapsed().as_micros();
        writeln!(out, "{micros}\t{:?}\t{name}", report.verdict())?;
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib = line
        .and_then(|line| line.split_whitespace().nth(1))
        .unwrap_or("?");
    writeln!(out, "{kib}\tmemory\t")
}
