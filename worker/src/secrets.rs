//! Which secrets may a job have, and what are they?
//!
//! A job names references; what they stand for is read when it starts, from where the
//! configuration says, and goes into its environment and nowhere else: not into the stored job,
//! an outcome, a log, a metric or any text that `Debug` makes. Who asks for a secret that is not
//! theirs learns nothing of it, not even whether it is there.

mod hidden;

use crate::config::{Secret, read_secret};
use kiln_keeper::spec::Program;
use kiln_keeper::wire::Malformed;
use kiln_protocol::id::Tenant;
use kiln_protocol::job::Job;
use kiln_protocol::refusal::Refusal;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use zeroize::{Zeroize as _, Zeroizing};

pub use hidden::Hidden;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    File(PathBuf),
    /// A variable of the worker's own environment.
    Environment(String),
}

/// A secret that jobs may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub place: Place,
    /// Whose jobs may have it.
    pub tenants: Vec<Tenant>,
    /// Of which profiles.
    pub profiles: Vec<String>,
    /// When it is no longer handed out.
    pub expires_unix_ms: Option<u64>,
}

/// All of them, by reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets(pub BTreeMap<String, Rule>);

/// Why a secret could not be read. Ours, never the job's.
#[derive(Debug, thiserror::Error)]
#[error("read the secret `{reference}`")]
pub struct SecretError {
    reference: String,
    source: io::Error,
}

impl SecretError {
    /// It is there, and cannot stand in a field of a request.
    pub(crate) fn unfit(reference: &str) -> Self {
        Self {
            reference: reference.to_owned(),
            source: io::Error::other("it holds what no field of a request may"),
        }
    }
}

/// Why a job may not have what it refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    Unknown,
    /// Nobody has checked who sent the job.
    Unproven,
    Tenant,
    Profile,
    Expired,
}

impl Denied {
    /// For whoever may know that the secret is there.
    fn words(self) -> Option<&'static str> {
        match self {
            Self::Unknown | Self::Unproven | Self::Tenant => None,
            Self::Profile => Some("is not given to jobs of this profile"),
            Self::Expired => Some("has expired"),
        }
    }
}

impl Rule {
    /// Whether a job of this tenant and profile may have it now.
    pub(crate) fn judge(&self, tenant: &Tenant, profile: &str, now: u64) -> Result<(), Denied> {
        if !self.tenants.contains(tenant) {
            return Err(Denied::Tenant);
        }
        if !self.profiles.iter().any(|own| own == profile) {
            return Err(Denied::Profile);
        }
        match self.expires_unix_ms {
            Some(at) if now >= at => Err(Denied::Expired),
            Some(_) | None => Ok(()),
        }
    }
}

impl Secrets {
    fn judge(&self, job: &Job, reference: &str, proven: bool, now: u64) -> Result<&Rule, Denied> {
        if !proven {
            return Err(Denied::Unproven);
        }
        let rule = self.0.get(reference).ok_or(Denied::Unknown)?;
        rule.judge(&job.tenant, &job.profile, now)?;
        Ok(rule)
    }

    /// The first thing that a job refers to and may not have. `proven` says that the job is its
    /// tenant's, and not only says so.
    pub(crate) fn refusal(&self, job: &Job, proven: bool, now: u64) -> Option<Refusal> {
        job.secrets.iter().find_map(|(name, reference)| {
            let denied = self.judge(job, reference, proven, now).err()?;
            tracing::info!(job_id = %job.id, tenant = %job.tenant, reference, ?denied, "secret refused");
            let why = denied.words().unwrap_or("is none that this job may have");
            let name = name.replace('~', "~0").replace('/', "~1");
            Some(Refusal::bad(
                format!("/secrets/{name}"),
                format!("the secret `{reference}` {why}"),
                "a reference",
                "a reference that is given to the job's tenant and profile",
            ))
        })
    }

    /// What a job's references stand for, once it was not refused.
    pub(crate) fn resolve(&self, job: &Job) -> Result<Values, SecretError> {
        let each = job.secrets.iter().map(|(name, reference)| {
            let value = self.read(reference)?;
            Ok((name.clone(), value))
        });
        each.collect::<Result<_, _>>().map(Values)
    }

    /// What a reference stands for now.
    pub(crate) fn read(&self, reference: &str) -> Result<Secret, SecretError> {
        let failed = |source| SecretError {
            reference: reference.to_owned(),
            source,
        };
        let rule = self.0.get(reference);
        let rule = rule.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let value = match &rule.place {
            Place::File(path) => read_secret(path).map_err(|e| failed(io::Error::other(e)))?,
            Place::Environment(name) => std::env::var(name)
                .map(Secret::new)
                // Not as it is: its text would be in the error.
                .map_err(|_| failed(io::Error::other("the variable is not set, or no text")))?,
        };
        if value.reveal().contains('\0') || value.reveal().is_empty() {
            return Err(failed(io::Error::other("it is empty, or holds a NUL byte")));
        }
        Ok(value)
    }
}

/// Variables of one job that must not be shown; wiped when they are dropped.
#[derive(Clone, Default)]
pub struct Values(Vec<(String, Secret)>);

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Values {
    /// The values, for whoever looks for them in what the job made.
    pub(crate) fn own(&self) -> Vec<Vec<u8>> {
        let values = self.0.iter().map(|(_, value)| value.reveal());
        values.map(|value| value.as_bytes().to_vec()).collect()
    }

    /// The bytes of a program that has these variables too, in place of any of their names; wiped
    /// when they are dropped.
    pub(crate) fn encode(&self, mut program: Program) -> Result<Zeroizing<Vec<u8>>, Malformed> {
        program.env.retain(|variable| {
            let name = variable.split(|b| *b == b'=').next().unwrap_or_default();
            self.0.iter().all(|(own, _)| own.as_bytes() != name)
        });
        let kept = program.env.len();
        program.env.extend(self.0.iter().map(|(name, value)| {
            let value = value.reveal();
            let mut variable = Vec::with_capacity(name.len() + 1 + value.len());
            variable.extend_from_slice(name.as_bytes());
            variable.push(b'=');
            variable.extend_from_slice(value.as_bytes());
            variable
        }));
        let bytes = program.encode().map(Zeroizing::new);
        for variable in &mut program.env[kept..] {
            variable.zeroize();
        }
        bytes
    }
}

#[cfg(test)]
#[path = "secrets/tests.rs"]
mod tests;
