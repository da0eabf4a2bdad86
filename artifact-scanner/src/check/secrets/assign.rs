//! Values that are secret because a word next to them says so.

use super::super::decode;
use super::stretches::{Spots, is_made_of};
use super::{headers, named, placeholder};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};
use std::sync::OnceLock;

type Told<'a> = dyn FnMut(&'static str, &str, usize) + 'a;

const WORDS: [&str; 33] = [
    "secret",
    "token",
    "passw",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "accesskey",
    "pwd",
    "credential",
    "://",
    headers::WORDS[0],
    headers::WORDS[1],
    headers::WORDS[2],
    "_pass",
    "private_key",
    "privatekey",
    "admin_key",
    "admin-key",
    "fernet_key",
    "encryption_key",
    "signing_key",
    "master_key",
    "mot de passe",
    "contrase\u{f1}a",
    "kennwort",
    named::WORDS[0],
    named::WORDS[1],
    named::WORDS[2],
    named::WORDS[3],
    named::WORDS[4],
    named::WORDS[5],
    named::WORDS[6],
];

fn words() -> Option<&'static AhoCorasick> {
    static FOUND: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .kind(Some(AhoCorasickKind::DFA))
                .build(WORDS)
                .ok()
        })
        .as_ref()
}

/// A name stands at most 62 bytes before its value; it may itself be the value of one before it.
const BEFORE_BYTES_MAX: usize = 512;

/// Looks for `name = value` and for passwords in addresses.
pub(super) fn search(view: &[u8], spots: &Spots, told: &mut Told<'_>) {
    let Some(words) = words() else { return };
    let mut done = 0;
    let regions = spots.with(BEFORE_BYTES_MAX);
    let all = regions
        .into_iter()
        .flat_map(|region| words.find_iter(Input::new(view).range(region)));
    for found in all {
        if found.start() < done {
            continue;
        }
        let word = WORDS[found.pattern().as_usize()];
        if word == "://" {
            if address_holds_password(view, found.start(), found.end()) {
                told(
                    "secrets.connection",
                    "an address with a password",
                    found.start(),
                );
            }
            continue;
        }
        if headers::WORDS.contains(&word) {
            let rest = &view[found.end()..];
            if let Some(what) = headers::carried(word, &rest[..rest.len().min(1024)]) {
                told("secrets.header", what, found.start());
            }
            continue;
        }
        if named::WORDS.contains(&word) {
            let place = found.start()..found.end();
            if let Some((rule, what)) = named::tells(word, view, place) {
                told(rule, what, found.start());
            }
            continue;
        }
        if pages(&view[found.start().saturating_sub(16)..found.start()]) {
            continue;
        }
        let name = name_around(view, found.start(), found.end());
        if let Some(value) = assigned(view, found.end(), &view[name.clone()], name.start) {
            let name = &view[name];
            done = value.end;
            let strict = matches!(
                word,
                "passw" | "pwd" | "_pass" | "mot de passe" | "contrase\u{f1}a" | "kennwort"
            );
            let decoded = decode::percent(&view[value.clone()]);
            let digest = !strict && decoded.iter().all(u8::is_ascii_hexdigit);
            if digest && is_digest_of(name) || name.ends_with(b"key_id") {
                continue;
            }
            if word.starts_with("private") && !named::is_key(&decoded) {
                continue;
            }
            let is_uuid = named::is_uuid(&decoded) && named::is_of_service(name);
            if is_uuid || secret_value(named::told_part(name, &decoded), strict) {
                told(
                    "secrets.assignment",
                    "a value that its name calls secret",
                    value.start,
                );
            }
        }
    }
}

/// Whether the name is that of a mark for the next page of a list, or of a request: no secret.
fn pages(before: &[u8]) -> bool {
    let before = before.to_ascii_lowercase();
    let before = before.trim_ascii_end();
    let names = [
        "next",
        "next_",
        "next-",
        "page",
        "page_",
        "page-",
        "continuation",
        "continuation_",
        "continuation-",
        "request",
        "request_",
        "request-",
        "sync",
        "start",
        "starting",
        "idempotency",
    ];
    names.iter().any(|name| before.ends_with(name.as_bytes()))
}

/// The name around a word.
fn name_around(view: &[u8], start: usize, end: usize) -> std::ops::Range<usize> {
    let fits = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let before = view[start.saturating_sub(24)..start].iter().rev();
    let start = start - before.take_while(fits).count();
    let behind = view[end..].iter().take(40);
    start..end + behind.take_while(fits).count()
}

/// Whether a name says that the value is a digest of the secret.
fn is_digest_of(name: &[u8]) -> bool {
    const DIGESTS: [&[u8]; 9] = [
        b"hash",
        b"hashed",
        b"sha",
        b"sha1",
        b"sha256",
        b"sha512",
        b"md5",
        b"digest",
        b"checksum",
    ];
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|byte| matches!(byte, b'_' | b'-'));
    // Joined to the word in one, only what no other word ends in.
    words.any(|word| DIGESTS.contains(&word))
        || [DIGESTS[0], DIGESTS[4], DIGESTS[6], DIGESTS[7]]
            .iter()
            .any(|digest| name.ends_with(digest))
}

