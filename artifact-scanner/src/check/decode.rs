//! How text is hidden in text: base64, hexadecimal, percent signs, character references.

use std::borrow::Cow;

/// The start of a text, so that looking for an end that never comes stays cheap.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The value of a digit of base64, of either alphabet.
pub(crate) fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Decodes base64 as leniently as readers do: other characters are skipped, up to the first `=`.
pub(crate) fn base64(text: &[u8]) -> Vec<u8> {
    let digits = text.iter().take_while(|byte| **byte != b'=');
    packed(digits.filter_map(|byte| sextet(*byte)), 6, text.len())
}

/// The bytes that digits of so many bits make, of at most so many digits; bits that are left make none.
fn packed(digits: impl Iterator<Item = u8>, width: u32, digits_max: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(digits_max / 8 * width as usize + 8);
    let (mut held, mut bits) = (0_u32, 0);
    for digit in digits {
        held = held << width | u32::from(digit);
        bits += width;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits & 0xff) as u8);
        }
    }
    out
}

/// Whether all of it are digits of base32, in letters of one size.
pub(crate) fn is_base32(text: &[u8]) -> bool {
    let in_size = |first: u8| {
        move |byte: &u8| (first..first + 26).contains(byte) || matches!(byte, b'2'..=b'7')
    };
    text.iter().all(in_size(b'A')) || text.iter().all(in_size(b'a'))
}

/// Decodes base32, up to the first character that is none of its digits.
pub(crate) fn base32(text: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    };
    let written = text.iter().filter(|byte| !matches!(byte, b'\r' | b'\n'));
    packed(written.map_while(digit), 5, text.len())
}

/// Encodes in base64 without padding; the partial last digit is left out.
pub(crate) fn to_base64(bytes: &[u8], url: bool) -> Vec<u8> {
    const DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let digit = |value: u32| match value & 63 {
        62 => {
            if url {
                b'-'
            } else {
                b'+'
            }
        }
        63 => {
            if url {
                b'_'
            } else {
                b'/'
            }
        }
        value => DIGITS[value as usize],
    };
    let mut out = Vec::with_capacity(bytes.len() / 3 * 4 + 4);
    let (mut held, mut bits) = (0_u32, 0);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 6 {
            bits -= 6;
            out.push(digit(held >> bits));
        }
    }
    out
}

pub(crate) fn nibble(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// Decodes pairs of hexadecimal digits, up to the first that is none.
pub(crate) fn hex(text: &[u8]) -> Vec<u8> {
    text.chunks_exact(2)
        .map_while(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?))
        .collect()
}

/// Undoes `%41`; other text stays.
pub(crate) fn percent(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        let code = match (byte, text.get(at..at + 2)) {
            (b'%', Some(pair)) => nibble(pair[0]).zip(nibble(pair[1])),
            _ => None,
        };
        if let Some((high, low)) = code {
            out.push(high << 4 | low);
            at += 2;
        } else {
            out.push(byte);
        }
    }
    Cow::Owned(out)
}

/// Undoes character references as a browser does, for the names that hide a scheme or a tag.
pub(crate) fn references(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((c, length)) = reference(rest) {
            out.push(c);
            rest = &rest[length..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character that a reference at the start of the text stands for, and the reference's length.
fn reference(text: &str) -> Option<(char, usize)> {
    const NAMES: [(&str, char); 15] = [
        ("&Tab;", '\t'),
        ("&NewLine;", '\n'),
        ("&colon;", ':'),
        ("&lpar;", '('),
        ("&rpar;", ')'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&amp;", '&'),
        ("&quot;", '"'),
        ("&apos;", '\''),
        ("&sol;", '/'),
        ("&equals;", '='),
        ("&period;", '.'),
        ("&nbsp;", '\u{a0}'),
        ("&excl;", '!'),
    ];
    let bytes = text.as_bytes();
    if bytes.get(1) != Some(&b'#') {
        let name = NAMES.iter().find(|(name, _)| text.starts_with(name))?;
        return Some((name.1, name.0.len()));
    }
    let hexadecimal = matches!(bytes.get(2), Some(b'x' | b'X'));
    let start = if hexadecimal { 3 } else { 2 };
    let radix = if hexadecimal { 16 } else { 10 };
    let digits = bytes[start..]
        .iter()
        .take(4096)
        .take_while(|b| char::from(**b).is_digit(radix))
        .count();
    if digits == 0 {
        return None;
    }
    let number = text[start..start + digits].trim_start_matches('0');
    let c = u32::from_str_radix(number, radix)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or('\u{fffd}');
    let end = start + digits;
    Some((c, end + usize::from(bytes.get(end) == Some(&b';'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded() {
        assert_eq!(base64(b"aGVs\nbG8="), b"hello");
        assert_eq!(to_base64(b"hello", false), b"aGVsbG");
        assert_eq!(hex(b"68656C6c6fzz"), b"hello");
        assert_eq!(base32(b"NBSWY\n3DP=x"), b"hello");
        assert!(is_base32(b"nbswy3dp") && !is_base32(b"Nbswy3dp") && !is_base32(b"nbswy8dp"));
        assert_eq!(&*percent(b"%68ell%6F%"), b"hello%");
        assert_eq!(
            references("&#106;ava&#x09;script&colon;&#0000058&amp"),
            "java\tscript:&amp".replacen("&amp", ":&amp", 1)
        );
    }
}
