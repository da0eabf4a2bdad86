//! What does the exit code of `kiln` say?
//!
//! The codes are part of the contract. Where more than one is in force the highest number wins,
//! which is why the order of the variants is the order of the numbers.

use std::process::ExitCode;

/// How `kiln` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything that was asked for succeeded.
    Succeeded = 0,
    /// A job did not succeed, or was cancelled.
    Failed = 1,
    /// The call is wrong: an absent file, an unknown limit, a job that is refused.
    Usage = 2,
    /// The platform failed, or this machine does not allow what a job needs (`EX_UNAVAILABLE`).
    Unavailable = 69,
    /// The configuration is wrong (`EX_CONFIG`).
    Config = 78,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_in_force_wins() {
        let by_precedence = [
            Exit::Succeeded,
            Exit::Failed,
            Exit::Usage,
            Exit::Unavailable,
            Exit::Config,
        ];
        assert!(by_precedence.is_sorted());
        assert_eq!(
            by_precedence.map(|exit| exit as u8),
            [0, 1, 2, 69, 78],
            "the numbers of the contract"
        );
    }
}
