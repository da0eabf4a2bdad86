//! What a drawing does when it is opened.

mod uses;

use super::html::{self, Scheme, is_script};
use super::markup::{Tag, Token, Tokens};
use super::{decode, script, xml};
use crate::{Budget, Kind, Notes, Severity, Unscannable};
use std::borrow::Cow;

/// A script at least so long that only draws is a chart's own.
const CHART_BYTES_MIN: usize = 1500;

/// Looks at the elements and attributes of a drawing, as they are written and as they are read.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    html::charset(text, notes);
    elements(text, notes, budget)?;
    match xml::expanded(text, budget)? {
        Cow::Owned(read) => elements(&read, notes, budget),
        Cow::Borrowed(_) => Ok(()),
    }
}

fn elements(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut uses = uses::Uses::default();
    let mut inside: Vec<Cow<str>> = Vec::new();
    let mut tokens = Tokens::xml(text);
    let mut read = 0;
    // A long script of its own makes the handlers that start it part of a chart.
    let chart = charts(text);
    let references = xml::References::of(text);
    while let Some(token) = tokens.next() {
        budget.charge((tokens.at() - read).max(1) as u64)?;
        read = tokens.at();
        match token {
            Token::Open(tag) => {
                element(&tag, chart, notes, budget)?;
                uses.open(&tag);
                if tag.closed {
                    uses.close();
                } else {
                    if inside.len() as u64 >= u64::from(budget.limits().nesting) * 16 {
                        return Err(Unscannable::Limit(crate::Limit::Depth));
                    }
                    inside.push(tag.name);
                }
            }
            Token::Close(_) => {
                inside.pop();
                uses.close();
            }
            Token::Text(inner) => match inside.last().map(|name| &**name) {
                Some("script" | "handler") if !inner.trim().is_empty() => {
                    let (severity, why) = script::judge(&decode::references(inner));
                    let severity = if severity == Severity::Active && chart {
                        severity
                    } else {
                        Severity::Malicious
                    };
                    notes.find(
                        "svg.script",
                        severity,
                        format!("offset {}", read.saturating_sub(inner.len())),
                        format!("a drawing runs a script: {why}"),
                    );
                }
                Some("style") => sheet(inner, notes),
                _ => {}
            },
            Token::Doctype(inner) => xml::doctype(inner, &references, notes),
            Token::Instruction(inner) => xml::instruction(inner, notes),
            // A reader of pages ends this comment at once.
            Token::Comment(inner, _) if inner.starts_with(['>', '-']) => hides(inner, notes),
            Token::Comment(..) | Token::Doubt(_) => {}
        }
    }
    if uses.explodes() {
        notes.find(
            "svg.use_bomb",
            Severity::Suspicious,
            "",
            "copies of copies grow to millions of shapes",
        );
    }
    Ok(())
}

/// A style sheet of a drawing: it fetches nothing, and holds no tags.
fn sheet(text: &str, notes: &mut Notes) {
    let mut own = Notes::default();
    html::style(text, &mut own);
    if own.findings().iter().any(|one| one.rule == "css.external") {
        notes.find(
            "svg.external",
            Severity::Suspicious,
            "",
            "a style sheet is loaded from another host",
        );
    }
    notes.copy(&own, |_| true);
    hides(text, notes);
}

/// Tags where only readers of pages see any.
fn hides(text: &str, notes: &mut Notes) {
    if html::has_tags_that_act(text) {
        notes.find(
            "svg.mutation",
            Severity::Malicious,
            "",
            "a script hides where readers differ on what is text",
        );
    }
}

/// Whether the drawing has a long script that looks at its own elements and goes nowhere.
fn charts(text: &str) -> bool {
    let mut script_next = false;
    let mut long = false;
    for token in Tokens::xml(text) {
        match token {
            Token::Open(tag) => script_next = tag.name == "script",
            Token::Text(inner) if script_next && !inner.trim().is_empty() => {
                let own = inner.contains("getElementById")
                    || inner.contains("querySelector")
                    || inner.contains("createElementNS");
                long |= inner.len() >= CHART_BYTES_MIN
                    && own
                    && script::judge(inner).0 == Severity::Active;
            }
            _ => {}
        }
    }
    long
}

