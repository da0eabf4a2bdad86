//! Which hostile probes are there, how are they run, and which breaches are known and accepted?

use crate::batch;
use crate::places;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// One probe of `hostile/INDEX.tsv`.
#[derive(Debug, Clone)]
pub struct Probe {
    /// `A` to `E`.
    pub group: char,
    /// The name without folder and ending.
    pub name: String,
    /// The file, from `hostile/` on.
    pub file: String,
    /// What it shows.
    pub property: String,
    /// What must come of it, in words.
    pub expected: String,
    /// Whether a first job plants what a second looks for.
    pub two_step: bool,
    /// Who judges: `probe`, `harness`, `probe+harness`, `checker`, `checker+harness`.
    pub oracle: String,
}

/// What a probe said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was reached.
    Contained,
    /// Something was, or it could not tell.
    Breach(String),
    /// The first of two steps is done; the token is for the second.
    Planted(String),
    /// No line.
    Silent,
}

/// The probes of a group, in order of the index.
///
/// # Panics
/// When the index cannot be read.
pub fn index(group: char) -> Vec<Probe> {
    let text = std::fs::read_to_string(places::home().join("hostile/INDEX.tsv"))
        .expect("the index is in the crate");
    let lines = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let probes = lines
        .filter(|cells| cells[0].starts_with(group))
        .map(|cells| Probe {
            group,
            name: Path::new(cells[1])
                .file_stem()
                .expect("a file has a name")
                .to_string_lossy()
                .into_owned(),
            file: cells[1].to_owned(),
            property: cells[2].to_owned(),
            expected: cells[3].to_owned(),
            two_step: cells[4] == "two-step",
            oracle: cells[5].to_owned(),
        });
    probes.collect()
}

impl Probe {
    /// Where the file is.
    pub fn path(&self) -> PathBuf {
        places::home().join("hostile").join(&self.file)
    }

    /// The probe as a job of a batch; C sources are compiled into `built` first.
    ///
    /// # Panics
    /// When the source cannot be read or compiled.
    pub fn job(&self, id: &str, args: &[String], limits: &Value, built: &Path) -> Value {
        let mut job = if self.is_c() {
            batch::binary(id, &self.compile(built), args)
        } else {
            let code = std::fs::read_to_string(self.path()).expect("a probe is text");
            let mut job = batch::python(id, &code);
            job["args"] = json!(args);
            if self.group == 'E' {
                let wall = std::fs::read_to_string(places::home().join("hostile/E/wall.py"))
                    .expect("what the probes of group E use is beside them");
                job["files"] = json!([{"path": "wall.py", "text": wall}]);
            }
            job
        };
        job["limits"] = limits.clone();
        job
    }

    /// Whether it is a C source, with arguments of its own kind.
    pub fn is_c(&self) -> bool {
        Path::new(&self.file)
            .extension()
            .is_some_and(|ending| ending == "c")
    }

    fn compile(&self, built: &Path) -> PathBuf {
        let program = built.join(&self.name);
        if !program.is_file() {
            let part = built.join(format!("{}.{}", self.name, std::process::id()));
            let gcc = Command::new("gcc")
                .args(["-O1", "-static", "-o"])
                .arg(&part)
                .arg(self.path())
                .output();
            let gcc = gcc.expect("gcc is installed");
            assert!(
                gcc.status.success(),
                "{}: {}",
                self.file,
                String::from_utf8_lossy(&gcc.stderr)
            );
            std::fs::rename(part, &program).expect("the folder is writable");
        }
        program
    }
}

/// The last verdict line of a job's output.
pub fn verdict(stdout: &str) -> Verdict {
    let lines = stdout.lines().rev().filter_map(|line| {
        if line == "CONTAINED" {
            return Some(Verdict::Contained);
        }
        let breach = line
            .strip_prefix("BREACH")
            .map(|why| Verdict::Breach(why.trim_start_matches([':', ' ']).to_owned()));
        breach.or_else(|| {
            line.strip_prefix("PLANTED")
                .map(|token| Verdict::Planted(token.trim().to_owned()))
        })
    });
    lines.take(1).next().unwrap_or(Verdict::Silent)
}

/// What a probe with oracle `probe` must have said; else why not.
///
/// # Errors
/// With the breach, or with how the job ended where it said nothing.
pub fn contained(outcome: &Value) -> Result<(), String> {
    match verdict(batch::text(outcome, "stdout")) {
        Verdict::Contained => Ok(()),
        Verdict::Breach(why) => Err(why),
        Verdict::Planted(token) => Err(format!("planted ({token}) and said no more")),
        Verdict::Silent => Err(format!(
            "no verdict: {} {} {}; stderr {:?}",
            outcome["status"],
            outcome["reason"],
            outcome["message"],
            batch::text(outcome, "stderr")
        )),
    }
}

