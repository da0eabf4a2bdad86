//! Why is a job refused, and where in it does the fault lie?

use crate::outcome::Reason;
use serde::{Deserialize, Serialize};

/// One thing that is wrong with a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// JSON pointer to the field; empty for the whole message.
    pub pointer: String,
    /// What is wrong and what would be right, for a model or a person.
    pub message: String,
    /// What stood there. Of code, environment, files and secrets: type and length only.
    pub got: String,
    /// What may stand there.
    pub allowed: String,
    /// Which of the two reasons the outcome gives.
    pub reason: RefusalReason,
}

/// The reason of a `rejected` outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// Not what the contract says a job is.
    BadJob,
    /// More than is taken in.
    TooLarge,
}

impl From<RefusalReason> for Reason {
    fn from(reason: RefusalReason) -> Self {
        match reason {
            RefusalReason::BadJob => Self::BadJob,
            RefusalReason::TooLarge => Self::TooLarge,
        }
    }
}

impl Refusal {
    /// A job that is not what the contract says.
    pub fn bad(
        pointer: impl Into<String>,
        message: impl Into<String>,
        got: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            pointer: pointer.into(),
            message: message.into(),
            got: got.into(),
            allowed: allowed.into(),
            reason: RefusalReason::BadJob,
        }
    }

    /// The same, for something that is more than is taken in.
    #[must_use]
    pub fn too_large(self) -> Self {
        Self {
            reason: RefusalReason::TooLarge,
            ..self
        }
    }

    /// The `evidence` of the outcome: `pointer`, `got`, `allowed`.
    pub fn evidence(&self) -> serde_json::Map<String, serde_json::Value> {
        [
            ("pointer", &self.pointer),
            ("got", &self.got),
            ("allowed", &self.allowed),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.as_str().into()))
        .collect()
    }
}

/// The place and what is wrong there: the `message` of the outcome.
impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.pointer, self.message)
        }
    }
}
