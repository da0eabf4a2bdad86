//! What one attribute does when the page is opened.

use super::super::markup::Tag;
use super::super::{decode, script};
use super::{Scheme, is_script, leaves_web};
use crate::{Budget, Kind, Notes, Severity, Unscannable};

/// Handlers that a person must do something for, or that any page has.
const BY_HAND: [&str; 34] = [
    "onclick",
    "ondblclick",
    "onchange",
    "oninput",
    "onsubmit",
    "onreset",
    "onkeydown",
    "onkeyup",
    "onkeypress",
    "onmouseover",
    "onmouseout",
    "onmousedown",
    "onmouseup",
    "onmousemove",
    "onmouseenter",
    "onmouseleave",
    "onselect",
    "onresize",
    "onblur",
    "ondrag",
    "ondrop",
    "oncontextmenu",
    "onwheel",
    "ontouchstart",
    "ontouchend",
    "ontouchmove",
    "onunload",
    "onbeforeunload",
    "onhashchange",
    "onpopstate",
    "oncopy",
    "onpaste",
    "onsearch",
    "oncut",
];

pub(super) fn place(tag: &Tag<'_>) -> String {
    format!("offset {}", tag.at)
}

pub(super) fn handler(tag: &Tag<'_>, key: &str, value: &str, notes: &mut Notes) {
    let code = decode::references(value);
    let (severity, why) = script::judge(&code);
    // The page's own start is as good as a script; a picture that fails is a known trick.
    let usual = BY_HAND.contains(&key)
        || (key == "onload"
            && matches!(
                &*tag.name,
                "body" | "html" | "link" | "script" | "iframe" | "frameset"
            ));
    let shows = {
        let bare: String = code.chars().filter(|c| !c.is_whitespace()).collect();
        bare.starts_with("this.") && !bare.contains("http") && bare.matches('(').count() <= 1
            || bare.is_empty()
            || bare.starts_with("return") && bare.len() < 14
    };
    let severity = if usual || shows || severity == Severity::Malicious {
        severity
    } else {
        Severity::Suspicious
    };
    notes.find(
        "html.handler",
        severity,
        place(tag),
        format!("a handler runs when the page is opened or used: {why}"),
    );
}

/// The address behind the seconds: behind `url=`, or without it.
fn refreshed(content: &str) -> &str {
    let separates = |c: char| c.is_whitespace() || matches!(c, ';' | ',');
    let rest = content
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = rest.trim_start_matches(separates);
    let named = decode::head(rest, 3)
        .eq_ignore_ascii_case("url")
        .then(|| rest[3..].trim_start());
    let address = named
        .and_then(|rest| rest.strip_prefix('='))
        .map_or(rest, str::trim_start);
    match address.chars().next() {
        Some(quote @ ('"' | '\'')) => address[1..].split(quote).next().unwrap_or(""),
        _ => address,
    }
}

pub(super) fn refresh(tag: &Tag<'_>, content: &str, notes: &mut Notes) {
    let address = refreshed(content);
    let (scheme, head) = is_script(address);
    if scheme != Scheme::Other {
        notes.find(
            "html.refresh",
            Severity::Malicious,
            place(tag),
            "the page turns into a script by itself",
        );
    } else if script::external(&head) || leaves_web(&head) {
        notes.find(
            "html.refresh",
            Severity::Suspicious,
            place(tag),
            "the page turns to another host or program by itself",
        );
    }
}

pub(super) fn script_address(
    tag: &Tag<'_>,
    hidden: bool,
    animates: bool,
    head: &str,
    notes: &mut Notes,
) {
    let code = head.split_once(':').map_or("", |(_, code)| code);
    let code = String::from_utf8_lossy(&decode::percent(code.as_bytes())).into_owned();
    let bare = code.trim().trim_end_matches(';');
    let nothing = matches!(
        bare,
        "" | "void(0)" | "void 0" | "{}" | "//" | "undefined" | "null" | "false"
    );
    let own_call = bare.ends_with(')')
        && bare.split('(').count() == 2
        && bare.split('(').next().is_some_and(|name| {
            name.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$'))
        });
    let (judged_as, why) = script::judge(&code);
    let opens_itself = matches!(
        &*tag.name,
        "iframe" | "frame" | "object" | "embed" | "base" | "animate" | "set"
    ) || animates;
    let severity = if opens_itself || judged_as == Severity::Malicious {
        Severity::Malicious
    } else if hidden || head.to_ascii_lowercase().starts_with("vb") {
        Severity::Suspicious
    } else if nothing || (own_call && judged_as == Severity::Active) {
        Severity::Active
    } else {
        Severity::Suspicious
    };
    notes.find(
        "html.script_address",
        severity,
        place(tag),
        format!("an address is a script: {why}"),
    );
}

/// A `data:` address: pictures stay, everything else is looked at in turn.
pub(super) fn data_address(
    tag: &Tag<'_>,
    key: &str,
    head: &str,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let Some((kind, body)) = head[5..].split_once(',') else {
        return Ok(());
    };
    let kind = kind.to_ascii_lowercase();
    let media = kind.split(';').next().unwrap_or("").trim();
    let opens = matches!(
        &*tag.name,
        "iframe"
            | "frame"
            | "object"
            | "embed"
            | "script"
            | "a"
            | "area"
            | "base"
            | "form"
            | "use"
            | "animate"
            | "set"
            | "link"
    );
    let script = media.contains("html")
        || media.contains("javascript")
        || media.contains("xml") && !media.contains("image")
        || (media.contains("svg") && tag.name != "link");
    if opens && script {
        let severity = if key == "action"
            || matches!(&*tag.name, "script" | "iframe" | "object" | "embed" | "use")
        {
            Severity::Malicious
        } else {
            Severity::Suspicious
        };
        notes.find(
            "html.data_page",
            severity,
            place(tag),
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
    let kind = match media {
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "image/svg+xml" => Some(Kind::Svg),
        _ => None,
    };
    let saves = tag.attributes.iter().any(|(key, _)| key == "download");
    if saves && crate::kind::detect::detect(&bytes, None, "") == Kind::Executable {
        notes.find(
            "html.smuggling",
            Severity::Malicious,
            place(tag),
            "the page holds a program and offers it for saving",
        );
    }
    if !bytes.is_empty() {
        notes.part(
            format!("data address, {}", place(tag)),
            tag.attribute("download")
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
            kind,
            bytes,
        );
    }
    Ok(())
}
