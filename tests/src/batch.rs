//! What becomes of many jobs given to one `kiln batch`, line by line?

use crate::kiln::{command, command_of};
use crate::places;
use base64::Engine as _;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// One job as a line: Python text.
pub fn python(id: &str, code: &str) -> Value {
    json!({"schema": "kiln.job.v1", "id": id, "profile": "python", "code": code})
}

/// One job as a line: shell text.
pub fn bash(id: &str, code: &str) -> Value {
    json!({"schema": "kiln.job.v1", "id": id, "profile": "bash", "code": code})
}

/// One job as a line: a static program of this machine, sent along and run with these arguments, in the sandboxes that
/// Python jobs share, so that they follow each other.
///
/// # Panics
/// When the program cannot be read.
pub fn binary(id: &str, program: &Path, args: &[String]) -> Value {
    let bytes =
        std::fs::read(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let mut words = vec!["./probe".to_owned()];
    words.extend_from_slice(args);
    json!({"schema": "kiln.job.v1", "id": id, "profile": "python", "command": words,
        "files": [{"path": "probe", "base64": base64::engine::general_purpose::STANDARD.encode(bytes), "executable": true}]})
}

/// A running `kiln batch -`.
#[derive(Debug)]
pub struct Batch {
    child: Child,
    stdin: Option<ChildStdin>,
    results: Receiver<Value>,
    early: Vec<Value>,
    out: PathBuf,
    folder: tempfile::TempDir,
}

/// How a batch ended.
#[derive(Debug)]
pub struct Ended {
    /// `kiln`'s exit code; `None` where a signal ended it.
    pub exit: Option<i32>,
    /// Results that nobody had taken.
    pub results: Vec<Value>,
    /// What `kiln` wrote to its standard error.
    pub stderr: String,
}

impl Batch {
    /// Starts one with so many slots.
    ///
    /// # Panics
    /// When `kiln` cannot be started.
    pub fn start(slots: usize, options: &[&str]) -> Self {
        let folder = places::scratch();
        let kiln = command(folder.path());
        Self::of(kiln, folder, slots, options)
    }

    /// Starts one of a program for tests, with guards of the sandbox taken off.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn without(guards: &str, slots: usize) -> Self {
        Self::start_with(&places::kiln_unguarded(), guards, slots)
    }

    /// Starts one of this program, asked to take guards off.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_with(program: &Path, guards: &str, slots: usize) -> Self {
        let folder = places::scratch();
        let mut kiln = command_of(program, folder.path());
        kiln.env("KILN_WITHOUT", guards);
        Self::of(kiln, folder, slots, &[])
    }

    fn of(mut kiln: Command, folder: tempfile::TempDir, slots: usize, options: &[&str]) -> Self {
        let out = folder.path().join("out");
        let log = std::fs::File::create(folder.path().join("stderr"))
            .expect("the scratch folder is writable");
        kiln.args(["batch", "-", "--slots", &slots.to_string(), "--out"])
            .arg(&out)
            .args(options);
        kiln.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = kiln.spawn().expect("kiln can be started");
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
        let (send, results) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let result = serde_json::from_str(&line)
                    .unwrap_or_else(|error| json!({"not_json": line, "error": error.to_string()}));
                if send.send(result).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            stdin,
            results,
            early: Vec::new(),
            out,
            folder,
        }
    }

    /// The process id of `kiln`.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where `DIR/<job id>/` are.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// What `kiln` has written to its standard error up to now.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends a line as it is.
    ///
    /// # Panics
    /// When `kiln` does not read.
    pub fn send_raw(&mut self, line: &str) {
        let pipe = self.stdin.as_mut().expect("the batch is open");
        let sent = pipe
            .write_all(line.as_bytes())
            .and_then(|()| pipe.write_all(b"\n"))
            .and_then(|()| pipe.flush());
        sent.unwrap_or_else(|error| panic!("kiln batch does not read: {error}\n{}", self.log()));
    }

    /// Sends a job.
    pub fn send(&mut self, job: &Value) {
        self.send_raw(&job.to_string());
    }

    /// The next result, of whatever job, or `None` after this long or when there is no more.
    pub fn next(&mut self, patience: Duration) -> Option<Value> {
        if !self.early.is_empty() {
            return Some(self.early.remove(0));
        }
        self.results.recv_timeout(patience).ok()
    }

    /// Sends a job and waits for its result.
    ///
    /// # Panics
    /// When none comes within three minutes.
    pub fn run(&mut self, job: &Value) -> Value {
        self.send(job);
        let id = job["id"].clone();
        let end = Instant::now() + Duration::from_mins(3);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let result = self.results.recv_timeout(left);
            let result = result
                .unwrap_or_else(|error| panic!("no result for {id}: {error}\n{}", self.log()));
            if result["job_id"] == id {
                return result;
            }
            self.early.push(result);
        }
    }

    /// Closes the stream of jobs; `kiln` ends after the last.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Closes, waits for the end, and takes what results are left.
    ///
    /// # Panics
    /// When `kiln` does not end within five minutes.
    pub fn end(mut self) -> Ended {
        self.close();
        let patience = Instant::now() + Duration::from_mins(5);
        let mut results = std::mem::take(&mut self.early);
        loop {
            match self
                .results
                .recv_timeout(patience.saturating_duration_since(Instant::now()))
            {
                Ok(result) => results.push(result),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("kiln batch does not end\n{}", self.log()),
            }
        }
        let exit = self.child.wait().expect("kiln can be waited for").code();
        Ended {
            exit,
            results,
            stderr: self.log(),
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// The text of a stream in an outcome.
pub fn text<'a>(outcome: &'a Value, stream: &str) -> &'a str {
    outcome[stream]["text"].as_str().unwrap_or_default()
}

/// Which sandbox a job ran in: its id and the use it was, from 1.
pub fn sandbox(outcome: &Value) -> (String, u64) {
    let sandbox = &outcome["sandbox"];
    (
        sandbox["id"].as_str().unwrap_or_default().to_owned(),
        sandbox["uses"].as_u64().unwrap_or_default(),
    )
}
