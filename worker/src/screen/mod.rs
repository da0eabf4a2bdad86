//! The gate between the sandbox and the store: nothing a job made gets past it unlooked-at.
//!
//! [`Cleared`] has no public constructor: the only way to hold one is to have passed
//! [`Gate::screen`], and the store accepts nothing else.
//!
//! ```compile_fail,E0308
//! # use kiln::{screen::{Cleared, Outputs}, store::folder::Folder};
//! async fn wrong(store: &Folder, raw: Outputs) {
//!     let cleared: Cleared = raw;
//! }
//! ```
//!
//! # Layout
//!
//! - `gate`: a word on everything, and what is done then
//! - [`scanner`]: the processes that scan; `child`: one of them, as it is held here; [`process`]:
//!   the same from inside, confined
//! - `cache`: what was said of the same file before
//! - `wire`: what goes between; [`word`]: what is believed of an answer
//! - [`table`]: what is done with a thing of which there is a word
//! - [`clamd`]: another engine, where the operator has one
//! - `cut`: what is still shown of a stream that holds a secret

mod cache;
mod child;
pub mod clamd;
mod cut;
mod gate;
pub mod process;
pub mod scanner;
pub mod table;
mod wire;
pub mod word;

pub use child::StartError;
pub use gate::{Gate, GateOptions};
pub use wire::Kind;

use crate::collect::RawFile;
use crate::execute::Captured;
use kiln_protocol::outcome::Skipped;
use std::fmt;
use std::io;
use table::Fate;
use word::Word;

/// What left the sandbox. Nothing in this process looks inside it.
pub struct Outputs {
    pub stdout: Captured,
    pub stderr: Captured,
    pub files: Vec<RawFile>,
    pub skipped: Vec<Skipped>,
    /// What was given to the job in confidence, and must not come back out.
    pub secrets: Vec<Vec<u8>>,
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs")
            .field("stdout", &self.stdout)
            .field("stderr", &self.stderr)
            .field("files", &self.files)
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}

impl Outputs {
    /// Two streams and files, as a test has them.
    #[doc(hidden)]
    #[must_use]
    pub fn of(streams: [&[u8]; 2], files: Vec<RawFile>, secrets: Vec<Vec<u8>>) -> Self {
        let [stdout, stderr] = streams.map(|bytes| Captured {
            bytes: bytes.to_vec(),
            total_bytes: bytes.len() as u64,
            truncated: false,
        });
        Self {
            stdout,
            stderr,
            files,
            skipped: Vec::new(),
            secrets,
        }
    }
}

/// Outputs that the gate has given its word on.
#[derive(Debug)]
pub struct Cleared(Parts);

/// What a [`Cleared`] holds, for the store to keep each part where it belongs.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) stdout: ScreenedStream,
    pub(crate) stderr: ScreenedStream,
    pub(crate) files: Vec<ScreenedFile>,
    pub(crate) skipped: Vec<Skipped>,
}

/// A file with the word on it, and what is to be done.
#[derive(Debug)]
pub(crate) struct ScreenedFile {
    pub(crate) raw: RawFile,
    pub(crate) word: Word,
    pub(crate) fate: Fate,
}

/// A stream with the word on it, and what is to be done.
#[derive(Debug)]
pub(crate) struct ScreenedStream {
    pub(crate) captured: Captured,
    pub(crate) word: Word,
    pub(crate) fate: Fate,
    /// What may be shown of one that is not released.
    pub(crate) shown: Vec<u8>,
}

/// Why the gate gives no word at all. Then nothing leaves, and the job is not answered by it.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    #[error("have a process that scans")]
    Start(#[source] StartError),
    #[error("hand `{name}` to a process that scans")]
    Hand {
        name: &'static str,
        source: io::Error,
    },
}

impl Cleared {
    /// What was decided about each file: its path, the word, and what is done.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Word, Fate)> {
        let files = self.0.files.iter();
        files.map(|file| (file.raw.path.as_str(), &file.word, file.fate))
    }

    /// What was decided about stdout and stderr, and what may be shown of one that is not
    /// released.
    pub fn streams(&self) -> [(&Word, Fate, &[u8]); 2] {
        [&self.0.stdout, &self.0.stderr]
            .map(|stream| (&stream.word, stream.fate, stream.shown.as_slice()))
    }

    /// What it holds.
    pub(crate) fn into_parts(self) -> Parts {
        self.0
    }

    /// Outputs with a word and a fate that a test chooses.
    #[cfg(test)]
    pub(crate) fn for_test(outputs: Outputs, word: &Word, fate: Fate) -> Self {
        let stream = |captured| ScreenedStream {
            captured,
            word: Word::nothing(),
            fate: Fate::Release,
            shown: Vec::new(),
        };
        let file = |raw| ScreenedFile {
            raw,
            word: word.clone(),
            fate,
        };
        Self(Parts {
            stdout: stream(outputs.stdout),
            stderr: stream(outputs.stderr),
            files: outputs.files.into_iter().map(file).collect(),
            skipped: outputs.skipped,
        })
    }
}
