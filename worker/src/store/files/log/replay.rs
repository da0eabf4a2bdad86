//! What did machines that went down leave in their logs, and is it in the store?
//!
//! Of a process that ended while its machine went on nothing is missing: its files are where they
//! belong, and what somebody removed since stays removed. A log of another boot is put back, file
//! by file: one that is not there, or that is torn, is written again.

use super::super::root::Root;
use super::layout::{Header, Record, records};
use super::{BODY_MAX, LOGS, remove};
use crate::store::backend::{Durable, Rule};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};

/// Puts back what logs hold that nobody uses any more, and removes them. A log that cannot be read
/// is an error: what it holds was promised to somebody.
pub(in crate::store::files) fn replay(root: &Root, top: &OwnedFd, boot: &str) -> io::Result<()> {
    for entry in root.list(LOGS)? {
        let Some((_, name)) = entry.key.rsplit_once('/') else {
            continue;
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = super::super::root::folder(top.as_fd(), LOGS)?;
        let file: File = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
            Ok(file) => file.into(),
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => continue,
            Err(error) => return Err(error.into()),
        }
        let restored = restore(root, &file, boot)?;
        rustix::fs::syncfs(top)?;
        remove(&folder, name)?;
        if restored > 0 {
            tracing::warn!(
                restored,
                "a machine went down; what the disk had not got to is put back into the store"
            );
        }
    }
    Ok(())
}

/// How many files of a log were missing.
fn restore(root: &Root, file: &File, boot: &str) -> io::Result<usize> {
    let mut restored = 0;
    for half in [0, 1] {
        // One without a header was being made: nobody has committed by it.
        let Some(header) = Header::read(file, half)? else {
            continue;
        };
        if header.boot == boot {
            continue;
        }
        for record in records(file, half, header.round)? {
            if !is_there(root, &record)? {
                let write = |to: &mut File| to.write_all(&record.body);
                let how = (Rule::Replace, Durable::Later);
                root.put(root.unnamed()?, &record.key, write, how)?;
                restored += 1;
            }
        }
    }
    Ok(restored)
}

/// Whether a record's file is in the store. A document that somebody else wrote whole stands.
fn is_there(root: &Root, record: &Record) -> io::Result<bool> {
    let found = match root.get(&record.key, BODY_MAX as u64) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Ok(true),
        found => found?,
    };
    let mut documents = ["jobs/", "results/"].into_iter();
    let is_document = documents.any(|folder| record.key.starts_with(folder));
    let whole = |found: &[u8]| is_document && serde_json::from_slice::<IgnoredAny>(found).is_ok();
    Ok(found.is_some_and(|found| found == record.body || whole(&found)))
}
