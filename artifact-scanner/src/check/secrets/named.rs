//! Is a value secret by more of what stands around it than one word and a sign of equality?

use super::super::decode;
use super::assign::secret_value;
use super::tokens::{mixed, run};
use super::{distinct, placeholder};
use std::ops::Range;

/// The words by which such values are found, in small letters.
pub(super) const WORDS: [&str; 7] = [
    "\"kty\"",
    "\"key\"",
    "cookie:",
    "sshpass -p",
    "docker login",
    "mysql -",
    "curl -u",
];

/// What is told of the place of a word, if anything is.
pub(super) fn tells(
    word: &str,
    view: &[u8],
    place: Range<usize>,
) -> Option<(&'static str, &'static str)> {
    let rest = &view[place.end..];
    let line = &rest[..rest.len().min(1024)];
    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
    match word {
        "\"kty\"" => web_key(view, &place).then_some(("secrets.private_key", "a private web key")),
        "\"key\"" => {
            let before = &view[place.start.saturating_sub(200)..place.start];
            let is_named = memchr::memmem::find(before, b"\"username\"").is_some();
            let value = quoted(line).unwrap_or_default();
            let is_key = value.len() == 32 && value.iter().all(u8::is_ascii_hexdigit);
            (is_named && is_key && secret_value(value, false))
                .then_some(("secrets.kaggle", "a key of Kaggle"))
        }
        "cookie:" => session(line).then_some(("secrets.header", "the cookie of a session")),
        _ => commanded(word, line)
            .then_some(("secrets.assignment", "a password on a line of commands")),
    }
}

/// The private part of a key, within the same object.
fn web_key(view: &[u8], place: &Range<usize>) -> bool {
    const AROUND: usize = 4096;
    let from = place.start.saturating_sub(AROUND);
    let around = &view[from..view.len().min(place.end + AROUND)];
    let is_shared = quoted(&view[place.end..view.len().min(place.end + 40)]) == Some(b"oct");
    let name: &[u8] = if is_shared { b"\"k\"" } else { b"\"d\"" };
    memchr::memmem::find_iter(around, name).any(|at| {
        let value = quoted(&around[at + name.len()..]).unwrap_or_default();
        let url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=');
        value.len() >= 40
            && value.iter().all(|byte| url(*byte))
            && mixed(value)
            && !placeholder(value)
            && distinct(value) >= 16
    })
}

/// The text in quotes behind a colon.
fn quoted(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    Some(&rest[..memchr::memchr(b'"', rest)?])
}

/// Whether one of the cookies is that of a session.
fn session(line: &[u8]) -> bool {
    const NAMES: [&[u8]; 5] = [b"sess", b"sid", b"auth", b"token", b"jwt"];
    line.split(|byte| matches!(byte, b';' | b','))
        .any(|cookie| {
            let Some(equals) = memchr::memchr(b'=', cookie) else {
                return false;
            };
            let name = cookie[..equals].to_ascii_lowercase();
            let value = cookie[equals + 1..].trim_ascii();
            NAMES
                .iter()
                .any(|known| memchr::memmem::find(&name, known).is_some())
                && secret_value(value, false)
        })
}

/// Whether a command is given a password in its line.
fn commanded(word: &str, line: &[u8]) -> bool {
    let rest = match word {
        "sshpass -p" | "curl -u" => line,
        _ => match memchr::memmem::find(line, b"-p") {
            Some(at) => &line[at + 2..],
            None => return false,
        },
    };
    let rest = rest.trim_ascii_start();
    let quote = rest.first().filter(|byte| matches!(byte, b'"' | b'\''));
    let rest = &rest[usize::from(quote.is_some())..];
    let length = run(rest, |byte| byte > b' ' && !matches!(byte, b'"' | b'\''));
    let value = &rest[..length];
    match (word, memchr::memchr(b':', value)) {
        ("curl -u", Some(colon)) => secret_value(&value[colon + 1..], true),
        ("curl -u", None) => false,
        _ => secret_value(value, true),
    }
}

