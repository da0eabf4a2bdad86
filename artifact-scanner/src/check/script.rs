//! What a script of a page does, told by its words.

mod codes;
mod dotted;
mod goes;
mod near;
mod short;

use super::decode;
use crate::Severity;
use goes::{sends_by_name, sends_directly, sends_out};
use near::{names_near, near, sends_near};

/// What is said of a script: how bad, and why.
pub(crate) type Judgement = (Severity, &'static str);

/// More of one script is not looked at word by word.
const SCRIPT_BYTES_MAX: usize = 4 << 20;
/// Bundled libraries are larger; what they contain by the way says nothing.
const SMALL: usize = 20_000;

const KEEPS: [&str; 5] = [
    "document.cookie",
    "localstorage",
    "sessionstorage",
    "indexeddb.",
    "navigator.credentials",
];
const SENDS: [&str; 14] = [
    "fetch(",
    "xmlhttprequest",
    "sendbeacon",
    "newimage",
    ".src=",
    "websocket(",
    "location=",
    "location.href=",
    "location.assign(",
    "location.replace(",
    "window.open(",
    ".open('post'",
    ".open(\"post\"",
    "$.post(",
];
const KNOWN_HOSTS: &str = include_str!("script/known_hosts.txt");

/// Whether the address names another host.
pub(crate) fn external(address: &str) -> bool {
    let bare: String = address
        .trim()
        .chars()
        .filter(|c| !c.is_ascii_control())
        .take(12)
        .collect();
    let bare = bare.to_ascii_lowercase().replace('\\', "/");
    ["http:", "https:", "ftp:", "ws:", "wss:", "//"]
        .iter()
        .any(|start| bare.starts_with(start))
}

/// Whether the host is one that plot libraries load themselves from.
pub(crate) fn known_host(address: &str) -> bool {
    let bare = address.trim();
    let rest = bare.find("//").map_or("", |at| &bare[at + 2..]);
    // A name and a password stand before the host.
    let place = rest.split(['/', '\\', '?', '#']).next().unwrap_or("");
    let host = place.split(':').next().unwrap_or("");
    !place.contains('@')
        && KNOWN_HOSTS
            .lines()
            .any(|known| host.eq_ignore_ascii_case(known))
}

/// Judges a script; without a reason for worse it is active.
pub(crate) fn judge(script: &str) -> Judgement {
    let script = decode::head(script, SCRIPT_BYTES_MAX);
    let judgement = by_words(script);
    let judgement = match short::shortened(script, SMALL) {
        Some(short) => worse(judgement, by_words(&short)),
        None => judgement,
    };
    // What bundled libraries and large data have as codes says nothing.
    if script.len() <= SMALL
        && let Some(written) = codes::written_out(script)
    {
        return worse(judgement, by_words(&written));
    }
    judgement
}

fn worse(one: Judgement, other: Judgement) -> Judgement {
    if other.0 > one.0 { other } else { one }
}

fn by_words(script: &str) -> Judgement {
    let bare: String = script
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let bare = dotted::dotted(&bare);
    let small = bare.len() < SMALL;
    let has = |word: &str| memchr::memmem::find(bare.as_bytes(), word.as_bytes()).is_some();
    for (word, why) in [
        (
            "serviceworker.register(",
            "it installs a service worker, which stays",
        ),
        ("wscript.shell", "it starts programs"),
        ("createobject(", "it makes objects of the system"),
        ("newactivexobject(\"wscript", "it starts programs"),
        ("newactivexobject(\"shell", "it starts programs"),
        ("newactivexobject('shell", "it starts programs"),
        ("coinhive", "it computes for a stranger"),
        ("cryptonight", "it computes for a stranger"),
    ] {
        if has(word) && (small || word != "createobject(") {
            return (Severity::Malicious, why);
        }
    }
    let sends = if small {
        sends_near(&bare, &KEEPS, &SENDS) || sends_by_name(&bare, &KEEPS)
    } else {
        sends_directly(&bare, &KEEPS)
    };
    if sends {
        return (
            Severity::Malicious,
            "it sends what the browser keeps for the site",
        );
    }
    if smuggles(&bare) {
        return (
            Severity::Malicious,
            "it puts a program together and offers it for saving",
        );
    }
    if small && let Some(judgement) = obfuscated(&bare) {
        return judgement;
    }
    if small
        && near(
            &bare,
            &[
                "keydown",
                "keypress",
                "keyup",
                ".password",
                "[type=password]",
            ],
            &SENDS,
        )
        && has("http")
    {
        return (Severity::Malicious, "it sends what is typed");
    }
    if sends_out(&bare, small) {
        return (
            Severity::Suspicious,
            "it sends to another host or goes there",
        );
    }
    if small && (has("opener.location") || has("document.domain") && has("alert(")) {
        return (Severity::Suspicious, "it reaches for the page around it");
    }
    let probe = bare.trim_start_matches(['(', '"', '\'', '/', '*', '-', ';', '>']);
    if bare.len() < 100
        && [
            "alert(",
            "alert`",
            "confirm(",
            "prompt(",
            "window.alert(",
            "top.alert(",
            "self.alert(",
            "console.log(document.",
        ]
        .iter()
        .any(|word| probe.starts_with(word))
    {
        return (Severity::Suspicious, "it only tries whether scripts run");
    }
    (Severity::Active, "it holds a script")
}

fn smuggles(bare: &str) -> bool {
    let has = |word: &str| memchr::memmem::find(bare.as_bytes(), word.as_bytes()).is_some();
    let makes = has("createobjecturl")
        || has("mssaveoropenblob")
        || has("mssaveblob")
        || has("data:application/octet");
    if !makes {
        return false;
    }
    let programs = [
        ".exe", ".scr", ".msi", ".hta", ".vbs", ".iso", ".img", ".bat", ".cmd", ".lnk", ".ps1",
        ".dll", ".jar", ".js'", ".js\"", ".vhd", ".docm", ".xlsm", ".apk", ".dmg",
    ];
    let heads = ["tvqq", "tvoa", "tvpq", "uesdb", "f0vmr", "0m8r4k", "n3q8r"];
    let named = programs
        .iter()
        .any(|program| names_near(bare, &["download"], program));
    let held = heads
        .iter()
        .any(|head| has(&format!("'{head}")) || has(&format!("\"{head}")));
    // A zip of results is made of what the page shows, not decoded.
    let packed = has("atob(") && near(bare, &["download"], &[".zip"]);
    (named && (has("atob(") || has("blob(") || has("uint8array"))) || packed || held
}

fn obfuscated(bare: &str) -> Option<Judgement> {
    let has = |word: &str| memchr::memmem::find(bare.as_bytes(), word.as_bytes()).is_some();
    let runs = [
        "eval(",
        "newfunction(",
        "document.write(",
        "settimeout(\"",
        "settimeout('",
        "settimeout(atob",
        "[\"eval\"]",
        "['eval']",
        "import(",
    ]
    .iter()
    .any(|word| has(word))
        || calls_constructor(bare);
    let decodes = [
        "atob(",
        "unescape(",
        "fromcharcode",
        "decodeuricomponent(",
        "parseint(",
        "\\x",
        "reverse().join",
        "split(\"\").reverse",
    ]
    .iter()
    .any(|word| has(word));
    if runs
        && decodes
        && (has("eval(")
            || has("function(atob")
            || has("unescape(")
            || has("atob(")
            || has("fromcharcode")
            || has("reverse()"))
    {
        return Some((Severity::Malicious, "it runs what it decodes"));
    }
    // `window['ev'+'al']`, `self["al"+"ert"]`.
    let joined = memchr::memmem::find_iter(bare.as_bytes(), b"[")
        .take(5000)
        .any(|at| {
            let inner: Vec<u8> = bare.as_bytes()[at + 1..]
                .iter()
                .take(40)
                .take_while(|b| **b != b']')
                .copied()
                .collect();
            let word = String::from_utf8_lossy(&inner).replace(['"', '\'', '+', '`'], "");
            inner.contains(&b'+')
                && [
                    "eval",
                    "function",
                    "alert",
                    "cookie",
                    "atob",
                    "fetch",
                    "location",
                    "constructor",
                    "document",
                    "write",
                    "execscript",
                    "localstorage",
                ]
                .contains(&word.as_str())
        });
    if joined {
        return Some((Severity::Malicious, "it hides the name of what it calls"));
    }
    let marks = bare
        .bytes()
        .filter(|b| matches!(b, b'[' | b']' | b'(' | b')' | b'!' | b'+'))
        .count();
    if bare.len() > 200 && marks * 20 > bare.len() * 19 {
        return Some((Severity::Malicious, "it is written in brackets alone"));
    }
    let (long, short) = codes::count(bare);
    if long > 8 || short > 20 && bare.len() < 4000 {
        return Some((Severity::Suspicious, "its names are written as codes"));
    }
    has("eval(").then_some((Severity::Suspicious, "it runs text as code"))
}

/// Whether a function is made of text by its `constructor`. That of a class has a body behind its
/// arguments, and nothing takes its value.
fn calls_constructor(bare: &str) -> bool {
    const TAKES: [&str; 6] = ["return", "new", "yield", "await", "throw", "=>"];
    bare.match_indices("constructor(").any(|(at, word)| {
        let before = &bare[..at];
        let is_taken = before.ends_with(|c: char| !(c.is_alphanumeric() || "{};/*_$".contains(c)))
            || TAKES.iter().any(|taker| before.ends_with(taker));
        is_taken || !behind_arguments(&bare[at + word.len()..]).starts_with('{')
    })
}

/// What stands behind the bracket that closes; nothing where none does.
fn behind_arguments(text: &str) -> &str {
    let (mut depth, mut quote) = (0, None);
    for (at, byte) in text.bytes().enumerate().take(1000) {
        match (quote, byte) {
            (Some(open), _) => quote = Some(open).filter(|open| *open != byte),
            (None, b'"' | b'\'' | b'`') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') if depth == 0 => return &text[at + 1..],
            (None, b')') => depth -= 1,
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests;
