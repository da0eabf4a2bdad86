//! How does it stand with Redis, with clamd, and with the making of sandboxes, and since when?

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Characters of a reason that are kept.
const WHY_MAX: usize = 200;

/// What is not asked by the worker's loop, but told by whoever deals with it.
#[derive(Debug, Default)]
pub(super) struct Neighbours(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Nothing where nothing is tracked.
    redis: Option<Since>,
    /// Nothing where none is asked.
    clamd: Option<Since>,
    /// The profiles, by their labels, whose last sandbox could not be made.
    unmade: BTreeMap<String, Unmade>,
}

/// Whether something is there, and since when that is so.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since {
    pub(super) up: bool,
    pub(super) at: Instant,
}

/// Why sandboxes of a profile cannot be made, and since when that is so.
#[derive(Clone, Debug)]
pub(super) struct Unmade {
    pub(super) profile: String,
    pub(super) why: String,
    pub(super) at: Instant,
}

impl Neighbours {
    pub(super) fn redis_up(&self, up: bool) {
        tell(&mut self.known().redis, up);
    }

    pub(super) fn redis(&self) -> Option<Since> {
        self.known().redis
    }

    pub(super) fn clamd_up(&self, up: bool) {
        tell(&mut self.known().clamd, up);
    }

    pub(super) fn clamd(&self) -> Option<Since> {
        self.known().clamd
    }

    /// A sandbox was made.
    pub(super) fn made(&self, profile: &str) {
        self.known().unmade.remove(profile);
    }

    /// It was not; the clock goes on from the first that was not.
    pub(super) fn not_made(&self, profile: &str, why: &str) {
        let mut known = self.known();
        let at = known.unmade.get(profile).map(|it| it.at);
        let unmade = Unmade {
            profile: profile.to_owned(),
            why: why.chars().take(WHY_MAX).collect(),
            at: at.unwrap_or_else(Instant::now),
        };
        known.unmade.insert(profile.to_owned(), unmade);
    }

    /// The profile of which none could be made for the longest, and how many others there are.
    pub(super) fn unmade(&self) -> Option<(Unmade, usize)> {
        let known = self.known();
        let first = known.unmade.values().min_by_key(|it| it.at)?;
        Some((first.clone(), known.unmade.len() - 1))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Whole between two calls of its own.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clock goes on while nothing changes.
fn tell(known: &mut Option<Since>, up: bool) {
    if known.is_none_or(|known| known.up != up) {
        let at = Instant::now();
        *known = Some(Since { up, at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_made_is_over_when_one_is_made() {
        let neighbours = Neighbours::default();
        assert!(neighbours.unmade().is_none());
        neighbours.not_made("python", "first");
        neighbours.not_made("bash", &"x".repeat(900));
        let (first, others) = neighbours.unmade().expect("two profiles fail");
        assert_eq!((first.profile.as_str(), others), ("python", 1));
        neighbours.not_made("python", "second");
        let (again, _) = neighbours.unmade().expect("two profiles fail");
        assert_eq!((again.at, again.why.as_str()), (first.at, "second"));
        neighbours.made("python");
        let (left, others) = neighbours.unmade().expect("one fails");
        assert_eq!((left.profile.as_str(), others), ("bash", 0));
        assert_eq!(left.why.len(), WHY_MAX);
        neighbours.made("bash");
        assert!(neighbours.unmade().is_none());
    }
}
