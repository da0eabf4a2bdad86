//! What does the text of a `script` do, by the type that it has?

use super::super::markup::Tag;
use super::super::script;
use super::{carries_data, judged};
use crate::{Notes, Severity};
use serde_json::Value;

/// What the text of a `script` is to a browser.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Written {
    #[default]
    Code,
    Module,
    /// Where modules lie that are imported by a name.
    Map,
    /// Pages that are fetched before anybody asks for them.
    Rules,
}

impl Written {
    pub(super) fn of(tag: &Tag<'_>) -> Self {
        let kind = super::decode::references(tag.attribute("type").unwrap_or(""));
        match kind.trim().to_ascii_lowercase().as_str() {
            "module" => Self::Module,
            "importmap" => Self::Map,
            "speculationrules" => Self::Rules,
            _ => Self::Code,
        }
    }
}

pub(super) fn judge(written: Written, text: &str, at: usize, notes: &mut Notes) {
    let elsewhere = match written {
        Written::Code => false,
        Written::Module => imports_elsewhere(text),
        Written::Map => addresses(text).any(|address| is_elsewhere(&address)),
        Written::Rules => {
            if addresses(text).any(|address| script::external(&address) && carries_data(&address)) {
                notes.find(
                    "html.exfiltration",
                    Severity::Suspicious,
                    format!("offset {at}"),
                    "an address that is loaded carries data to another host",
                );
            }
            false
        }
    };
    if elsewhere {
        notes.find(
            "html.script_elsewhere",
            Severity::Suspicious,
            format!("offset {at}"),
            "a module is loaded from another host",
        );
    }
    judged(script::judge(text), "html.script", at, notes);
}

fn is_elsewhere(address: &str) -> bool {
    script::external(address) && !script::known_host(address)
}

/// All texts within JSON; of what only a browser reads as that, what stands between quotes.
fn addresses(text: &str) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let mut todo = match serde_json::from_str(text) {
        Ok(value) => vec![value],
        Err(_) => text
            .split('"')
            .map(|piece| Value::String(unescaped(piece)))
            .collect(),
    };
    while let Some(value) = todo.pop() {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(items) => todo.extend(items),
            Value::Object(entries) => todo.extend(entries.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    found.into_iter()
}

/// `import a from "https://..."`, `export * from "..."`, `import "..."`.
fn imports_elsewhere(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    ["import", "from"].iter().any(|word| {
        memchr::memmem::find_iter(text.as_bytes(), *word).any(|at| {
            let before = at.checked_sub(1).map(|at| text.as_bytes()[at]);
            let behind = past_gaps(&text[at + word.len()..]);
            let quote = behind.chars().next().filter(|c| matches!(c, '"' | '\''));
            let address = quote.and_then(|quote| behind[1..].split(quote).next());
            !before.is_some_and(is_word)
                && address.is_some_and(|address| is_elsewhere(&unescaped(address)))
        })
    })
}

/// The text behind blanks and comments.
fn past_gaps(text: &str) -> &str {
    const COMMENTS_MAX: usize = 16;
    // A mark of the order of bytes is a blank, too.
    let blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    let mut rest = text.trim_start_matches(blank);
    for _ in 0..COMMENTS_MAX {
        let behind = if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")
        } else if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n')
        } else {
            return rest;
        };
        rest = behind.map_or("", |(_, behind)| behind.trim_start_matches(blank));
    }
    // So many comments stand there to hide something.
    rest.find(['"', '\'']).map_or("", |at| &rest[at..])
}

/// The start of an address with `\x68`, `\u0068` and `\u{68}` undone.
fn unescaped(address: &str) -> String {
    let head = super::decode::head(address, 400);
    let mut out = String::new();
    let mut rest = head;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let (digits, length) = match escape.as_bytes() {
            [b'x', ..] => (escape.get(1..3), 3),
            [b'u', b'{', ..] => {
                let digits = escape[2..].split('}').next();
                (digits, digits.map_or(2, str::len) + 3)
            }
            [b'u', ..] => (escape.get(1..5), 5),
            _ => (None, 0),
        };
        // What is escaped without need stands for itself.
        let letter = digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32);
        out.extend(letter);
        rest = escape
            .get(length..)
            .filter(|_| letter.is_some())
            .unwrap_or(escape);
    }
    out.push_str(rest);
    out
}
