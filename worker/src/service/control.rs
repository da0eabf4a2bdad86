//! Who wants a job to end, and what are they told?

use super::Service;
use super::reply::is_allowed;
use super::running::Heard;
use crate::fault::chain;
use crate::intake::Control;
use crate::intake::amqp::Outgoing;
use crate::report::answer::now_unix_ms;
use crate::store::ledger::Tombstone;
use kiln_protocol::control::{CONTROL_SCHEMA, Cancellation, ControlAnswer, ControlState};
use std::sync::Arc;
use std::time::Duration;

/// How long a running job may go on until the wish to end it is stored.
const BURIED_WITHIN: Duration = Duration::from_millis(250);

impl Service {
    /// Does what a control message asks for, and answers where an answer is wanted.
    pub(super) async fn control(&self, message: Control) {
        let Control {
            body,
            reply_to,
            correlation_id,
        } = message;
        let wish: Cancellation = match serde_json::from_slice(&body) {
            Ok(wish) => wish,
            Err(error) => {
                tracing::warn!(%error, "a control message is not understood");
                return;
            }
        };
        if wish.schema != CONTROL_SCHEMA {
            tracing::warn!(schema = wish.schema, "a control message of another version");
            return;
        }
        let tombstone = Tombstone {
            job_id: wish.cancel,
            tenant: wish.tenant,
            asked_unix_ms: now_unix_ms(),
        };
        // First the tombstone, then a look at what runs: a job that starts in between sees one of
        // the two.
        self.tombs.add(&tombstone);
        let state = self.end(&tombstone).await;
        if let Some(queue) = reply_to.filter(|to| is_allowed(to, &self.terms.reply_prefixes)) {
            let answer = ControlAnswer {
                schema: CONTROL_SCHEMA.to_owned(),
                cancel: tombstone.job_id,
                state,
                worker: self.terms.worker.clone(),
            };
            let body: Arc<[u8]> = answer.to_json().into_bytes().into();
            let outgoing = Outgoing {
                exchange: String::new(),
                routing_key: queue,
                body,
                kind: CONTROL_SCHEMA.to_owned(),
                message_id: None,
                correlation_id,
                traceparent: None,
            };
            if let Err(error) = self.broker.publish(outgoing).await {
                tracing::warn!(error = chain(&error), "a cancellation is not answered");
            }
        }
    }

    /// Ends the job if it runs here, once the wish outlives this worker or the store takes too long
    /// for that; one that is not here waits for the job.
    async fn end(&self, tombstone: &Tombstone) -> ControlState {
        let (id, tenant) = (&tombstone.job_id, tombstone.tenant.as_ref());
        match self.running.find(id, tenant) {
            Heard::Ending => {
                let buried = tokio::time::timeout(BURIED_WITHIN, self.bury(tombstone)).await;
                if buried.is_err() {
                    tracing::info!(job_id = %id, "a job is ended before its cancellation is stored");
                }
            }
            Heard::NotTheirs => return ControlState::Unknown,
            Heard::NotHere => self.bury(tombstone).await,
        }
        match self.running.cancel(id, tenant) {
            Heard::Ending => ControlState::Ending,
            Heard::NotTheirs => ControlState::Unknown,
            Heard::NotHere => ControlState::Pending,
        }
    }

    /// Remembers for the whole fleet that a job is cancelled that has no outcome yet.
    async fn bury(&self, tombstone: &Tombstone) {
        self.registry.cancelled(&tombstone.job_id);
        let told = match self.ledger.result(&tombstone.job_id).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => self.ledger.cancel(tombstone).await,
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            let error = chain(&error);
            tracing::warn!(job_id = %tombstone.job_id, error, "a cancellation is remembered by this worker alone");
        }
    }

    /// Reads every cancellation that could not be heard.
    pub(super) async fn dig(&self) -> Result<(), crate::store::StoreError> {
        for tombstone in self.ledger.cancelled().await? {
            self.tombs.add(&tombstone);
            self.running
                .cancel(&tombstone.job_id, tombstone.tenant.as_ref());
        }
        Ok(())
    }
}
