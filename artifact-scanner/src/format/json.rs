//! Whether a text is JSON to its last character, and how deep it nests.

use crate::bytes::{count, index};
use crate::{Budget, Limit, Unscannable};

/// Reads one value, or one for each line. `NaN` and `Infinity` are read, for Python writes them.
pub(crate) fn check(text: &str, lines: bool, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
        nesting: index(budget.limits().nesting),
    };
    loop {
        reader.space();
        if reader.at == reader.bytes.len() {
            return Ok(());
        }
        reader.value(budget)?;
        reader.space();
        if !lines && reader.at < reader.bytes.len() {
            return Err(Unscannable::Corrupt);
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    nesting: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// A value, without recursion: the stack holds the closing brackets to come.
    fn value(&mut self, budget: &mut Budget) -> Result<(), Unscannable> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            let before = self.at;
            self.space();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    open.push(bracket + 2);
                    if open.len() > self.nesting {
                        return Err(Unscannable::Limit(Limit::Nesting));
                    }
                    self.space();
                    if self.peek() != Some(bracket + 2) {
                        self.key(bracket + 2)?;
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                _ => self.word()?,
            }
            // A value ended: close what closes, and go on behind a comma.
            loop {
                budget.charge(count(self.at - before) + 1)?;
                let Some(close) = open.last().copied() else {
                    return Ok(());
                };
                self.space();
                if self.eat(close) {
                    open.pop();
                } else if self.eat(b',') {
                    self.key(close)?;
                    break;
                } else {
                    return Err(Unscannable::Corrupt);
                }
            }
        }
    }

    /// The key and the colon, where the value is a member of an object.
    fn key(&mut self, close: u8) -> Result<(), Unscannable> {
        if close == b'}' {
            self.space();
            self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(Unscannable::Corrupt);
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), Unscannable> {
        if !self.eat(b'"') {
            return Err(Unscannable::Corrupt);
        }
        loop {
            match self.peek().ok_or(Unscannable::Corrupt)? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn word(&mut self) -> Result<(), Unscannable> {
        let rest = &self.bytes[self.at..];
        let end = rest
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        if !is_number(word)
            && !matches!(
                word,
                b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity"
            )
        {
            return Err(Unscannable::Corrupt);
        }
        self.at += end;
        Ok(())
    }
}

/// A number as lenient readers take it: `-.5`, `5.` and `-inf`, too.
fn is_number(word: &[u8]) -> bool {
    let (signed, rest) = match word {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, word),
    };
    let digits = |from: usize| {
        let digits = rest[from..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.count()
    };
    let whole = digits(0);
    let mut at = whole;
    let mut part = 0;
    if rest.get(at) == Some(&b'.') {
        part = digits(at + 1);
        at += 1 + part;
    }
    if !signed && whole == 0 {
        return false;
    }
    if whole + part == 0 {
        let words = [&b"inf"[..], b"infinity", b"nan"];
        return words.iter().any(|word| rest.eq_ignore_ascii_case(word));
    }
    if matches!(rest.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at);
        at += exponent;
        return exponent > 0 && at == rest.len();
    }
    at == rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[track_caller]
    fn check(text: &str, lines: bool, expected: Result<(), Unscannable>) {
        let mut budget = Budget::new(Limits::default());
        assert_eq!(
            super::check(text, lines, &mut budget),
            expected,
            "{text:.60}"
        );
    }

    #[test]
    fn json_is_read_to_its_end() {
        for text in [
            "{}",
            "[]",
            "[[], {\"a\": [1, -2.5e3, null]}]",
            "\"a\\\"b\"",
            "NaN",
            " [1,\n2] ",
            "{\"a\":{},\"b\":[]}",
        ] {
            check(text, false, Ok(()));
        }
        for text in [
            "{",
            "[1,]",
            "{\"a\"}",
            "{1:2}",
            "[1 2]",
            "\"a",
            "{}x",
            "nul",
            "[1]]",
            "{\"a\":1,}",
            "[}",
        ] {
            check(text, false, Err(Unscannable::Corrupt));
        }
        check("{\"a\":1}\n{\"a\":2}\n", true, Ok(()));
        check("{\"a\":1}\n{\"a\":2}\n", false, Err(Unscannable::Corrupt));
    }

    /// The library reads numbers as we do, but for a sign of plus and a point without a digit.
    #[test]
    fn numbers_are_what_the_library_takes() {
        let letters = b"-+.eE059infaty";
        let mut words = vec![Vec::new()];
        for _ in 0..5 {
            let longer = words.iter().flat_map(|word: &Vec<u8>| {
                letters
                    .iter()
                    .map(|letter| [word.as_slice(), &[*letter]].concat())
            });
            words = longer.collect();
            for word in &words {
                let text = std::str::from_utf8(word).expect("ASCII");
                let starts = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                let expected = starts && text.parse::<f64>().is_ok();
                assert_eq!(is_number(word), expected, "{text}");
            }
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        check(&nested(256), false, Ok(()));
        check(&nested(257), false, Err(Unscannable::Limit(Limit::Nesting)));
        check(
            &"[".repeat(1_000_000),
            false,
            Err(Unscannable::Limit(Limit::Nesting)),
        );
    }
}