fn element(
    tag: &Tag<'_>,
    chart: bool,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let place = format!("offset {}", tag.at);
    match &*tag.name {
        "iframe" | "object" | "embed" | "applet" | "base" | "meta" | "form" | "link" | "frame" => {
            notes.find(
                "svg.page",
                Severity::Malicious,
                &*place,
                "a drawing holds parts of a page that act",
            );
        }
        "foreignobject" => notes.find(
            "svg.foreign",
            Severity::Active,
            &*place,
            "a drawing holds text of a page",
        ),
        "script"
            if tag
                .attributes
                .iter()
                .any(|(key, _)| key == "src" || key.ends_with("href")) =>
        {
            notes.find(
                "svg.script",
                Severity::Malicious,
                &*place,
                "a drawing loads a script",
            );
        }
        "handler" | "listener" => notes.find(
            "svg.script",
            Severity::Malicious,
            &*place,
            "a drawing listens to what happens to it",
        ),
        _ => {}
    }
    for (key, value) in &tag.attributes {
        budget.charge(8)?;
        let value = &*decode::references(value);
        if key.len() > 3
            && key.starts_with("on")
            && key[2..].bytes().all(|b| b.is_ascii_alphabetic())
        {
            let (severity, why) = script::judge(value);
            let severity = if chart && severity == Severity::Active {
                severity
            } else {
                Severity::Malicious
            };
            notes.find(
                "svg.handler",
                severity,
                &*place,
                format!("a drawing runs a script when it is opened or used: {why}"),
            );
        } else if key == "attributename" && value.trim().to_ascii_lowercase().starts_with("on") {
            notes.find(
                "svg.handler",
                Severity::Malicious,
                &*place,
                "an animation sets a handler",
            );
        } else if key.starts_with("xmlns") {
        } else if matches!(&**key, "values" | "to" | "from" | "by") {
            if value
                .split(';')
                .any(|one| matches!(is_script(one).0, Scheme::Script { .. }))
            {
                notes.find(
                    "svg.script_address",
                    Severity::Malicious,
                    &*place,
                    "an animation sets an address that is a script",
                );
            }
        } else if key == "style" {
            html::style(value, notes);
        } else {
            address(tag, key, value, &place, notes, budget)?;
        }
    }
    Ok(())
}

