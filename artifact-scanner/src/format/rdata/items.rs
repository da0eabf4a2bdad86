//! How are numbers and texts written in the three forms of R's serialization?

use crate::bytes::{be32, index, le32, slice};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    Big,
    Little,
    /// In letters, a number a line.
    Words,
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    form: Form,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize, form: Form) -> Self {
        Self { bytes, at, form }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        let number = match self.form {
            Form::Big => be32(self.bytes, self.at)?,
            Form::Little => le32(self.bytes, self.at)?,
            Form::Words => {
                let word = std::str::from_utf8(self.word()?).ok()?;
                // Less than nought stands for what is not there.
                return match word {
                    "NA" => Some(u32::MAX),
                    _ => word.parse::<i32>().ok().map(i32::cast_unsigned),
                };
            }
        };
        self.at += 4;
        Some(number)
    }

    /// How many letters, constants or the like follow; none of what is not there.
    pub(super) fn length(&mut self) -> Option<usize> {
        let number = self.number()?;
        if number == u32::MAX {
            return Some(0);
        }
        i32::try_from(number).ok().map(index)
    }

    /// How many values of a vector follow: two numbers more where one does not do, or where whoever
    /// wrote it would have it so.
    pub(super) fn values(&mut self) -> Option<usize> {
        let number = self.number()?;
        if number != u32::MAX {
            return i32::try_from(number).ok().map(index);
        }
        let (high, low) = (self.number()?, self.number()?);
        Some(index(u64::from(high) << 32 | u64::from(low)))
    }

    pub(super) fn text(&mut self, length: usize) -> Option<&'a [u8]> {
        if length == 0 {
            return Some(&[]);
        }
        if self.form == Form::Words {
            // Its length is that without escapes; none of its letters is a space.
            return self.word();
        }
        self.skip(length, 1)
    }

    pub(super) fn skip(&mut self, items: usize, size: usize) -> Option<&'a [u8]> {
        let start = self.at;
        if self.form == Form::Words {
            for _ in 0..items {
                self.word()?;
            }
        } else {
            let taken = slice(self.bytes, start, items.checked_mul(size)?)?;
            self.at += taken.len();
        }
        self.bytes.get(start..self.at)
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        let blanks = blanks.count();
        let letters = rest[blanks..]
            .iter()
            .take_while(|byte| !byte.is_ascii_whitespace());
        let length = letters.count();
        self.at += blanks + length;
        (length > 0).then(|| &rest[blanks..blanks + length])
    }
}
