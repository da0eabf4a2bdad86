//! Which letters of a script are written as codes, and how does it read when they are written out?

use super::super::decode::nibble;

/// The script with letters, digits and what addresses are made of written out; nothing where none of
/// them is a code. Other codes stay: libraries write the angles of tags so, for them to be no tags.
pub(super) fn written_out(script: &str) -> Option<String> {
    let mut out = String::new();
    let mut from = 0;
    each(script, |at, end, byte| {
        if byte.is_ascii_alphanumeric() || b"_$.:/?=&#@-".contains(&byte) {
            out.push_str(&script[from..at]);
            out.push(char::from(byte));
            from = end;
        }
    });
    if from == 0 {
        return None;
    }
    out.push_str(&script[from..]);
    Some(out)
}

/// How many letters and digits are codes, of four digits or in braces, and of two. No program writes
/// them so that stores data.
pub(super) fn count(script: &str) -> (usize, usize) {
    let (mut long, mut short) = (0, 0);
    each(script, |at, end, byte| {
        if byte.is_ascii_alphanumeric() || b"_$".contains(&byte) {
            *(if end - at == 4 { &mut short } else { &mut long }) += 1;
        }
    });
    (long, short)
}

/// Tells where each code of an ASCII byte begins and ends.
fn each(script: &str, mut tell: impl FnMut(usize, usize, u8)) {
    let bytes = script.as_bytes();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        at += next;
        match code(&bytes[at + 1..]) {
            Some((byte, length)) => {
                tell(at, at + 1 + length, byte);
                at += 1 + length;
            }
            // A stroke behind a stroke begins nothing.
            None => at = (at + 2).min(bytes.len()),
        }
    }
}

/// The byte of a code behind its stroke, and how long that is.
fn code(rest: &[u8]) -> Option<(u8, usize)> {
    let (digits, length) = match rest {
        [b'x' | b'X', one, two, ..] => ([*one, *two], 3),
        [b'u' | b'U', b'0', b'0', one, two, ..] => ([*one, *two], 5),
        [b'u' | b'U', b'{', inner @ ..] => {
            let zeros = inner.iter().take(16).take_while(|b| **b == b'0').count();
            match &inner[zeros..] {
                [one, two, b'}', ..] => ([*one, *two], zeros + 5),
                _ => return None,
            }
        }
        // Of eight: the letters begin at 0o101.
        [b'1', two @ b'0'..=b'7', three @ b'0'..=b'7', ..] => {
            return Some((64 + (two - b'0') * 8 + (three - b'0'), 3))
                .filter(|(byte, _)| *byte < 128);
        }
        _ => return None,
    };
    let byte = nibble(digits[0])? * 16 + nibble(digits[1])?;
    byte.is_ascii().then_some((byte, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_written_out_and_angles_stay() {
        for (script, wanted) in [
            (r"\u0065val(a)", Some("eval(a)")),
            (r"'\x65v\u{00061}\154'", Some("'eval'")),
            (r"'https\u003a\u002f\u002fa\u002eb'", Some("'https://a.b'")),
            (r"'\u003cb\u003e\u00e9'", None),
            (r"'\\u0065val'", None),
            (r"'\u{65' \x6 \u006 \", None),
        ] {
            assert_eq!(written_out(script).as_deref(), wanted, "{script}");
        }
        assert_eq!(count(r"\u0065\u{65}\x65\u003c\u002f\x3c"), (2, 1));
    }
}
