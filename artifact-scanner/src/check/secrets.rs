//! Which keys and tokens a view holds.
//!
//! A token is known by its prefix, its length and its alphabet, never by randomness alone; a value
//! without a prefix counts only next to a word that names it. The same is looked for in what the
//! view says in base64, hexadecimal, percent signs and UTF-16. No finding repeats a secret.

mod assign;
mod escapes;
mod headers;
mod keys;
mod named;
mod own;
mod prefixes;
mod stretches;
mod tokens;
mod views;

#[cfg(test)]
mod codings_tests;
#[cfg(test)]
mod tests;

pub use own::{Own, forms};

use std::ops::Range;

use stretches::Spots;

use crate::{Budget, Notes, Severity, Unscannable};

/// Views within views.
const DEPTH_MAX: u32 = 3;

/// Looks for keys and tokens. The view is a text in UTF-8 or bytes that hold text somewhere.
pub fn check(view: &[u8], notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    check_view(view, "", 0, notes, budget)
}

fn check_view(
    view: &[u8],
    place: &str,
    depth: u32,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    budget.charge(view.len().max(1) as u64)?;
    let spots = Spots::of(view);
    search(view, &spots, place, notes);
    if depth == DEPTH_MAX {
        return Ok(());
    }
    let mut look = |inner: String, decoded: Vec<u8>, budget: &mut Budget| {
        let place = if place.is_empty() {
            inner
        } else {
            format!("{place}, {inner}")
        };
        check_view(&decoded, &place, depth + 1, notes, budget)
    };
    views::hidden(view, &spots.stretches, &mut look, budget)
}

fn search(view: &[u8], spots: &Spots, place: &str, notes: &mut Notes) {
    let mut told = |rule: &'static str, what: &str, at: usize| {
        let here = format!("offset {at}");
        let place = if place.is_empty() {
            here
        } else {
            format!("{place}, {here}")
        };
        notes.find(rule, Severity::Suspicious, place, format!("holds {what}"));
    };
    tokens::search(view, spots, &mut told);
    assign::search(view, spots, &mut told);
}

/// A private key may be so long.
const KEY_BYTES_MAX: usize = 16 << 10;

/// The whole lines of a view that hold keys and tokens as they are, in order and apart. What is
/// hidden in another form is not among them: whoever cuts these out scans what is left again.
pub(crate) fn lines(view: &[u8], own: Option<&Own>) -> Vec<Range<usize>> {
    let mut found = own.map_or_else(Vec::new, |own| own.places(view));
    let mut told = |rule: &'static str, _: &str, at: usize| {
        let end = match rule {
            "secrets.private_key" => key_end(view, at),
            _ => at + 1,
        };
        found.push(at..end);
    };
    let spots = Spots::of(view);
    tokens::search(view, &spots, &mut told);
    assign::search(view, &spots, &mut told);
    found.sort_by_key(|range| (range.start, range.end));
    let mut lines: Vec<Range<usize>> = Vec::new();
    for range in found {
        let start = memchr::memrchr(b'\n', &view[..range.start]).map_or(0, |at| at + 1);
        let last = range.end.max(range.start + 1) - 1;
        let end = memchr::memchr(b'\n', &view[last..]).map_or(view.len(), |at| last + at);
        match lines.last_mut().filter(|before| start <= before.end) {
            Some(before) => before.end = before.end.max(end),
            None => lines.push(start..end),
        }
    }
    lines
}

/// Where a key that begins at `at` ends: at its last line, else where no key is longer.
fn key_end(view: &[u8], at: usize) -> usize {
    let most = view.len().min(at + KEY_BYTES_MAX);
    let rest = &view[at..most];
    ["-----END", "Private-MAC:"]
        .iter()
        .filter_map(|end| memchr::memmem::find(rest, end.as_bytes()))
        .min()
        .map_or(most, |end| at + end + 1)
}

/// What standards and manuals print as examples.
const PUBLISHED: &str = include_str!("secrets/published.txt");

/// Whether a token is a stand-in: a published example, a mask, a run of the keyboard.
fn placeholder(token: &[u8]) -> bool {
    if PUBLISHED
        .lines()
        .any(|known| memchr::memmem::find(token, known.as_bytes()).is_some())
    {
        return true;
    }
    let lower = token.to_ascii_lowercase();
    let words: [&[u8]; 17] = [
        b"example",
        b"xxxx",
        b"your",
        b"0000000",
        b"1234567",
        b"abcdefg",
        b"placeholder",
        b"changeme",
        b"redacted",
        b"dummy",
        b"****",
        b"....",
        b"fake",
        b"sample",
        b"insert",
        b"test_key",
        b"aaaaaa",
    ];
    words
        .iter()
        .any(|word| memchr::memmem::find(&lower, word).is_some())
        || distinct(token) < token.len().min(24) / 3
}

/// How many different bytes there are.
fn distinct(token: &[u8]) -> usize {
    let mut seen = [false; 256];
    token
        .iter()
        .filter(|byte| !std::mem::replace(&mut seen[usize::from(**byte)], true))
        .count()
}
