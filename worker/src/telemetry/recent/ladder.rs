//! What are the median and the tail of many times, in a fixed room?
//!
//! Four rungs for each doubling, so that a figure is at most a quarter too high, never too low.

/// Doublings that are told apart: a microsecond to some twelve days.
const OCTAVES: usize = 40;
const RUNGS: usize = OCTAVES * 4;

/// How often a time fell on each rung.
#[derive(Clone, Debug)]
pub(super) struct Ladder(Box<[u32; RUNGS]>);

impl Default for Ladder {
    fn default() -> Self {
        Self(Box::new([0; RUNGS]))
    }
}

impl Ladder {
    pub(super) fn add(&mut self, us: u64) {
        let rung = &mut self.0[rung(us)];
        *rung = rung.saturating_add(1);
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0.iter()) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }

    /// What so many of a hundred took at most; nothing of nothing.
    pub(super) fn quantile(&self, percent: u64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = (count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let reached = self.0.iter().position(|times| {
            seen += u64::from(*times);
            seen >= wanted
        });
        reached.map(top)
    }
}

/// The rung of a time: its highest bit, and the two below it.
fn rung(us: u64) -> usize {
    if us < 4 {
        return usize::try_from(us).expect("a small number");
    }
    let octave = us.ilog2();
    let quarter = (us >> (octave - 2)) & 3;
    let rung = u64::from(octave - 1) * 4 + quarter;
    usize::try_from(rung).map_or(RUNGS - 1, |rung| rung.min(RUNGS - 1))
}

/// The longest time on a rung.
fn top(rung: usize) -> u64 {
    if rung < 4 {
        return rung as u64;
    }
    let (octave, quarter) = (rung / 4 + 1, (rung % 4) as u64);
    ((quarter + 5) << (octave - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_on_the_rung_that_ends_just_above_it() {
        for us in (0..5_000).chain([1 << 20, (1 << 20) + 1, 59_999_999, 1_800_000_000]) {
            let shown = top(rung(us));
            assert!(
                shown >= us && shown - us <= us / 4,
                "{us} is shown as {shown}"
            );
        }
        assert_eq!(rung(u64::MAX), RUNGS - 1);
    }

    #[test]
    fn the_median_and_the_tail() {
        let mut ladder = Ladder::default();
        assert_eq!(ladder.quantile(50), None);
        for _ in 0..98 {
            ladder.add(100);
        }
        ladder.add(10_000);
        let mut other = Ladder::default();
        other.add(1_000_000);
        ladder.join(&other);
        assert_eq!((ladder.count(), ladder.quantile(50)), (100, Some(111)));
        assert_eq!(ladder.quantile(98), Some(111));
        assert!(
            ladder
                .quantile(99)
                .is_some_and(|us| (10_000..12_500).contains(&us))
        );
        assert!(
            ladder
                .quantile(100)
                .is_some_and(|us| (1_000_000..1_250_000).contains(&us))
        );
    }
}
