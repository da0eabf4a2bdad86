//! What is done with a thing of which the scanner has said its word?
//!
//! The first row that applies decides: the operator's rows, in their order, then those of the
//! preset, the last of which applies to everything.

use super::word::{Word, told};
use artifact_scanner::{Preset, Verdict};
use kiln_protocol::units::format_size;

/// What is done with a file or a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is stored where it can be served.
    Release,
    /// It is kept apart, where nobody is served from.
    Withhold,
    /// It is not kept.
    Drop,
}

impl Fate {
    pub const ALL: [Self; 3] = [Self::Release, Self::Withhold, Self::Drop];

    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Withhold => "withhold",
            Self::Drop => "drop",
        }
    }
}

/// The type of what a program printed.
pub const STREAM: &str = "stream";

/// One row: what it applies to, and what is done then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// A media type, `text/*`, `stream`, or `*`.
    pub media: String,
    /// Any, where none is named.
    pub verdict: Option<Verdict>,
    /// Applies to what has more bytes than this.
    pub above_bytes: u64,
    pub fate: Fate,
}

/// The rows in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    rows: Vec<Row>,
    /// How many of them are the operator's own.
    own: usize,
    preset: Preset,
}

impl Table {
    /// The operator's rows before those of a preset.
    #[must_use]
    pub fn new(mut rows: Vec<Row>, preset: Preset) -> Self {
        let own = rows.len();
        let row = |verdict, fate| Row {
            media: "*".to_owned(),
            verdict,
            above_bytes: 0,
            fate,
        };
        let active = match preset {
            Preset::Strict => Fate::Withhold,
            Preset::Standard | Preset::DataScience => Fate::Release,
        };
        rows.push(row(Some(Verdict::Clean), Fate::Release));
        rows.push(row(Some(Verdict::Active), active));
        rows.push(row(None, Fate::Withhold));
        Self { rows, own, preset }
    }

    /// What is done with a file; the word is told by which row, where that is a reason of its own.
    pub(crate) fn of_file(&self, word: &mut Word, bytes: u64) -> Fate {
        let media = word.media_type().to_owned();
        self.decide(&media, word, bytes)
    }

    /// What is done with a stream, in the same way.
    pub(crate) fn of_stream(&self, word: &mut Word, bytes: u64) -> Fate {
        self.decide(STREAM, word, bytes)
    }

    fn decide(&self, media: &str, word: &mut Word, bytes: u64) -> Fate {
        let fate = self.fate(media, word.verdict(), bytes);
        let at = self.at(media, word.verdict(), bytes);
        let by = match at {
            _ if fate == Fate::Release => None,
            Some(at) if at < self.own => Some(format!(
                "by the row {} of scanner.table: {}",
                at + 1,
                self.rows[at].terms()
            )),
            // The verdict alone is no reason there.
            _ if word.verdict() <= Verdict::Active => {
                Some(format!("by the policy `{}`", self.preset.as_str()))
            }
            _ => None,
        };
        word.decided(by);
        fate
    }

    fn at(&self, media: &str, verdict: Verdict, bytes: u64) -> Option<usize> {
        let mut rows = self.rows.iter();
        rows.position(|row| row.applies(media, verdict, bytes))
    }

    fn fate(&self, media: &str, verdict: Verdict, bytes: u64) -> Fate {
        let at = self.at(media, verdict, bytes);
        let fate = at.map_or(Fate::Withhold, |at| self.rows[at].fate);
        // The configuration refuses such a row; nothing depends on that it did.
        if fate == Fate::Release && !may_be_released(verdict) {
            return Fate::Withhold;
        }
        fate
    }
}

/// Whether any table may let it out: what harms, or was not scanned to its end, never leaves.
#[must_use]
pub fn may_be_released(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Clean | Verdict::Active | Verdict::Suspicious => true,
        Verdict::Malicious | Verdict::Unscannable | Verdict::Unscanned => false,
    }
}

impl Row {
    /// What it asks of a thing, in the keys of the configuration.
    fn terms(&self) -> String {
        let mut terms = vec![format!("type {}", self.media)];
        if let Some(verdict) = self.verdict {
            terms.push(format!("verdict {}", told(verdict).as_str()));
        }
        if self.above_bytes > 0 {
            terms.push(format!("above {}", format_size(self.above_bytes)));
        }
        terms.join(", ")
    }

