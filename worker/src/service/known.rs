//! What does the fleet's store know of a job already?

use super::Service;
use super::admit::Request;
use super::waiting::Lost;
use crate::heavy;
use crate::intake::ticket::Ticket;
use crate::report::whose;
use crate::store::ledger::{Acceptance, KeyHolder};
use kiln_protocol::Rejection;
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::decode::decode;
use kiln_protocol::id::Tenant;
use kiln_protocol::job::Job;
use kiln_protocol::outcome::Outcome;
use serde::Deserialize;
use std::sync::Arc;

/// A job as the store knows it.
#[derive(Debug)]
pub(super) enum Known {
    /// Nobody has had it before.
    New,
    /// Somebody has, and it has no result; it runs as it was accepted then.
    Again(Box<Job>),
    /// It has its result.
    Answered(Arc<[u8]>),
    /// The id is another tenant's.
    NotTheirs,
    /// It was accepted once, and today's policy refuses it.
    Refused(Box<Rejection>),
}

/// What another job of the same key has come to.
#[derive(Debug)]
pub(super) enum Twin {
    /// There is none: this job is the first.
    First,
    /// It has no result yet.
    Unanswered,
    /// Its outcome, as one of this job's.
    Copy(Box<Outcome>),
}

/// As much of a stored job as tells whose it is.
#[derive(Deserialize)]
struct Whose {
    #[serde(default)]
    tenant: Tenant,
}

impl Service {
    /// Has the store remember the job, and says what it knew of it.
    pub(super) async fn known(&self, request: &Request, ticket: &Ticket) -> Result<Known, Lost> {
        let job = &request.job;
        // A job that was refused has a result and was never accepted: both are asked, at once.
        let (accepted, result) = self.waited(ticket, || self.ledger.meet(job)).await?;
        let document = match (accepted, result) {
            (Acceptance::New, None) => return Ok(Known::New),
            (Acceptance::New, Some(refused)) if whose::is_anothers(&refused, &job.tenant) => {
                // The id is not theirs to have a job of.
                self.waited(ticket, || self.ledger.forget(&job.id)).await?;
                return Ok(Known::NotTheirs);
            }
            (Acceptance::New, Some(refused)) => return Ok(Known::Answered(refused)),
            (Acceptance::Known(document), _) => document,
        };
        let theirs = serde_json::from_slice::<Whose>(&document)
            .is_ok_and(|Whose { tenant }| tenant == job.tenant);
        if !theirs {
            return Ok(Known::NotTheirs);
        }
        let result = self.waited(ticket, || self.ledger.result(&job.id)).await?;
        if let Some(result) = result {
            return Ok(Known::Answered(result));
        }
        if document == job.to_json().as_bytes() {
            return Ok(Known::Again(Box::new(job.clone())));
        }
        let admission = Admission {
            profiles: &**self.engine.profiles(),
            id: IdRule::Given(job.id.clone()),
            tenant: TenantRule::Default(job.tenant.clone()),
            class: None,
        };
        Ok(
            match heavy::work(document.len(), || decode(&document, &admission)) {
                Ok(accepted) => Known::Again(Box::new(accepted.job)),
                Err(rejection) => Known::Refused(rejection),
            },
        )
    }

    /// What the first job of the same tenant and key has come to.
    pub(super) async fn twin(&self, job: &Job, ticket: &Ticket) -> Result<Twin, Lost> {
        let Some(key) = &job.idempotency_key else {
            return Ok(Twin::First);
        };
        let hold = || self.ledger.hold_key(&job.tenant, key, &job.id);
        let first = match self.waited(ticket, hold).await? {
            KeyHolder::Ours => return Ok(Twin::First),
            KeyHolder::Other(first) => first,
        };
        let result = self.waited(ticket, || self.ledger.result(&first)).await?;
        let Some(result) = result else {
            return Ok(Twin::Unanswered);
        };
        Ok(match serde_json::from_slice::<Outcome>(&result) {
            Ok(mut outcome) => {
                outcome.duplicate_of = Some(outcome.duplicate_of.unwrap_or(first));
                outcome.job_id = job.id.clone();
                Twin::Copy(Box::new(outcome))
            }
            Err(error) => {
                tracing::error!(job_id = %job.id, %first, %error, "a stored outcome cannot be read; the job runs");
                Twin::First
            }
        })
    }
}
