//! What one run of a job leaves in the store: streams, artifacts, and at last its outcome.

use super::{Committed, Ledger};
use crate::execute::memfd;
use crate::heavy;
use crate::screen::table::Fate;
use crate::screen::{Cleared, Parts, ScreenedFile, ScreenedStream};
use crate::store::folder::{Kept, KeptFile, KeptStream};
use crate::store::{StoreError, key};
use futures_util::stream::{self, StreamExt as _};
use kiln_protocol::id::JobId;
use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

/// Files that are on their way at once.
const AT_ONCE: usize = 4;
/// What nobody is to show, and what a program printed.
pub(super) const ANY: &str = "application/octet-stream";
pub(super) const TEXT: &str = "text/plain";

/// One run of one job: what it keeps never meets what another keeps.
#[derive(Clone, Debug)]
pub struct Run {
    job: JobId,
    token: String,
}

impl Run {
    /// A run that nobody else has.
    pub fn new(job: &JobId) -> Self {
        Self {
            job: job.clone(),
            token: uuid::Uuid::now_v7().simple().to_string(),
        }
    }

    /// The key of the job's one visible result.
    pub fn result_key(&self) -> String {
        key::result(&self.job)
    }
}

impl Ledger {
    /// Keeps what the gate has let through of a run; waits for a store that fails. What cannot be
    /// kept for a reason of ours is left out, and the first such reason told.
    pub async fn keep(&self, run: &Run, cleared: Cleared) -> (Kept, Option<StoreError>) {
        let Parts {
            stdout,
            stderr,
            files,
            skipped,
        } = cleared.into_parts();
        let artifacts = stream::iter(files)
            .map(|file| self.artifact(run, file))
            .buffered(AT_ONCE)
            .collect::<Vec<_>>();
        let ((stdout, lost_stdout), (stderr, lost_stderr), artifacts) = tokio::join!(
            self.stream(run, "stdout", stdout),
            self.stream(run, "stderr", stderr),
            artifacts,
        );
        let mut failed = lost_stdout.or(lost_stderr);
        let mut kept = Vec::with_capacity(artifacts.len());
        for artifact in artifacts {
            match artifact {
                Ok(file) => kept.push(file),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        // The commit makes small ones durable, with their names.
        let waits = |bytes: u64| !self.health.backend.is_logged(bytes);
        let streams = [&stdout, &stderr].into_iter();
        let streams = streams.filter(|stream| waits(stream.raw.len() as u64));
        let files = kept.iter().filter(|file| waits(file.bytes));
        let folders = folders(
            streams
                .filter_map(|stream| stream.object.as_ref())
                .chain(files.filter_map(|file| file.object.as_ref())),
        );
        let named = self.sync_folders(&Arc::new(folders)).await;
        failed = failed.or(named.err());
        let kept = Kept {
            stdout,
            stderr,
            files: kept,
            skipped,
        };
        (kept, failed)
    }

    /// As [`Self::commit`]; waits for a store that fails.
    pub async fn commit_run(&self, run: &Run, outcome: Arc<[u8]>) -> Result<Committed, StoreError> {
        self.patiently(|| self.commit(&run.job, Arc::clone(&outcome)))
            .await
    }

    async fn sync_folders(&self, folders: &Arc<BTreeSet<String>>) -> Result<(), StoreError> {
        let Some(first) = folders.first() else {
            return Ok(());
        };
        let backend = &self.health.backend;
        self.patiently(|| self.noted("sync", first, backend.sync_folders(folders)))
            .await
    }

    /// A stream without a byte has no object, and nor has one that is dropped.
    async fn stream(
        &self,
        run: &Run,
        name: &'static str,
        screened: ScreenedStream,
    ) -> (KeptStream, Option<StoreError>) {
        let raw = &screened.captured.bytes;
        let key = match screened.fate {
            _ if raw.is_empty() => None,
            Fate::Release => Some(key::stream(&run.job, &run.token, name)),
            Fate::Withhold => Some(key::withheld_stream(&run.job, &run.token, name)),
            Fate::Drop => None,
        };
        let stored = match key {
            None => Ok(None),
            Some(key) => self.upload_bytes(&key, raw).await.map(|()| Some(key)),
        };
        let (object, failed) = match stored {
            Ok(object) => (object, None),
            Err(error) => (None, Some(error)),
        };
        (KeptStream::new(screened, object), failed)
    }

    async fn upload_bytes(&self, key: &str, raw: &[u8]) -> Result<(), StoreError> {
        let sealed = heavy::work(raw.len(), || memfd::sealed("stream", raw));
        let file = sealed.map_err(|source| StoreError::Local {
            key: key.to_owned(),
            source,
        })?;
        let file = Arc::new(File::from(file));
        self.upload(key, &file, raw.len() as u64, TEXT).await
    }

    async fn artifact(&self, run: &Run, file: ScreenedFile) -> Result<KeptFile, StoreError> {
        let ScreenedFile { raw, word, fate } = file;
        // What is withheld has no type that anybody could show it by.
        let place = match fate {
            Fate::Release => Some((
                key::artifact(&run.job, &run.token, &raw.path),
                word.media_type().to_owned(),
            )),
            Fate::Withhold => Some((
                key::withheld(&run.job, &run.token, &raw.path),
                ANY.to_owned(),
            )),
            Fate::Drop => None,
        };
        let mut object = None;
        if let Some((key, media_type)) = place {
            self.upload(&key, &Arc::new(raw.file), raw.bytes, &media_type)
                .await?;
            object = Some(key);
        }
        Ok(KeptFile {
            path: raw.path,
            bytes: raw.bytes,
            sha256: raw.sha256,
            word,
            fate,
            object,
        })
    }

    pub(super) async fn upload(
        &self,
        key: &str,
        file: &Arc<File>,
        bytes: u64,
        media_type: &str,
    ) -> Result<(), StoreError> {
        let backend = &self.health.backend;
        self.patiently(|| self.noted("upload", key, backend.upload(key, file, bytes, media_type)))
            .await?;
        self.health.sent(bytes, &Ok(()));
        Ok(())
    }
}

/// Every folder above some objects.
fn folders<'a>(objects: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for object in objects {
        let mut path = object.as_str();
        while let Some((parent, _)) = path.rsplit_once('/') {
            if !folders.insert(parent.to_owned()) {
                break;
            }
            path = parent;
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_synced_once() {
        let objects = ["a/j/r/x/1", "a/j/r/2", "l/j/r/stdout"].map(str::to_owned);
        let folders = folders(objects.iter());
        let wanted = ["a", "a/j", "a/j/r", "a/j/r/x", "l", "l/j", "l/j/r"];
        assert_eq!(folders.into_iter().collect::<Vec<_>>(), wanted);
    }
}
