//! Is a job to run, or is there something better to do with its message?

use super::Service;
use super::admit::Request;
use super::context::Context;
use super::known::{Known, Twin};
use super::running::Place;
use super::waiting::Lost;
use crate::intake::ticket::Ticket;
use crate::registry::Claim;
use crate::report::answer::{Unrun, now_unix_ms};
use crate::store::ledger::Crash;
use kiln_protocol::outcome::Outcome;
use std::sync::Arc;

/// Starts that a job has in which a worker dies.
const CRASHES_MAX: usize = 2;

/// What is to be done with a job's message.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It runs; so many workers have died in it.
    Run { crashes: usize },
    /// It has this result already.
    Settle(Arc<[u8]>),
    /// It gets this outcome without a run.
    Conclude(Box<Outcome>),
    /// Its id is another tenant's.
    NotTheirs,
    /// It is asked again when another run of it may have ended.
    Later,
    /// No worker has survived it.
    GiveUp(Vec<Crash>),
}

impl Service {
    /// Says what is to be done; `request` holds the job as it was accepted from then on.
    pub(super) async fn judge(
        &self,
        request: &mut Request,
        context: &Context,
        place: &Place,
        ticket: &Ticket,
    ) -> Result<Verdict, Lost> {
        let again = match self.known(request, ticket).await? {
            Known::New => false,
            Known::Again(job) => {
                request.job = *job;
                true
            }
            Known::Answered(document) => return Ok(Verdict::Settle(document)),
            Known::NotTheirs => return Ok(Verdict::NotTheirs),
            Known::Refused(why) => {
                let (id, worker) = (request.job.id.clone(), self.terms.worker.clone());
                let outcome = why.outcome(id, worker, now_unix_ms());
                return Ok(Verdict::Conclude(Box::new(outcome)));
            }
        };
        let job = &request.job;
        if self.tombs.take(&job.id, &job.tenant) || place.is_cancelled() {
            let outcome = Unrun::cancelled(job.id.clone(), &self.terms.worker).into();
            return Ok(Verdict::Conclude(Box::new(outcome)));
        }
        match self.twin(job, ticket).await? {
            Twin::First => {}
            // Its answer may never come; what nobody waits for is not asked for again.
            Twin::Unanswered => {
                let overdue = Unrun::overdue(job, &self.terms.worker);
                return Ok(overdue.map_or(Verdict::Later, |unrun| {
                    Verdict::Conclude(Box::new(unrun.into()))
                }));
            }
            Twin::Copy(outcome) => return Ok(Verdict::Conclude(outcome)),
        }
        if !again {
            return Ok(Verdict::Run { crashes: 0 });
        }
        let crashes = self.waited(ticket, || self.ledger.crashes(&job.id)).await?;
        if crashes.len() >= CRASHES_MAX {
            return Ok(Verdict::GiveUp(crashes));
        }
        if !context.properties.redelivered && context.retries() == 0 {
            // A second message while the first runs elsewhere, as far as anybody knows.
            if let Claim::Held { worker } = self.registry.claim(&job.id).await {
                tracing::debug!(job_id = %job.id, worker, "another worker runs it");
                return Ok(Verdict::Later);
            }
        }
        Ok(Verdict::Run {
            crashes: crashes.len(),
        })
    }
}
