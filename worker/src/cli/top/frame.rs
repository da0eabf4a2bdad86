//! What is on the screen: lines of words with their ink, cut to a width and a height.

use crate::cli::escape;
use std::fmt::Write as _;

/// How a word is shown. It is never the only thing that says what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ink {
    #[default]
    Plain,
    Dim,
    Bold,
    Good,
    Warn,
    Bad,
}

impl Ink {
    /// Blue is told from red by every eye.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Good => "1;34",
            Self::Warn => "1;33",
            Self::Bad => "1;31",
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<(Ink, String)>);

impl Line {
    /// More of it; whatever a stranger wrote steers no terminal.
    pub(super) fn and(mut self, ink: Ink, text: impl AsRef<str>) -> Self {
        self.0.push((ink, escape::name(text.as_ref())));
        self
    }

    pub(super) fn plain(self, text: impl AsRef<str>) -> Self {
        self.and(Ink::Plain, text)
    }

    /// As much as fits, with a mark where something is left out.
    fn put(&self, columns: usize, coloured: bool, out: &mut String) {
        let all: usize = self.0.iter().map(|(_, text)| text.chars().count()).sum();
        let mut left = if all > columns {
            columns.saturating_sub(1)
        } else {
            columns
        };
        for (ink, text) in &self.0 {
            let cut: String = text.chars().take(left).collect();
            left -= cut.chars().count();
            if cut.is_empty() {
                continue;
            }
            if coloured && *ink != Ink::Plain {
                write!(out, "\u{1b}[{}m{cut}\u{1b}[0m", ink.code())
                    .expect("writing to a string does not fail");
            } else {
                out.push_str(&cut);
            }
        }
        if all > columns && columns > 0 {
            out.push('…');
        }
    }
}

/// All lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    lines: Vec<Line>,
    /// Why it is not of now, where it is not.
    stale: Option<String>,
}

impl Frame {
    pub(super) fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub(super) fn gap(&mut self) {
        self.lines.push(Line::default());
    }

    /// What is shown is of an earlier look, for this reason.
    pub(super) fn stale(&mut self, why: &str) {
        self.stale = Some(why.to_owned());
    }

    /// As text with line ends.
    pub(super) fn text(&self, columns: usize, coloured: bool) -> String {
        let mut text = String::new();
        for line in &self.lines {
            line.put(columns, coloured, &mut text);
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }

    /// As rows of a screen; a note at the bottom where not all of it fits, or it is old.
    pub(super) fn rows(&self, columns: usize, rows: usize, coloured: bool) -> Vec<String> {
        let old = self.stale.as_ref().map(|why| {
            Line::default().and(Ink::Bad, format!("✕ no answer, this is of before: {why}"))
        });
        let room = rows.saturating_sub(usize::from(old.is_some()));
        let fits = self.lines.len() <= room;
        let shown = if fits {
            self.lines.len()
        } else {
            room.saturating_sub(1)
        };
        let more = (!fits).then(|| {
            let left = self.lines.len() - shown;
            Line::default().and(Ink::Dim, format!("… {left} lines more"))
        });
        let all = old.iter().chain(self.lines.iter().take(shown)).chain(&more);
        let row = |line: &Line| {
            let mut text = String::new();
            line.put(columns, coloured, &mut text);
            text
        };
        all.take(rows).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        let mut frame = Frame::default();
        let line = Line::default().and(Ink::Bad, "bad").plain(" and more  ");
        frame.push(line);
        frame.push(Line::default().plain("x\u{1b}[2J\ny"));
        frame
    }

    #[test]
    fn a_line_is_cut_where_its_place_ends() {
        let text = |columns| frame().text(columns, false);
        assert_eq!(text(80), "bad and more\nx\\x1b[2J\\ny\n");
        assert_eq!(text(13), "bad and more…\nx\\x1b[2J\\ny\n");
        assert_eq!(text(5), "bad …\nx\\x1…\n");
        assert_eq!(text(1), "…\n…\n");
        assert_eq!(text(0), "\n\n");
    }

    #[test]
    fn colour_is_put_around_what_is_left() {
        let first = frame().text(3, true);
        assert!(first.starts_with("\u{1b}[1;31mba\u{1b}[0m…\n"), "{first:?}");
        assert!(!frame().text(80, false).contains('\u{1b}'));
    }

    #[test]
    fn a_low_screen_says_that_there_is_more() {
        let mut frame = frame();
        assert_eq!(frame.rows(80, 2, false).len(), 2);
        assert_eq!(frame.rows(80, 1, false), ["… 2 lines more"]);
        frame.stale("the line is cut");
        let rows = frame.rows(80, 2, false);
        assert_eq!(rows[0], "✕ no answer, this is of before: the line is cut");
        assert_eq!(rows[1], "… 2 lines more");
        assert!(frame.rows(80, 0, false).is_empty());
    }
}
