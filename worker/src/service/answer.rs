//! How is a job answered? Its outcome is committed, then published, then its delivery is
//! acknowledged; whatever dies in between, the delivery comes again and finds what was done.

use super::Service;
use super::reply::Reply;
use super::waiting::Lost;
use crate::checkpoint::{Point, reach};
use crate::intake::amqp::{Outgoing, PublishError, Published};
use crate::intake::ticket::Ticket;
use crate::report::whose;
use crate::store::ledger::Committed;
use crate::telemetry::event::{DeadLettered, Returned};
use crate::telemetry::metric::DeadReason;
use crate::telemetry::trace::{To, Trace};
use crate::telemetry::wide;
use futures_util::future::join;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Class;
use kiln_protocol::outcome::{OUTCOME_SCHEMA, Outcome, Status};
use kiln_protocol::topology::RESULTS;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long is waited before a publish is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// How often the broker may refuse an outcome: a queue that moves to another node refuses for a
/// moment, one that is full for as long as its owner likes.
const REFUSED_MAX: usize = 10;

/// Whose answer it is and where it goes.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) id: JobId,
    pub(super) tenant: Tenant,
    pub(super) class: Class,
    /// Of the metrics: the profile's name, or what the job asked for.
    pub(super) profile: String,
    pub(super) reply: Reply,
    pub(super) trace: Trace,
}

impl Address {
    /// Says in its trace whose it is.
    pub(super) fn traced(&self) {
        self.trace
            .job(&self.id, &self.tenant, self.class, &self.profile);
    }

    /// What is said of it in the log.
    pub(super) fn delivery<'a>(
        &'a self,
        queue: Option<&'a str>,
        run: Option<&'a str>,
    ) -> wide::Delivery<'a> {
        wide::Delivery {
            id: &self.id,
            tenant: &self.tenant,
            class: self.class,
            profile: &self.profile,
            queue,
            run,
        }
    }
}

/// As much of an outcome as is needed to pass it on.
#[derive(Deserialize)]
struct Glance {
    status: Status,
}

impl Service {
    /// Commits an outcome that no run made, and gives the one that is visible.
    pub(super) async fn commit(
        &self,
        address: &Address,
        outcome: &Outcome,
        ticket: &Ticket,
    ) -> Result<Arc<[u8]>, Lost> {
        let traced = outcome
            .trace_id
            .is_none()
            .then(|| address.trace.id())
            .flatten();
        let traced = traced.map(|trace| Outcome {
            trace_id: Some(trace),
            ..outcome.clone()
        });
        let outcome = traced.as_ref().unwrap_or(outcome);
        address.trace.outcome(outcome);
        let document: Arc<[u8]> = outcome.to_json().into_bytes().into();
        let put = || self.ledger.commit(&address.id, Arc::clone(&document));
        match self.waited(ticket, put).await? {
            Committed::Ours => {
                if outcome.duplicate_of.is_some() {
                    self.metrics.duplicate();
                }
                self.metrics
                    .answered(address.class, &address.profile, outcome);
                wide::done(&address.delivery(None, None), None, outcome);
                Ok(document)
            }
            Committed::Theirs(theirs) => {
                self.metrics.duplicate();
                Ok(theirs)
            }
        }
    }

    /// Commits an outcome that no run made, and answers with the one that is visible.
    pub(super) async fn conclude(
        &self,
        address: &Address,
        outcome: &Outcome,
        ticket: Ticket,
    ) -> Result<(), Lost> {
        let document = self.commit(address, outcome, &ticket).await?;
        self.settle(address, document, ticket).await;
        Ok(())
    }

    /// Publishes the visible outcome to everybody and to whoever asked, and acknowledges.
    /// A refusal of another tenant's is shown to nobody else.
    pub(super) async fn settle(&self, address: &Address, document: Arc<[u8]>, ticket: Ticket) {
        self.settle_beside(address, document, ticket, || {}).await;
    }

    /// The same; does something of ours, which nobody waits for, while the broker has the outcome.
    pub(super) async fn settle_beside(
        &self,
        address: &Address,
        document: Arc<[u8]>,
        ticket: Ticket,
        beside: impl FnOnce(),
    ) {
        if whose::is_anothers(&document, &address.tenant) {
            beside();
            let detail = "id: another tenant had a job of this id refused; choose another";
            Box::pin(self.dead_letter(ticket, DeadReason::BadMessage, detail)).await;
            return;
        }
        // The first is polled first, and sends.
        let (published, ()) =
            join(self.publish(address, document, &ticket), async { beside() }).await;
        if published {
            reach(Point::Confirmed, &address.id);
            let began = Instant::now();
            ticket.ack().await;
            address.trace.settled(began);
            reach(Point::Acked, &address.id);
        }
        // Else the delivery is not ours any more: it comes again, here or elsewhere, and whoever
        // has it then finds the outcome and publishes it.
    }

