//! What of our own code takes bytes that somebody hostile wrote, and what must hold of every answer?
//!
//! A target has seeds, which are messages of its kind; what was found once is kept in
//! `tests/corpus/<target>`. Two things throw changed bytes at them and demand that what must hold
//! does: `rounds`, at random, with every build, by any compiler; and `worker/fuzz`, led by what the
//! bytes reach in this code. `tests/fuzz` is the long form of both.

#[cfg(test)]
mod change;
#[cfg(test)]
mod rounds;
mod targets;

use crate::egress::hostile;

/// Something that takes bytes from outside.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    /// Bytes that are accepted.
    pub seeds: Vec<Vec<u8>>,
    /// Takes the bytes; says whether they were accepted, and panics where what must hold does not.
    pub take: fn(&[u8]) -> bool,
}

/// Every target.
pub fn all() -> Vec<Target> {
    vec![
        targets::jobs(),
        targets::from_keeper(),
        targets::to_keeper(),
        targets::to_warden(),
        targets::from_warden(),
        targets::staged(),
        targets::collected(),
        targets::names(),
        hostile::requests(),
        hostile::bodies(),
        hostile::hellos(),
        hostile::spellings(),
    ]
}
