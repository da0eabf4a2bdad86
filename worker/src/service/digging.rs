//! How are cancellations heard that nobody could hear?

use super::Service;
use crate::backoff::Backoff;
use crate::fault::chain;
use std::sync::Arc;
use std::time::Duration;

/// How long is waited at most before they are read again.
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Reads the cancellations that could not be heard; no job starts before that.
pub(super) async fn dig(service: Arc<Service>, dug: tokio::sync::watch::Sender<bool>) {
    let mut backoff = Backoff::new(BACKOFF_MAX);
    let mut told = String::new();
    while let Err(error) = service.dig().await {
        let error = chain(&error);
        if error != told {
            tracing::warn!(
                error,
                "cancellations cannot be read yet; no job starts before"
            );
            told = error;
        }
        backoff.wait().await;
    }
    dug.send_replace(true);
}
