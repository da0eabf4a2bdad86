//! Which cells of a table are formulas?
//!
//! A sheet program runs a cell that starts with `=`, `+`, `-` or `@`. A number, a telephone
//! number, a handle or a dash start like that too, so a cell counts only where the rest of it is
//! a formula: a call, a reference or a command.

mod cells;
mod judge;
pub mod sheet;

use super::decode;
use crate::{Budget, Notes, Severity, Unscannable};
use cells::Cell;
use judge::{Judgement, Sign};
use std::borrow::Cow;

const LEAD_BYTES_MAX: usize = 200;

/// Looks at the cells of a table (comma, semicolon, tab, pipe, or what its first line names).
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    if text.starts_with("ID;") {
        sheet::symbols(text, notes, budget)?;
    }
    let mut table = Table::new(text);
    cells::walk(text.as_bytes(), separator(text), budget, |cell| {
        table.look(cell, notes)
    })
}

/// The last byte of the separator that the first line names, `sep=^`.
fn separator(text: &str) -> Option<u8> {
    let line = decode::head(text.trim_start_matches(['\u{feff}', '"']), 8);
    let (word, named) = line.split_at_checked(4)?;
    let first = named.chars().next()?;
    let last = *named.as_bytes()[..first.len_utf8()].last()?;
    (word.eq_ignore_ascii_case("sep=") && !first.is_control()).then_some(last)
}

/// Counts lines as far as they are asked for.
#[derive(Default)]
struct Lines {
    at: usize,
    ends: usize,
}

impl Lines {
    fn number(&mut self, text: &str, at: usize) -> usize {
        let ends = memchr::memchr2_iter(b'\n', b'\r', &text.as_bytes()[self.at..at]);
        self.ends += ends.count();
        self.at = at;
        self.ends + 1
    }
}

struct Table<'a> {
    text: &'a str,
    lines: Lines,
    /// Where the line ends that was looked at last.
    line_end: usize,
    /// How far the text is searched for what a formula does, by the quotes around the cell and by
    /// its sign. A later cell of the same line shows nothing that an earlier one did not.
    searched: [[usize; Sign::COUNT]; 2],
}

impl<'a> Table<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lines: Lines::default(),
            line_end: 0,
            searched: [[0; Sign::COUNT]; 2],
        }
    }

    /// Looks at a cell that may begin with a formula. Within quotes only a command counts. Says
    /// for how many bytes that is to be paid.
    fn look(&mut self, cell: Cell, notes: &mut Notes) -> u64 {
        let Cell { at, quoted } = cell;
        let Some(rest) = self.text.get(at..) else {
            return 1;
        };
        let whole = if quoted { None } else { quoted_cell(rest) };
        let paid = whole.as_ref().map_or(0, |whole| whole.len());
        let body = match &whole {
            Some(whole) => whole,
            None => &rest[..self.line_end(at) - at],
        };
        let Some((sign, body)) = signed(body) else {
            return 16 + paid as u64;
        };
        let near = judge::near(sign, body);
        let (far, searched) = if whole.is_some() {
            (judge::far(sign, body), body.len())
        } else {
            self.search(sign, cell, body)
        };
        if let Some(found) = far.into_iter().chain(near.found).max()
            && (!quoted || found.severity == Severity::Malicious)
        {
            let place = format!("line {}", self.lines.number(self.text, at));
            notes.find(found.rule, found.severity, place, found.message);
        }
        (64 + paid + near.bytes + 4 * searched) as u64
    }

    fn line_end(&mut self, at: usize) -> usize {
        if at >= self.line_end {
            let rest = &self.text.as_bytes()[at..];
            let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            self.line_end = at + length;
        }
        self.line_end
    }

    /// Searches the rest of a line, once for all its cells of a sort.
    fn search(&mut self, sign: Sign, cell: Cell, body: &str) -> (Option<Judgement>, usize) {
        let searched = &mut self.searched[usize::from(cell.quoted)][sign.number()];
        if cell.at < *searched {
            return (None, 0);
        }
        *searched = self.line_end;
        (judge::far(sign, body), body.len())
    }
}

/// What stands within the quotes of a cell that ends with them, over all its lines.
fn quoted_cell(cell: &str) -> Option<Cow<'_, str>> {
    let body = cell.strip_prefix('"')?;
    let mut marks = memchr::memchr_iter(b'"', body.as_bytes());
    let mut doubled = false;
    let end = loop {
        let Some(mark) = marks.next() else {
            break body.len();
        };
        if body.as_bytes().get(mark + 1) != Some(&b'"') {
            break mark;
        }
        marks.next();
        doubled = true;
    };
    let behind = body.as_bytes().get(end + 1);
    let ends = behind.is_none_or(|byte| cells::ends_cell(*byte));
    let inner = &body[..end];
    ends.then(|| {
        if doubled {
            Cow::Owned(inner.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(inner)
        }
    })
}

/// The sign that a cell begins with, and what is behind it.
fn signed(cell: &str) -> Option<(Sign, &str)> {
    let hidden = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '"' | '\u{ad}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}')
    };
    // Behind more padding than this no sheet program looks for a formula.
    let lead = decode::head(cell, LEAD_BYTES_MAX);
    let padding = lead.len() - lead.trim_start_matches(hidden).len();
    let first = lead[padding..].chars().next()?;
    let sign = Sign::of(first)?;
    let body = &cell[padding + first.len_utf8()..];
    let is_plain = matches!(first, '+' | '-') && judge::is_number(body);
    (!is_plain).then_some((sign, body))
}

#[cfg(test)]
mod tests;