    /// The same, and the message itself goes to the dead letters with its evidence.
    pub(super) async fn settle_dead(
        &self,
        address: &Address,
        document: Arc<[u8]>,
        ticket: Ticket,
        reason: DeadReason,
        detail: &str,
    ) {
        if self.publish(address, document, &ticket).await {
            self.dead_letter(ticket, reason, detail).await;
        }
    }

    /// Sends a message to the dead letters; it comes again where that fails.
    pub(super) async fn dead_letter(&self, ticket: Ticket, reason: DeadReason, detail: &str) {
        match ticket.dead_letter(&self.broker, reason, detail).await {
            Ok(_) => DeadLettered { reason, detail }.emit(&self.metrics),
            Err(error) => {
                let error = crate::fault::chain(&error);
                tracing::warn!(
                    error,
                    "a message could not go to the dead letters; it comes again"
                );
            }
        }
    }

    /// Whether everybody was told while the delivery was still ours.
    async fn publish(&self, address: &Address, document: Arc<[u8]>, ticket: &Ticket) -> bool {
        let status = match serde_json::from_slice(&document) {
            Ok(Glance { status }) => status.as_str(),
            // Of a later version, perhaps: what is stored is passed on as it is.
            Err(_) => "unknown",
        };
        let message = |to: To, exchange: &str, routing_key: String| Outgoing {
            exchange: exchange.to_owned(),
            routing_key,
            body: Arc::clone(&document),
            kind: OUTCOME_SCHEMA.to_owned(),
            message_id: Some(address.id.to_string()),
            correlation_id: Some(address.reply.correlation_id.clone()),
            traceparent: address.trace.header(to),
        };
        let everybody = async {
            let key = format!("{}.{status}", address.tenant);
            let began = Instant::now();
            let outgoing = message(To::Everybody, RESULTS, key.clone());
            let told = self.confirmed(outgoing, ticket).await;
            address.trace.sent(To::Everybody, began, &key, told);
            if told {
                reach(Point::Published, &address.id);
            }
            told
        };
        let whoever_asked = async {
            let Some(queue) = address.reply.to.clone() else {
                return true;
            };
            let began = Instant::now();
            let outgoing = message(To::Asker, "", queue);
            let told = self.replied(outgoing, ticket).await;
            address.trace.sent(To::Asker, began, "", told);
            told
        };
        // Neither waits for the broker's word on the other.
        let told = Box::pin(async {
            let began = Instant::now();
            let told = tokio::join!(everybody, whoever_asked);
            self.metrics.published(began.elapsed());
            told
        });
        told.await == (true, true)
    }

    /// The same for whoever asked. A reply queue that is gone or full, or a name that the broker
    /// cannot bear, fails nothing: it would hold the slot for as long as its owner likes.
    async fn replied(&self, message: Outgoing, ticket: &Ticket) -> bool {
        while ticket.usable() {
            let Err(error) = self.broker.publish(message.clone()).await else {
                return true;
            };
            let why = crate::fault::chain(&error);
            if is_theirs(&error) {
                let job_id = message.message_id.as_deref().unwrap_or_default();
                Returned { job_id, why: &why }.emit(&self.metrics);
                return true;
            }
            tracing::warn!(error = why, "an answer is not published yet");
            tokio::time::sleep(AGAIN).await;
        }
        false
    }

    /// Publishes until the broker has it, a queue goes on refusing it, or the delivery is no longer
    /// ours.
    async fn confirmed(&self, message: Outgoing, ticket: &Ticket) -> bool {
        let id = message.message_id.clone().unwrap_or_default();
        let mut behind = None;
        let mut refused = 0;
        while ticket.usable() {
            let error = match self.broker.publish(message.clone()).await {
                Ok(Published::Routed | Published::Unroutable) => return true,
                Err(PublishError::Refused) if refused == REFUSED_MAX => {
                    let why = "a queue of results refuses it";
                    Returned { job_id: &id, why }.emit(&self.metrics);
                    return true;
                }
                Err(error) => error,
            };
            refused += usize::from(matches!(error, PublishError::Refused));
            if behind.is_none() {
                let error = crate::fault::chain(&error);
                tracing::warn!(
                    job_id = id,
                    error,
                    "an outcome is not published yet; see `kiln topology check`"
                );
                behind = Some(Behind::of(&self.unpublished));
            }
            tokio::time::sleep(AGAIN).await;
        }
        false
    }
}

/// An outcome that waits to be published, counted for as long as this is held.
struct Behind<'a>(&'a AtomicUsize);

impl<'a> Behind<'a> {
    fn of(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Behind<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether it is the reply queue that fails, and not the way to the broker.
fn is_theirs(error: &PublishError) -> bool {
    match error {
        PublishError::Refused
        | PublishError::Unroutable
        | PublishError::TooLong
        | PublishError::Broker(_)
        | PublishError::Broken(_) => true,
        PublishError::Away | PublishError::Late | PublishError::Lost => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_way_to_the_broker_is_waited_for() {
        assert!(is_theirs(&PublishError::Refused), "a queue that is full");
        for error in [PublishError::Away, PublishError::Late] {
            assert!(!is_theirs(&error), "{error}");
        }
    }
}
