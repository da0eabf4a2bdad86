//! Tokens that are known by their prefix.

use super::super::decode;
use super::prefixes::{Body, MANY, PREFIXES};
use super::stretches::Spots;
use super::{escapes, keys, placeholder};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};
use std::sync::OnceLock;

type Told<'a> = dyn FnMut(&'static str, &str, usize) + 'a;

/// Anchors that have a rule of their own, behind the prefixes.
const SPECIAL: [&str; 20] = [
    "PRIVATE KEY",
    "PuTTY-User-Key-File-",
    "eyJ",
    "SG.",
    "openssh-key-v1\0",
    "&sig=",
    "$6$",
    "$apr1$",
    "$2y$",
    "pat",
    ":AA",
    ":5432:",
    "$y$",
    "$5$",
    "$2b$",
    "Q~",
    "AZDO",
    "-us",
    ":::",
    "&Signature=",
];

fn anchors() -> Option<&'static AhoCorasick> {
    static ANCHORS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = || PREFIXES.iter().map(|prefix| prefix.0).chain(SPECIAL);
    ANCHORS
        .get_or_init(|| {
            // The words are many, and every stretch of every view passes here.
            let kind = Some(AhoCorasickKind::DFA);
            AhoCorasick::builder().kind(kind).build(words()).ok()
        })
        .as_ref()
}

/// What is told begins with its anchor, and the anchors are shorter than that.
const ANCHOR_BYTES_MAX: usize = 40;

/// Looks for every prefix at once.
pub(super) fn search(view: &[u8], spots: &Spots, told: &mut Told<'_>) {
    keys::search(view, spots, told);
    let Some(anchors) = anchors() else { return };
    let mut tried = 0;
    let regions = spots.with(ANCHOR_BYTES_MAX);
    let all = regions
        .into_iter()
        .flat_map(|region| anchors.find_overlapping_iter(Input::new(view).range(region)));
    for found in all {
        let (at, end) = (found.start(), found.end());
        let rest = &view[end..];
        match PREFIXES.get(found.pattern().as_usize()) {
            Some(prefix)
                if (prefix.0.starts_with(['.', ':'])
                    || starts_a_word(view, at)
                    || is_joined(view, at, prefix.0))
                    && !(matches!(prefix.0, "key-" | "sk-") && goes_before(view, at))
                    && body_fits(rest, prefix.1) =>
            {
                told(prefix.2, prefix.3, at);
            }
            Some(_) => {}
            None => match SPECIAL[found.pattern().as_usize() - PREFIXES.len()] {
                "PRIVATE KEY" if private_key(view, at, rest) => {
                    told("secrets.private_key", "a private key", at);
                }
                "PuTTY-User-Key-File-"
                    if memchr::memmem::find(&rest[..rest.len().min(4096)], b"Private-Lines:")
                        .is_some() =>
                {
                    told("secrets.private_key", "a private key of PuTTY", at);
                }
                "openssh-key-v1\0" => told("secrets.private_key", "a private key of OpenSSH", at),
                "eyJ"
                    if at >= tried
                        && starts_a_word(view, at)
                        && web_token(&view[at..], &mut tried, at) =>
                {
                    told("secrets.jwt", "a signed web token", at);
                }
                "&sig=" if signature(view, at, rest) => {
                    told("secrets.azure", "a signed address of Azure", at);
                }
                mark @ ("$6$" | "$apr1$" | "$2y$" | "$y$" | "$5$" | "$2b$")
                    if hashed(view, at, mark.len()) =>
                {
                    told("secrets.password_hash", "the hash of a password", at);
                }
                "Q~" if of_client(view, at, rest) => {
                    told("secrets.azure", "a client secret of Azure", at);
                }
                "AZDO" if of_devops(view, at, rest) => {
                    told("secrets.azure", "a token of Azure DevOps", at);
                }
                "-us" if of_mailchimp(view, at, rest) => {
                    told("secrets.mailchimp", "a key of Mailchimp", at);
                }
                ":::" if dumped(view, at) => {
                    told("secrets.password_hash", "the hash of a password", at);
                }
                "&Signature=" if of_storage(view, at, rest) => {
                    told("secrets.google", "a signed address of Google", at);
                }
                ":AA" if bot(view, at, rest) => told("secrets.telegram", "a token of a bot", at),
                ":5432:" if password_line(rest) => {
                    told("secrets.connection", "a password of PostgreSQL", at);
                }
                "pat" if starts_a_word(view, at) && airtable(rest) => {
                    told("secrets.airtable", "a token of Airtable", at);
                }
                "SG." if starts_a_word(view, at) && sendgrid(rest) => {
                    told("secrets.sendgrid", "a key of SendGrid", at);
                }
                _ => {}
            },
        }
    }
}

