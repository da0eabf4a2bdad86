//! Which cells of a table are formulas.
//!
//! A sheet program runs a cell that starts with `=`, `+`, `-` or `@`. A number, a telephone
//! number, a handle or a dash start like that too, so a cell counts only where the rest of it is
//! a formula: a call, a reference or a command.

mod cells;

use super::decode;
use crate::{Budget, Notes, Severity, Unscannable};
use cells::Cell;

/// More of a cell is not looked at.
const CELL_BYTES_MAX: usize = 2000;
const LEAD_BYTES_MAX: usize = 200;

/// Looks at the cells of a table (comma, semicolon, tab or pipe).
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut lines = Lines::default();
    cells::walk(text.as_bytes(), budget, |cell| {
        look(text, cell, &mut lines, notes)
    })
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

/// Looks at a cell that may begin with a formula. Within quotes only a command counts. Says for
/// how many bytes that is to be paid: a cell without an end is looked at far past the next mark.
fn look(text: &str, cell: Cell, lines: &mut Lines, notes: &mut Notes) -> u64 {
    let Cell { at, quoted } = cell;
    let Some(rest) = text.get(at..) else { return 1 };
    let rest = decode::head(rest, 2 * CELL_BYTES_MAX);
    let end = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
    let rest = &rest[..end];
    let hidden = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '"' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
    };
    // Behind more padding than this no sheet program looks for a formula.
    let lead = decode::head(rest, LEAD_BYTES_MAX);
    let padding = lead.len() - lead.trim_start_matches(hidden).len();
    let cell = &rest[padding..];
    if padding == lead.len() {
        return 1;
    }
    let Some(first) = cell.chars().next() else {
        return 1;
    };
    let wide = matches!(
        first,
        '＝' | '＋' | '－' | '＠' | '﹦' | '﹢' | '﹣' | '﹫' | '−'
    );
    if !wide && !matches!(first, '=' | '+' | '-' | '@') {
        return 1;
    }
    let body = decode::head(&cell[first.len_utf8()..], CELL_BYTES_MAX);
    if matches!(first, '+' | '-') && is_number(body) {
        return 1;
    }
    let paid = 16 * body.len().max(1) as u64;
    let Some((severity, rule, message)) = judge(first, wide, body) else {
        return paid;
    };
    if !quoted || severity == Severity::Malicious {
        let place = format!("line {}", lines.number(text, at));
        notes.find(rule, severity, place, message);
    }
    paid
}

/// Whether the cell is a number and ends: most cells with a sign are.
fn is_number(body: &str) -> bool {
    let part = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-');
    let length = body.bytes().take_while(part).count();
    let behind = body.as_bytes().get(length);
    length > 0 && behind.is_none_or(|b| matches!(b, b',' | b';' | b'\t' | b'"'))
}

type Judgement = (Severity, &'static str, &'static str);

fn judge(first: char, wide: bool, body: &str) -> Option<Judgement> {
    let lower = body.to_ascii_lowercase();
    let bare: String = lower.chars().filter(|c| !c.is_whitespace()).collect();
    if command(&bare) {
        let severity = if wide {
            Severity::Suspicious
        } else {
            Severity::Malicious
        };
        return Some((
            severity,
            "csv.command",
            "a cell starts a program when the table is opened in a sheet",
        ));
    }
    let reaches = [
        "hyperlink(",
        "webservice(",
        "importxml(",
        "importdata(",
        "importhtml(",
        "importfeed(",
        "importrange(",
        "image(",
        "filterxml(",
        "rtd(",
        "sql.request(",
        "encodeurl(",
        "googlefinance(",
        "query(",
        "stockhistory(",
    ];
    if reaches.iter().any(|name| calls(&bare, name)) {
        return Some((
            Severity::Suspicious,
            "csv.reaches_out",
            "a cell sends data or opens an address when the table is opened in a sheet",
        ));
    }
    let outside = bare.starts_with("'\\\\")
        || bare.starts_with("\\\\")
        || bare.contains("]sheet") && bare.contains("http")
        || bare.starts_with("'file:")
        || bare.starts_with("'http");
    if outside && first == '=' {
        return Some((
            Severity::Suspicious,
            "csv.reaches_out",
            "a cell refers to a file elsewhere",
        ));
    }
    (formula(first, wide, body)).then_some((
        if wide {
            Severity::Suspicious
        } else {
            Severity::Active
        },
        "csv.formula",
        "a cell is a formula",
    ))
}

/// A call of a function, not the end of a longer name.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// Dynamic data exchange (`program|'topic'!item`), and calls that run code.
fn command(bare: &str) -> bool {
    let exchange = bare.find('|').is_some_and(|bar| {
        let program = bare[..bar].trim_end_matches(['\'', '"']);
        let named = program.ends_with(|c: char| c.is_ascii_alphanumeric());
        let topic = &bare[bar + 1..];
        named
            && topic.contains('!')
            && (topic.starts_with(['\'', '"', '/'])
                || topic.contains("'!")
                || topic.contains("\"!"))
    });
    let programs = [
        "cmd|",
        "cmd.exe|",
        "powershell|",
        "mshta|",
        "rundll32|",
        "regsvr32|",
        "msexcel|",
        "wscript|",
        "cscript|",
        "certutil|",
        "bitsadmin|",
    ];
    let runs = [
        "dde(",
        "ddeauto",
        "call(\"",
        "exec(\"",
        "register(\"urlmon",
        "register.id(",
        "shell(",
    ];
    exchange
        || programs.iter().any(|program| bare.contains(program))
        || runs.iter().any(|call| calls(bare, call))
}

/// Whether a sheet would compute it.
fn formula(first: char, wide: bool, body: &str) -> bool {
    let trimmed = body.trim_start().trim_end_matches(['"', ' ']);
    let word: usize = trimmed
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$'))
        .count();
    let name = &trimmed[..word];
    let after = trimmed[word..].trim_start();
    let function = after.starts_with('(')
        && name.len() >= 2
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || matches!(b, b'.' | b'0'..=b'9'))
        && name.starts_with(|c: char| c.is_ascii_uppercase());
    let reference = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '$')
        && name.ends_with(|c: char| c.is_ascii_digit())
        && name.bytes().filter(u8::is_ascii_alphabetic).count() <= 3
        && (first == '='
            && (after.is_empty() || after.starts_with(['+', '-', '*', '/', ':', ',']))
            || after.starts_with(['+', '*', '/', ':', '!']));
    let sum = first == '='
        && name.starts_with(|c: char| c.is_ascii_digit())
        && after.starts_with(['+', '-', '*', '/', '^']);
    let nested = matches!(first, '=' | '+' | '-' | '@')
        && trimmed.starts_with(['+', '-', '@', '='])
        && trimmed.len() > 1
        && !trimmed.starts_with("==")
        && !trimmed.starts_with("--")
        && formula('=', false, &trimmed[1..]);
    function
        || reference
        || sum
        || nested
        || (wide
            && first != '−'
            && first != '－'
            && name.len() > 3
            && after.starts_with(['(', '|', '+']))
}

#[cfg(test)]
mod tests;
