//! How long things took: the middle of them and the slow end.

use serde::Serialize;
use std::time::Duration;

/// What was measured many times.
#[derive(Debug, Serialize)]
pub(super) struct Spread {
    pub(super) n: usize,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

impl Spread {
    /// Of at least one value.
    pub(super) fn of(mut values: Vec<Duration>) -> Option<Self> {
        values.sort_unstable();
        Some(Self {
            n: values.len(),
            p50_ms: ms(*nearest(&values, 50)?),
            p99_ms: ms(*nearest(&values, 99)?),
        })
    }
}

/// The smallest value that so many percent of all do not pass.
fn nearest(sorted: &[Duration], percent: usize) -> Option<&Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1))
}

/// Milliseconds with three places.
fn ms(took: Duration) -> f64 {
    let us = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
    f64::from(us) / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let spread = Spread::of((1..=200).rev().map(Duration::from_millis).collect());
        let spread = spread.expect("there are values");
        assert_eq!(
            (spread.n, spread.p50_ms, spread.p99_ms),
            (200, 100.0, 198.0)
        );
        let one = Spread::of(vec![Duration::from_micros(1_500)]).expect("a value");
        assert_eq!((one.n, one.p50_ms, one.p99_ms), (1, 1.5, 1.5));
        assert!(Spread::of(Vec::new()).is_none());
    }
}
