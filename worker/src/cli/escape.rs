//! How can a program's output be shown on a terminal without the program steering the terminal?
//!
//! Everything but newline and tab that a terminal might act on is written as an escape: control
//! characters (C0, DEL, C1), bytes that are not UTF-8, and the marks that reorder text.

use std::fmt::Write as _;

/// Bytes of the longest character that may be cut by the end of a chunk.
const CUT_MAX: usize = 3;

/// Escapes a stream that comes in chunks; a character cut by a chunk's end is carried over.
#[derive(Debug, Default)]
pub(crate) struct Escaper {
    cut: Vec<u8>,
}

impl Escaper {
    /// The next chunk as safe text.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.cut);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut rest = all.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    escape_into(valid, &mut text);
                    return text;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    escape_into(
                        std::str::from_utf8(valid).expect("the decoder said so"),
                        &mut text,
                    );
                    let Some(bad) = error.error_len() else {
                        debug_assert!(after.len() <= CUT_MAX);
                        self.cut = after.to_vec();
                        return text;
                    };
                    escape_bytes(&after[..bad], &mut text);
                    rest = &after[bad..];
                }
            }
        }
    }

    /// What the end of the stream left of a character.
    pub(crate) fn finish(self) -> String {
        let mut text = String::new();
        escape_bytes(&self.cut, &mut text);
        text
    }
}

/// A single text, such as a file name that a job chose, safe to print on one line.
pub(crate) fn name(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            c => escape_char(c, &mut safe),
        }
    }
    safe
}

fn escape_into(text: &str, out: &mut String) {
    for c in text.chars() {
        escape_char(c, out);
    }
}

fn escape_char(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{7f}' if c.is_control() => push_hex(u32::from(c), out),
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

fn escape_bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        push_hex(u32::from(*byte), out);
    }
}

fn push_hex(value: u32, out: &mut String) {
    write!(out, "\\x{value:02x}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> String {
        let mut escaper = Escaper::default();
        let text = escaper.push(bytes);
        text + &escaper.finish()
    }

    #[test]
    fn a_terminal_is_not_steered() {
        assert_eq!(whole(b"\x1b[2Jgone\r\x07\x7f"), "\\x1b[2Jgone\\r\\x07\\x7f");
        assert_eq!(whole("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(whole("\u{202e}evil".as_bytes()), "\\u{202e}evil");
    }

    #[test]
    fn plain_text_is_left_alone() {
        let text = "a\tb\nünïcödé 日本 🔥\n";
        assert_eq!(whole(text.as_bytes()), text);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_shown() {
        assert_eq!(whole(b"a\xffb\xc3"), "a\\xffb\\xc3");
    }

    #[test]
    fn a_character_cut_anywhere_arrives_whole() {
        let text = "é日🔥\u{9b}";
        for cut in 0..text.len() {
            let mut escaper = Escaper::default();
            let mut shown = escaper.push(&text.as_bytes()[..cut]);
            shown += &escaper.push(&text.as_bytes()[cut..]);
            shown += &escaper.finish();
            assert_eq!(shown, "é日🔥\\u{9b}", "cut at {cut}");
        }
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(name("a\nb\tc\x1b"), "a\\nb\\tc\\x1b");
    }
}
