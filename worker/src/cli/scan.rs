//! What does the scanner say of these files?
//!
//! They are scanned as a job's artifacts are, by the confined process, with the configuration's
//! policy and rules; this process opens and hashes them, and looks at nothing in them.

use super::exit::Exit;
use super::stop::Stop;
use super::{config, escape};
use crate::screen::scanner::{Source, Thing};
use crate::screen::table::Fate;
use crate::screen::{Gate, Kind};
use artifact_scanner::{Limits, Serve, Verdict};
use kiln_protocol::digest::hex;
use kiln_protocol::outcome::{Finding, Verdict as Told};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Look at files as the artifacts of a job are looked at, and say what they are.
///
/// Exit: 0 all clean or active, 1 otherwise, 2 usage (an absent FILE).
#[derive(Debug, clap::Args)]
pub(super) struct ScanArgs {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one line of JSON for each file instead of a table
    #[arg(long)]
    json: bool,
    /// The configuration: policy, rules, clamd
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
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
    verdict: Told,
    unscannable_reason: Option<&'a str>,
    media_type: &'a str,
    serve: Option<Serve>,
    bytes: u64,
    sha256: Option<&'a str>,
    findings: &'a [Finding],
    scan_us: u128,
    #[serde(skip)]
    fate: Fate,
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
    let config = config::load(args.config.as_deref())?;
    let files = args.files.iter().zip(files.into_iter().flatten());
    super::runtime()?.block_on(async {
        let mut options = config.gate_by_hand();
        options.processes = 1;
        let gate = Gate::open(options);
        let mut exit = Exit::Succeeded;
        for (path, file) in files {
            exit = exit.max(one(&gate, path, file, args.json).await?);
        }
        Ok(exit)
    })
}

/// Scans one file and says what it is.
async fn one(gate: &Gate, path: &Path, file: File, json: bool) -> Result<Exit, Stop> {
    let path = path.to_string_lossy();
    let (file, bytes, sha256) = hashed(&path, file).map_err(|error| Stop::unavailable(&error))?;
    let start = Instant::now();
    let thing = Thing {
        name: &path,
        kind: Kind::File,
        source: Source::File(&file),
        bytes,
        sha256: sha256.as_deref(),
    };
    let (word, fate) = gate
        .judge(thing)
        .await
        .map_err(|error| Stop::unavailable(&error))?;
    let line = Line {
        path: &path,
        verdict: word.told(),
        unscannable_reason: word.reason(),
        media_type: word.media_type(),
        serve: word.serve(),
        bytes,
        sha256: sha256.as_deref(),
        findings: word.findings(),
        scan_us: start.elapsed().as_micros(),
        fate,
    };
    let text = if json {
        let json = serde_json::to_string(&line).expect("a report is plain data");
        format!("{json}\n")
    } else {
        table(&line)
    };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Stop::output(&error))?;
    Ok(match word.verdict() {
        Verdict::Clean | Verdict::Active => Exit::Succeeded,
        _ => Exit::Failed,
    })
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

/// The length of a file and its hash; none where it is larger than what is scanned.
fn hashed(path: &str, mut file: File) -> Result<(File, u64, Option<String>), ScanError> {
    let unread = |source| ScanError::Read {
        path: path.to_owned(),
        source,
    };
    let length = file.metadata().map_err(unread)?.len();
    if length > Limits::default().size_bytes {
        return Ok((file, length, None));
    }
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut (&file).take(length), &mut hash).map_err(unread)?;
    file.rewind().map_err(unread)?;
    Ok((file, bytes, Some(hex(&hash.finalize()))))
}

/// A file and its findings, for people.
fn table(line: &Line<'_>) -> String {
    let reason = line
        .unscannable_reason
        .map_or(String::new(), |reason| format!(" ({reason})"));
    let mut text = format!(
        "{:<11} {:<8} {}{reason}\n",
        line.verdict.as_str(),
        line.fate.as_str(),
        escape::name(line.path)
    );
    let told = line.findings.iter();
    for finding in told.filter(|finding| finding.severity != "info") {
        let place = match finding.place.as_deref() {
            None | Some("") => String::new(),
            Some(place) => format!(" [{}]", escape::name(place)),
        };
        writeln!(
            text,
            "                     {}: {}{place}",
            finding.rule,
            escape::name(&finding.message)
        )
        .expect("to memory");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch;
    use crate::screen::word::Word;

    #[test]
    fn the_line_is_that_of_the_contract() {
        let word = Word::for_test(Verdict::Clean);
        let line = Line {
            path: "a.csv",
            verdict: word.told(),
            unscannable_reason: word.reason(),
            media_type: word.media_type(),
            serve: Some(Serve::Attachment),
            bytes: 4,
            sha256: Some("ab"),
            findings: word.findings(),
            scan_us: 7,
            fate: Fate::Release,
        };
        let json: serde_json::Value =
            serde_json::from_str(&serde_json::to_string(&line).expect("plain")).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({
                "path": "a.csv", "verdict": "clean", "unscannable_reason": null,
                "media_type": "text/csv", "serve": "attachment", "bytes": 4,
                "sha256": "ab", "findings": [], "scan_us": 7,
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
            config: None,
        };
        assert_eq!(run(&args).map_err(Stop::report), Err(Exit::Usage));
    }
}
