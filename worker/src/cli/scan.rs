//! What does the scanner say of these files?
//!
//! They are scanned as a job's artifacts are, by the confined process, with the configuration's
//! policy and rules; this process opens and hashes them, and looks at nothing in them.

use super::exit::Exit;
use super::stop::Stop;
use super::{config, escape};
use crate::screen::scanner::{Source, Thing};
use crate::screen::table::Fate;
use crate::screen::word::Word;
use crate::screen::{Gate, Kind};
use artifact_scanner::{Limits, Serve, Verdict};
use kiln_protocol::digest::hex;
use kiln_protocol::outcome::{Finding, Verdict as Told};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Look at files as the artifacts of a job are looked at, and say what they are.
///
/// The exit code goes by the verdict: 0 all clean or active, 1 otherwise, 2 where a FILE is none
/// that can be looked at (the others are scanned all the same). What the policy and its table would
/// do with a file is shown, and changes no exit code.
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
    #[error("open `{path}` (name a file that is there)")]
    Absent { path: String, source: io::Error },
    #[error("open `{path}` (let this user read it, or scan as who may)")]
    Closed { path: String, source: io::Error },
    #[error("open `{path}`")]
    Open { path: String, source: io::Error },
    #[error(
        "scan `{path}`: it is a folder; name its files, as by `find {named} -type f -exec kiln \
         scan {{}} +`"
    )]
    Folder { path: String, named: String },
    #[error("scan `{path}`: it is no regular file; save what it gives to one, and name that")]
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
    /// Why there is no word, and which row keeps it in.
    #[serde(skip)]
    notes: Vec<String>,
}

/// Scans the files in order. One that cannot be looked at is told where its line would be, and
/// keeps no other from being scanned.
pub(super) fn run(args: &ScanArgs) -> Result<Exit, Stop> {
    let config = config::load(args.config.as_deref())?;
    super::runtime()?.block_on(async {
        let mut gate = None;
        let mut exit = Exit::Succeeded;
        for path in &args.files {
            let of_file = match open(path) {
                Ok(file) => {
                    let gate = gate.get_or_insert_with(|| {
                        let mut options = config.gate_by_hand();
                        options.processes = 1;
                        Gate::open(options)
                    });
                    one(gate, path, file, args.json).await?
                }
                Err(error) => Stop::usage(&error).report(),
            };
            exit = exit.max(of_file);
        }
        Ok(exit)
    })
}

/// Scans one file and says what it is.
async fn one(gate: &Gate, path: &Path, file: File, json: bool) -> Result<Exit, Stop> {
    let path = path.to_string_lossy();
    let (file, bytes, sha256) = match hashed(&path, file) {
        Ok(hashed) => hashed,
        Err(error) => return Ok(Stop::unavailable(&error).report()),
    };
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
        notes: notes(&word),
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
    let shown = path.to_string_lossy().into_owned();
    let refused = |source: io::Error| {
        let path = shown.clone();
        // A socket cannot be opened at all.
        if source.raw_os_error() == Some(Errno::NXIO.raw_os_error()) {
            return ScanError::Special { path };
        }
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                ScanError::Absent { path, source }
            }
            io::ErrorKind::PermissionDenied => ScanError::Closed { path, source },
            _ => ScanError::Open { path, source },
        }
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| refused(errno.into()))?;
    let file = File::from(file);
    let found = file.metadata().map_err(refused)?;
    if found.is_dir() {
        let named = argument(path);
        return Err(ScanError::Folder { path: shown, named });
    }
    if !found.is_file() {
        return Err(ScanError::Special { path: shown });
    }
    Ok(file)
}

/// A folder as `find` takes it from a shell: quoted where it must be, never an option, and gone
/// into where it is a link.
fn argument(path: &Path) -> String {
    let mut name = path.to_string_lossy().into_owned();
    if name.starts_with('-') {
        name.insert_str(0, "./");
    }
    if path.is_symlink() && !name.ends_with('/') {
        name.push('/');
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+,@%=:".contains(&b);
    if name.bytes().all(plain) {
        name
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
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

/// What the findings do not say.
fn notes(word: &Word) -> Vec<String> {
    let by = word.by().map(str::to_owned);
    word.unscanned().into_iter().chain(by).collect()
}

/// A file and its findings, for people. Of one that was not scanned every finding may be why.
fn table(line: &Line<'_>) -> String {
    let mut text = format!(
        "{:<11} {:<8} {}\n",
        line.verdict.as_str(),
        line.fate.as_str(),
        escape::name(line.path)
    );
    for note in &line.notes {
        writeln!(text, "                     {}", escape::name(note)).expect("to memory");
    }
    let all = line.verdict == Told::Unscannable;
    let told = line.findings.iter();
    for finding in told.filter(|finding| all || finding.severity != "info") {
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
            notes: Vec::new(),
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
    fn what_is_no_file_is_usage_and_told_what_would_be_right() {
        let folder = scratch::Folder::new();
        let dir = folder.path();
        let told = |path: &Path| {
            let error = open(path).expect_err("it is no file");
            crate::fault::chain(&error)
        };
        let name = dir.display();
        assert_eq!(
            told(dir),
            format!(
                "scan `{name}`: it is a folder; name its files, as by `find {name} -type f -exec \
                 kiln scan {{}} +`"
            )
        );
        assert_eq!(
            told(&dir.join("none")),
            format!(
                "open `{name}/none` (name a file that is there): No such file or directory (os \
                 error 2)"
            )
        );
        assert!(told(Path::new("/dev/null")).contains("it is no regular file; save"));
        let socket = dir.join("socket");
        std::os::unix::net::UnixListener::bind(&socket).expect("scratch");
        assert!(told(&socket).contains("it is no regular file; save"));
        let args = ScanArgs {
            files: vec![dir.join("none"), dir.to_owned()],
            json: false,
            config: None,
        };
        assert_eq!(run(&args).map_err(Stop::report), Ok(Exit::Usage));
    }

    #[test]
    fn a_folder_is_named_as_a_shell_takes_it() {
        for (path, named) in [
            ("out/a", "out/a"),
            ("-out", "./-out"),
            ("my out", "'my out'"),
            ("it's", r"'it'\''s'"),
            ("$(id)", "'$(id)'"),
        ] {
            assert_eq!(argument(Path::new(path)), named);
        }
        let folder = scratch::Folder::new();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).expect("scratch");
        assert_eq!(argument(&link), format!("{}/", link.display()));
    }
}
