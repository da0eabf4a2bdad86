//! How does a script read without its comments, and with its long texts cut?

use memchr::{memchr2, memmem};

/// Of a longer text both ends are kept.
const TEXT_BYTES_MAX: usize = 96;
const HEAD: usize = 48;
const TAIL: usize = 16;

/// The script without white space and comments; nothing where it stays as long as that, or is what
/// it was. What stands between two words is often put there so that they are not seen together.
pub(super) fn shortened(script: &str, most: usize) -> Option<String> {
    let bytes = script.as_bytes();
    let mut out: Vec<u8> = Vec::new();
    let (mut at, mut is_shorter) = (0, false);
    while at < bytes.len() && out.len() <= most {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'/')) => {
                is_shorter = true;
                at = memchr2(b'\n', b'\r', &bytes[at..]).map_or(bytes.len(), |end| at + end);
                continue;
            }
            (b'/', Some(b'*')) => {
                is_shorter = true;
                let end = memmem::find(&bytes[at + 2..], b"*/");
                at = end.map_or(bytes.len(), |end| at + end + 4);
                continue;
            }
            (b'/', _) if begins_pattern(&out) => pattern(bytes, at),
            (quote @ (b'"' | b'\'' | b'`'), _) => text(bytes, at, quote),
            (byte, _) => {
                if !byte.is_ascii_whitespace() {
                    out.push(byte);
                }
                at += 1;
                continue;
            }
        };
        let whole = &bytes[at..end];
        // What is put into a text is code.
        if whole.len() > TEXT_BYTES_MAX && memmem::find(whole, b"${").is_none() {
            is_shorter = true;
            out.extend(&whole[..HEAD]);
            out.extend(&whole[whole.len() - TAIL..]);
        } else {
            out.extend(whole.iter().filter(|byte| !byte.is_ascii_whitespace()));
        }
        at = end;
    }
    (is_shorter && out.len() <= most).then(|| String::from_utf8_lossy(&out).into_owned())
}

/// Whether a stroke here begins a pattern, and does not divide.
fn begins_pattern(before: &[u8]) -> bool {
    let is_value = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$)]}\"'`".contains(byte);
    !before.last().is_some_and(is_value) || before.ends_with(b"return")
}

/// A pattern is no longer, so that what seems to begin one is not read to its end again and again.
const PATTERN_BYTES_MAX: usize = 1000;

/// Where a pattern ends: on its line, or it is none.
fn pattern(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut in_class) = (at + 1, false);
    let most = bytes.len().min(at + PATTERN_BYTES_MAX);
    while let Some(byte) = bytes[..most].get(end) {
        match byte {
            b'\n' | b'\r' => return at + 1,
            b'\\' => end += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return end + 1,
            _ => {}
        }
        end += 1;
    }
    at + 1
}

/// Where a text ends; one in plain quotes at the end of its line at the latest.
fn text(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while let Some(next) = memchr::memchr3(quote, b'\\', b'\n', &bytes[end.min(bytes.len())..]) {
        end += next;
        match bytes[end] {
            b'\\' => end += 2,
            b'\n' if quote == b'`' => end += 1,
            _ => return end + 1,
        }
    }
    // One that does not end is the rest of the script.
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_texts_are_cut() {
        let long = "x".repeat(300);
        for (script, wanted) in [
            ("a /* b\n */ + c", Some("a+c")),
            ("a // b\n; c//", Some("a;c")),
            ("a = 'http://b' + \"/*\" // c", Some("a='http://b'+\"/*\"")),
            ("a = /\\/*[/*]'/; b /**/", Some("a=/\\/*[/*]'/;b")),
            ("a = b / c / d", None),
            ("a /* b", Some("a")),
            ("'a\\", None),
            ("`a\n${b}`", None),
        ] {
            assert_eq!(shortened(script, 100).as_deref(), wanted, "{script}");
        }
        let cut = shortened(&format!("a='{long}';"), 300).expect("it is long");
        assert_eq!(cut.len(), 3 + HEAD + TAIL);
        assert_eq!(shortened(&format!("//\n{long}"), 100), None);
    }

    #[test]
    fn no_place_ends_it() {
        let script = "a='\\'/[/]/`${\n/*\"\\\r//b\n'c\\";
        for from in 0..script.len() {
            for to in from..script.len() {
                drop(shortened(&script[from..to], 20));
            }
        }
    }
}