fn starts_a_word(view: &[u8], at: usize) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match view[..at] {
        [] => true,
        [.., last] if !word(last) => true,
        _ if escapes::end(&view[..at]) => true,
        // In a record of bytes the length of a text stands before it, and may look like a letter.
        _ => view[at.saturating_sub(32)..at].iter().any(|byte| *byte < 9),
    }
}

/// Whether a prefix that few words end in follows a word without a gap: `my_`, `token`.
fn is_joined(view: &[u8], at: usize, prefix: &str) -> bool {
    const WORD_MAX: usize = 24;
    let before = view[at.saturating_sub(WORD_MAX + 1)..at].iter().rev();
    let word = before
        .clone()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    let word = word.count();
    let small = before
        .take(word)
        .all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    prefix.len() > 3 && prefix.ends_with(['_', '-']) && word <= WORD_MAX && small
}

/// How many bytes right before `at` fit.
fn run_before(view: &[u8], at: usize, fits: impl Fn(u8) -> bool) -> usize {
    let before = view[..at].iter().rev().take(MANY + 1);
    before.take_while(|byte| fits(**byte)).count()
}

/// `abc8Q~` and some 34 characters.
fn of_client(view: &[u8], at: usize, rest: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"~._-".contains(&byte);
    let length = run(rest, fits);
    at > 0
        && view[at - 1].is_ascii_digit()
        && run_before(view, at, fits) == 4
        && (31..=34).contains(&length)
        && !placeholder(&rest[..length])
}

/// 76 letters and digits, the mark, four more.
fn of_devops(view: &[u8], at: usize, rest: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric();
    run_before(view, at, fits) == 76 && run(rest, fits) == 4 && mixed(&view[at - 76..at])
}

/// 32 hexadecimal digits, the mark, the number of a data center.
fn of_mailchimp(view: &[u8], at: usize, rest: &[u8]) -> bool {
    (1..=2).contains(&run(rest, |byte| byte.is_ascii_alphanumeric()))
        && rest[0].is_ascii_digit()
        && run_before(view, at, |byte| byte.is_ascii_alphanumeric()) == 32
        && digits_of_hash(&view[at - 32..at])
}

/// `name:500:` and two hashes before the mark, as tools that dump accounts of Windows write them.
fn dumped(view: &[u8], at: usize) -> bool {
    let line = &view[at.saturating_sub(65)..at];
    line.len() == 65
        && line[32] == b':'
        && digits_of_hash(&line[33..])
        && line[..32].iter().all(u8::is_ascii_hexdigit)
}

fn digits_of_hash(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit) && mixed(digits) && !placeholder(digits)
}

/// The signature of an address that whoever has it may read from.
fn of_storage(view: &[u8], at: usize, rest: &[u8]) -> bool {
    let fits = |byte: u8| decode::sextet(byte).is_some() || b"%=".contains(&byte);
    let near = &view[at.saturating_sub(400)..at];
    let length = run(rest, fits);
    length >= 200
        && memchr::memmem::find(near, b"GoogleAccessId=").is_some()
        && !placeholder(&rest[..length])
}

/// Whether the word is the last of a longer name: `cache-key-` and a digest is no key.
fn goes_before(view: &[u8], at: usize) -> bool {
    matches!(view[..at], [.., b'-' | b'.' | b'/'])
}

pub(super) fn run(rest: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    rest.iter()
        .take(MANY + 1)
        .take_while(|byte| fits(**byte))
        .count()
}

fn body_fits(rest: &[u8], body: Body) -> bool {
    let url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let (length, from, to) = match body {
        Body::Alnum(from, to) => (run(rest, |byte| byte.is_ascii_alphanumeric()), from, to),
        Body::Url(from, to) => (run(rest, url), from, to),
        Body::Hex(count) => (run(rest, |byte| byte.is_ascii_hexdigit()), count, count),
        Body::Base32(count) => {
            let length = run(rest, |byte| byte.is_ascii_alphanumeric());
            if !rest[..length]
                .iter()
                .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9'))
            {
                return false;
            }
            // A run of capitals alone is a sequence of amino acids, not a key.
            if !rest[..length].iter().any(u8::is_ascii_digit) {
                return false;
            }
            (length, count, count)
        }
        Body::Path(from, to) => {
            let fits = |byte| url(byte) || matches!(byte, b'.' | b'/' | b'$');
            (run(rest, fits), from, to)
        }
        Body::Base64(from, to) => (run(rest, |byte| decode::sextet(byte).is_some()), from, to),
    };
    (from..=to).contains(&length) && !placeholder(&rest[..length]) && mixed(&rest[..length])
}

