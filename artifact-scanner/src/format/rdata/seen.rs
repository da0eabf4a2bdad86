//! What was seen in data of R, and how bad is it?

use crate::{Notes, Severity};

#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that was seen"
)]
pub(super) struct Seen {
    pub(super) promise: bool,
    pub(super) late: bool,
    pub(super) active: bool,
    pub(super) compiled: bool,
    pub(super) way: bool,
}

impl Seen {
    pub(super) fn tell(&self, notes: &mut Notes) {
        let told = [
            (
                self.promise,
                Severity::Malicious,
                "data of R with a promise that is not kept yet: its code runs when the data is read",
            ),
            (
                self.active,
                Severity::Suspicious,
                "data of R with a value that a function gives whenever it is looked at",
            ),
            (
                self.late,
                Severity::Active,
                "data of R with variables that are worked out when they are used",
            ),
            (
                self.compiled,
                Severity::Active,
                "data of R with compiled functions",
            ),
            (
                self.way,
                Severity::Suspicious,
                "data of R with a vector that is kept in an unusual way, which is looked up by its name",
            ),
        ];
        for (_, severity, message) in told.into_iter().filter(|(seen, ..)| *seen) {
            notes.find("rdata.code", severity, "", message);
        }
    }
}
