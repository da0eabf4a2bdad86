//! What becomes of a line: a job to run, a job that has its answer, or a refusal?

use super::lines::{Content, Line};
use super::results::Known;
use super::twins::Key;
use crate::cli::exit::Exit;
use crate::egress::allow::Ceiling;
use crate::report::answer::now_unix_ms;
use crate::secrets::Secrets;
use crate::unserved::{self, Offer};
use kiln_protocol::Rejection;
use kiln_protocol::admission::{Admission, IdRule, ProfileSource, TenantRule};
use kiln_protocol::decode::{Accepted, MESSAGE_BYTES_MAX, decode};
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::outcome::Outcome;
use kiln_protocol::refusal::Refusal;
use std::collections::HashMap;

/// Takes lines in, one after the other.
pub(super) struct Intake {
    profiles: Box<dyn ProfileSource + Send + Sync>,
    known: Known,
    /// What jobs may refer to.
    secrets: Secrets,
    worker: String,
    /// The line in which each id was first seen.
    seen: HashMap<JobId, u64>,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake")
            .field("seen", &self.seen.len())
            .finish_non_exhaustive()
    }
}

/// What becomes of a line.
#[derive(Debug)]
pub(super) enum Verdict {
    Job(Box<Accepted>),
    /// An earlier run of the batch answered it so.
    Known {
        exit: Exit,
        /// Whose it is, where others may be the same job.
        twin: Option<(Key, JobId)>,
    },
    Refused(Box<Outcome>),
}

impl Intake {
    pub(super) fn new(
        profiles: Box<dyn ProfileSource + Send + Sync>,
        known: Known,
        worker: String,
    ) -> Self {
        Self {
            profiles,
            known,
            secrets: Secrets::default(),
            worker,
            seen: HashMap::new(),
        }
    }

    /// With secrets that jobs may refer to.
    pub(super) fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    pub(super) fn judge(&mut self, line: &Line) -> Verdict {
        let own_id = line.id();
        let bytes = match &line.content {
            Content::Whole(bytes) => bytes,
            Content::TooLong { bytes } => {
                return self.refuse(line, own_id, &Rejection::from(too_long(*bytes)));
            }
        };
        let admission = Admission {
            profiles: &*self.profiles,
            id: IdRule::Given(own_id.clone()),
            tenant: TenantRule::Default(Tenant::default()),
            class: None,
        };
        match decode(bytes, &admission) {
            Err(rejection) => {
                let id = rejection.job_id.clone().unwrap_or_else(|| own_id.clone());
                match self.first_seen(&id, line.number) {
                    // Its answer would stand beside another job's of the same id.
                    Some(_) => self.refuse(line, own_id, &rejection),
                    None => self.refuse(line, id, &rejection),
                }
            }
            Ok(accepted) => match self.first_seen(&accepted.job.id, line.number) {
                Some(first) => {
                    let refusal = twice(&accepted.job.id, first);
                    self.refuse(line, own_id, &Rejection::from(refusal))
                }
                None => self.accept(line, accepted),
            },
        }
    }

    fn accept(&self, line: &Line, accepted: Accepted) -> Verdict {
        let ceiling = Ceiling::of(&*self.profiles, &accepted.job);
        let offer = Offer {
            network: ceiling,
            secrets: &self.secrets,
            proven: true,
            store: false,
        };
        if let Some(refusal) = unserved::first(&accepted.job, offer) {
            return self.refuse(line, accepted.job.id, &Rejection::from(refusal));
        }
        match self.known.get(accepted.job.id.as_str()) {
            Some(exit) => Verdict::Known {
                exit,
                twin: Key::of(&accepted.job).map(|key| (key, accepted.job.id)),
            },
            None => Verdict::Job(Box::new(accepted)),
        }
    }

    /// Remembers an id; where it was there before, the line of that.
    fn first_seen(&mut self, id: &JobId, line: u64) -> Option<u64> {
        let first = self.seen.get(id).copied();
        if first.is_none() {
            self.seen.insert(id.clone(), line);
        }
        first
    }

    fn refuse(&self, line: &Line, id: JobId, why: &Rejection) -> Verdict {
        if let Some(exit) = self.known.get(id.as_str()) {
            return Verdict::Known { exit, twin: None };
        }
        let mut outcome = why.outcome(id, self.worker.clone(), now_unix_ms());
        outcome.evidence.insert("line".into(), line.number.into());
        outcome.message = outcome
            .message
            .map(|message| format!("line {}: {message}", line.number));
        Verdict::Refused(Box::new(outcome))
    }
}

fn too_long(bytes: u64) -> Refusal {
    Refusal::bad(
        "",
        format!("the line has {bytes} bytes; a job has at most {MESSAGE_BYTES_MAX} (8 MiB)"),
        format!("{bytes} bytes"),
        format!("at most {MESSAGE_BYTES_MAX} bytes"),
    )
    .too_large()
}

fn twice(id: &JobId, first: u64) -> Refusal {
    Refusal::bad(
        "/id",
        format!("the id `{id}` is that of line {first} already"),
        id.as_str(),
        "an id that no other line of the batch has",
    )
}

#[cfg(test)]
#[path = "intake/tests.rs"]
mod tests;
