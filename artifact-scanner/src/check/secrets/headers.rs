//! Does a header, or the file of a client, carry a token or a name with its password?

use super::super::decode;
use super::placeholder;
use super::tokens::{mixed, run};

/// The words behind which one may stand, in small letters. Texts within texts escape their quotes.
pub(super) const WORDS: [&str; 3] = ["authorization", "\"auth\"", "\"auth\\\""];

/// What the value behind such a word is, if it is one.
pub(super) fn carried(word: &str, rest: &[u8]) -> Option<&'static str> {
    let is_header = word == WORDS[0];
    let rest = if is_header { behind_mark(rest) } else { rest };
    let rest = match rest.trim_ascii_start() {
        [b':' | b'=', rest @ ..] => behind_mark(rest.trim_ascii_start()),
        _ => return None,
    };
    if !is_header {
        return pair(rest).then_some("a name and a password in base64");
    }
    let length = run(rest, |byte| byte.is_ascii_alphabetic());
    let (scheme, value) = rest.split_at(length);
    let value = match value {
        [b' ' | b'\t' | b'+', value @ ..] => value.trim_ascii_start(),
        [b'%', b'2', b'0', value @ ..] => value,
        _ => return None,
    };
    if scheme.eq_ignore_ascii_case(b"basic") && pair(value) {
        return Some("a name and a password in base64");
    }
    let bears = [&b"bearer"[..], b"token"];
    let bears = bears.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    (bears && bearer(value)).then_some("a token in a header")
}

/// What follows a quote, which may be escaped.
fn behind_mark(rest: &[u8]) -> &[u8] {
    match rest {
        [b'\\', b'"' | b'\'', rest @ ..] | [b'"' | b'\'', rest @ ..] => rest,
        _ => rest,
    }
}

/// A token of random letters, not the name of one.
fn bearer(rest: &[u8]) -> bool {
    let length = run(rest, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
    });
    let token = &rest[..length];
    length >= 24 && mixed(token) && !placeholder(token) && super::distinct(token) >= 16
}

/// `name:password` in base64, the password no stand-in.
fn pair(rest: &[u8]) -> bool {
    let length = run(rest, |byte| decode::sextet(byte).is_some());
    let text = decode::base64(&rest[..length]);
    let Some(colon) = memchr::memchr(b':', &text) else {
        return false;
    };
    let password = &text[colon + 1..];
    password.len() >= 8 && text.is_ascii() && !placeholder(password) && mixed(password)
}
