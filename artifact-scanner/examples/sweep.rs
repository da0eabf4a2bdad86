//! How much of what is harmless is held back, and why?
//!
//! Scans every file below folders that hold nothing hostile, such as installed packages:
//! `cargo run --release -p artifact-scanner --example sweep -- DIR...`. Programs and compiled code
//! are held by policy, whoever made them: they are counted apart. A file that is there twice counts
//! once. Fails above one in a thousand.

use artifact_scanner::{
    Budget, Finding, Limits, Policy, Report, Rules, Severity, Subject, Unscannable, Verdict, scan,
};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Held back of a thousand files, at most.
const PER_MILLE_MAX: usize = 1;
const BYTES_MAX: u64 = 64 << 20;

#[derive(Default)]
struct Tally {
    files: usize,
    programs: usize,
    held: usize,
    bytes: u64,
    reasons: BTreeMap<String, usize>,
    seen: HashSet<String>,
}

impl Tally {
    /// Counts one file; says why it is held back, where it is.
    fn count(&mut self, report: &Report) -> Option<String> {
        let content = report.sha256().unwrap_or_default();
        if !self.seen.insert(content.to_owned()) {
            return None;
        }
        if is_program(report) {
            self.programs += 1;
            return None;
        }
        self.files += 1;
        self.bytes += report.bytes();
        if matches!(report.verdict(), Verdict::Clean | Verdict::Active) {
            return None;
        }
        self.held += 1;
        let bad = report.findings().iter().find(|one| is_bad(one));
        let reason = report.unscannable_reason().map(Unscannable::word);
        let kind = reason.or(bad.map(|one| one.rule)).unwrap_or("?");
        *self.reasons.entry(kind.to_owned()).or_default() += 1;
        let told = bad.map_or(String::new(), |one| {
            format!("{}: {}", one.place, one.message)
        });
        Some(format!("{kind} {told}"))
    }
}

fn is_bad(finding: &Finding) -> bool {
    finding.severity >= Severity::Suspicious
}

fn is_program(report: &Report) -> bool {
    let mut findings = report.findings().iter().filter(|one| one.place.is_empty());
    findings.any(|one| one.rule == "type.program")
}

fn main() -> io::Result<ExitCode> {
    let policy = Policy::standard(Rules::own());
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut tally = Tally::default();
    let mut out = io::stdout().lock();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
            if !entry.file_type()?.is_file() || entry.metadata()?.len() > BYTES_MAX {
                continue;
            }
            let (path, content) = (entry.path(), fs::read(entry.path())?);
            let name = path.to_string_lossy();
            let subject = Subject {
                name: &name,
                bytes: &content,
            };
            let report = scan(subject, &policy, &mut Budget::new(Limits::default()));
            if let Some(why) = tally.count(&report) {
                writeln!(out, "{:?} {name}\n    {why}", report.verdict())?;
            }
        }
    }
    let Tally { files, held, .. } = tally;
    writeln!(
        out,
        "\n{files} files, {} MiB; {} programs besides, held by policy",
        tally.bytes >> 20,
        tally.programs
    )?;
    for (reason, times) in &tally.reasons {
        writeln!(out, "{times:>6}  {reason}")?;
    }
    let share = u32::try_from(held).map_or(f64::MAX, f64::from)
        / u32::try_from(files.max(1)).map_or(1.0, f64::from);
    writeln!(out, "held back: {held} of {files}, {:.3} %", 100.0 * share)?;
    Ok(if held * 1000 > files * PER_MILLE_MAX {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
