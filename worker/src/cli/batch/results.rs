//! Which jobs of a batch have an answer already, and where does the next answer go?
//!
//! The file of results is also the batch's memory: it is read once at the start, a last line that
//! a crash tore is cut off, and from then on whole lines are appended and flushed one by one. The
//! file is locked, so that two batches never write into one.

use crate::cli::exit::Exit;
use kiln_protocol::outcome::Status;
use rustix::fs::{FlockOperation, flock};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Why the results cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResultsError {
    #[error("open the results file `{path}`")]
    Open { path: PathBuf, source: io::Error },
    #[error("lock the results file `{path}`: another batch writes to it")]
    Locked { path: PathBuf },
    #[error("read the results file `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("`{path}` line {line} is not an outcome; give another `--results` file")]
    Foreign { path: PathBuf, line: u64 },
    #[error("cut off the torn last line of `{path}`")]
    Cut { path: PathBuf, source: io::Error },
    #[error("write a result")]
    Write { source: io::Error },
}

/// The part of an outcome that a resumed batch needs.
#[derive(Debug, Deserialize)]
struct Seen {
    job_id: String,
    status: Status,
}

/// The answers of earlier runs of this batch, by job id.
#[derive(Debug, Default)]
pub(crate) struct Known(HashMap<String, Exit>);

impl Known {
    /// What the answer to a job means for the exit code, where there is one.
    pub(crate) fn get(&self, id: &str) -> Option<Exit> {
        self.0.get(id).copied()
    }
}

/// Where the lines go.
pub(crate) struct Results {
    sink: Box<dyn Write + Send>,
    gone: bool,
}

impl std::fmt::Debug for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Results").finish_non_exhaustive()
    }
}

impl Results {
    /// Lines go to stdout; nothing is known.
    pub(crate) fn to_stdout() -> Self {
        Self {
            sink: Box::new(io::stdout()),
            gone: false,
        }
    }

    /// Lines are appended to a file, after what it holds.
    pub(crate) fn to_file(path: &Path) -> Result<(Self, Known), ResultsError> {
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .map_err(|source| ResultsError::Open {
                path: path.into(),
                source,
            })?;
        // A terminal or a pipe holds nothing to resume from.
        let regular = file.metadata().is_ok_and(|meta| meta.is_file());
        if !regular {
            let results = Self {
                sink: Box::new(file),
                gone: false,
            };
            return Ok((results, Known::default()));
        }
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| ResultsError::Locked { path: path.into() })?;
        let known = resume(&file, path)?;
        let results = Self {
            sink: Box::new(file),
            gone: false,
        };
        Ok((results, known))
    }

    /// Appends one line and flushes it. What a reader that is gone does not get is no mistake.
    pub(crate) fn put(&mut self, mut line: Vec<u8>) -> Result<(), ResultsError> {
        if self.gone {
            return Ok(());
        }
        line.push(b'\n');
        match self.sink.write_all(&line).and_then(|()| self.sink.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            written => written.map_err(|source| ResultsError::Write { source }),
        }
    }

    /// Whether the reader of a pipe went away.
    pub(crate) fn gone(&self) -> bool {
        self.gone
    }
}

/// Reads what is there and leaves the file ending on a whole line.
fn resume(file: &File, path: &Path) -> Result<Known, ResultsError> {
    let read = |source| ResultsError::Read {
        path: path.into(),
        source,
    };
    let mut known = Known::default();
    let mut reader = BufReader::new(file);
    let mut whole_bytes: u64 = 0;
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line).map_err(read)?;
        if bytes == 0 {
            return Ok(known);
        }
        number += 1;
        let ended = line.ends_with(b"\n");
        match serde_json::from_slice::<Seen>(&line) {
            Ok(seen) if ended => {
                known.0.insert(seen.job_id, exit_of(seen.status));
            }
            // Without its line feed a line is torn, even where it parses: its job runs again.
            // Every outcome begins with a brace; what does not was never ours to cut.
            _ if !ended && line.starts_with(b"{") => {
                return cut(file, path, whole_bytes).map(|()| known);
            }
            _ if line.trim_ascii().is_empty() => {}
            _ => {
                return Err(ResultsError::Foreign {
                    path: path.into(),
                    line: number,
                });
            }
        }
        whole_bytes += bytes as u64;
    }
}

