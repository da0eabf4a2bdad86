//! What a check writes down while it reads.

use crate::{Finding, Kind, Severity};

/// The findings of a check, and the bytes it dug out. What stands here stays, even where the check
/// then fails.
#[derive(Debug, Default)]
pub struct Notes {
    findings: Vec<Finding>,
    parts: Vec<Part>,
    dropped: usize,
}

/// Bytes found within a file that are to be scanned as a file of their own.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// Where they were, for the reader: `cell 3, text/html`, `stream 12`.
    pub place: String,
    /// The file name they claim, if they claim one; it is judged as a name.
    pub name: Option<String>,
    /// What the container says they are, where the content alone would not tell (a fragment of
    /// HTML). The content is looked at in any case.
    pub kind: Option<Kind>,
    pub bytes: Vec<u8>,
}

/// More findings of one file than anybody reads; the worst is kept whatever its number.
const FINDINGS_MAX: usize = 200;

impl Notes {
    /// Notes one thing that was seen. Control characters in `place` and `message` are replaced.
    pub fn find(
        &mut self,
        rule: &'static str,
        severity: Severity,
        place: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.add(Finding {
            rule,
            severity,
            place: printable(place.into()),
            message: printable(message.into()),
        });
    }

    /// Asks that these bytes be scanned in turn. The caller charges the budget for them
    /// ([`crate::Budget::unpack`]) before it makes them.
    pub fn part(
        &mut self,
        place: impl Into<String>,
        name: Option<String>,
        kind: Option<Kind>,
        bytes: Vec<u8>,
    ) {
        self.parts.push(Part {
            place: printable(place.into()),
            name,
            kind,
            bytes,
        });
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The worst that was seen so far.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Copies what another check of the same view noted, as far as it is wanted.
    pub(crate) fn copy(&mut self, other: &Self, wanted: impl Fn(&Finding) -> bool) {
        for finding in other.findings.iter().filter(|finding| wanted(finding)) {
            self.add(finding.clone());
        }
    }

    /// Takes over what another view's notes say, with the place of that view before each.
    pub(crate) fn absorb(&mut self, place: &str, other: Self) {
        for mut finding in other.findings {
            if !place.is_empty() {
                finding.place = if finding.place.is_empty() {
                    printable(place.to_owned())
                } else {
                    format!("{} > {}", printable(place.to_owned()), finding.place)
                };
            }
            self.add(finding);
        }
        self.dropped += other.dropped;
    }

    pub(crate) fn take_parts(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.parts)
    }

    pub(crate) fn into_findings(mut self) -> Vec<Finding> {
        if self.dropped > 0 {
            self.findings.push(Finding {
                rule: "scan.more",
                severity: Severity::Info,
                place: String::new(),
                message: format!("{} findings more are not listed", self.dropped),
            });
        }
        self.findings
    }

    fn add(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
            return;
        }
        self.dropped += 1;
        let mildest = self.findings.iter_mut().min_by_key(|kept| kept.severity);
        if let Some(mildest) = mildest.filter(|kept| kept.severity < finding.severity) {
            *mildest = finding;
        }
    }
}

fn printable(text: String) -> String {
    if text.chars().any(char::is_control) {
        text.chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_is_kept_though_there_are_too_many() {
        let mut notes = Notes::default();
        for _ in 0..2 * FINDINGS_MAX {
            notes.find("csv.formula", Severity::Suspicious, "", "a formula");
        }
        notes.find("rules.eicar", Severity::Malicious, "", "the test string");
        assert_eq!(notes.findings().len(), FINDINGS_MAX);
        assert_eq!(notes.worst(), Some(Severity::Malicious));
    }

    #[test]
    fn a_finding_cannot_write_to_the_terminal() {
        let mut notes = Notes::default();
        notes.find("a.b", Severity::Info, "\u{1b}[2J", "line\nbreak");
        assert_eq!(notes.findings()[0].place, "\u{fffd}[2J");
        assert_eq!(notes.findings()[0].message, "line\u{fffd}break");
    }
}
