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
        let word = std::str::from_utf8(&rest[..end]).unwrap_or_default();
        let number = word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            && word.parse::<f64>().is_ok();
        if !number
            && !matches!(
                word,
                "true" | "false" | "null" | "NaN" | "Infinity" | "-Infinity"
            )
        {
            return Err(Unscannable::Corrupt);
        }
        self.at += end;
        Ok(())
    }
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
