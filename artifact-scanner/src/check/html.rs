//! What a page does when it is opened.

mod address;
mod opens;
mod page;

pub(super) use address::{Scheme, carries_data, is_script};

use super::markup::{Tag, Token, Tokens};
use super::{decode, script};
use crate::{Budget, Notes, Severity, Unscannable};
use page::Page;

/// Looks at a page or a fragment of one; `data:` addresses become parts.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut page = Page::default();
    walk(text, &mut page, notes, budget)?;
    page.judge(notes);
    Ok(())
}

fn walk(
    text: &str,
    page: &mut Page,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut tokens = Tokens::html(text);
    let mut read = 0;
    let mut raw: Option<&'static str> = None;
    while let Some(token) = tokens.next() {
        budget.charge((tokens.at() - read).max(1) as u64)?;
        read = tokens.at();
        match token {
            Token::Open(tag) => {
                raw = match tag.name.as_str() {
                    "script" => Some("script"),
                    "style" => Some("style"),
                    _ => None,
                };
                if raw != Some("script") || !data_block(&tag) {
                    page.open(&tag, notes, budget)?;
                } else {
                    raw = None;
                }
            }
            Token::Text(inner) => match raw.take() {
                Some("script") if !inner.trim().is_empty() => judged(
                    script::judge(inner),
                    "html.script",
                    read - inner.len().min(read),
                    notes,
                ),
                Some("style") => {
                    style(inner, notes);
                    // Within `svg` and `math` the same text is read as tags.
                    if page.foreign && inner.contains('<') {
                        Page::suspicious_raw(inner, notes);
                    }
                }
                _ => {}
            },
            Token::Comment(inner, false) if inner.trim().is_empty() => notes.find(
                "html.unclosed_comment",
                Severity::Suspicious,
                "",
                "a comment has no end: readers differ on what follows",
            ),
            Token::Doctype(inner) if inner.contains('[') => super::xml::doctype(inner, text, notes),
            Token::Close(name) => page.close(&name),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a `script` holds data, not code.
fn data_block(tag: &Tag<'_>) -> bool {
    let kind = tag
        .attribute("type")
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    let code = [
        "",
        "module",
        "text/javascript",
        "application/javascript",
        "text/ecmascript",
        "application/ecmascript",
        "text/babel",
        "text/jscript",
        "text/livescript",
        "text/x-javascript",
        "application/x-javascript",
        "text/vbscript",
        "importmap",
        "speculationrules",
    ];
    !(code.contains(&kind.as_str()) || kind.contains("script")) && tag.attribute("src").is_none()
}

pub(super) fn judged(
    judgement: script::Judgement,
    rule: &'static str,
    at: usize,
    notes: &mut Notes,
) {
    notes.find(rule, judgement.0, format!("offset {at}"), judgement.1);
}

/// What a style sheet fetches.
pub(super) fn style(text: &str, notes: &mut Notes) {
    let bare: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if bare.contains("javascript:")
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
        .take(2000)
    {
        let address = decode::head(&bare[at..], 2000)
            .trim_start_matches("@import")
            .trim_start_matches("url(")
            .trim_start_matches(['"', '\'']);
        let address = address.split(['"', '\'', ')', ';']).next().unwrap_or("");
        if script::external(address) {
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

#[cfg(test)]
mod tests;
