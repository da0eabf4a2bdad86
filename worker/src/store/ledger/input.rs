//! What a job takes from the store: bounded, below its tenant's folder, and what it says it is.

use super::Ledger;
use crate::execute::memfd;
use crate::store::backend::{BackendError, Sink};
use crate::store::{InputProblem, StoreError, key};
use kiln_protocol::id::Tenant;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Instant;

/// Inputs up to this size stay in memory; larger ones go to an unlinked file.
const INPUT_MEMORY_MAX: u64 = 4 * 1024 * 1024;

impl Ledger {
    /// `inputs/<tenant>/...`, at most `max_bytes`, as a sealed file; the sha256 is compared.
    pub async fn input(
        &self,
        tenant: &Tenant,
        key: &str,
        sha256: &str,
        max_bytes: u64,
    ) -> Result<File, StoreError> {
        let problem = |problem| StoreError::Input {
            key: key.to_owned(),
            problem,
        };
        if !key::is_input(tenant, key) {
            return Err(problem(InputProblem::Elsewhere(tenant.to_string())));
        }
        self.fetch(key, sha256, max_bytes).await
    }

    /// An object of the store, whose sha256 is known.
    pub(super) async fn fetch(
        &self,
        key: &str,
        sha256: &str,
        max_bytes: u64,
    ) -> Result<File, StoreError> {
        let problem = |problem| StoreError::Input {
            key: key.to_owned(),
            problem,
        };
        let local = |source| StoreError::Local {
            key: key.to_owned(),
            source,
        };
        let small = max_bytes <= INPUT_MEMORY_MAX;
        let file = self.unnamed(small).map_err(local)?;
        let sink = Sink::new(file, max_bytes);
        let began = Instant::now();
        let done = self.health.backend.download(key, sink).await;
        let done = match done {
            Ok(Some(sink)) => Ok(sink.end()),
            Ok(None) => Err(problem(InputProblem::Absent)),
            Err(BackendError::TooLarge { bytes_max }) => {
                Err(problem(InputProblem::TooLarge(bytes_max)))
            }
            Err(BackendError::NoFile) => Err(problem(InputProblem::NoFile)),
            Err(error) => Err(StoreError::request("get", key, error)),
        };
        self.health.note("get", began, done.as_ref().err());
        let (file, found) = done?;
        if let Ok(metadata) = file.metadata() {
            self.health.received(metadata.len());
        }
        if !found.eq_ignore_ascii_case(sha256) {
            return Err(problem(InputProblem::Digest(found)));
        }
        if small {
            return memfd::seal(file).map(File::from).map_err(local);
        }
        // Opened anew: nobody who gets it can write to it.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        File::open(path).map_err(local)
    }

    /// As [`Self::input`]; waits for a store that fails.
    pub async fn wait_for_input(
        &self,
        tenant: &Tenant,
        key: &str,
        sha256: &str,
        max_bytes: u64,
    ) -> Result<File, StoreError> {
        self.patiently(|| self.input(tenant, key, sha256, max_bytes))
            .await
    }

    fn unnamed(&self, small: bool) -> io::Result<File> {
        if small {
            return memfd::create("input");
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::open(&*self.spool, flags, mode)?.into())
    }
}
