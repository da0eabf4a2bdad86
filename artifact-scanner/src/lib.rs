//! What may be said of a file that an untrusted program made.
//!
//! For now this crate holds the verdicts and how they fold; the checks that arrive at them are
//! built on it. A caller without checks has exactly one word to use: [`Verdict::Unscanned`].

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// The word on one file, from best to worst; the order of the variants is the order of the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every required check finished and found nothing.
    Clean,
    /// Holds something that acts when it is opened: a script, a formula, a macro of its own.
    Active,
    /// Looks like what attackers send.
    Suspicious,
    /// A rule that names a known evil matched.
    Malicious,
    /// A check did not finish. Unknown is worse than known to be bad: nothing can be said of it.
    Unscannable,
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

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn the_worse_wins_whatever_the_order() {
        assert_eq!(Verdict::Clean.and(Verdict::Active), Verdict::Active);
        assert_eq!(
            Verdict::Unscannable.and(Verdict::Malicious),
            Verdict::Unscannable
        );
        assert_eq!(Verdict::Unscanned.and(Verdict::Clean), Verdict::Unscanned);
    }
}
