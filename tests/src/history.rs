//! Did every job get exactly one answer, whatever befell the worker, the broker, Redis and the store?
//!
//! The client writes down what it submitted and what was published, the store is read, and the workers' logs are read for
//! starts: a line of JSON with `event` = `job.started` and `job_id`, written before the program runs. The judge wants:
//! every job one stored result, at least one published copy, all copies byte for byte what is stored, and no more
//! starts than the faults explain.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// What happened, as far as it can be seen from outside.
#[derive(Debug, Default)]
pub struct History {
    submitted: BTreeSet<String>,
    stored: BTreeMap<String, Copy>,
    published: BTreeMap<String, BTreeMap<[u8; 32], Seen>>,
    starts: BTreeMap<String, u32>,
    broken: Vec<Violation>,
}

#[derive(Debug)]
struct Copy {
    digest: [u8; 32],
    outcome: Value,
}

#[derive(Debug)]
struct Seen {
    copies: u32,
    head: String,
}

/// A promise that was not kept, for one job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// Submitted, and there is no result in the store.
    Lost { job: String },
    /// Stored, and nobody was told.
    Unpublished { job: String },
    /// A copy was published that is not what is stored.
    Divergent { job: String, copy: String },
    /// Started more often than the faults explain.
    Restarted { job: String, starts: u32 },
    /// A result for a job nobody submitted.
    Stray { job: String },
    /// A result that lies under another name than its own, or cannot be read.
    Misfiled { job: String, found: String },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { job } => write!(f, "{job}: lost"),
            Self::Unpublished { job } => write!(f, "{job}: stored, never published"),
            Self::Divergent { job, copy } => {
                write!(f, "{job}: published what is not stored: {copy}")
            }
            Self::Restarted { job, starts } => write!(f, "{job}: started {starts} times"),
            Self::Stray { job } => write!(f, "{job}: nobody submitted it"),
            Self::Misfiled { job, found } => write!(f, "{job}: the result is of {found}"),
        }
    }
}

impl History {
    /// A job was handed to the broker, once or several times.
    pub fn submitted(&mut self, job: &str) {
        self.submitted.insert(job.to_owned());
    }

    /// An outcome was heard; `message` is the id in its properties.
    pub fn published(&mut self, message: &str, body: &[u8]) {
        let job = own_name(body);
        if job.as_deref() != Some(message) {
            self.broken.push(Violation::Misfiled {
                job: message.to_owned(),
                found: job.unwrap_or_else(|| "nobody".to_owned()),
            });
        }
        let copies = self.published.entry(message.to_owned()).or_default();
        let seen = copies.entry(digest(body)).or_insert_with(|| Seen {
            copies: 0,
            head: head(body),
        });
        seen.copies += 1;
    }

    /// A result lies in the store under this job's name.
    pub fn stored(&mut self, job: &str, body: &[u8]) {
        let name = own_name(body);
        if name.as_deref() != Some(job) {
            self.broken.push(Violation::Misfiled {
                job: job.to_owned(),
                found: name.unwrap_or_else(|| "nobody".to_owned()),
            });
        }
        let copy = Copy {
            digest: digest(body),
            outcome: serde_json::from_slice(body).unwrap_or(Value::Null),
        };
        self.stored.insert(job.to_owned(), copy);
    }

    /// Reads all results of a store of files.
    ///
    /// # Panics
    /// When a result cannot be read.
    pub fn read_store(&mut self, store: &Path) {
        for entry in std::fs::read_dir(store.join("results"))
            .into_iter()
            .flatten()
        {
            let path = entry.expect("the store can be read").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if let Some(job) = name.strip_suffix(".json") {
                let body = std::fs::read(&path)
                    .unwrap_or_else(|error| panic!("read `{}`: {error}", path.display()));
                self.stored(job, &body);
            }
        }
    }

    /// Reads the log of a worker; lines that are no JSON are of no interest.
    pub fn read_log(&mut self, log: &str) {
        let events = log.lines().filter(|line| line.contains("job.started"));
        for event in events.filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let field = |name: &str| event[name].as_str().or(event["fields"][name].as_str());
            if let (Some("job.started"), Some(job)) = (field("event"), field("job_id")) {
                *self.starts.entry(job.to_owned()).or_default() += 1;
            }
        }
    }

    /// The jobs that were submitted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.submitted.iter().map(String::as_str)
    }

    /// Forgets the starts, before all logs are read again.
    pub fn forget_starts(&mut self) {
        self.starts.clear();
    }

    /// How often a job was started.
    pub fn starts(&self, job: &str) -> u32 {
        self.starts.get(job).copied().unwrap_or(0)
    }

    /// How many jobs were submitted.
    pub fn jobs(&self) -> usize {
        self.submitted.len()
    }

    /// How many jobs have a result in the store.
    pub fn results(&self) -> usize {
        self.stored.len()
    }

    /// The stored outcome of a job.
    pub fn outcome(&self, job: &str) -> Option<&Value> {
        self.stored.get(job).map(|copy| &copy.outcome)
    }

    /// Every broken promise, in order; `starts` is how many starts the faults explain for one job.
    pub fn judge(&self, starts: u32) -> Vec<Violation> {
        let mut broken = self.broken.clone();
        for job in &self.submitted {
            let name = || job.clone();
            let Some(stored) = self.stored.get(job) else {
                broken.push(Violation::Lost { job: name() });
                continue;
            };
            if !self.published.contains_key(job) {
                broken.push(Violation::Unpublished { job: name() });
            }
            // A log that was lost with its worker says too little; the outcome counts too, where there was a run.
            let ran = !stored.outcome["sandbox"].is_null();
            let attempt = stored.outcome["attempt"].as_u64().filter(|_| ran);
            let attempt = attempt.unwrap_or(0);
            let begun = self
                .starts(job)
                .max(u32::try_from(attempt).unwrap_or(u32::MAX));
            if begun > starts {
                broken.push(Violation::Restarted {
                    job: name(),
                    starts: begun,
                });
            }
        }
        for (job, copies) in &self.published {
            let stored = self.stored.get(job).map(|copy| copy.digest);
            let others = copies.iter().filter(|(digest, _)| stored != Some(**digest));
            broken.extend(others.map(|(_, seen)| Violation::Divergent {
                job: job.clone(),
                copy: format!("{} x {}", seen.copies, seen.head),
            }));
        }
        let known = self.stored.keys().chain(self.starts.keys());
        let strays: BTreeSet<_> = known.filter(|job| !self.submitted.contains(*job)).collect();
        broken.extend(
            strays
                .into_iter()
                .map(|job| Violation::Stray { job: job.clone() }),
        );
        broken.sort();
        broken
    }

    /// Fails when a promise was broken, with the first ones.
    ///
    /// # Panics
    /// Then.
    pub fn assert_kept(&self, starts: u32, about: &str) {
        let broken = self.judge(starts);
        let told: Vec<_> = broken.iter().take(20).map(ToString::to_string).collect();
        assert!(
            broken.is_empty(),
            "{about}: {} of {} jobs stored, {} promises broken:\n{}",
            self.results(),
            self.jobs(),
            broken.len(),
            told.join("\n")
        );
    }
}

fn digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

fn own_name(body: &[u8]) -> Option<String> {
    let outcome: Value = serde_json::from_slice(body).ok()?;
    outcome["job_id"].as_str().map(str::to_owned)
}

fn head(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned()
}

#[cfg(test)]
mod tests;
