//! What does a style sheet fetch or run?

use super::super::{decode, script};
use super::{carries_data, on_share};
use crate::{Notes, Severity};
use std::borrow::Cow;

/// What a style sheet fetches.
pub(in super::super) fn style(text: &str, notes: &mut Notes) {
    let text = unescaped(text);
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bare = plain.to_ascii_lowercase();
    if runs_address(&bare)
        || bare.contains("expression(") && bare.contains("alert")
        || bare.contains("-moz-binding:url(")
        || bare.contains("behavior:url(")
    {
        notes.find(
            "css.script",
            Severity::Malicious,
            "",
            "a style sheet runs a script",
        );
    }
    let reads_values = ["[value^=", "[value$=", "[value*=", "[value|="]
        .iter()
        .any(|selector| bare.contains(selector));
    let mut fetches = false;
    for (at, _) in bare
        .match_indices("url(")
        .chain(bare.match_indices("@import"))
        .chain(bare.match_indices("image-set("))
        .take(2000)
    {
        // Letters stand for data as they were written.
        let skipped = ["@import", "image-set("]
            .into_iter()
            .find(|word| bare[at..].starts_with(word))
            .map_or(0, str::len);
        let at = at + skipped;
        let at = at + usize::from(bare[at..].starts_with("url(")) * "url(".len();
        let address = decode::head(&plain[at..], 2000).trim_start_matches(['"', '\'']);
        let address = address.split(['"', '\'', ')', ';']).next().unwrap_or("");
        if on_share(address) {
            notes.find(
                "css.share",
                Severity::Suspicious,
                "",
                "a style sheet loads a file from another computer",
            );
        } else if script::external(address) {
            fetches |= !script::known_host(address);
            if carries_data(address) {
                notes.find(
                    "css.exfiltration",
                    Severity::Suspicious,
                    "",
                    "a style sheet carries data to another host",
                );
            }
        }
    }
    if fetches && reads_values {
        notes.find(
            "css.exfiltration",
            Severity::Malicious,
            "",
            "a style sheet tells another host what is typed",
        );
    } else if fetches {
        notes.find(
            "css.external",
            Severity::Active,
            "",
            "a style sheet loads from another host",
        );
    }
}

/// Whether an address is code; a selector may ask for links that are, or be of a class of such a name.
fn runs_address(bare: &str) -> bool {
    bare.match_indices("javascript:").any(|(at, _)| {
        let before = bare[..at].trim_end_matches(['"', '\'']);
        let is_named = bare[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.#".contains(c));
        !is_named && !before.ends_with('=')
    })
}

/// Undoes `\75rl`: a backslash before up to six digits, or before any other character.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest
            .bytes()
            .take(6)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        if digits > 0 {
            let code = u32::from_str_radix(&rest[..digits], 16).unwrap_or_default();
            out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &rest[digits..];
            rest = rest
                .strip_prefix(|c: char| c.is_ascii_whitespace())
                .unwrap_or(rest);
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}
