//! Does a script send to another host, or turn the page to it?

use super::super::decode;
use super::near::any_around;
use super::{external, known_host};
use memchr::memmem;
use std::borrow::Cow;

/// Calls that turn the page, or open another.
const TURNS: [&str; 5] = [
    "location=",
    "location.href=",
    "location.assign(",
    "location.replace(",
    "window.open(",
];
/// Calls that send what is added to their address.
const CALLS: [&str; 7] = [
    "fetch(",
    "sendbeacon(",
    "websocket(",
    ".src=",
    "location=",
    "location.href=",
    "importscripts(",
];
/// What stands between an address and what is added to it.
const ADDED: usize = 240;

/// Whether what the browser keeps is added to an address elsewhere in one statement: this is told of
/// libraries, too.
pub(super) fn sends_directly(bare: &str, keeps: &[&str]) -> bool {
    keeps.iter().any(|kept| {
        memmem::find_iter(bare.as_bytes(), kept.as_bytes())
            .take(200)
            .any(|at| {
                let before = &bare.as_bytes()[at.saturating_sub(ADDED)..at];
                let from = memchr::memrchr(b';', before).map_or(0, |end| end + 1);
                let statement = String::from_utf8_lossy(&before[from..]);
                CALLS.iter().any(|call| {
                    statement.match_indices(call).any(|(at, _)| {
                        let address = statement[at + call.len()..].strip_prefix(['"', '\'', '`']);
                        address.is_some_and(is_elsewhere)
                    })
                })
            })
    })
}

/// Whether what the browser keeps has a name, under which it is added to an address elsewhere.
pub(super) fn sends_by_name(bare: &str, keeps: &[&str]) -> bool {
    let named = |at: usize| {
        let from = bare[..at]
            .rfind([';', '{', '}', '\n'])
            .map_or(0, |end| end + 1);
        let (name, _) = bare[from..at].split_once('=')?;
        let name = name.rsplit(['.', ',']).next()?;
        let name = ["var", "let", "const"]
            .iter()
            .find_map(|word| name.strip_prefix(word).filter(|rest| !rest.is_empty()))
            .unwrap_or(name);
        name.bytes().all(is_of_name).then_some(name)
    };
    let sends = |name: &str| {
        CALLS.iter().any(|call| {
            bare.match_indices(call).take(30).any(|(at, _)| {
                let behind = decode::head(&bare[at + call.len()..], ADDED);
                let statement = behind.split(';').next().unwrap_or("");
                let is_out = statement
                    .strip_prefix(['"', '\'', '`'])
                    .is_some_and(is_elsewhere);
                is_out
                    && statement.match_indices(name).any(|(at, _)| {
                        let before = statement[..at].bytes().next_back();
                        let after = statement.as_bytes().get(at + name.len());
                        before.is_some_and(|b| b"+({,".contains(&b))
                            && !after.is_some_and(|b| is_of_name(*b))
                    })
            })
        })
    };
    keeps.iter().any(|kept| {
        bare.match_indices(kept)
            .take(20)
            .filter_map(|(at, _)| named(at))
            .any(|name| !name.is_empty() && sends(name))
    })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// Whether the page turns to an address elsewhere that has a name, or comes in pieces.
fn goes_by_name(bare: &str) -> bool {
    let joined: Cow<'_, str> = if bare.contains("'+'") || bare.contains("\"+\"") {
        bare.replace("'+'", "").replace("\"+\"", "").into()
    } else {
        bare.into()
    };
    let goes = |rest: &str| {
        if let Some(address) = rest.strip_prefix(['"', '\'', '`']) {
            return is_elsewhere(address);
        }
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
            .unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let ends = behind.is_empty() || behind.starts_with([';', ')', ',', '}', '+', '<']);
        ends && !name.is_empty()
            && ['"', '\'', '`'].iter().any(|quote| {
                let set = format!("{name}={quote}");
                joined.match_indices(&set).take(20).any(|(at, _)| {
                    let is_whole = joined[..at].chars().next_back().is_none_or(|before| {
                        !(before.is_alphanumeric() || matches!(before, '.' | '_' | '$'))
                    });
                    // White space is gone: `var a=` is one word.
                    let is_new = ["var", "let", "const"]
                        .iter()
                        .any(|word| joined[..at].ends_with(word));
                    (is_whole || is_new) && is_elsewhere(&joined[at + set.len()..])
                })
            })
    };
    TURNS.iter().any(|call| {
        joined
            .match_indices(call)
            .take(30)
            .any(|(at, _)| goes(&joined[at + call.len()..]))
    })
}

/// Whether an address is of another host that is not known.
fn is_elsewhere(address: &str) -> bool {
    external(address) && !known_host(address) && !own_host(address) && !w3(address)
}

/// A call that sends, with an address elsewhere written into it.
pub(super) fn sends_out(bare: &str, small: bool) -> bool {
    let calls = [
        "fetch(",
        "sendbeacon(",
        "websocket(",
        "eventsource(",
        "importscripts(",
        "import(",
        "newimage().src=",
        ".open('get',",
        ".open(\"get\",",
        ".open('post',",
        ".open(\"post\",",
        "location=",
        "location.href=",
        "location.assign(",
        "location.replace(",
        "window.open(",
        "$.get(",
        "$.post(",
        "$.getscript(",
    ];
    calls.iter().any(|call| {
        memchr::memmem::find_iter(bare.as_bytes(), call.as_bytes())
            .take(2000)
            .any(|at| {
                let Some(rest) = bare.get(at + call.len()..) else {
                    return false;
                };
                let Some(address) = rest.strip_prefix(['"', '\'', '`']) else {
                    return false;
                };
                is_elsewhere(address)
            })
    }) || (small && goes_by_name(bare))
        || shows_from_elsewhere(bare)
}

/// Whether the address of a picture that a script makes is elsewhere.
fn shows_from_elsewhere(bare: &str) -> bool {
    any_around(bare, &["newimage"], |around, _| {
        memmem::find_iter(around, b".src=").any(|at| {
            let address = String::from_utf8_lossy(&around[at + ".src=".len()..]);
            let address = address.strip_prefix(['"', '\'', '`']);
            address.is_some_and(is_elsewhere)
        })
    })
}

/// `"http://" + window.location.host`: the page's own.
fn own_host(address: &str) -> bool {
    let rest = address.find("//").map_or("", |at| &address[at + 2..]);
    let rest = rest.trim_start_matches(['"', '\'', '`', '+', '$', '{']);
    let own = [
        "window.location",
        "location.",
        "document.location",
        "document.domain",
    ];
    own.iter().any(|own| rest.starts_with(own))
}

/// Names that are no addresses, the machine itself, and the page that tells of a browser's settings
/// for drawings, which plot libraries open.
fn w3(address: &str) -> bool {
    address.contains("//www.w3.org/")
        || address.contains("//localhost")
        || ["http:", "https:"].iter().any(|scheme| {
            let rest = address.strip_prefix(scheme);
            let rest = rest.and_then(|rest| rest.strip_prefix("//get.webgl.org"));
            rest.is_some_and(|rest| rest.starts_with(['"', '\'', '`', '/']))
        })
}
