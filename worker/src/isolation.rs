//! Does the posture hold on this machine, as tried by real jobs in real sandboxes?
//!
//! The jobs run the warden's prober; what they print, and how they end, becomes a [`Sighting`] of a
//! property of [`crate::sandbox::posture`]. Used by `kiln doctor --isolation`, once and whole, and
//! by a worker's canaries, a part at a time.
//!
//! # Layout
//!
//! - [`plan`]: which jobs, in which order, on whose sandbox
//! - [`probe`]: one job of the prober

pub mod plan;
mod probe;

use crate::sandbox::posture::{Hardness, POSTURE, Property};
pub use probe::{ProbeError, Prober};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where in the life of a sandbox a look was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// The first job of a sandbox.
    First,
    /// Behind another tenant's job on the same sandbox.
    Second,
    /// After a job that was killed.
    AfterKill,
    /// While another job runs in another sandbox.
    Beside,
}

impl Position {
    /// The word of the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
            Self::AfterKill => "after a kill",
            Self::Beside => "beside",
        }
    }
}

/// What one look saw of one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sighting {
    pub position: Position,
    pub holds: bool,
    pub seen: String,
}

/// Everything that was seen, by property.
#[derive(Clone, Debug, Default)]
pub struct Sightings(BTreeMap<&'static str, Vec<Sighting>>);

/// A property and what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    pub property: &'static str,
    pub promise: &'static str,
    pub by: &'static str,
    pub hardness: Hardness,
    pub tried: &'static str,
    /// It was looked at, and held every time.
    pub holds: bool,
    pub sightings: Vec<Sighting>,
}

impl Sightings {
    /// Notes what was seen of a property.
    pub fn note(&mut self, property: &'static str, sighting: Sighting) {
        self.0.entry(property).or_default().push(sighting);
    }

    /// Every property of the posture, in its order. One that nobody looked at does not hold.
    pub fn judge(&self) -> Vec<Judged> {
        POSTURE.iter().map(|property| self.of(property)).collect()
    }

    /// The hard properties that were looked at and did not hold.
    pub fn open(&self) -> impl Iterator<Item = (&'static str, &Sighting)> {
        POSTURE
            .iter()
            .filter(|property| property.hardness == Hardness::Hard)
            .filter_map(|property| Some((property.name, self.0.get(property.name)?)))
            .flat_map(|(name, all)| all.iter().map(move |one| (name, one)))
            .filter(|(_, sighting)| !sighting.holds)
    }

    fn of(&self, property: &Property) -> Judged {
        let sightings = self.0.get(property.name).cloned().unwrap_or_default();
        Judged {
            property: property.name,
            promise: property.promise,
            by: property.by,
            hardness: property.hardness,
            tried: property.tried,
            holds: !sightings.is_empty() && sightings.iter().all(|one| one.holds),
            sightings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(holds: bool) -> Sighting {
        Sighting {
            position: Position::First,
            holds,
            seen: "something".to_owned(),
        }
    }

    fn judged(sightings: &Sightings, name: &str) -> bool {
        let all = sightings.judge();
        assert_eq!(all.len(), POSTURE.len());
        all.iter()
            .find(|one| one.property == name)
            .expect("a property")
            .holds
    }

    #[test]
    fn one_look_that_finds_it_open_is_enough_and_no_look_is_none() {
        let mut sightings = Sightings::default();
        assert!(!judged(&sightings, "mounts"));
        sightings.note("mounts", sighting(true));
        assert!(judged(&sightings, "mounts"));
        assert_eq!(sightings.open().count(), 0);
        sightings.note("mounts", sighting(false));
        assert!(!judged(&sightings, "mounts"));
        assert_eq!(
            sightings.open().next().map(|(name, _)| name),
            Some("mounts")
        );
    }

    #[test]
    fn a_soft_property_is_told_and_is_not_open() {
        let mut sightings = Sightings::default();
        sightings.note("machine-names", sighting(false));
        assert_eq!(sightings.open().count(), 0);
        assert!(!judged(&sightings, "machine-names"));
    }
}
