//! Which words there are for a file, and which of two wins.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The word on one file, from best to worst; the order of the variants is the order of the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every required check finished and found nothing.
    Clean,
    /// Holds something that acts when it is opened: a script, a formula, a macro of its own.
    Active,
    /// Looks like what attackers send.
    Suspicious,
    /// A check did not finish: nothing good can be said of it.
    Unscannable,
    /// Does harm as it stands. Worse than unknown: spoiling the rest of a file must not turn a
    /// proven evil into a mere doubt.
    Malicious,
    /// No check was made.
    Unscanned,
}

impl Verdict {
    /// The verdict of two checks together: the worse.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

/// Why a check did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unscannable {
    /// It cannot be read without a key.
    Encrypted,
    /// It is not what its first bytes say, or ends early.
    Corrupt,
    /// It asks for more than it may have.
    Limit(Limit),
    /// The time was up.
    Timeout,
    /// A check itself failed.
    EngineError,
    /// There is no reader for it.
    Unsupported,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The size of the file itself.
    Size,
    /// Bytes unpacked, in all.
    Unpacked,
    /// Bytes unpacked for each byte of the file.
    Ratio,
    /// Members of archives, in all.
    Members,
    /// Containers within containers.
    Depth,
    /// Elements within elements.
    Nesting,
    /// Pixels of a picture.
    Pixels,
    /// Bytes held at one time.
    Memory,
}

impl Unscannable {
    /// The word that programs read.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Encrypted => "encrypted",
            Self::Corrupt => "corrupt",
            Self::Limit(Limit::Size) => "limit:size",
            Self::Limit(Limit::Unpacked) => "limit:unpacked",
            Self::Limit(Limit::Ratio) => "limit:ratio",
            Self::Limit(Limit::Members) => "limit:members",
            Self::Limit(Limit::Depth) => "limit:depth",
            Self::Limit(Limit::Nesting) => "limit:nesting",
            Self::Limit(Limit::Pixels) => "limit:pixels",
            Self::Limit(Limit::Memory) => "limit:memory",
            Self::Timeout => "timeout",
            Self::EngineError => "engine_error",
            Self::Unsupported => "unsupported",
        }
    }
}

impl fmt::Display for Unscannable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for Unscannable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Active, Clean, Malicious, Suspicious, Unscannable, Unscanned};

    #[test]
    fn the_worse_wins_whatever_the_order() {
        let order = [Clean, Active, Suspicious, Unscannable, Malicious, Unscanned];
        for (at, worse) in order.iter().enumerate() {
            for better in &order[..=at] {
                assert_eq!(worse.and(*better), *worse);
                assert_eq!(better.and(*worse), *worse);
            }
        }
    }
}