    fn applies(&self, media: &str, verdict: Verdict, bytes: u64) -> bool {
        let media = media.split(';').next().unwrap_or_default().trim();
        let named = match self.media.strip_suffix('*') {
            // A stream is no file of any type, unless everything is meant.
            Some("") => true,
            Some(start) => media.starts_with(start),
            None => media == self.media,
        };
        // A row without a verdict says what is to be kept in; it does not open the gate.
        let word = match self.verdict {
            Some(wanted) => wanted == verdict,
            None => self.fate != Fate::Release || may_be_released(verdict),
        };
        named && word && (self.above_bytes == 0 || bytes > self.above_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(media: &str, verdict: Option<Verdict>, above_bytes: u64, fate: Fate) -> Row {
        Row {
            media: media.to_owned(),
            verdict,
            above_bytes,
            fate,
        }
    }

    #[test]
    fn the_presets_let_out_what_they_say() {
        use Fate::{Release, Withhold};
        use Verdict::{Active, Clean, Malicious, Suspicious, Unscannable, Unscanned};
        for (preset, active) in [
            (Preset::Strict, Withhold),
            (Preset::Standard, Release),
            (Preset::DataScience, Release),
        ] {
            let table = Table::new(Vec::new(), preset);
            for (verdict, fate) in [
                (Clean, Release),
                (Active, active),
                (Suspicious, Withhold),
                (Malicious, Withhold),
                (Unscannable, Withhold),
                (Unscanned, Withhold),
            ] {
                assert_eq!(
                    table.fate("text/csv", verdict, 1),
                    fate,
                    "{preset:?} {verdict:?}"
                );
            }
        }
    }

    #[test]
    fn the_first_row_that_applies_decides() {
        let table = Table::new(
            vec![
                row("text/html", None, 100, Fate::Drop),
                row("text/*", Some(Verdict::Suspicious), 0, Fate::Release),
                row(STREAM, Some(Verdict::Suspicious), 0, Fate::Drop),
            ],
            Preset::Standard,
        );
        let fate = |media, verdict, bytes| table.fate(media, verdict, bytes);
        assert_eq!(fate("text/html", Verdict::Clean, 101), Fate::Drop);
        assert_eq!(fate("text/html", Verdict::Clean, 100), Fate::Release);
        let plain = "text/plain; charset=utf-8";
        assert_eq!(fate(plain, Verdict::Suspicious, 1), Fate::Release);
        assert_eq!(fate("image/png", Verdict::Suspicious, 1), Fate::Withhold);
        assert_eq!(fate(STREAM, Verdict::Suspicious, 1), Fate::Drop);
    }

    #[test]
    fn what_a_row_alone_keeps_in_is_told_by_its_row() {
        let rows = vec![
            row("text/html", None, 0, Fate::Release),
            row("text/csv", Some(Verdict::Clean), 2 << 20, Fate::Drop),
            row(STREAM, None, 0, Fate::Withhold),
        ];
        let table = Table::new(rows, Preset::Strict);
        let file = |verdict, bytes| {
            let mut word = Word::for_test(verdict);
            table.of_file(&mut word, bytes);
            word.why()
        };
        assert_eq!(
            file(Verdict::Clean, 3 << 20),
            "by the row 2 of scanner.table: type text/csv, verdict clean, above 2 MiB"
        );
        assert_eq!(file(Verdict::Clean, 1), "");
        assert_eq!(file(Verdict::Active, 1), "by the policy `strict`");
        assert_eq!(file(Verdict::Suspicious, 1), "");
        let mut word = Word::for_test(Verdict::Clean);
        assert_eq!(table.of_stream(&mut word, 1), Fate::Withhold);
        assert_eq!(word.why(), "by the row 3 of scanner.table: type stream");
    }

    #[test]
    fn no_row_lets_out_what_harms_or_was_not_scanned() {
        for verdict in [Verdict::Malicious, Verdict::Unscannable, Verdict::Unscanned] {
            for named in [Some(verdict), None] {
                let table = Table::new(vec![row("*", named, 0, Fate::Release)], Preset::Standard);
                assert_eq!(
                    table.fate("text/csv", verdict, 1),
                    Fate::Withhold,
                    "{verdict:?}"
                );
            }
        }
    }
}
