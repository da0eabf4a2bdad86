//! What became of a job's attempts, as its outcome and the metrics tell it?

use super::wire::Attempt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Targets that an outcome names.
const NAMED_MAX: usize = 8;

/// What became of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A connection was made.
    Allowed,
    /// The host and port are not among those granted.
    NotListed,
    /// The host's address is one that no job may reach.
    ForbiddenAddress,
    /// It was no request that is served.
    BadRequest,
    /// A tunnel did not begin with TLS for its host.
    Misnamed,
    /// Too many connections at once.
    TooManyConnections,
    /// The job's bytes are used up.
    TooManyBytes,
    /// The name has no address.
    Unresolved,
    /// Nobody answered there.
    Unreachable,
    /// The job was too slow to say what it wants.
    TimedOut,
}

impl Decision {
    pub const ALL: [Self; 10] = [
        Self::Allowed,
        Self::NotListed,
        Self::ForbiddenAddress,
        Self::BadRequest,
        Self::Misnamed,
        Self::TooManyConnections,
        Self::TooManyBytes,
        Self::Unresolved,
        Self::Unreachable,
        Self::TimedOut,
    ];

    /// The word of the metric and the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::NotListed => "not_listed",
            Self::ForbiddenAddress => "forbidden_address",
            Self::BadRequest => "bad_request",
            Self::Misnamed => "misnamed",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyBytes => "too_many_bytes",
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
        }
    }

    /// Whether it was a rule that said no, and not the network.
    pub fn is_refusal(self) -> bool {
        match self {
            Self::NotListed
            | Self::ForbiddenAddress
            | Self::BadRequest
            | Self::Misnamed
            | Self::TooManyConnections
            | Self::TooManyBytes => true,
            Self::Allowed | Self::Unresolved | Self::Unreachable | Self::TimedOut => false,
        }
    }
}

/// What was seen of one job's network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub allowed: u64,
    /// Refused by a rule.
    pub refused: u64,
    /// The first targets that were refused, with why and how often.
    pub named: BTreeMap<(String, Decision), u64>,
    /// To and from all hosts, as far as it is known.
    pub bytes: u64,
    /// Times that the proxy died while the job ran, and its connections with it.
    pub lost: u32,
}

impl Tally {
    pub(crate) fn attempt(&mut self, attempt: &Attempt) {
        self.count(attempt.decision, 1);
        if !attempt.decision.is_refusal() {
            return;
        }
        let key = (attempt.target.clone(), attempt.decision);
        if self.named.len() < NAMED_MAX || self.named.contains_key(&key) {
            *self.named.entry(key).or_default() += 1;
        }
    }

    /// Attempts of which nothing else is known.
    pub(crate) fn count(&mut self, decision: Decision, times: u64) {
        if decision == Decision::Allowed {
            self.allowed += times;
        } else if decision.is_refusal() {
            self.refused += times;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_bounded_and_what_is_counted_is_not() {
        let mut tally = Tally::default();
        for n in 0..100 {
            let attempt = Attempt {
                lease: 1,
                target: format!("h{}.example:1", n % 20),
                decision: Decision::NotListed,
                why: String::new(),
            };
            tally.attempt(&attempt);
        }
        assert_eq!(tally.refused, 100);
        assert_eq!(tally.named.len(), NAMED_MAX);
        assert!(tally.named.values().all(|times| *times == 5));
        tally.count(Decision::Unreachable, 3);
        tally.count(Decision::Allowed, 2);
        assert_eq!((tally.allowed, tally.refused), (2, 100));
    }

    #[test]
    fn each_decision_has_a_word_of_its_own() {
        let words: std::collections::BTreeSet<_> = Decision::ALL
            .iter()
            .map(|decision| decision.as_str())
            .collect();
        assert_eq!(words.len(), Decision::ALL.len());
        for decision in Decision::ALL {
            let word = serde_json::to_value(decision).expect("a word");
            assert_eq!(word, decision.as_str());
        }
    }
}
