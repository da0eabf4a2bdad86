//! What one observation says: which rule, how bad, where, in a sentence.

use crate::Verdict;
use serde::Serialize;

/// One thing that was seen in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Finding {
    /// A stable name, `area.thing` in snake case (`pdf.javascript`, `pickle.global`).
    pub rule: &'static str,
    pub severity: Severity,
    /// Where in the file: `line 3`, `offset 320`, a member's path; empty for the whole of it.
    pub place: String,
    /// A sentence for a person. It never holds a secret, and no control characters.
    pub message: String,
}

/// How bad a finding is: the verdict it leads to by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth telling; changes nothing.
    Info,
    /// Scripted by design, and harmless where it is shown apart.
    Active,
    Suspicious,
    Malicious,
}

impl Severity {
    /// The verdict this leads to by itself.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Info => Verdict::Clean,
            Self::Active => Verdict::Active,
            Self::Suspicious => Verdict::Suspicious,
            Self::Malicious => Verdict::Malicious,
        }
    }
}
