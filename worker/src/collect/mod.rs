//! What the job made, taken out of the sandbox.
//!
//! Only when nothing of the job lives: a collector inside the sandbox's user namespace lists and
//! opens, by descriptor and beneath `/job`; this side decides what is wanted and copies each file
//! once into one of its own. Everything later uses that copy; everything skipped is listed.

mod copy;
mod select;

pub use copy::RawFile;

use crate::execute::Manifest;
use crate::sandbox::channel::Channel;
use crate::sandbox::{Sandbox, Spent};
use crate::secrets::Hidden;
use kiln_keeper::collect::{Entry, MESSAGE_MAX, Message};
use kiln_keeper::wire::{FromWorker, to_bytes};
use kiln_protocol::limits::Limits;
use kiln_protocol::outcome::{SkipReason, Skipped};
use select::{Plan, Wanted};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use select::Selection;

/// The paths and sizes of what is taken of a listing.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn chosen(
    entries: Vec<Entry>,
    selection: &Selection,
    manifest: &Manifest,
    limits: &Limits,
) -> Vec<(String, u64)> {
    let wanted = select::plan(entries, selection, manifest, (limits, &Hidden::default())).wanted;
    wanted
        .into_iter()
        .map(|one| (one.path, one.entry.size))
        .collect()
}

/// The collector answers each question within this.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Bytes of listing that are taken in; the collector stops before that.
const LISTING_MAX: usize = 64 * 1024 * 1024;
/// Entries that are chosen among at once.
const FEW: usize = 16;

/// Why nothing could be collected. Ours, never the job's: its own oddities are skipped and listed.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("look at the job's scratch")]
    Scratch(#[source] io::Error),
    #[error("speak to the keeper")]
    Keeper(#[source] io::Error),
    #[error("speak to the collector")]
    Collector(#[source] io::Error),
    #[error("hear from the collector: it is gone")]
    Gone,
    #[error("hear from the collector within {} s", ANSWER_MAX.as_secs())]
    Late,
    #[error("understand the collector: {0}")]
    Nonsense(&'static str),
    #[error("choose among what the job made")]
    Plan(#[source] io::Error),
    #[error("copy `{path}`")]
    Copy { path: String, source: io::Error },
}

/// What is wanted of a job's files.
#[derive(Debug)]
pub struct Wants {
    pub selection: Arc<Selection>,
    pub manifest: Manifest,
    pub limits: Limits,
    /// Where copies too large for memory are put, unlinked.
    pub spool: PathBuf,
    /// What no name may hold.
    pub hidden: Hidden,
}

/// What was taken, and what was not.
#[derive(Debug, Default)]
pub struct Collected {
    pub files: Vec<RawFile>,
    pub skipped: Vec<Skipped>,
}

/// Takes out what is wanted.
pub async fn collect(sandbox: &Sandbox<Spent>, wants: Wants) -> Result<Collected, CollectError> {
    // Nobody is sent to look at a scratch that has not a file in it.
    if wants.manifest.is_empty()
        && sandbox
            .cell()
            .has_no_file()
            .map_err(CollectError::Scratch)?
    {
        return Ok(Collected::default());
    }
    let (channel, theirs) = Channel::pair().map_err(CollectError::Collector)?;
    let ask = FromWorker::Collect {
        generation: sandbox.cell().generation,
    };
    sandbox
        .control()
        .send(&to_bytes(&ask.encode()), &[theirs.as_fd()])
        .await
        .map_err(CollectError::Keeper)?;
    drop(theirs);
    let (entries, truncated) = list(&channel).await?;
    let (selection, limits) = (Arc::clone(&wants.selection), wants.limits);
    let (manifest, hidden) = (wants.manifest.clone(), wants.hidden.clone());
    // Up to 200,000 entries, and a job's to choose how many: not on a thread that others wait for,
    // but for the few of most jobs, which take less than the way to another thread.
    let few = entries.len() <= FEW;
    let plan = move || select::plan(entries, &selection, &manifest, (&limits, &hidden));
    let planned = if few {
        plan()
    } else {
        tokio::task::spawn_blocking(plan)
            .await
            .map_err(|panic| CollectError::Plan(io::Error::other(panic)))?
    };
    let Plan {
        wanted,
        mut skipped,
        skipped_more,
    } = planned;
    let mut files = Vec::with_capacity(wanted.len());
    let mut room = wants.limits.artifact_bytes;
    for Wanted { path, entry } in wanted {
        match take(&channel, &wants, &entry, room, path.clone()).await? {
            Ok(file) => {
                room = room.saturating_sub(file.bytes);
                files.push(file);
            }
            Err(reason) => skipped.push(Skipped { path, reason }),
        }
    }
    if skipped_more > 0 || truncated {
        let more = if truncated {
            "more".to_owned()
        } else {
            format!("{skipped_more} more")
        };
        skipped.push(Skipped {
            path: format!("... and {more}"),
            reason: SkipReason::TooMany,
        });
    }
    Ok(Collected { files, skipped })
}

async fn list(channel: &Channel) -> Result<(Vec<Entry>, bool), CollectError> {
    let mut all: Vec<Entry> = Vec::new();
    let mut bytes = 0;
    loop {
        match hear(channel).await?.0 {
            Message::List(entries) => {
                bytes += entries.iter().map(Entry::encoded_len).sum::<usize>();
                if bytes > LISTING_MAX {
                    return Err(CollectError::Nonsense("a listing without end"));
                }
                all.extend(entries);
            }
            Message::End { truncated } => return Ok((all, truncated)),
            _ => return Err(CollectError::Nonsense("an answer before a question")),
        }
    }
}

/// Opens and copies one file; the inner error says why it was left.
async fn take(
    channel: &Channel,
    wants: &Wants,
    entry: &Entry,
    room: u64,
    path: String,
) -> Result<Result<RawFile, SkipReason>, CollectError> {
    let ask = Message::Open {
        path: entry.path.clone(),
    };
    channel
        .send(&ask.encode(), &[])
        .await
        .map_err(CollectError::Collector)?;
    let (
        Message::Opened {
            errno,
            size,
            mode: _,
        },
        mut descriptors,
    ) = hear(channel).await?
    else {
        return Err(CollectError::Nonsense("no answer to a question"));
    };
    if errno != 0 {
        let gone = errno == rustix::io::Errno::NOENT.raw_os_error().cast_unsigned();
        return Ok(Err(if gone {
            SkipReason::Vanished
        } else {
            SkipReason::Unreadable
        }));
    }
    let Some(descriptor) = descriptors.pop() else {
        return Err(CollectError::Nonsense(
            "an open file without its descriptor",
        ));
    };
    if size > room {
        return Ok(Err(SkipReason::TooLarge));
    }
    copy::copy(File::from(descriptor), path, size, &wants.spool).await
}

async fn hear(channel: &Channel) -> Result<(Message, Vec<std::os::fd::OwnedFd>), CollectError> {
    let message = tokio::time::timeout(ANSWER_MAX, channel.recv(MESSAGE_MAX))
        .await
        .map_err(|_| CollectError::Late)?
        .map_err(CollectError::Collector)?
        .ok_or(CollectError::Gone)?;
    let decoded = Message::decode(&message.bytes)
        .map_err(|_| CollectError::Nonsense("a message that is none"))?;
    Ok((decoded, message.descriptors))
}
