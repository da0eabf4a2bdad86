//! What lies within containers, and what their members would do to a disk.

pub(crate) mod aside;
mod path;
pub(crate) mod sevenz;
pub(crate) mod stream;
pub(crate) mod tar;
mod tree;
pub(crate) mod unpack;
pub(crate) mod zip;

use crate::kind::detect;
use crate::{Budget, Kind, Notes, Part, Unscannable};

/// Where a reader of containers puts what it finds. Members are scanned as they come, so that one
/// at a time is held.
pub(crate) trait Sink {
    fn notes(&mut self) -> &mut Notes;
    fn budget(&mut self) -> &mut Budget;
    fn member(&mut self, part: Part);
}

/// The names of the files that a zip or a tar holds, as a scan comes upon them, and whether it came
/// to their end: for who compares it with other unpackers.
///
/// # Errors
///
/// The bytes are no such archive, or are not read to their end; `names` holds what was read.
pub fn members(
    bytes: &[u8],
    budget: &mut Budget,
    names: &mut Vec<String>,
) -> Result<(), Unscannable> {
    let mut sink = Listing {
        notes: Notes::default(),
        budget,
        names,
    };
    match detect::detect(bytes, None, "zip") {
        Kind::Zip | Kind::Ooxml => zip::read(bytes, &mut sink),
        Kind::Tar => tar::read(bytes, &mut sink),
        _ => Err(Unscannable::Unsupported),
    }
}

struct Listing<'a> {
    notes: Notes,
    budget: &'a mut Budget,
    names: &'a mut Vec<String>,
}

impl Sink for Listing<'_> {
    fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }
    fn budget(&mut self) -> &mut Budget {
        self.budget
    }
    fn member(&mut self, part: Part) {
        self.names.extend(part.name);
    }
}

/// Keeps the members, for tests and for documents that are looked at as a whole.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Limits;

    pub(crate) struct Kept {
        pub(crate) notes: Notes,
        pub(crate) budget: Budget,
        pub(crate) members: Vec<Part>,
    }

    impl Kept {
        pub(crate) fn new(limits: Limits) -> Self {
            Self {
                notes: Notes::default(),
                budget: Budget::new(limits),
                members: Vec::new(),
            }
        }

        pub(crate) fn rules(&self) -> Vec<&'static str> {
            self.notes
                .findings()
                .iter()
                .map(|finding| finding.rule)
                .collect()
        }

        pub(crate) fn names(&self) -> Vec<&str> {
            self.members
                .iter()
                .filter_map(|part| part.name.as_deref())
                .collect()
        }
    }

    impl Sink for Kept {
        fn notes(&mut self) -> &mut Notes {
            &mut self.notes
        }
        fn budget(&mut self) -> &mut Budget {
            &mut self.budget
        }
        fn member(&mut self, part: Part) {
            self.members.push(part);
        }
    }
}
