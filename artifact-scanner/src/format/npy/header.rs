//! What does the header of an array say, where it is written as `NumPy` writes it?
//!
//! A loader reads it as a literal of Python, which has many spellings of one thing: escapes, comments,
//! keys that come twice. `NumPy` writes one of them; whatever else stands there is not plain.

/// Records within records.
const DEPTH_MAX: u32 = 16;

/// A plain header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// The dimensions, multiplied.
    pub(super) items: u64,
    pub(super) item_bytes: usize,
    pub(super) objects: bool,
    /// The type, where it is no record.
    pub(super) code: Option<&'a str>,
}

/// Reads the whole header; nothing where it is not plain.
pub(super) fn read(text: &str) -> Option<Header<'_>> {
    let mut reader = Reader(text.trim_end());
    reader.word("{")?;
    let (mut kind, mut items, mut order) = (None, None, false);
    while reader.word("}").is_none() {
        let key = reader.text()?;
        reader.word(":")?;
        match key {
            "descr" if kind.is_none() => kind = Some(reader.kind(DEPTH_MAX)?),
            "shape" if items.is_none() => items = Some(reader.shape()?),
            "fortran_order" if !order => {
                order = reader
                    .word("True")
                    .or_else(|| reader.word("False"))
                    .is_some();
                order.then_some(())?;
            }
            _ => return None,
        }
        if reader.word(",").is_none() {
            reader.word("}")?;
            break;
        }
    }
    let (kind, items) = (kind?, items?);
    (order && reader.0.is_empty()).then_some(Header {
        items,
        item_bytes: kind.bytes,
        objects: kind.objects,
        code: kind.code,
    })
}

struct Kind<'a> {
    bytes: usize,
    objects: bool,
    code: Option<&'a str>,
}

struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    fn word(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.trim_start_matches([' ', '\n']).strip_prefix(word)?;
        Some(())
    }

    /// A text in plain quotes without escapes.
    fn text(&mut self) -> Option<&'a str> {
        self.0 = self.0.trim_start_matches([' ', '\n']);
        let quote = self.0.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.0[1..].split_once(quote)?;
        self.0 = rest;
        (!text.contains(['\\', '\n'])).then_some(text)
    }

    fn number(&mut self) -> Option<u64> {
        self.0 = self.0.trim_start_matches(' ');
        let end = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix('L').unwrap_or(rest);
        digits.parse().ok()
    }

    /// The numbers of a tuple, multiplied; the largest there is stands for what is larger.
    fn shape(&mut self) -> Option<u64> {
        self.word("(")?;
        let mut product = 1_u64;
        while self.word(")").is_none() {
            let number = self.number()?;
            product = product.saturating_mul(number);
            if self.word(",").is_none() {
                self.word(")")?;
                break;
            }
        }
        Some(product)
    }

    fn kind(&mut self, depth: u32) -> Option<Kind<'a>> {
        if self.word("[").is_some() {
            return self.record(depth.checked_sub(1)?);
        }
        // A type, repeated.
        if self.word("(").is_some() {
            let inner = self.kind(depth.checked_sub(1)?)?;
            self.word(",")?;
            let times = usize::try_from(self.times()?).ok()?;
            self.word(")")?;
            let bytes = inner.bytes.checked_mul(times)?;
            return Some(Kind {
                bytes,
                objects: inner.objects,
                code: None,
            });
        }
        let code = self.text()?;
        if matches!(code, "O" | "|O" | "O8" | "|O8" | "O4" | "|O4") {
            return Some(Kind {
                bytes: 8,
                objects: true,
                code: None,
            });
        }
        let bytes = code_bytes(code)?;
        Some(Kind {
            bytes,
            objects: false,
            code: Some(code),
        })
    }

    fn times(&mut self) -> Option<u64> {
        match self.number() {
            Some(number) => Some(number),
            None => self.shape(),
        }
    }

    /// Fields: a name, or a title and a name; a type; how often, if more than once.
    fn record(&mut self, depth: u32) -> Option<Kind<'a>> {
        let mut record = Kind {
            bytes: 0,
            objects: false,
            code: None,
        };
        while self.word("]").is_none() {
            self.word("(")?;
            if self.word("(").is_some() {
                self.text()?;
                self.word(",")?;
                self.text()?;
                self.word(")")?;
            } else {
                self.text()?;
            }
            self.word(",")?;
            let field = self.kind(depth)?;
            let times = if self.word(",").is_some() {
                self.times()?
            } else {
                1
            };
            self.word(")")?;
            let bytes = field.bytes.checked_mul(usize::try_from(times).ok()?)?;
            record.bytes = record.bytes.checked_add(bytes)?;
            record.objects |= field.objects;
            if self.word(",").is_none() {
                self.word("]")?;
                break;
            }
        }
        Some(record)
    }
}

fn code_bytes(code: &str) -> Option<usize> {
    let code = code.strip_prefix(['<', '>', '|', '=']).unwrap_or(code);
    let (kind, size) = code.split_at_checked(1)?;
    let (size, unit) = size.split_at(size.bytes().take_while(u8::is_ascii_digit).count());
    let dated = matches!(kind, "m" | "M") && unit.starts_with('[') && unit.ends_with(']');
    let plain = |c: char| c.is_ascii_alphanumeric() || "[]/".contains(c);
    let fits = unit.is_empty() || dated && unit.chars().all(plain);
    if !fits {
        return None;
    }
    match kind {
        "?" => Some(1),
        "U" => size.parse::<usize>().ok()?.checked_mul(4),
        "b" | "i" | "u" | "f" | "c" | "S" | "a" | "V" | "m" | "M" => size.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn judge(descr: &str, expected: Option<(usize, bool)>) {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2, 3), }}   \n");
        let header = read(&text);
        let found = header.map(|header| (header.item_bytes, header.objects));
        assert_eq!(found, expected, "{descr}");
    }

    #[test]
    fn plain_types_have_a_size() {
        judge("'<f8'", Some((8, false)));
        judge("'<U3'", Some((12, false)));
        judge("'<M8[ns]'", Some((8, false)));
        judge("'|O'", Some((8, true)));
        judge("[('a', '<f8'), ('b', '|O')]", Some((16, true)));
        judge(
            "[('a', '<f8', (2, 2)), ('', '|V4'), (('t', 'c'), [('d', '|u1')])]",
            Some((37, false)),
        );
        judge("[('Own', '<i4', 3)]", Some((12, false)));
    }

    #[test]
    fn other_spellings_are_not_plain() {
        for descr in [
            "'object'",
            "'|\\x4f'",
            "'i4,object'",
            "[('a', 'object')]",
            "'|' 'O'",
            "'<f8' # '",
        ] {
            judge(descr, None);
        }
        for text in [
            "{'descr': '|V56', 'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            "{# 'descr': '|V56', 'shape': (1,),\n'desc\\x72': '|O', 'fortran_order': False}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} or 1",
            "{'descr': '<f8', 'shape': (1,)}",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn no_text_is_deep_enough_to_end_it() {
        let deep = format!("{{'descr': {}", "[('a',".repeat(100_000));
        assert_eq!(read(&deep), None);
        let text = "{'descr': [(('t', 'c'), '<f8', (2,))], 'fortran_order': True, 'shape': (2,), }";
        for end in 0..text.len() {
            assert_eq!(read(&text[..end]), None);
        }
    }
}
