//! What is done with a thing of which the scanner has said its word?
//!
//! The first row that applies decides: the operator's rows, in their order, then those of the
//! preset, the last of which applies to everything.

use super::word::Word;
use artifact_scanner::{Preset, Verdict};

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
pub struct Table(Vec<Row>);

impl Table {
    /// The operator's rows before those of a preset.
    #[must_use]
    pub fn new(mut own: Vec<Row>, preset: Preset) -> Self {
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
        own.push(row(Some(Verdict::Clean), Fate::Release));
        own.push(row(Some(Verdict::Active), active));
        own.push(row(None, Fate::Withhold));
        Self(own)
    }

    /// What is done with a file.
    pub(crate) fn of_file(&self, word: &Word, bytes: u64) -> Fate {
        self.fate(word.media_type(), word.verdict(), bytes)
    }

    /// What is done with a stream.
    pub(crate) fn of_stream(&self, word: &Word, bytes: u64) -> Fate {
        self.fate(STREAM, word.verdict(), bytes)
    }

    fn fate(&self, media: &str, verdict: Verdict, bytes: u64) -> Fate {
        let row = self.0.iter().find(|row| row.applies(media, verdict, bytes));
        let fate = row.map_or(Fate::Withhold, |row| row.fate);
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
