//! How much of what is harmless is held back, and why?
//!
//! Scans every file below folders that hold nothing hostile, such as installed packages:
//! `cargo run --release -p artifact-scanner --example sweep -- DIR...`. Programs and compiled code
//! are held by policy, whoever made them: they are counted apart. A file that is there twice counts
//! once. Fails above one in a thousand.
//!
//! Packages have files that are damaged on purpose, to test a reader. With `--decoders PYTHON` before the
//! folders, what is held because it cannot be read is given to Python's own decoders, PIL and scipy
//! (`corpus/decodes.py`): what they refuse as well is damaged and counts apart, and what they read does not.

use artifact_scanner::{
    Budget, Finding, Limits, Policy, Report, Rules, Severity, Subject, Unscannable, Verdict, scan,
};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

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
    /// What is held because it cannot be read.
    unread: Vec<String>,
}

impl Tally {
    /// Counts one file; says why it is held back, where it is.
    fn count(&mut self, name: &str, report: &Report) -> Option<String> {
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
        if report.verdict() == Verdict::Unscannable {
            self.unread.push(name.to_owned());
        }
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

/// How many of the files Python's decoders refuse as well.
fn damaged(python: &OsStr, paths: &[String]) -> io::Result<usize> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/decodes.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    for path in paths.iter().filter(|path| !path.contains('\n')) {
        writeln!(to, "{path}")?;
    }
    drop(to);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(io::Error::other("the decoders did not run"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}

fn percent(held: usize, files: usize) -> f64 {
    let number = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
    100.0 * number(held) / number(files.max(1))
}

fn main() -> io::Result<ExitCode> {
    let policy = Policy::standard(Rules::own());
    let mut words = std::env::args_os().skip(1).peekable();
    let python = match words.next_if(|word| word == "--decoders") {
        Some(_) => words.next(),
        None => None,
    };
    let mut folders: Vec<PathBuf> = words.map(PathBuf::from).collect();
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
            if let Some(why) = tally.count(&name, &report) {
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
    writeln!(
        out,
        "held back: {held} of {files}, {:.3} %",
        percent(held, files)
    )?;
    let damaged = match python {
        Some(python) => damaged(&python, &tally.unread)?,
        None => 0,
    };
    let (whole, held) = (files - damaged, held - damaged);
    writeln!(
        out,
        "damaged, and refused by decoders of their types as well: {damaged}\nheld back of whole files: {held} of {whole}, {:.3} %",
        percent(held, whole)
    )?;
    Ok(if held * 1000 > whole * PER_MILLE_MAX {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