/// What must have come of a single probe: its own word, or an end that the index asks for.
///
/// # Errors
/// With what came instead.
pub fn judged(probe: &Probe, outcome: &Value) -> Result<(), String> {
    if probe.expected != "KILLED syscall" {
        return contained(outcome);
    }
    let silent = verdict(batch::text(outcome, "stdout")) == Verdict::Silent;
    if silent && outcome["status"] == "policy_denied" && outcome["reason"] == "syscall" {
        return Ok(());
    }
    Err(format!("it was not ended: {outcome}"))
}

/// Breaches by probe, gathered while a group runs.
#[derive(Debug, Default)]
pub struct Findings {
    breaches: BTreeMap<String, Vec<String>>,
    seen: BTreeMap<String, usize>,
}

impl Findings {
    /// Notes what came of one run of a probe.
    pub fn note(&mut self, file: &str, way: &str, result: Result<(), String>) {
        *self.seen.entry(file.to_owned()).or_default() += 1;
        if let Err(why) = result {
            self.breaches
                .entry(file.to_owned())
                .or_default()
                .push(format!("{way}: {why}"));
        }
    }

    /// Ends the test: every breach must be waived, and every waiver for a probe that ran must be needed.
    ///
    /// # Panics
    /// With all that is wrong.
    pub fn settle(self) {
        let waivers = waivers();
        let mut wrong = Vec::new();
        for (file, whys) in &self.breaches {
            if !waivers.contains_key(file) {
                wrong.push(format!("BREACH {file}\n    {}", whys.join("\n    ")));
            }
        }
        for file in waivers.keys().filter(|file| self.seen.contains_key(*file)) {
            if !self.breaches.contains_key(file) {
                wrong.push(format!(
                    "{file} is waived but contained: strike it from hostile-waivers.tsv"
                ));
            }
        }
        let runs: usize = self.seen.values().sum();
        assert!(runs > 0, "no probe ran");
        assert!(
            wrong.is_empty(),
            "{} of {} probes, {runs} runs:\n{}",
            wrong.len(),
            self.seen.len(),
            wrong.join("\n")
        );
    }
}

fn waivers() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(places::home().join("hostile-waivers.tsv"))
        .expect("the waivers are in the crate");
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let pairs = lines.map(|line| {
        let (file, reason) = line
            .split_once('\t')
            .expect("a waiver is a probe, a tab and a reason");
        assert!(reason.len() > 20, "the waiver of {file} gives no reason");
        assert!(
            places::home().join("hostile").join(file).is_file(),
            "a waiver names {file}, which is no probe"
        );
        (file.to_owned(), reason.to_owned())
    });
    pairs.collect()
}

/// Something on the host for probes to find: a canary file, listeners, an abstract socket, a telling environment.
#[derive(Debug)]
pub struct Canary {
    child: Child,
    /// The canary file.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
    _folder: tempfile::TempDir,
}

impl Canary {
    /// Puts it up and waits until it stands.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("kiln-canary-")
            .tempdir_in("/var/tmp")
            .expect("/var/tmp is writable");
        let path = folder.path().join("hostile_canary");
        let script = places::home().join("hostile/canary_host.py");
        let mut child = Command::new("/usr/bin/python3")
            .arg(script)
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut line = String::new();
        let pipe = child.stdout.take().expect("stdout is a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(pipe), &mut line)
            .expect("the canary says what it holds");
        let info: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("the canary did not come up: {error}"));
        let text = info["text"]
            .as_str()
            .expect("the canary has a text")
            .to_owned();
        Self {
            child,
            path,
            text,
            _folder: folder,
        }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::{Findings, Verdict, index, verdict};

    #[test]
    fn the_index_holds_every_probe_that_is_there() {
        let count = |groups: &[char]| groups.iter().flat_map(|group| index(*group)).count();
        assert_eq!(count(&['A', 'B', 'C', 'D']), 139);
        let own = index('E');
        assert!(own.len() >= 40);
        let files = std::fs::read_dir(crate::places::home().join("hostile/E")).expect("a folder");
        // One of them is what the others use.
        assert_eq!(files.count(), own.len() + 1);
        for group in ['A', 'B', 'C', 'D', 'E'] {
            assert!(index(group).iter().all(|probe| probe.path().is_file()));
        }
    }

    #[test]
    fn a_verdict_is_the_last_line_of_its_kind() {
        assert_eq!(verdict("noise\nCONTAINED\n"), Verdict::Contained);
        assert_eq!(
            verdict("BREACH: why not\n"),
            Verdict::Breach("why not".to_owned())
        );
        assert_eq!(verdict("PLANTED a,b\n"), Verdict::Planted("a,b".to_owned()));
        assert_eq!(verdict("noise"), Verdict::Silent);
    }

    #[test]
    #[should_panic(expected = "BREACH A/dns.py")]
    fn a_breach_fails_the_group() {
        let mut findings = Findings::default();
        findings.note("A/dns.py", "first", Ok(()));
        findings.note("A/dns.py", "second", Err("a datagram left".to_owned()));
        findings.settle();
    }

    #[test]
    #[should_panic(expected = "no probe ran")]
    fn a_group_that_ran_nothing_fails() {
        Findings::default().settle();
    }
}
