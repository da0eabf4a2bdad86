//! How is a store waited for that fails? For as long as the delivery is ours.

use super::Service;
use crate::backoff::Backoff;
use crate::intake::ticket::Ticket;
use crate::store::StoreError;
use std::time::Duration;

/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The delivery is not ours any more: it comes again, and whoever has it then goes on.
#[derive(Debug)]
pub(super) struct Lost;

impl Service {
    /// What the store says, when it says something.
    pub(super) async fn waited<T, F>(
        &self,
        ticket: &Ticket,
        mut ask: impl FnMut() -> F,
    ) -> Result<T, Lost>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut backoff = Backoff::new(PAUSE_MAX);
        loop {
            match ask().await {
                Ok(answer) => return Ok(answer),
                Err(error) if ticket.usable() => {
                    let error = crate::fault::chain(&error);
                    tracing::warn!(error, "the store is waited for");
                }
                Err(_) => return Err(Lost),
            }
            backoff.wait().await;
        }
    }
}
