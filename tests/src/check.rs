//! Did a program end as it should? `check(program, limits, expect)` is one test.

use crate::kiln::{Program, Run, run};
use regex::bytes::Regex;
use std::time::Duration;

/// What is asked of the exit code.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ExitCode {
    /// Nothing.
    #[default]
    Any,
    /// That it is null.
    Null,
    /// This number.
    Is(i64),
}

/// How a job must end; what is not said is not looked at.
#[derive(Debug, Default, Clone)]
pub struct Expect {
    ends: Vec<(String, Option<String>)>,
    exit_code: ExitCode,
    signal: Option<String>,
    stdout: Vec<String>,
    stdout_not: Vec<String>,
    stdout_exact: Option<Vec<u8>>,
    stderr: Vec<String>,
    stderr_not: Vec<String>,
    stderr_exact: Option<Vec<u8>>,
    says: Vec<String>,
    artifacts: Option<Vec<String>>,
    within: Option<Duration>,
    peak_mib: Option<std::ops::RangeInclusive<u64>>,
    truncated: Option<(String, bool)>,
}

impl Expect {
    /// Status `succeeded`.
    pub fn succeeded() -> Self {
        Self::default().or("succeeded", None).exit_code(Some(0))
    }

    /// Status `failed` with this exit code.
    pub fn failed(code: i64) -> Self {
        Self::default()
            .or("failed", Some("exit_code"))
            .exit_code(Some(code))
    }

    /// This status with this reason.
    pub fn ends(status: &str, reason: &str) -> Self {
        Self::default().or(status, Some(reason))
    }

    /// Or this one.
    #[must_use]
    pub fn or(mut self, status: &str, reason: Option<&str>) -> Self {
        self.ends
            .push((status.to_owned(), reason.map(str::to_owned)));
        self
    }

    /// The program's exit code; `None`: null.
    #[must_use]
    pub fn exit_code(mut self, code: Option<i64>) -> Self {
        self.exit_code = code.map_or(ExitCode::Null, ExitCode::Is);
        self
    }

    /// The signal that ended the program; the exit code is null then.
    #[must_use]
    pub fn signal(mut self, name: &str) -> Self {
        self.signal = Some(name.to_owned());
        self.exit_code(None)
    }

    /// A pattern in the raw bytes of standard output.
    #[must_use]
    pub fn stdout(mut self, pattern: &str) -> Self {
        self.stdout.push(pattern.to_owned());
        self
    }

    /// A pattern that standard output must not hold.
    #[must_use]
    pub fn stdout_not(mut self, pattern: &str) -> Self {
        self.stdout_not.push(pattern.to_owned());
        self
    }

    /// Standard output, byte for byte.
    #[must_use]
    pub fn stdout_exact(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdout_exact = Some(bytes.as_ref().to_vec());
        self
    }

    /// A pattern in the raw bytes of standard error.
    #[must_use]
    pub fn stderr(mut self, pattern: &str) -> Self {
        self.stderr.push(pattern.to_owned());
        self
    }

    /// A pattern that standard error must not hold.
    #[must_use]
    pub fn stderr_not(mut self, pattern: &str) -> Self {
        self.stderr_not.push(pattern.to_owned());
        self
    }

    /// Standard error, byte for byte.
    #[must_use]
    pub fn stderr_exact(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stderr_exact = Some(bytes.as_ref().to_vec());
        self
    }

    /// A pattern in what a reader is told: message, hint, and the messages of the warnings.
    #[must_use]
    pub fn says(mut self, pattern: &str) -> Self {
        self.says.push(pattern.to_owned());
        self
    }

    /// Exactly these artifacts, released, with their bytes in the out folder.
    #[must_use]
    pub fn artifacts(mut self, paths: &[&str]) -> Self {
        let mut paths: Vec<_> = paths.iter().map(|&path| path.to_owned()).collect();
        paths.sort();
        self.artifacts = Some(paths);
        self
    }

    /// The whole of `kiln run` takes at most this.
    #[must_use]
    pub fn within(mut self, seconds: f64) -> Self {
        self.within = Some(Duration::from_secs_f64(seconds));
        self
    }

