//! Which random numbers does a test use, and how is the same run asked for again?

use std::io::Write as _;
use std::time::SystemTime;

/// A stream of numbers that one number names.
#[derive(Debug, Clone)]
pub struct Seed {
    state: u64,
}

impl Seed {
    /// From `KILN_SEED`, else from the clock; tells which on standard error.
    ///
    /// # Panics
    /// When `KILN_SEED` is no number.
    pub fn new(test: &str) -> Self {
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let clock = clock.map_or(1, |since| u64::from(since.subsec_nanos()) + since.as_secs());
        let seed = std::env::var("KILN_SEED")
            .map_or(clock, |text| text.parse().expect("KILN_SEED is a number"));
        let mut stderr = std::io::stderr();
        writeln!(stderr, "{test}: again with KILN_SEED={seed}").ok();
        Self::of(seed)
    }

    /// From a number.
    pub fn of(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        }
    }

    /// The next number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound.max(1)
    }

    /// One of several things.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let n = self.below(of.len() as u64);
        &of[usize::try_from(n).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn a_seed_names_its_numbers() {
        let draw = |seed| {
            let mut seed = Seed::of(seed);
            (0..100).map(|_| seed.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!((0..10).all(|n| draw(7).contains(&n)));
    }
}
