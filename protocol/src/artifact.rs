//! What became of the files that a job made?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file that was taken out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactReport {
    /// Relative to the job's folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Of its bytes.
    pub sha256: String,
    /// What it is; null where that is not known.
    pub media_type: Option<String>,
    /// Whether it was let out.
    pub state: ArtifactState,
    /// What the scanner said.
    pub verdict: Verdict,
    /// What the scanner found.
    pub findings: Vec<Finding>,
    /// How it may be shown; null where it may not.
    pub serve: Option<Serve>,
    /// Where it is; null where it is not kept.
    pub object: Option<String>,
}

/// Whether an artifact was let out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactState {
    /// It was.
    Released,
    /// It was not.
    Withheld,
}

/// What the scanner said of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was found.
    Clean,
    /// It can act when it is opened.
    Active,
    /// It looks like what harms.
    Suspicious,
    /// It harms.
    Malicious,
    /// It could not be looked at.
    Unscannable,
    /// It was not looked at.
    Unscanned,
}

impl Verdict {
    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Active => "active",
            Self::Suspicious => "suspicious",
            Self::Malicious => "malicious",
            Self::Unscannable => "unscannable",
            Self::Unscanned => "unscanned",
        }
    }
}

/// One thing that the scanner found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The rule that found it.
    pub rule: String,
    /// How bad it is.
    pub severity: String,
    /// Where in the file.
    pub place: Option<String>,
    /// What it is.
    pub message: String,
}

/// How an artifact may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Serve {
    /// In a page.
    Inline,
    /// In a frame without rights.
    Sandbox,
    /// As a download.
    Attachment,
}

/// A file that was not taken out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Relative to the job's folder; bytes that are not UTF-8 as U+FFFD.
    pub path: String,
    /// Why not.
    pub reason: SkipReason,
}

/// Why a file was not taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// A name that cannot be stored.
    BadName,
    /// Past the total of bytes.
    TooLarge,
    /// Past the number of artifacts.
    TooMany,
    /// Too many folders down.
    TooDeep,
    /// It could not be read.
    Unreadable,
    /// It was gone.
    Vanished,
    /// It changed while it was read.
    Changing,
}