    /// The peak of memory lies between these.
    #[must_use]
    pub fn peak_mib(mut self, range: std::ops::RangeInclusive<u64>) -> Self {
        self.peak_mib = Some(range);
        self
    }

    /// Whether bytes of a stream were dropped.
    #[must_use]
    pub fn truncated(mut self, stream: &str, is: bool) -> Self {
        self.truncated = Some((stream.to_owned(), is));
        self
    }

    /// All that is not as it should be.
    pub fn complaints(&self, run: &Run) -> Vec<String> {
        let mut wrong = Vec::new();
        self.ending(run, &mut wrong);
        self.streams(run, &mut wrong);
        let told = told(run);
        for pattern in &self.says {
            if !matches(pattern, told.as_bytes()) {
                wrong.push(format!(
                    "message, hint and warnings do not say `{pattern}`: {told:?}"
                ));
            }
        }
        if let Some(paths) = &self.artifacts {
            let found = run.artifacts();
            if found != *paths {
                wrong.push(format!(
                    "artifacts {found:?}, not {paths:?} (skipped {:?})",
                    run.skipped()
                ));
            }
            for path in paths.iter().filter(|path| run.artifact(path).is_none()) {
                wrong.push(format!("artifact `{path}` is not in the out folder"));
            }
        }
        if let Some(bound) = self.within.filter(|&bound| run.took > bound) {
            wrong.push(format!("took {:?}, more than {bound:?}", run.took));
        }
        if let Some(range) = &self.peak_mib {
            let peak = run
                .at("/usage/memory_peak_bytes")
                .as_u64()
                .map(|bytes| bytes >> 20);
            if !peak.is_some_and(|peak| range.contains(&peak)) {
                wrong.push(format!("peak of memory {peak:?} MiB, not in {range:?}"));
            }
        }
        if let Some((stream, is)) = &self.truncated {
            let found = run.at(&format!("/{stream}/truncated"));
            if found.as_bool() != Some(*is) {
                wrong.push(format!("`{stream}` truncated is {found}, not {is}"));
            }
        }
        wrong
    }

    fn ending(&self, run: &Run, wrong: &mut Vec<String>) {
        let status = run.text("/status");
        let reason = run.at("/reason").as_str();
        if !self
            .ends
            .iter()
            .any(|(wanted, why)| wanted == status && why.as_deref() == reason)
        {
            wrong.push(format!(
                "ended {status:?} {reason:?}, not one of {:?}",
                self.ends
            ));
        }
        let exit = i32::from(status != "succeeded");
        let expected = match status {
            "rejected" => 2,
            "platform_error" => 69,
            _ => exit,
        };
        if run.exit != Some(expected) {
            wrong.push(format!(
                "kiln exited {:?} for status {status:?}, not {expected}",
                run.exit
            ));
        }
        if status != "succeeded" && run.text("/message").is_empty() {
            wrong.push("there is no message".to_owned());
        }
        let found = run.at("/exit_code").as_i64();
        let as_asked = match self.exit_code {
            ExitCode::Any => true,
            ExitCode::Null => found.is_none(),
            ExitCode::Is(code) => found == Some(code),
        };
        if !as_asked {
            wrong.push(format!("exit code {found:?}, not {:?}", self.exit_code));
        }
        if let Some(name) = self
            .signal
            .as_ref()
            .filter(|&name| run.text("/signal") != name)
        {
            wrong.push(format!("signal {}, not {name}", run.at("/signal")));
        }
    }

