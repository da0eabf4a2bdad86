//! One request to the store, noted; and the patience for a store that fails.

use super::{DOCUMENT_BYTES_MAX, Ledger, VANISHED_MAX, vanished};
use crate::backoff::Backoff;
use crate::fault::chain;
use crate::store::StoreError;
use crate::store::backend::{BackendError, Durable, Entry, Put, Rule};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(5);

impl Ledger {
    /// Does something again and again until the store does it, or fails for a reason of ours.
    pub(super) async fn patiently<T, F>(&self, mut ask: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut backoff = Backoff::new(PAUSE_MAX);
        let mut told = false;
        loop {
            let mut reachable = self.health.reachability();
            match ask().await {
                Err(error @ StoreError::Request { .. }) => {
                    let error = chain(&error);
                    // Why the store is away is told once, by its health.
                    if std::mem::replace(&mut told, true) {
                        tracing::debug!(error, "what a job made still waits for the store");
                    } else {
                        tracing::info!(error, "what a job made waits for the store");
                    }
                }
                done => return done,
            }
            // A store that is back is asked at once.
            let back = async {
                reachable.mark_unchanged();
                while reachable.changed().await.is_ok() {
                    if *reachable.borrow_and_update() {
                        return;
                    }
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = backoff.wait() => {}
                () = back => {}
            }
        }
    }

    /// Writes a document that is new, durable at once, and with it another; the bytes that are there
    /// already, where some are.
    pub(super) async fn put_new(
        &self,
        key: &str,
        document: &Arc<[u8]>,
        beside: Option<&str>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        for _ in 0..VANISHED_MAX {
            let put = match beside {
                None => self.put(key, document, Rule::Create, Durable::Now).await?,
                Some(beside) => {
                    let backend = &self.health.backend;
                    let commit = backend.commit(key, Arc::clone(document), beside);
                    let put = self.noted("put", key, commit).await;
                    self.health.sent(document.len() as u64, &put);
                    put?
                }
            };
            if put == Put::Made {
                return Ok(None);
            }
            if let Some(there) = self.get(key).await? {
                return Ok(Some(there));
            }
        }
        Err(vanished(key))
    }

    pub(super) async fn put(
        &self,
        key: &str,
        document: &Arc<[u8]>,
        rule: Rule,
        durable: Durable,
    ) -> Result<Put, StoreError> {
        let bytes = document.len() as u64;
        let document = Arc::clone(document);
        let put = self.health.backend.put(key, document, rule, durable);
        let done = self.noted("put", key, put).await;
        self.health.sent(bytes, &done);
        done
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let get = self.health.backend.get(key, DOCUMENT_BYTES_MAX);
        let found = self.noted("get", key, get).await;
        if let Ok(Some(document)) = &found {
            self.health.received(document.len() as u64);
        }
        found
    }

    pub(super) async fn list(&self, folder: &str) -> Result<Vec<Entry>, StoreError> {
        let list = self.health.backend.list(folder);
        self.noted("list", folder, list).await
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let delete = self.health.backend.delete(key);
        self.noted("delete", key, delete).await
    }

    /// Awaits a request, and takes note of how it ended.
    pub(super) async fn noted<T>(
        &self,
        op: &'static str,
        key: &str,
        request: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let done = request
            .await
            .map_err(|error| StoreError::request(op, key, error));
        self.health.note(op, began, done.as_ref().err());
        done
    }
}
