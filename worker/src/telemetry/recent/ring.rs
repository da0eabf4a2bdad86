//! How is the last stretch of time kept in a fixed number of places, without a task that clears it?

use std::time::Duration;

/// The last `N` steps of time; what is older is overwritten by the next who comes by.
#[derive(Debug)]
pub(super) struct Ring<T, const N: usize> {
    step: Duration,
    /// Each with the number of its step since the beginning.
    places: Vec<(u64, T)>,
}

impl<T: Default, const N: usize> Ring<T, N> {
    pub(super) fn new(step: Duration) -> Self {
        // No step has the last number.
        let places = (0..N).map(|_| (u64::MAX, T::default())).collect();
        Self { step, places }
    }

    /// The place of now.
    pub(super) fn at(&mut self, now: Duration) -> &mut T {
        let number = self.number(now);
        let place = &mut self.places[index::<N>(number)];
        if place.0 != number {
            *place = (number, T::default());
        }
        &mut place.1
    }

    /// As many steps as there were, `N` at most, the present one last; `None` where nobody came by.
    pub(super) fn last(&self, now: Duration) -> impl Iterator<Item = Option<&T>> {
        let present = self.number(now);
        let first = (present + 1).saturating_sub(N as u64);
        (first..=present).map(|number| {
            let place = &self.places[index::<N>(number)];
            (place.0 == number).then_some(&place.1)
        })
    }

    fn number(&self, now: Duration) -> u64 {
        u64::try_from(now.as_nanos() / self.step.as_nanos()).unwrap_or(u64::MAX - 1)
    }
}

fn index<const N: usize>(number: u64) -> usize {
    usize::try_from(number % N as u64).expect("it is less than a usize")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_old_is_not_shown_and_a_gap_is_one() {
        let mut ring: Ring<u32, 3> = Ring::new(Duration::from_secs(5));
        let shown = |ring: &Ring<u32, 3>, s| -> Vec<Option<u32>> {
            ring.last(Duration::from_secs(s))
                .map(Option::<&u32>::copied)
                .collect()
        };
        assert_eq!(shown(&ring, 0), [None]);
        *ring.at(Duration::from_secs(0)) += 1;
        *ring.at(Duration::from_secs(4)) += 1;
        assert_eq!(shown(&ring, 4), [Some(2)]);
        *ring.at(Duration::from_secs(10)) += 5;
        assert_eq!(shown(&ring, 14), [Some(2), None, Some(5)]);
        assert_eq!(shown(&ring, 15), [None, Some(5), None]);
        // It goes round into a place that holds another time.
        *ring.at(Duration::from_secs(15)) += 7;
        assert_eq!(shown(&ring, 15), [None, Some(5), Some(7)]);
        assert_eq!(shown(&ring, 3600), [None, None, None]);
    }
}
