//! What is durable by the store's log, and when?

use super::super::log::{BODY_MAX, Log};
use super::{Root, Unnamed};
use crate::store::backend::{Durable, Put, Rule};
use std::fs::File;
use std::io::{self, Write as _};

impl Root {
    /// Commits by a log from here on. Where none can be made each commit waits for its files.
    pub(in crate::store::files) fn log_ahead(&self) {
        if self.log.get().is_some() {
            return;
        }
        match Log::open(&self.top, &self.boot) {
            Ok(log) => drop(self.log.set(log)),
            Err(error) => tracing::warn!(
                %error,
                "the store has no log; each commit waits for the disk itself"
            ),
        }
    }

    pub(in crate::store::files) fn has_log(&self) -> bool {
        self.log.get().is_some()
    }

    /// Whether a file of so many bytes is made durable by the next commit.
    pub(in crate::store::files) fn is_logged(&self, bytes: u64) -> bool {
        self.log.get().is_some() && Log::takes(bytes)
    }

    /// Writes a whole small file, which the next commit makes durable.
    pub(in crate::store::files) fn put_logged(
        &self,
        unnamed: Unnamed<'_>,
        key: &str,
        content: &[u8],
    ) -> io::Result<()> {
        let write = |to: &mut File| to.write_all(content);
        self.put(unnamed, key, write, (Rule::Replace, Durable::Later))?;
        if !self.append(&[(key, content)])? {
            rustix::fs::syncfs(&self.top)?;
        }
        Ok(())
    }

    /// Writes a document that is new, and makes it durable at once with another that may be
    /// there, and with all that was logged.
    pub(in crate::store::files) fn commit(
        &self,
        unnamed: Unnamed<'_>,
        (key, document): (&str, &[u8]),
        other: &str,
    ) -> io::Result<Put> {
        let write = |to: &mut File| to.write_all(document);
        let put = self.put(unnamed, key, write, (Rule::Create, Durable::Later))?;
        let durable = match put {
            Put::Made => self.settle((key, document), other),
            // It may be of another who has not synced it yet.
            Put::Exists => self.sync(key).and_then(|()| self.sync(other)),
        };
        if durable.is_err() && put == Put::Made {
            // Nobody is to find what the disk did not take.
            self.delete(key)?;
        }
        durable.map(|()| put)
    }

    fn settle(&self, file: (&str, &[u8]), other: &str) -> io::Result<()> {
        let beside = match self.get(other, BODY_MAX as u64) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                self.sync(other)?;
                None
            }
            found => found?,
        };
        let beside = beside.as_deref().map(|content| (other, content));
        let files: Vec<_> = beside.into_iter().chain([file]).collect();
        let logged = self.append(&files)?;
        match self.log.get() {
            Some(log) if logged => log.sync(),
            _ => Ok(rustix::fs::syncfs(&self.top)?),
        }
    }

    fn append(&self, files: &[(&str, &[u8])]) -> io::Result<bool> {
        self.log.get().map_or(Ok(false), |log| log.append(files))
    }
}
