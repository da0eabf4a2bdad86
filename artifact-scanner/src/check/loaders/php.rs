//! Does a text hold an object as PHP writes it?

use crate::{Notes, Severity};

/// Longer names have no class.
const NAME_BYTES_MAX: usize = 120;

/// Looks for `O:8:"Name":1:{`, quotes escaped or not; the class that does nothing does not count.
pub(crate) fn check(text: &str, notes: &mut Notes) {
    let bytes = text.as_bytes();
    let found = memchr::memmem::find_iter(bytes, b":{").find(|at| {
        let class = class(&bytes[..*at]);
        class.is_some_and(|class| !class.eq_ignore_ascii_case(b"stdClass"))
    });
    if let Some(at) = found {
        notes.find(
            "loader.php",
            Severity::Suspicious,
            format!("offset {at}"),
            "serialized objects of PHP, which call code when they are read",
        );
    }
}

/// The class of the object whose fields begin behind `before`.
fn class(before: &[u8]) -> Option<&[u8]> {
    let rest = digits(before)?.strip_suffix(b":")?.strip_suffix(b"\"")?;
    let rest = unescaped(rest);
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\\') || *b > 0x7f;
    let length = rest
        .iter()
        .rev()
        .take(NAME_BYTES_MAX)
        .take_while(|b| is_name(b))
        .count();
    let (rest, name) = rest.split_at(rest.len() - length);
    let rest = rest.strip_suffix(b"\"")?;
    let rest = digits(unescaped(rest).strip_suffix(b":")?)?;
    let rest = rest.strip_suffix(b"+").unwrap_or(rest).strip_suffix(b":")?;
    let is_object = matches!(rest.last(), Some(b'O' | b'C'));
    // A quote that is escaped leaves its stroke before the name ends.
    let name = name.strip_prefix(b"\\").unwrap_or(name);
    (is_object && !name.is_empty()).then_some(name)
}

/// Without the digits at the end, of which there are some.
fn digits(bytes: &[u8]) -> Option<&[u8]> {
    let count = bytes
        .iter()
        .rev()
        .take(6)
        .take_while(|b| b.is_ascii_digit())
        .count();
    (1..6)
        .contains(&count)
        .then(|| &bytes[..bytes.len() - count])
}

fn unescaped(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_suffix(b"\\") {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_from_arrays() {
        for (text, wanted) in [
            (r#"O:8:"Evil\Pop":1:{s:1:"a";i:1;}"#, true),
            (r#"a:1:{i:0;O:12:"EvilHandler1":0:{}}"#, true),
            (r#"{"a": "C:+11:\"ArrayObject\":2:{x}"}"#, true),
            (r#"('O:8:"stdClass":1:{s:1:"a";i:1;}')"#, false),
            (r#"a:1:{s:1:"a";i:1;} {"b":1:{"#, false),
            (r#"{"a":{"b":{}}} 1:{"#, false),
        ] {
            let mut notes = Notes::default();
            check(text, &mut notes);
            assert_eq!(notes.worst().is_some(), wanted, "{text}");
        }
    }
}