fn address(
    tag: &Tag<'_>,
    key: &str,
    value: &str,
    place: &str,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let (scheme, head) = is_script(value);
    let is_address = key == "href" || key.ends_with(":href") || key == "src";
    match scheme {
        Scheme::Script { .. } => notes.find(
            "svg.script_address",
            Severity::Malicious,
            place,
            "an address is a script",
        ),
        Scheme::Data if is_address => {
            let Some((kind, body)) = head[5..].split_once(',') else {
                return Ok(());
            };
            let kind = kind.to_ascii_lowercase();
            if kind.contains("html")
                || kind.contains("script")
                || (kind.contains("svg")
                    && tag.name != "image"
                    && tag.name != "img"
                    && tag.name != "feimage")
            {
                notes.find(
                    "svg.data_page",
                    Severity::Malicious,
                    place,
                    "an address holds a page or a script of its own",
                );
            }
            budget.unpack(body.len().max(1) as u64)?;
            let plain = decode::percent(body.as_bytes());
            let bytes = if kind.contains("base64") {
                decode::base64(&plain)
            } else {
                plain.into_owned()
            };
            let kind = kind.contains("svg").then_some(Kind::Svg);
            notes.part(format!("data address, {place}"), None, kind, bytes);
        }
        Scheme::Other if is_address && (script::external(&head) || html::on_share(&head)) => {
            match &*tag.name {
                "use" | "image" | "img" | "feimage" | "tref" | "cursor" | "font-face-uri" => {
                    notes.find(
                        "svg.external",
                        Severity::Suspicious,
                        place,
                        "something is loaded from another host",
                    );
                }
                _ => {}
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    const NS: &str =
        "xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'";

    fn worst(inner: &str) -> Option<Severity> {
        let mut notes = Notes::default();
        let text = if inner.contains("svg") {
            inner.to_owned()
        } else {
            format!("<svg {NS}>{inner}</svg>")
        };
        check(&text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        notes.worst()
    }

    #[test]
    fn plots_are_clean() {
        for inner in [
            "<defs><path id='a' d='M 0 0'/></defs><use xlink:href='#a' x='3'/>",
            "<image xlink:href='data:image/png;base64,iVBORw0KGgo='/><a xlink:href='https://a.invalid/'><text>x</text></a>",
            "<style type='text/css'>*{stroke-linejoin: round}</style><text>onload=alert(1)</text>",
            "<metadata><rdf:RDF xmlns:rdf='http://x'><cc:Work rdf:about=''/></rdf:RDF></metadata>",
        ] {
            assert_eq!(worst(inner), None, "{inner}");
        }
    }

    #[test]
    fn drawings_that_act_are_malicious() {
        for inner in [
            "<script>alert(1)</script>",
            "<script><![CDATA[alert(1)]]></script>",
            "<script href='https://a.invalid/x.js'/>",
            "<a><animate attributeName='href' values='#;javascript:alert(1)'/></a>",
            "<set attributeName='onload' to='alert(1)'/>",
            "<foreignObject><iframe src='javascript:alert(1)'/></foreignObject>",
            "<a xlink:href='java&#9;script:alert(1)'><text/></a>",
            "<use href='data:image/svg+xml;base64,PHN2Zz4='/>",
            "<g onmouseover='alert(1)'/>",
            "<foreignObject><body onload='x()'/></foreignObject>",
            "<s:svg xmlns:s='http://www.w3.org/2000/svg'><s:script>alert(1)</s:script></s:svg>",
            "<SVG ONLOAD=alert(1)>svg",
            "<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><svg>&x;</svg>",
            "<handler type='text/javascript'>x()</handler>",
            "<!DOCTYPE svg [<!ENTITY x '<script>alert(1)</script>'>]><svg>&x;</svg>",
            "<!DOCTYPE svg [<!-- it's -->]><svg onload='a()'/>",
            "<!DOCTYPE svg [<!ENTITY j 'java'><!ENTITY k '&j;script:'>]><svg><a href='&k;a()'/></svg>",
            "<!DOCTYPE svg [<!ENTITY x 'on'>]><svg><set attributeName='&x;click' to='a()'/></svg>",
        ] {
            assert_eq!(worst(inner), Some(Severity::Malicious), "{inner}");
        }
        assert_eq!(
            worst("<image href='https://a.invalid/x.png'/>"),
            Some(Severity::Suspicious)
        );
    }

    #[test]
    fn copies_of_copies_are_counted() {
        let level = |n: u32| {
            format!(
                "<g id='a{n}'>{}</g>",
                format!("<use href='#a{}'/>", n - 1).repeat(10)
            )
        };
        let bomb: String = (1..11).map(level).collect();
        assert_eq!(
            worst(&format!("<g id='a0'><circle/></g>{bomb}<use href='#a10'/>")),
            Some(Severity::Suspicious)
        );
        // The same, referring forward.
        let bomb: String = (1..11).rev().map(level).collect();
        assert_eq!(
            worst(&format!("<use href='#a10'/>{bomb}<g id='a0'><circle/></g>")),
            Some(Severity::Suspicious)
        );
        assert_eq!(worst(&"<use href='#a'/>".repeat(500)), None);
    }

    #[test]
    fn a_long_chart_script_is_active() {
        let code = "function zoom(e) { var el = document.getElementById('frames'); el.setAttribute('x', 1); }\n".repeat(40);
        assert_eq!(
            worst(&format!(
                "<g onclick='zoom(this)'/><script><![CDATA[{code}]]></script>"
            )),
            Some(Severity::Active)
        );
    }
}
