//! Why did a job end as it did? The words that are known, and room for those of later versions.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)+) => {
        /// Why a job ended as it did.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Reason {
            $($(#[$doc])* $name,)+
            /// A word of a later version.
            Other(String),
        }

        impl Reason {
            /// Every word that this version knows.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word of the contract.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for Reason {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$name,)+
                    _ => Self::Other(word),
                }
            }
        }
    };
}

reasons! {
    /// Its own non-zero exit code.
    ExitCode = "exit_code",
    /// A signal that was not ours.
    Signal = "signal",
    /// The limit of wall time.
    WallTime = "wall_time",
    /// The limit of CPU time.
    CpuTime = "cpu_time",
    /// The limit of memory.
    Memory = "memory",
    /// The limit of processes.
    Pids = "pids",
    /// The limit of bytes in the writable places.
    Disk = "disk",
    /// The limit of files in the writable places.
    Inodes = "inodes",
    /// The limit of descriptors.
    OpenFiles = "open_files",
    /// A flood on standard output or standard error.
    Output = "output",
    /// A system call that nothing harmless makes.
    Syscall = "syscall",
    /// A refused network attempt.
    Network = "network",
    /// An artifact that was not let out.
    ArtifactWithheld = "artifact_withheld",
    /// Not what the contract says a job is.
    BadJob = "bad_job",
    /// More than is taken in.
    TooLarge = "too_large",
    /// The deadline.
    Deadline = "deadline",
    /// The client asked for it.
    Client = "client",
    /// The worker died.
    WorkerLost = "worker_lost",
    /// The store failed.
    Store = "store",
    /// The scanner failed.
    Scanner = "scanner",
    /// The sandbox failed.
    Sandbox = "sandbox",
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Other(word) => word,
            known => known.as_str().to_owned(),
        }
    }
}

/// A string, for a closed list would refuse the words of later versions.
impl JsonSchema for Reason {
    fn schema_name() -> Cow<'static, str> {
        "Reason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Why a job ended as it did; clients accept words they do not know.",
            "examples": Self::WORDS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_survives_and_an_unknown_one_too() {
        for word in Reason::WORDS.iter().chain(&["of_tomorrow"]) {
            let reason = Reason::from((*word).to_owned());
            assert_eq!(reason.as_str(), *word);
            let json = serde_json::to_string(&reason).expect("a string");
            assert_eq!(json, format!("\"{word}\""));
            assert_eq!(
                serde_json::from_str::<Reason>(&json).expect("a string"),
                reason
            );
        }
        assert_eq!(Reason::from("memory".to_owned()), Reason::Memory);
    }
}