/// The value that is assigned to the name around `at`, if one is.
fn assigned(view: &[u8], at: usize, name: &[u8], name_at: usize) -> Option<std::ops::Range<usize>> {
    let tail = &view[at..view.len().min(at + 400)];
    let mut i = tail
        .iter()
        .take(40)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        .count();
    if matches!(tail.get(i), Some(b'"' | b'\'')) {
        i += 1;
    }
    let blank = |from: usize| {
        tail[from.min(tail.len())..]
            .iter()
            .take(4)
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count()
    };
    let blanks = blank(i);
    i += blanks;
    match (tail.get(i), tail.get(i + 1)) {
        (Some(b'='), Some(b'=' | b'>')) | (Some(b':'), Some(b':')) => return None,
        (Some(b':'), Some(b'=')) => i += 2,
        (Some(b'=' | b':'), _) => i += 1,
        (Some(b'>'), _) if blanks == 0 && view[..name_at].ends_with(b"<") => i += 1,
        _ if blanks > 0 && named::takes_next(name, &view[..name_at]) => {}
        _ => return None,
    }
    i += blank(i);
    let quote = tail
        .get(i)
        .copied()
        .filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    i += usize::from(quote.is_some());
    let ends = |b: u8| match quote {
        Some(quote) => b == quote || b == b'\n',
        None => {
            b.is_ascii_whitespace()
                || matches!(
                    b,
                    b'"' | b'\'' | b',' | b';' | b'<' | b'>' | b')' | b'&' | b'}' | b']'
                )
                || !(0x20..0x7f).contains(&b)
        }
    };
    let length = tail.get(i..)?.iter().take_while(|b| !ends(**b)).count();
    (length > 0).then_some(at + i..at + i + length)
}

pub(super) fn secret_value(value: &[u8], password: bool) -> bool {
    let fits = |byte: &u8| is_made_of(*byte);
    let value = value.strip_prefix(b"0x").unwrap_or(value);
    let least = if password { 12 } else { 20 };
    if value.len() < least || value.len() > 200 || !value.iter().all(fits) || placeholder(value) {
        return false;
    }
    let count = |test: fn(&u8) -> bool| value.iter().filter(|b| test(b)).count();
    let (upper, lower, digits) = (
        count(u8::is_ascii_uppercase),
        count(u8::is_ascii_lowercase),
        count(u8::is_ascii_digit),
    );
    let hexadecimal = value.iter().all(u8::is_ascii_hexdigit);
    let marks = value.len() - upper - lower - digits;
    if hexadecimal {
        return value.len() >= 32
            && digits >= 6
            && digits + 4 <= value.len()
            && super::distinct(value) >= 10;
    }
    // Words of code joined by dots, dashes or slashes are names, not values.
    if is_plain_json(value) {
        return false;
    }
    let padding = value.iter().rev().take_while(|b| **b == b'=').count();
    upper >= 2
        && lower >= 2
        && digits >= 2
        && marks - padding <= value.len() / 6
        && super::distinct(value) * 2 >= value.len().min(32)
        && changes(value) * 4 >= value.len()
}

/// Whether the value is JSON in base64 in which nothing is long and random: a name of a session, say.
/// What else it holds is looked at as a text of its own.
fn is_plain_json(value: &[u8]) -> bool {
    if !value.starts_with(b"eyJ") {
        return false;
    }
    let text = decode::base64(value);
    let words = text.split(|byte| !byte.is_ascii_alphanumeric());
    let is_plain = |word: &[u8]| word.len() < 10 || word.iter().all(u8::is_ascii_lowercase);
    serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok()
        && words.into_iter().all(is_plain)
}

/// How often the class of characters changes: seldom in names, often in random values.
fn changes(value: &[u8]) -> usize {
    let class = |b: u8| match b {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    value
        .windows(2)
        .filter(|pair| class(pair[0]) != class(pair[1]))
        .count()
}

/// `scheme://user:password@host`, with a password that is no stand-in.
fn address_holds_password(view: &[u8], at: usize, end: usize) -> bool {
    let scheme = view[at.saturating_sub(20)..at]
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'+')
        .count();
    let rest = &view[end..view.len().min(end + 300)];
    let ends = |b: u8| {
        b <= b' '
            || b >= 0x7f
            || matches!(
                b,
                b'/' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'(' | b'{' | b'[' | b'$' | b'|'
            )
    };
    let authority = &rest[..rest.iter().take_while(|b| !ends(**b)).count()];
    let Some(host) = memchr::memrchr(b'@', authority) else {
        return false;
    };
    let Some(colon) = memchr::memchr(b':', &authority[..host]) else {
        return false;
    };
    let password = &authority[colon + 1..host];
    let word = password.to_ascii_lowercase();
    let common = [
        "pass", "pwd", "secret", "guest", "user", "xxx", "***", "token", "foo", "bar", "name",
        "host", "port", "admin", "root",
    ];
    let stand_in = common
        .iter()
        .any(|common| memchr::memmem::find(&word, common.as_bytes()).is_some());
    scheme > 0
        && host + 1 < authority.len()
        && password.len() >= 8
        && !stand_in
        && !placeholder(password)
        && password.iter().any(u8::is_ascii_digit)
        && password.iter().any(u8::is_ascii_alphabetic)
}
