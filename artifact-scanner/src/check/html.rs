//! What a page does when it is opened.

mod address;
mod opens;
mod page;
mod pieces;
mod scripts;
mod style;

pub(super) use style::style;

pub(super) use address::{Scheme, carries_data, is_script, on_share};
use address::{is_player, leaves_web};

use super::markup::{Tag, Token, Tokens};
use super::{decode, script};
use crate::{Budget, Kind, Notes, Severity, Unscannable};
use page::Page;
use scripts::Written;

/// Looks at a page or a fragment of one; `data:` addresses become parts.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut page = Page::default();
    charset(text, notes);
    walk(text, Tokens::html(text), &mut page, notes, budget)?;
    page.judge(notes);
    Ok(())
}

/// Looks at a page that is read as XML, whose tags and texts end elsewhere.
pub fn check_xml(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut page = Page::default();
    let text = &*super::xml::expanded(text, budget)?;
    walk(text, Tokens::xml(text), &mut page, notes, budget)?;
    page.judge(notes);
    Ok(())
}

/// Whether other characters stand in the text than those that are looked at.
pub(super) fn charset(text: &str, notes: &mut Notes) {
    let head = decode::head(text, 2048).to_ascii_lowercase();
    let utf7 = ["charset=utf-7", "charset=\"utf-7", "charset='utf-7"];
    if utf7.iter().any(|word| head.contains(word)) {
        notes.find(
            "html.utf7",
            Severity::Suspicious,
            "",
            "the page is in UTF-7, which hides tags from all but its readers",
        );
    }
    // Browsers find out by themselves that a page is in ISO-2022-JP.
    let escapes = memchr::memchr_iter(0x1b, text.as_bytes()).any(|at| {
        matches!(
            text.as_bytes().get(at + 1..at + 3),
            Some(b"$@" | b"$B" | b"$(" | b"(B" | b"(J" | b"(I")
        )
    });
    if escapes {
        notes.find(
            "html.shifted",
            Severity::Suspicious,
            "",
            "the text shifts to another set of characters, in which quotes and tags are none",
        );
    }
}

fn walk<'a>(
    text: &'a str,
    mut tokens: Tokens<'a>,
    page: &mut Page,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut read = 0;
    let mut raw: Option<&'static str> = None;
    let mut code: Option<String> = None;
    let mut written = Written::default();
    let xml = tokens.is_xml();
    let references = super::xml::References::of(text);
    loop {
        // It is looked at where it lies: to move it costs as much as to read it.
        let token = tokens.next();
        let Some(token) = &token else { break };
        budget.charge((tokens.at() - read).max(1) as u64)?;
        read = tokens.at();
        match token {
            Token::Open(tag) => {
                raw = ["script", "style", "noscript"]
                    .into_iter()
                    .find(|name| *name == tag.name);
                if raw == Some("script") {
                    written = Written::of(tag);
                }
                if raw != Some("script") || !data_block(tag) {
                    page.open(tag, notes, budget)?;
                    // There a script is a text as any other, which may come in pieces.
                    if raw == Some("script") && (xml || page.foreign) && !tag.closed {
                        code.get_or_insert_default();
                    }
                } else {
                    raw = None;
                }
            }
            Token::Text(inner) if code.is_some() => {
                budget.unpack(inner.len() as u64)?;
                code.get_or_insert_default()
                    .push_str(&decode::references(inner));
            }
            Token::Text(inner) => match raw.take() {
                Some("script") if !inner.trim().is_empty() => {
                    scripts::judge(written, inner, read - inner.len().min(read), notes);
                }
                // Without scripts it is read as tags.
                Some("noscript") if !page.unscripted && inner.contains('<') => {
                    page.unscripted = true;
                    walk(inner, Tokens::html(inner), page, notes, budget)?;
                    page.unscripted = false;
                }
                Some("style") => {
                    style(inner, notes);
                    // Within `svg` and `math` the same text is read as tags.
                    if page.foreign && inner.contains('<') {
                        Page::suspicious_raw(inner, notes);
                    }
                }
                _ => {}
            },
            // Old browsers run what stands within.
            Token::Comment(inner, _)
                if inner.trim_start().starts_with("[if") && inner.contains('>') =>
            {
                budget.unpack(inner.len() as u64)?;
                let place = format!("comment at offset {}", read.saturating_sub(inner.len()));
                let body = inner.split_once('>').map_or("", |(_, body)| body);
                notes.part(place, None, Some(Kind::Html), body.as_bytes().to_vec());
            }
            Token::Comment(inner, false) if inner.trim().is_empty() => notes.find(
                "html.unclosed_comment",
                Severity::Suspicious,
                "",
                "a comment has no end: readers differ on what follows",
            ),
            Token::Doctype(inner) if inner.contains('[') => {
                super::xml::doctype(inner, &references, notes);
            }
            Token::Doubt(inner) => Page::doubt(inner, notes),
            Token::Close(name) => {
                page.close(name);
                if let Some(code) = code.take_if(|_| name == "script") {
                    scripts::judge(written, &code, read, notes);
                }
            }
            _ => {}
        }
    }
    if let Some(code) = code {
        scripts::judge(written, &code, read, notes);
    }
    Ok(())
}

/// Whether a text that some readers take for no tags holds tags that act.
pub(super) fn has_tags_that_act(text: &str) -> bool {
    Tokens::html(text).any(|token| match token {
        Token::Open(tag) => {
            tag.name == "script" || tag.attributes.iter().any(|(key, _)| key.starts_with("on"))
        }
        _ => false,
    })
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

#[cfg(test)]
mod tests;
