//! Whether bytes are text, and which.

use crate::bytes::{count, le16};
use crate::{Budget, Unscannable};
use std::borrow::Cow;

/// The text that the bytes are, or nothing where they are not. UTF-8 with few control characters,
/// UTF-16 and UTF-32 with a mark, UTF-16 without one where every other byte says so, else Latin-1
/// without control characters.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    budget: &mut Budget,
) -> Result<Option<Cow<'a, str>>, Unscannable> {
    let wide = match bytes {
        [0xff, 0xfe, 0, 0, ..] => return Ok(None),
        [0xff, 0xfe, rest @ ..] => Some((rest, true)),
        [0xfe, 0xff, rest @ ..] => Some((rest, false)),
        _ => unmarked(bytes).map(|little| (bytes, little)),
    };
    if let Some((wide, little)) = wide {
        budget.unpack(count(wide.len()))?;
        let units = (0..wide.len() / 2).map(|at| {
            let unit = le16(wide, 2 * at).unwrap_or_default();
            if little { unit } else { unit.swap_bytes() }
        });
        let text: String = char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        return Ok(Some(Cow::Owned(text)).filter(|text| is_text(text)));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let is_text = is_text(text) || has_few_controls(bytes);
        return Ok(is_text.then_some(Cow::Borrowed(text)));
    }
    if holds_control(bytes) || !is_legacy(bytes) {
        return Ok(None);
    }
    budget.unpack(count(bytes.len()))?;
    Ok(Some(Cow::Owned(
        bytes.iter().copied().map(char::from).collect(),
    )))
}

/// UTF-16 without a mark, and whether it is little-endian: mostly ASCII, every other byte nought.
fn unmarked(bytes: &[u8]) -> Option<bool> {
    let head = &bytes[..bytes.len().min(512) & !1];
    if head.len() < 8 {
        return None;
    }
    let noughts = |odd: usize| {
        head.iter()
            .skip(odd)
            .step_by(2)
            .filter(|b| **b == 0)
            .count()
    };
    let (even, odd, half) = (noughts(0), noughts(1), head.len() / 2);
    if odd * 10 >= half * 8 && even == 0 {
        Some(true)
    } else if even * 10 >= half * 8 && odd == 0 {
        Some(false)
    } else {
        None
    }
}

/// Text may hold colour codes and form feeds, but not many controls and no NUL.
fn is_text(text: &str) -> bool {
    !holds_control(text.as_bytes())
}

/// A terminal rings and shifts its letters, an editor's commands and a manual's pages are marked: one
/// byte in fifty, and never NUL, which ends what others read.
fn has_few_controls(bytes: &[u8]) -> bool {
    let controls = bytes.iter().filter(|byte| is_control(**byte)).count();
    let controls = controls - terminal_strings(bytes);
    controls * 50 <= bytes.len() && memchr::memchr(0, bytes).is_none()
}

/// How many strings for a terminal end with a bell: titles, links, how far a work is.
fn terminal_strings(bytes: &[u8]) -> usize {
    let ends = |at: &usize| {
        let mut behind = bytes[at + 2..].iter();
        behind.find(|byte| byte.is_ascii_control()) == Some(&7)
    };
    memchr::memmem::find_iter(bytes, b"\x1b]")
        .filter(ends)
        .count()
}

/// Whether bytes that are not UTF-8 may be text of an older code. Of these some have hardly a letter
/// in ASCII, but lines and mostly blanks.
fn is_legacy(bytes: &[u8]) -> bool {
    const LINE_BYTES: usize = 200;
    let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
    // A word has no blanks, and too few bytes to be anything else.
    if ascii * 2 >= bytes.len() || bytes.len() < LINE_BYTES {
        return true;
    }
    let blanks = bytes.iter().filter(|byte| byte.is_ascii_whitespace());
    blanks.count() * LINE_BYTES >= bytes.len()
}

/// Looks at many bytes at a time: within a chunk nothing ends the loop.
fn holds_control(bytes: &[u8]) -> bool {
    const CHUNK: usize = 1024;
    let any = |chunk: &[u8]| {
        chunk
            .iter()
            .fold(false, |any, byte| any | is_control(*byte))
    };
    bytes.chunks(CHUNK).any(any)
}

fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=7 | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// The first characters that mean something, in lower case.
pub(crate) fn head(text: &str, length: usize) -> String {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
        .chars()
        .take(length)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<&str>) {
        let mut budget = Budget::new(Limits::default());
        assert_eq!(
            decode(bytes, &mut budget)
                .expect("within budget")
                .as_deref(),
            expected
        );
    }

    #[test]
    fn text_is_read_in_its_encoding() {
        check(b"a,b\n", Some("a,b\n"));
        check(b"\xef\xbb\xbfa", Some("a"));
        check(b"\xff\xfea\0b\0", Some("ab"));
        check(b"\xfe\xff\0a\0b", Some("ab"));
        check(b"<\0s\0v\0g\0>\0", Some("<svg>"));
        check(b"caf\xe9\n", Some("caf\u{e9}\n"));
        check(b"\x80\x02}q\x00.", None);
        let high: Vec<u8> = (128..=255).cycle().take(2560).collect();
        check(&high, None);
        check(&high[..200], None);
        check(b"\xed\xa0\x80", Some("\u{ed}\u{a0}\u{80}"));
        let cyrillic = b"\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0\n".repeat(40);
        let letters: String = cyrillic.iter().copied().map(char::from).collect();
        check(&cyrillic, Some(&letters));
        let rings = format!("{}\x07\x0f\n", "done ".repeat(20));
        check(rings.as_bytes(), Some(&rings));
        check(b"done\x07\x0f\n", None);
        let titled = "\x1b]0;a@b: ~\x07$ \x1b]133;B\x07ls\n";
        check(titled.as_bytes(), Some(titled));
        check(b"\x1b]\x1b]0;a\x07\x07\n", None);
        check(format!("{}\0\n", "done ".repeat(20)).as_bytes(), None);
        check(b"\x89PNG\r\n\x1a\n", None);
    }
}
