//! How many sandboxes of each profile are kept ready, and how many may live?

use super::shelf::Shelf;
use kiln_warden::profile::Profile;

/// The profile that a worker keeps ready where nothing is said.
const READY: &str = "python";

/// How large the pool of each profile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// So many places for every profile, and nothing ahead of need but what is asked for.
    Same(usize),
    /// What the configuration says; where it is silent, what so many slots want.
    ForSlots(usize),
}

/// The bounds of one profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Kept ready ahead of need.
    min: usize,
    /// Alive at once.
    max: usize,
}

impl Sizes {
    pub(super) fn of(self, profile: &Profile) -> Bounds {
        match self {
            Self::Same(places) => Bounds {
                min: 0,
                max: places,
            },
            Self::ForSlots(slots) => {
                let number = |n: Option<u32>| n.and_then(|n| usize::try_from(n).ok());
                let ready = if profile.name == READY { slots } else { 0 };
                let max = number(profile.pool.max);
                // What is silent gives way to what is said.
                let min = number(profile.pool.min)
                    .unwrap_or_else(|| max.map_or(ready, |max| ready.min(max)));
                let max = max.unwrap_or_else(|| slots.saturating_mul(4).max(min));
                Bounds { min, max }
            }
        }
    }
}

impl Bounds {
    pub(super) fn shelf(self) -> Shelf {
        let mut empty = Shelf::new(self.max);
        empty.keep(self.min);
        empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_warden::profile::{PoolSize, Profiles};

    fn bounds(sizes: Sizes, name: &str, min: Option<u32>, max: Option<u32>) -> (usize, usize) {
        let mut profile = Profiles::built_in().get(name).expect("built in").clone();
        profile.pool = PoolSize { min, max };
        let Bounds { min, max } = sizes.of(&profile);
        (min, max)
    }

    #[test]
    fn a_worker_keeps_python_ready_and_four_times_the_slots_at_most() {
        let sizes = Sizes::ForSlots(3);
        assert_eq!(bounds(sizes, "python", None, None), (3, 12));
        assert_eq!(bounds(sizes, "bash", None, None), (0, 12));
    }

    #[test]
    fn what_is_said_wins_over_what_is_not() {
        let sizes = Sizes::ForSlots(3);
        assert_eq!(bounds(sizes, "bash", Some(2), Some(5)), (2, 5));
        assert_eq!(bounds(sizes, "python", Some(0), None), (0, 12));
        assert_eq!(bounds(sizes, "python", None, Some(2)), (2, 2));
        assert_eq!(bounds(sizes, "bash", Some(20), None), (20, 20));
    }

    #[test]
    fn run_and_batch_have_one_number_for_all() {
        let sizes = Sizes::Same(1);
        assert_eq!(bounds(sizes, "python", Some(4), Some(9)), (0, 1));
    }
}