    fn streams(&self, run: &Run, wrong: &mut Vec<String>) {
        let sets = [
            ("stdout", &self.stdout, &self.stdout_not, &self.stdout_exact),
            ("stderr", &self.stderr, &self.stderr_not, &self.stderr_exact),
        ];
        for (stream, wanted, unwanted, exact) in sets {
            let Ok(raw) = std::fs::read(run.out.join(stream)) else {
                wrong.push(format!("the out folder holds no `{stream}`"));
                continue;
            };
            let shown =
                || String::from_utf8_lossy(&raw[raw.len().saturating_sub(600)..]).into_owned();
            for pattern in wanted.iter().filter(|pattern| !matches(pattern, &raw)) {
                wrong.push(format!(
                    "`{stream}` has no match for `{pattern}`: {:?}",
                    shown()
                ));
            }
            for pattern in unwanted.iter().filter(|pattern| matches(pattern, &raw)) {
                wrong.push(format!(
                    "`{stream}` has a match for `{pattern}`: {:?}",
                    shown()
                ));
            }
            if exact.as_ref().is_some_and(|exact| *exact != raw) {
                wrong.push(format!(
                    "`{stream}` is not exact: {} bytes, ends {:?}",
                    raw.len(),
                    shown()
                ));
            }
        }
    }
}

/// All that a reader is told beside the output.
pub fn told(run: &Run) -> String {
    let warnings = run.at("/warnings").as_array().cloned().unwrap_or_default();
    let warnings: Vec<_> = warnings
        .iter()
        .map(|one| one["message"].as_str().unwrap_or_default())
        .collect();
    format!(
        "{}\n{}\n{}",
        run.text("/message"),
        run.text("/hint"),
        warnings.join("\n")
    )
}

/// Whether bytes hold a match of a pattern.
///
/// # Panics
/// When the pattern is not one.
pub fn matches(pattern: &str, bytes: &[u8]) -> bool {
    Regex::new(pattern)
        .unwrap_or_else(|error| panic!("`{pattern}`: {error}"))
        .is_match(bytes)
}

/// Runs a program under limits (`wall=3s`) and judges its end.
///
/// # Panics
/// With every complaint, when it did not end as expected.
pub fn check(program: &Program, limits: &[&str], expect: &Expect) -> Run {
    let options: Vec<&str> = limits.iter().flat_map(|limit| ["--limit", limit]).collect();
    let run = run(program, &options);
    let wrong = expect.complaints(&run);
    assert!(
        wrong.is_empty(),
        "{}\n--- kiln's standard error\n{}\n--- outcome\n{:#}",
        wrong.join("\n"),
        run.stderr,
        run.outcome
    );
    run
}

#[cfg(test)]
mod tests {
    use super::Expect;
    use crate::kiln::Run;
    use serde_json::json;

    fn run() -> Run {
        let outcome = json!({"status": "failed", "reason": "exit_code", "message": "exit code 3", "exit_code": 3,
            "signal": null, "stdout": {"truncated": false}, "artifacts": [{"path": "a.csv"}],
            "usage": {"memory_peak_bytes": 9 << 20}});
        Run::pretend(
            outcome,
            Some(1),
            &[
                ("stdout", b"one\n"),
                ("stderr", b""),
                ("artifacts/a.csv", b"x"),
            ],
        )
    }

    #[test]
    fn what_is_as_it_should_be_is_not_complained_about() {
        let expect = Expect::failed(3)
            .stdout("^one\n$")
            .stdout_exact("one\n")
            .stderr_exact("")
            .says("code 3");
        let expect = expect
            .artifacts(&["a.csv"])
            .truncated("stdout", false)
            .peak_mib(9..=9)
            .stdout_not("two");
        assert_eq!(expect.complaints(&run()), Vec::<String>::new());
    }

    #[test]
    fn each_wrong_thing_is_complained_about() {
        let fine = || Expect::failed(3);
        let wrong = [
            Expect::succeeded().or("failed", Some("exit_code")),
            Expect::failed(4),
            Expect::ends("failed", "signal"),
            fine().signal("SIGKILL"),
            fine().stdout("two"),
            fine().stdout_not("one"),
            fine().stdout_exact("one"),
            fine().stderr("x"),
            fine().says("memory"),
            fine().artifacts(&[]),
            fine().artifacts(&["a.csv", "b.csv"]),
            fine().truncated("stdout", true),
            fine().peak_mib(1..=8),
        ];
        for expect in wrong {
            assert!(!expect.complaints(&run()).is_empty(), "{expect:?}");
        }
    }
}
