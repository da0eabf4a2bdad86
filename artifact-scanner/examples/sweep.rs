//! Scans every file below folders that hold nothing hostile and prints what is held back, and by
//! which rule: `cargo run -p artifact-scanner --example sweep -- DIR...`.

use artifact_scanner::{Budget, Limits, Policy, Rules, Severity, Subject, Verdict, scan};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let policy = Policy::standard(Rules::own());
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (mut verdicts, mut rules) = (BTreeMap::new(), BTreeMap::<String, u32>::new());
    let (mut files, mut bytes) = (0u32, 0u64);
    let start = std::time::Instant::now();
    let mut out = io::stdout().lock();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
            if !entry.file_type()?.is_file() || entry.metadata()?.len() > 16 << 20 {
                continue;
            }
            let (path, content) = (entry.path(), fs::read(entry.path())?);
            let name = path.to_string_lossy();
            let subject = Subject {
                name: &name,
                bytes: &content,
            };
            let report = scan(subject, &policy, &mut Budget::new(Limits::default()));
            files += 1;
            bytes += report.bytes();
            *verdicts.entry(report.verdict()).or_insert(0u32) += 1;
            if matches!(report.verdict(), Verdict::Clean | Verdict::Active) {
                continue;
            }
            let reasons: Vec<_> = report
                .findings()
                .iter()
                .filter(|finding| finding.severity >= Severity::Suspicious)
                .map(|finding| finding.rule)
                .chain(
                    report
                        .unscannable_reason()
                        .map(artifact_scanner::Unscannable::word),
                )
                .collect();
            let first = reasons.first().copied().unwrap_or_default().to_owned();
            *rules.entry(first).or_default() += 1;
            writeln!(out, "{:?} {name} {reasons:?}", report.verdict())?;
        }
    }
    writeln!(
        out,
        "\n{files} files, {} MiB, {:?}: {verdicts:?}",
        bytes >> 20,
        start.elapsed()
    )?;
    writeln!(out, "held back by: {rules:?}")
}