/// Random tokens have digits and letters; names made of words seldom do.
pub(super) fn mixed(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_digit) && token.iter().any(u8::is_ascii_alphabetic)
}

/// Whether a head of PEM stands here, with a body behind it. The dashes may be missing: a packed
/// column repeats them by reference.
fn private_key(view: &[u8], at: usize, rest: &[u8]) -> bool {
    let before = &view[at.saturating_sub(24)..at];
    if memchr::memmem::find(before, b"BEGIN ").is_none() {
        return false;
    }
    let mut lines = 0;
    let near = &rest[..rest.len().min(600)];
    for line in near.split(|byte| decode::sextet(*byte).is_none() || *byte == b'-') {
        if line.len() >= 40 && super::distinct(line) > 12 && !placeholder(line) {
            lines += 1;
        }
    }
    lines > 0
}

fn web_token(text: &[u8], tried: &mut usize, at: usize) -> bool {
    let url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let part = |text: &[u8]| {
        text.iter()
            .take(16_384)
            .take_while(|byte| url(**byte))
            .count()
    };
    let head = part(text);
    // Within this run there is no other head.
    *tried = at + head;
    if text.get(head) != Some(&b'.') {
        return false;
    }
    let body = part(&text[head + 1..]);
    let rest = &text[head + 1 + body..];
    let [b'.', signature @ ..] = rest else {
        return false;
    };
    let signature = &signature[..part(signature)];
    // The examples of manuals, whatever they are signed with.
    let claims = decode::base64(&text[head + 1..head + 1 + body.min(1024)]);
    let examples: [&[u8]; 3] = [b"\"some\"", b"\"1234567890\"", b"John Doe"];
    let example = examples
        .iter()
        .any(|known| memchr::memmem::find(&claims, known).is_some());
    let head_text = decode::base64(&text[..head.min(1024)]);
    // Of one that is locked the third part is short.
    let is_locked = memchr::memmem::find(&head_text, b"\"enc\"").is_some();
    head >= 16
        && body >= 8
        && signature.len() >= if is_locked { 16 } else { 20 }
        && !example
        && memchr::memmem::find(&head_text, b"\"alg\"").is_some()
}

/// The signature of a shared address: a digest in base64, percent-coded, next to a date.
fn signature(view: &[u8], at: usize, rest: &[u8]) -> bool {
    let coded = run(rest, |byte| {
        decode::sextet(byte).is_some() || b"%=".contains(&byte)
    });
    let near = &view[at.saturating_sub(400)..view.len().min(at + 400)];
    let dated = [&b"sv="[..], b"se="]
        .iter()
        .all(|key| memchr::memmem::find(near, key).is_some());
    (43..=80).contains(&coded) && dated && !placeholder(&rest[..coded])
}

/// A hash of `crypt` with its salt, behind the name of whose it is.
fn hashed(view: &[u8], at: usize, mark: usize) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"./$".contains(&byte);
    let hash = &view[at + mark..];
    let length = run(hash, fits);
    let named = at > 1 && view[at - 1] == b':' && view[at - 2].is_ascii_alphanumeric();
    named && length >= 30 && super::distinct(&hash[..length]) >= 16
}

/// The number of a bot before the colon, 33 letters behind it and its first two.
fn bot(view: &[u8], at: usize, rest: &[u8]) -> bool {
    let digits = view[..at].iter().rev().take(12);
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
    (8..=10).contains(&digits) && body_fits(rest, Body::Url(33, 33))
}

/// `database:user:password` to the end of a line, as `.pgpass` has it.
fn password_line(rest: &[u8]) -> bool {
    let line = rest
        .iter()
        .take(200)
        .take_while(|byte| **byte > b' ')
        .count();
    let fields: Vec<_> = rest[..line].split(|byte| *byte == b':').collect();
    matches!(fields[..], [_, _, password] if password.len() >= 8 && mixed(password) && !placeholder(password))
}

/// Fourteen letters, a dot, 64 hexadecimal digits.
fn airtable(rest: &[u8]) -> bool {
    run(rest, |byte| byte.is_ascii_alphanumeric()) == 14
        && rest.get(14) == Some(&b'.')
        && body_fits(&rest[15..], Body::Hex(64))
}

fn sendgrid(rest: &[u8]) -> bool {
    let url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let first = run(rest, url);
    first == 22 && rest.get(22) == Some(&b'.') && run(&rest[23..], url) == 43
}
