//! Which keys and tokens a view holds.
//!
//! A token is known by its prefix, its length and its alphabet, never by randomness alone; a value
//! without a prefix counts only next to a word that names it. The same is looked for in what the
//! view says in base64, hexadecimal, percent signs and UTF-16. No finding repeats a secret.

mod assign;
mod own;
mod tokens;
mod views;

#[cfg(test)]
mod tests;

pub use own::Own;

use crate::{Budget, Notes, Severity, Unscannable};

/// Views within views.
const DEPTH_MAX: u32 = 3;

/// Looks for keys and tokens. The view is a text in UTF-8 or bytes that hold text somewhere.
pub fn check(view: &[u8], notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut todo = vec![(String::new(), std::borrow::Cow::Borrowed(view), 0)];
    while let Some((place, view, depth)) = todo.pop() {
        budget.charge(view.len().max(1) as u64)?;
        search(&view, &place, notes);
        if depth < DEPTH_MAX {
            for (inner, decoded) in views::hidden(&view, budget)? {
                let place = if place.is_empty() {
                    inner
                } else {
                    format!("{place}, {inner}")
                };
                todo.push((place, decoded.into(), depth + 1));
            }
        }
    }
    Ok(())
}

fn search(view: &[u8], place: &str, notes: &mut Notes) {
    let mut told = |rule: &'static str, what: &str, at: usize| {
        let here = format!("offset {at}");
        let place = if place.is_empty() {
            here
        } else {
            format!("{place}, {here}")
        };
        notes.find(rule, Severity::Suspicious, place, format!("holds {what}"));
    };
    tokens::search(view, &mut told);
    assign::search(view, &mut told);
}

/// Whether a token is a stand-in: a published example, a mask, a run of the keyboard.
fn placeholder(token: &[u8]) -> bool {
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
