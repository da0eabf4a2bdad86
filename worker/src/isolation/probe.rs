//! What does one job of the prober see, and how does it end?

use super::{Position, Sighting, Sightings};
use crate::engine::{Delivered, Engine, LocalInput, OnStart, Place, Submission};
use crate::execute::memfd;
use crate::fault::Fault;
use crate::sandbox::posture;
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::decode::decode;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::JOB_SCHEMA;
use kiln_protocol::outcome::{Outcome, Status};
use kiln_warden::PROBER;
use kiln_warden::profile::Reuse;
use serde_json::{Value, json};
use std::fs::File;
use std::future::pending;
use std::io;
use std::path::PathBuf;

/// Where the program lies in its job.
const PROGRAM: &str = "prober";

/// Why a job of the prober could not be run: ours, and no word about the posture.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("make the prober's job: {0}")]
    Job(String),
    #[error("put the prober into memory")]
    Program(#[source] io::Error),
    #[error("run the prober's job")]
    Run(#[source] Fault),
    #[error("see the prober's job through: {0}")]
    Cut(String),
}

/// Runs jobs of the prober.
#[derive(Debug)]
pub struct Prober<'a> {
    pub engine: &'a Engine,
    /// Whose sandboxes are tried.
    pub profile: &'a str,
    /// A folder of ours for what jobs leave with us.
    pub folder: PathBuf,
}

/// One job to run.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    pub words: &'a [&'a str],
    pub tenant: &'a str,
    pub limits: Limits,
}

/// What such a job may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub wall_ms: u64,
    pub cpu_ms: u64,
    pub pids: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_ms: 20_000,
            cpu_ms: 20_000,
            pids: 16,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Ran {
    pub outcome: Outcome,
    /// Property, whether it held, what was seen.
    pub lines: Vec<(String, bool, String)>,
    /// The prober came to its end.
    pub done: bool,
}

impl Prober<'_> {
    /// Runs the prober with these words, as one job.
    pub async fn run(
        &self,
        probe: Probe<'_>,
        on_start: Option<OnStart>,
    ) -> Result<Ran, ProbeError> {
        let submission = self.submission(probe)?;
        let never = Box::pin(pending());
        let finished = self.engine.run(submission, None, never, on_start).await;
        let outcome = finished.map_err(ProbeError::Run)?.outcome;
        let text = &outcome.stdout.text;
        let lines = text.lines().filter_map(line).collect();
        let done = outcome.status == Status::Succeeded && text.lines().last() == Some("done");
        Ok(Ran {
            outcome,
            lines,
            done,
        })
    }

    /// Who may follow on a used sandbox of the profile.
    pub(super) fn reuse(&self) -> Option<Reuse> {
        Some(self.engine.profiles().get(self.profile)?.reuse)
    }

    fn submission(&self, probe: Probe<'_>) -> Result<Submission, ProbeError> {
        let id: JobId = uuid::Uuid::now_v7()
            .to_string()
            .parse()
            .expect("a UUID is a job id");
        let job = job(self.profile, probe).to_string();
        let admission = Admission {
            profiles: &**self.engine.profiles(),
            id: IdRule::Given(id.clone()),
            tenant: TenantRule::Default(Tenant::default()),
            class: None,
        };
        let accepted = decode(job.as_bytes(), &admission)
            .map_err(|rejection| ProbeError::Job(rejection.main.message.clone()))?;
        let program = memfd::sealed(PROGRAM, PROBER).map_err(ProbeError::Program)?;
        Ok(Submission {
            job: accepted.job,
            inputs: vec![LocalInput {
                path: PROGRAM.to_owned(),
                file: File::from(program),
                executable: true,
            }],
            stdin: None,
            place: Place::Folder(self.folder.join(id.as_str())),
            warnings: accepted.warnings,
            delivery: Delivered::default(),
        })
    }
}

fn job(profile: &str, probe: Probe<'_>) -> Value {
    let program = format!("./{PROGRAM}");
    let argv: Vec<&str> = [program.as_str()]
        .into_iter()
        .chain(probe.words.iter().copied())
        .collect();
    json!({
        "schema": JOB_SCHEMA,
        "profile": profile,
        "command": argv,
        "tenant": probe.tenant,
        "artifacts": [],
        "limits": {
            "wall_ms": probe.limits.wall_ms,
            "cpu_ms": probe.limits.cpu_ms,
            "memory_bytes": 64 << 20,
            "disk_bytes": 16 << 20,
            "pids": probe.limits.pids,
        },
    })
}

/// A line of the prober: name, word and text.
fn line(line: &str) -> Option<(String, bool, String)> {
    let mut cells = line.splitn(3, '\t');
    let (name, word, text) = (cells.next()?, cells.next()?, cells.next()?);
    Some((name.to_owned(), word == "held", text.to_owned()))
}

impl Ran {
    /// Notes every line; a property that is not of the posture, and a prober that did not come to
    /// its end, are noted against `about`.
    pub fn note(&self, position: Position, about: &'static str, to: &mut Sightings) {
        for (name, holds, seen) in &self.lines {
            let property = posture::of(name).map_or(about, |property| property.name);
            to.note(property, sighting(position, *holds, seen.clone()));
        }
        if !self.done {
            to.note(about, sighting(position, false, self.ending()));
        }
    }

    /// The same of a job that came to its end; of one that did not, nothing can be told.
    ///
    /// # Errors
    ///
    /// How it ended.
    pub fn whole(self) -> Result<Self, ProbeError> {
        if self.done {
            Ok(self)
        } else {
            Err(ProbeError::Cut(self.ending()))
        }
    }

    /// How the job ended, in words.
    pub fn ending(&self) -> String {
        let why = self.outcome.message.as_deref().unwrap_or("it ended");
        format!("cannot tell: the look did not come to its end: {why}")
    }

    /// The sandbox, and the use of it that this was.
    pub fn sandbox(&self) -> Option<(&str, u64)> {
        let sandbox = self.outcome.sandbox.as_ref()?;
        Some((sandbox.id.as_str(), sandbox.uses))
    }
}

pub(super) fn sighting(position: Position, holds: bool, seen: String) -> Sighting {
    Sighting {
        position,
        holds,
        seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_for_it_is_held() {
        assert_eq!(
            line("mounts\theld\televen calls"),
            Some(("mounts".to_owned(), true, "eleven calls".to_owned()))
        );
        assert_eq!(
            line("mounts\topen\tx").map(|(_, held, _)| held),
            Some(false)
        );
        assert_eq!(line("mounts\t\tx").map(|(_, held, _)| held), Some(false));
        assert_eq!(line("done"), None);
    }
}