/// Whether the value of a name stands behind it without a sign: after an option, after a variable
/// in capitals, in the file that lists passwords of machines.
pub(super) fn takes_next(name: &[u8], before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(200)..];
    let has = |word: &[u8]| memchr::memmem::find(near, word).is_some();
    name.starts_with(b"--")
        || is_variable(name)
        || (name == b"password" && has(b"machine ") && has(b"login "))
}

fn is_variable(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    name.contains(&b'_') && name.iter().all(fits)
}

/// Whether tokens in the form of a UUID are given to what has such a name.
pub(super) fn is_of_service(name: &[u8]) -> bool {
    let ends = |end: &[u8]| name.ends_with(end);
    (is_variable(name) && (ends(b"_KEY") || ends(b"_TOKEN") || ends(b"_SECRET")))
        || ends(b"_authToken")
        || ends(b"-Server-Token")
}

pub(super) fn is_uuid(value: &[u8]) -> bool {
    let groups: Vec<&[u8]> = value.split(|byte| *byte == b'-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.concat().iter().all(u8::is_ascii_hexdigit)
        && mixed(value)
        && !placeholder(value)
        && distinct(value) >= 10
}

/// Whether this is the length and the alphabet of a key: names of types are values, too.
pub(super) fn is_key(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"0x").unwrap_or(value);
    let is_base64 = |byte: &u8| decode::sextet(*byte).is_some() || *byte == b'=';
    digits.len() >= 43 && digits.iter().all(is_base64)
}

/// So much of a value as is to be told by: tokens of sessions are longer than others.
pub(super) fn told_part<'a>(name: &[u8], value: &'a [u8]) -> &'a [u8] {
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(b"session_token") {
        &value[..value.len().min(200)]
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rules;

    #[test]
    fn values_are_secret_by_what_stands_around_them() {
        let (hex, word) = ("4f1b7a9c0e83d265b7f0a91c3d48e625", "q7Rk2mZ9wLp4TxVb");
        let uuid = "4f1b7a9c-0e83-d265-b7f0-a91c3d48e625";
        let long = format!("{word}{hex}{word}");
        for text in [
            format!("{{\"kty\":\"EC\",\"crv\":\"P-256\",\"d\":\"{long}\"}}"),
            format!("{{\"kty\":\"oct\",\"k\":\"{long}\"}}"),
            format!("{{\"username\":\"bob\",\"key\":\"{hex}\"}}"),
            format!("Set-Cookie: session={hex}; HttpOnly"),
            format!("Cookie: a=b; sessionid={hex}"),
            format!("sshpass -p {word} ssh bob@h"),
            format!("docker login -u bob -p {word}"),
            format!("mysql -u root -p{word} db"),
            format!("curl -u bob:{word} https://h/x"),
            format!("machine h login bob password {word}"),
            format!("AWS_SECRET_ACCESS_KEY {word}{word}"),
            format!("--password {word}"),
            format!("<password>{word}</password>"),
            format!("DB_PASS=\"{word}\""),
            format!("HEROKU_API_KEY={uuid}"),
            format!("//registry.npmjs.org/:_authToken={uuid}"),
            format!("PrivateKey = {word}{word}Kp3xZ7tQm2v="),
            format!("\"privateKey\": \"0x{hex}{hex}\""),
            format!("ADMIN_KEY={hex}"),
            format!("mot de passe : {word}"),
        ] {
            assert_eq!(rules(text.as_bytes()).len(), 1, "{text}");
        }
        for text in [
            format!("{{\"kty\":\"EC\",\"x\":\"{long}\"}}"),
            format!("{{\"name\":\"bob\",\"key\":\"{hex}\"}}"),
            format!("Set-Cookie: theme={hex}"),
            format!("the token {word}{word}"),
            format!("\"private_key_id\": \"{hex}\""),
            format!("request_id={uuid}"),
            format!("token: {uuid}"),
            "password > minimum_length_of_12".to_owned(),
            "curl -u user:password123 https://h".to_owned(),
        ] {
            assert!(rules(text.as_bytes()).is_empty(), "{text}");
        }
    }
}
