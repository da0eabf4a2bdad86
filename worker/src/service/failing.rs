//! What becomes of a job that we failed, or that no worker survives?

use super::Service;
use super::answer::Address;
use super::context::Context;
use super::waiting::Lost;
use crate::fault::{Fault, chain};
use crate::intake::amqp::Delay;
use crate::intake::ticket::Ticket;
use crate::report::answer::{Unrun, now_unix_ms};
use crate::report::faulted;
use crate::store::ledger::Crash;
use crate::telemetry::event::Faulted;
use crate::telemetry::metric::{DeadReason, Step};
use kiln_protocol::outcome::{Outcome, Status};

/// How often our own failure is tried again.
const RETRIES_MAX: u32 = 5;

impl Service {
    /// Our own failure: the job is tried again later, and answered when that was often enough.
    pub(super) async fn failed(
        &self,
        address: &Address,
        fault: &Fault,
        context: &Context,
        ticket: Ticket,
    ) -> Result<(), Lost> {
        let why = chain(fault);
        let retries = context.retries();
        if self.engine.is_gone() {
            // Nothing runs here any more: it goes back as it came. That it had started is in the
            // journal, which the next start here reads.
            tracing::error!(job_id = %address.id, why, "the warden is gone");
            ticket.give_back().await;
            return Ok(());
        }
        if matches!(fault, Fault::Journal(_)) {
            // A worker that cannot begin any job takes no more; it must not use up their retries.
            self.tell(address, fault, &why, retries);
            self.delay(ticket, Delay::Seconds5, context.retries()).await;
            return Ok(());
        }
        let id = address.id.clone();
        context.trace.failed(fault.step().as_str());
        let outcome = faulted::outcome(id, fault, &self.terms.worker);
        if outcome.status == Status::Rejected {
            return self.conclude(address, &outcome, ticket).await;
        }
        self.tell(address, fault, &why, retries);
        let delay = match retries {
            0 => Delay::Seconds5,
            1 => Delay::Seconds30,
            2..RETRIES_MAX => Delay::Minutes5,
            _ => {
                // What failed is for the operator; the client learns that it was not the job.
                let outcome = Outcome {
                    message: Some("the platform failed to run the job each time".to_owned()),
                    ..outcome
                };
                let document = self.commit(address, &outcome, &ticket).await?;
                self.settle_dead(address, document, ticket, DeadReason::Retries, &why)
                    .await;
                return Ok(());
            }
        };
        self.delay(ticket, delay, retries + 1).await;
        Ok(())
    }

    fn tell(&self, address: &Address, fault: &Fault, why: &str, retries: u32) {
        let happening = Faulted {
            job_id: address.id.as_str(),
            step: fault.step(),
            why,
            retries,
        };
        happening.emit(&self.metrics);
    }

    /// A job that no worker has survived: it is answered, and its message is kept as evidence.
    pub(super) async fn give_up(
        &self,
        address: &Address,
        crashes: &[Crash],
        ticket: Ticket,
    ) -> Result<(), Lost> {
        Faulted {
            job_id: address.id.as_str(),
            step: Step::Crash,
            why: "no worker has survived the job",
            retries: u32::try_from(crashes.len()).unwrap_or(u32::MAX),
        }
        .emit(&self.metrics);
        let evidence = serde_json::json!({ "starts": crashes.len(), "crashes": crashes });
        let detail = evidence.to_string();
        let outcome: Outcome =
            Unrun::worker_lost(address.id.clone(), evidence, &self.terms.worker).into();
        let document = self.commit(address, &outcome, &ticket).await?;
        self.settle_dead(address, document, ticket, DeadReason::WorkerCrash, &detail)
            .await;
        Ok(())
    }

    /// The message comes again after a while, which is not counted.
    pub(super) async fn later(
        &self,
        ticket: Ticket,
        context: &Context,
        delay: Delay,
    ) -> Result<Option<u64>, Lost> {
        self.delay(ticket, delay, context.retries()).await;
        Ok(None)
    }

    async fn delay(&self, ticket: Ticket, delay: Delay, retries: u32) {
        if let Err(error) = ticket.delay(&self.broker, delay, retries).await {
            let error = chain(&error);
            tracing::warn!(
                error,
                "a message could not wait in a delay queue; it comes again"
            );
        }
    }

    pub(super) fn crash(&self, context: &Context) -> Crash {
        Crash {
            worker: self.terms.worker.clone(),
            run: context.run.clone(),
            started_unix_ms: context.began_unix_ms,
            found_unix_ms: now_unix_ms(),
        }
    }
}
