//! What does the scanner say of these files?
//!
//! The scan runs in this process, with its rights: a check that a file breaks breaks here. A
//! process of its own for the scan, without network and without files, is not there yet; until
//! then scan what you do not trust as a user who may do little.

use super::escape;
use super::exit::Exit;
use super::stop::Stop;
use artifact_scanner::{Budget, Limits, Policy, Report, Rules, Severity, Subject, Verdict};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Look at files as the artifacts of a job are looked at, and say what they are.
///
/// Exit: 0 all clean or active, 1 otherwise, 2 usage (an absent FILE). The scan runs in this
/// process, unconfined.
#[derive(Debug, clap::Args)]
pub(super) struct ScanArgs {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one line of JSON for each file instead of a table
    #[arg(long)]
    json: bool,
}

/// Why a file cannot be looked at.
#[derive(Debug, thiserror::Error)]
enum ScanError {
    #[error("open `{path}`")]
    Open { path: String, source: io::Error },
    #[error("scan `{path}`: it is not a regular file")]
    Special { path: String },
    #[error("read `{path}`")]
    Read { path: String, source: io::Error },
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    #[serde(flatten)]
    report: &'a Report,
    scan_us: u128,
}

/// Scans the files in order. All are opened first, so that a wrong name is told before anything
/// is answered.
pub(super) fn run(args: &ScanArgs) -> Result<Exit, Stop> {
    let files: Vec<_> = args.files.iter().map(|path| open(path)).collect();
    let wrong: Vec<_> = files
        .iter()
        .filter_map(|file| file.as_ref().err())
        .collect();
    if !wrong.is_empty() {
        let lines = wrong.into_iter().map(|error| crate::fault::chain(error));
        return Err(Stop::new(Exit::Usage, lines.collect()));
    }
    let policy = Policy::standard(Rules::own());
    let mut exit = Exit::Succeeded;
    let mut stdout = io::stdout().lock();
    for (path, file) in args.files.iter().zip(files.into_iter().flatten()) {
        let path = path.to_string_lossy();
        let start = Instant::now();
        let report = look(&path, file, &policy).map_err(|error| Stop::unavailable(&error))?;
        let line = Line {
            path: &path,
            report: &report,
            scan_us: start.elapsed().as_micros(),
        };
        let text = if args.json {
            let json = serde_json::to_string(&line).expect("a report is plain data");
            format!("{json}\n")
        } else {
            table(&line)
        };
        stdout
            .write_all(text.as_bytes())
            .map_err(|error| Stop::output(&error))?;
        if !matches!(report.verdict(), Verdict::Clean | Verdict::Active) {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

/// Opens a regular file; a pipe is not waited for.
fn open(path: &Path) -> Result<File, ScanError> {
    let shown = || path.to_string_lossy().into_owned();
    let refused = |source: io::Error| ScanError::Open {
        path: shown(),
        source,
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| refused(errno.into()))?;
    let file = File::from(file);
    if !file.metadata().map_err(refused)?.is_file() {
        return Err(ScanError::Special { path: shown() });
    }
    Ok(file)
}

/// Reads one byte more than may be, and scans what fits.
fn look(path: &str, file: File, policy: &Policy) -> Result<Report, ScanError> {
    let unread = |source| ScanError::Read {
        path: path.to_owned(),
        source,
    };
    let limits = Limits::default();
    let length = file.metadata().map_err(unread)?.len();
    let mut bytes = Vec::new();
    if length <= limits.size_bytes {
        file.take(limits.size_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(unread)?;
    }
    let length = length.max(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    if length > limits.size_bytes {
        return Ok(artifact_scanner::too_large(path, length));
    }
    let subject = Subject {
        name: path,
        bytes: &bytes,
    };
    Ok(artifact_scanner::scan(
        subject,
        policy,
        &mut Budget::new(limits),
    ))
}

/// A file and its findings, for people.
fn table(line: &Line<'_>) -> String {
    let report = line.report;
    let reason = report
        .unscannable_reason()
        .map_or(String::new(), |reason| format!(" ({reason})"));
    let mut text = format!(
        "{:<11} {}{reason}\n",
        word(report.verdict()),
        escape::name(line.path)
    );
    let findings = report.findings().iter();
    for finding in findings.filter(|finding| finding.severity > Severity::Info) {
        let place = match finding.place.as_str() {
            "" => String::new(),
            place => format!(" [{}]", escape::name(place)),
        };
        writeln!(
            text,
            "            {}: {}{place}",
            finding.rule,
            escape::name(&finding.message)
        )
        .expect("to memory");
    }
    text
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Clean => "clean",
        Verdict::Active => "active",
        Verdict::Suspicious => "suspicious",
        Verdict::Malicious => "malicious",
        Verdict::Unscannable => "unscannable",
        Verdict::Unscanned => "unscanned",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch;

    #[test]
    fn the_line_is_that_of_the_contract() {
        let policy = Policy::standard(Rules::own());
        let subject = Subject {
            name: "a.csv",
            bytes: b"1,2\n",
        };
        let report = artifact_scanner::scan(subject, &policy, &mut Budget::new(Limits::default()));
        let line = Line {
            path: "a.csv",
            report: &report,
            scan_us: 7,
        };
        let json: serde_json::Value =
            serde_json::from_str(&serde_json::to_string(&line).expect("plain")).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({
                "path": "a.csv", "verdict": "clean", "unscannable_reason": null,
                "media_type": "text/csv", "serve": "attachment", "bytes": 4,
                "sha256": report.sha256(), "findings": [], "scan_us": 7,
            })
        );
    }

    #[test]
    fn a_folder_and_an_absent_file_are_usage() {
        let folder = scratch::Folder::new();
        let dir = folder.path();
        assert!(matches!(open(dir), Err(ScanError::Special { .. })));
        assert!(matches!(
            open(&dir.join("none")),
            Err(ScanError::Open { .. })
        ));
        let args = ScanArgs {
            files: vec![dir.join("none")],
            json: false,
        };
        assert_eq!(run(&args).map_err(Stop::report), Err(Exit::Usage));
    }
}
