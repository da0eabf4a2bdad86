//! What becomes of one program given to `kiln run`?

use crate::leftovers::Scope;
use crate::places;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What is run: a file, text, or a command, with all that goes in beside it.
#[derive(Debug, Clone, Default)]
pub struct Program {
    text: Option<(String, String)>,
    file: Option<PathBuf>,
    command: Vec<String>,
    options: Vec<OsString>,
    stdin: Option<Vec<u8>>,
}

impl Program {
    /// Text saved as `main.<ending>` and run from there.
    pub fn text(ending: &str, text: &str) -> Self {
        Self {
            text: Some((ending.to_owned(), text.to_owned())),
            ..Self::default()
        }
    }

    /// Python text.
    pub fn python(text: &str) -> Self {
        Self::text("py", text)
    }

    /// Shell text.
    pub fn bash(text: &str) -> Self {
        Self::text("sh", text)
    }

    /// A file that exists (or not, where that is the point).
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self {
            file: Some(path.as_ref().to_owned()),
            ..Self::default()
        }
    }

    /// A command line.
    pub fn command(words: &[&str]) -> Self {
        Self {
            command: words.iter().map(|&word| word.to_owned()).collect(),
            ..Self::default()
        }
    }

    /// The main file of a folder below `cases/` or `jobs/`, its other files being inputs.
    ///
    /// # Panics
    /// When there is no such folder.
    pub fn case(folder: &str) -> Self {
        let folder = places::home().join(folder);
        let mut program = Self::default();
        let entries = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            match path.file_name().and_then(|name| name.to_str()) {
                Some("EXPECT.md" | "job_b.py") => {}
                Some("job.py" | "job.sh" | "job.js") => program.file = Some(path),
                _ => program = program.option("--input").option(path),
            }
        }
        assert!(program.file.is_some(), "{} holds no job", folder.display());
        program
    }

    /// One more word before the file.
    #[must_use]
    pub fn option(mut self, word: impl Into<OsString>) -> Self {
        self.options.push(word.into());
        self
    }

    /// Words after `--`.
    #[must_use]
    pub fn args(mut self, words: &[&str]) -> Self {
        self.command
            .extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    /// The profile, where the ending does not say it.
    #[must_use]
    pub fn profile(self, name: &str) -> Self {
        self.option("--profile").option(name)
    }

    /// A file or folder for `/job`.
    #[must_use]
    pub fn input(self, source: impl AsRef<Path>) -> Self {
        self.option("--input").option(source.as_ref().as_os_str())
    }

    /// A variable for the job.
    #[must_use]
    pub fn env(self, pair: &str) -> Self {
        self.option("--env").option(pair)
    }

    /// Standard input for the job, by way of `--stdin -`.
    #[must_use]
    pub fn stdin(mut self, bytes: &[u8]) -> Self {
        self.stdin = Some(bytes.to_vec());
        self.option("--stdin").option("-")
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Run {
    /// `outcome.json`, or null where none was written.
    pub outcome: Value,
    /// The folder given by `--out`.
    pub out: PathBuf,
    /// `kiln`'s own exit code; `None` where a signal ended it.
    pub exit: Option<i32>,
    /// What `kiln` wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What `kiln` wrote to its standard error.
    pub stderr: String,
    /// From start to end of `kiln`.
    pub took: Duration,
    _scratch: tempfile::TempDir,
}

impl Run {
    /// The value at a JSON pointer of the outcome; null where there is none.
    pub fn at(&self, pointer: &str) -> &Value {
        self.outcome.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// A text at a JSON pointer; empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// A number at a JSON pointer.
    ///
    /// # Panics
    /// When the outcome holds no number there.
    pub fn number(&self, pointer: &str) -> u64 {
        self.at(pointer)
            .as_u64()
            .unwrap_or_else(|| panic!("no number at `{pointer}` of {self:#?}"))
    }

    /// The raw bytes kept of a stream (`stdout` or `stderr`).
    ///
    /// # Panics
    /// When the out folder holds no such file.
    pub fn raw(&self, stream: &str) -> Vec<u8> {
        std::fs::read(self.out.join(stream))
            .unwrap_or_else(|error| panic!("no `{stream}` kept: {error}\n{self:#?}"))
    }

    /// The bytes of a collected artifact, where it is there.
    pub fn artifact(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.out.join("artifacts").join(path)).ok()
    }

    /// The paths the outcome lists as artifacts, sorted.
    pub fn artifacts(&self) -> Vec<String> {
        names(&self.outcome, "artifacts")
    }

    /// The paths the outcome lists as skipped, with their reasons, sorted.
    pub fn skipped(&self) -> Vec<(String, String)> {
        let list = self.at("/skipped").as_array().cloned().unwrap_or_default();
        let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let mut found: Vec<_> = list
            .iter()
            .map(|entry| (word(entry, "path"), word(entry, "reason")))
            .collect();
        found.sort();
        found
    }
}

#[cfg(test)]
impl Run {
    /// A run that was not, with these files in its out folder.
    pub(crate) fn pretend(outcome: Value, exit: Option<i32>, files: &[(&str, &[u8])]) -> Self {
        let scratch = places::scratch();
        let out = scratch.path().join("out");
        for (name, bytes) in files {
            let path = out.join(name);
            std::fs::create_dir_all(path.parent().expect("below out")).expect("writable");
            std::fs::write(path, bytes).expect("writable");
        }
        Self {
            outcome,
            out,
            exit,
            stdout: Vec::new(),
            stderr: String::new(),
            took: Duration::ZERO,
            _scratch: scratch,
        }
    }
}

/// The `path` of each entry of a list in an outcome, sorted.
pub fn names(outcome: &Value, list: &str) -> Vec<String> {
    let entries = outcome[list].as_array().cloned().unwrap_or_default();
    let mut paths: Vec<_> = entries
        .iter()
        .map(|entry| entry["path"].as_str().unwrap_or_default().to_owned())
        .collect();
    paths.sort();
    paths
}

/// A `kiln run` that goes on.
#[derive(Debug)]
pub struct Started {
    /// The process.
    pub child: Child,
    /// The folder given by `--out`.
    pub out: PathBuf,
    began: Instant,
    scratch: tempfile::TempDir,
}

/// `kiln` with its words, from an empty folder, in an environment of two variables and what keeps it apart from others.
pub fn command(folder: &Path) -> Command {
    command_of(&places::kiln(), folder)
}

/// As [`command`], of this program.
pub fn command_of(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/root")
        .envs(Scope::tree().env());
    command
}

/// Starts `kiln run` and does not wait.
///
/// # Panics
/// When `kiln` cannot be started.
pub fn start(program: &Program, options: &[&str]) -> Started {
    let scratch = places::scratch();
    let out = scratch.path().join("out");
    let mut kiln = command(scratch.path());
    kiln.arg("run")
        .arg("--out")
        .arg(&out)
        .args(options)
        .args(&program.options);
    if let Some((ending, text)) = &program.text {
        let main = scratch.path().join(format!("main.{ending}"));
        std::fs::write(&main, text).expect("the scratch folder is writable");
        kiln.arg(main);
    }
    if let Some(file) = &program.file {
        kiln.arg(file);
    }
    if !program.command.is_empty() {
        kiln.arg("--").args(&program.command);
    }
    kiln.stdin(if program.stdin.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    });
    let began = Instant::now();
    let mut child = kiln
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kiln can be started");
    if let (Some(bytes), Some(mut pipe)) = (program.stdin.clone(), child.stdin.take()) {
        std::thread::spawn(move || std::io::Write::write_all(&mut pipe, &bytes).ok());
    }
    Started {
        child,
        out,
        began,
        scratch,
    }
}

impl Started {
    /// Waits for the end and reads what is there.
    ///
    /// # Panics
    /// When `kiln` cannot be waited for.
    pub fn end(self) -> Run {
        let Output {
            status,
            stdout,
            stderr,
        } = self
            .child
            .wait_with_output()
            .expect("kiln can be waited for");
        let took = self.began.elapsed();
        let outcome = std::fs::read(self.out.join("outcome.json")).map_or(Value::Null, |bytes| {
            serde_json::from_slice(&bytes)
                .unwrap_or_else(|error| panic!("outcome.json is not JSON: {error}"))
        });
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Run {
            outcome,
            out: self.out,
            exit: status.code(),
            stdout,
            stderr,
            took,
            _scratch: self.scratch,
        }
    }
}

/// Runs one program to its end.
pub fn run(program: &Program, options: &[&str]) -> Run {
    start(program, options).end()
}