fn cut(mut file: &File, path: &Path, bytes: u64) -> Result<(), ResultsError> {
    file.set_len(bytes)
        .and_then(|()| file.seek(SeekFrom::End(0)).map(drop))
        .map_err(|source| ResultsError::Cut {
            path: path.into(),
            source,
        })
}

/// What one answer means for the exit code of the batch.
pub(crate) fn exit_of(status: Status) -> Exit {
    match status {
        Status::Succeeded => Exit::Succeeded,
        Status::Failed
        | Status::TimedOut
        | Status::LimitExceeded
        | Status::PolicyDenied
        | Status::Cancelled
        | Status::Expired => Exit::Failed,
        Status::Rejected => Exit::Usage,
        Status::PlatformError => Exit::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = r#"{"job_id":"a","status":"succeeded"}"#;
    const B: &str = r#"{"job_id":"b","status":"timed_out"}"#;

    fn with(content: &str, then: impl FnOnce(Result<(Results, Known), ResultsError>, &Path)) {
        let dir = crate::cli::scratch::Folder::new();
        let path = dir.path().join("results.jsonl");
        std::fs::write(&path, content).expect("a scratch file");
        then(Results::to_file(&path), &path);
    }

    fn held(path: &Path) -> String {
        String::from_utf8(std::fs::read(path).expect("the file is there")).expect("text")
    }

    #[test]
    fn whole_lines_are_known_and_kept() {
        with(&format!("{A}\n\n{B}\n"), |opened, path| {
            let (mut results, known) = opened.expect("a file of outcomes");
            assert_eq!(known.get("a"), Some(Exit::Succeeded));
            assert_eq!(known.get("b"), Some(Exit::Failed));
            assert_eq!(known.get("c"), None);
            results.put(b"{}".to_vec()).expect("the disk has room");
            assert_eq!(held(path), format!("{A}\n\n{B}\n{{}}\n"));
        });
    }

    #[test]
    fn a_torn_last_line_is_cut_off_wherever_it_was_torn() {
        for cut in 1..=B.len() {
            with(&format!("{A}\n{}", &B[..cut]), |opened, path| {
                let (mut results, known) = opened.expect("a torn end is mended");
                assert_eq!(known.get("a"), Some(Exit::Succeeded));
                assert_eq!(known.get("b"), None, "torn at {cut}");
                results.put(B.into()).expect("the disk has room");
                assert_eq!(held(path), format!("{A}\n{B}\n"));
            });
        }
    }

    #[test]
    fn a_foreign_file_is_not_written_to() {
        let text = "dear diary\nsecond\n";
        with(text, |opened, path| {
            let error = opened.expect_err("not a file of outcomes");
            assert!(matches!(error, ResultsError::Foreign { line: 1, .. }));
            assert_eq!(held(path), text);
        });
    }

    #[test]
    fn a_foreign_single_line_is_not_taken_for_a_torn_one() {
        with("precious notes without a line feed", |opened, path| {
            assert!(matches!(opened, Err(ResultsError::Foreign { .. })));
            assert_eq!(held(path), "precious notes without a line feed");
        });
    }

    #[test]
    fn a_reader_that_is_gone_is_no_mistake() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let mut results = Results {
            sink: Box::new(writer),
            gone: false,
        };
        results.put(A.into()).expect("it is read");
        assert!(!results.gone());
        drop(reader);
        for _ in 0..2 {
            results.put(B.into()).expect("nobody wants it");
            assert!(results.gone());
        }
        results.sink = Box::new(File::open("/dev/null").expect("it is there"));
        results.gone = false;
        assert!(results.put(A.into()).is_err(), "anything else is");
    }

    #[test]
    fn two_batches_do_not_write_into_one_file() {
        with("", |first, path| {
            let first = first.expect("an empty file");
            assert!(matches!(
                Results::to_file(path),
                Err(ResultsError::Locked { .. })
            ));
            drop(first);
            assert!(Results::to_file(path).is_ok());
        });
    }
}
