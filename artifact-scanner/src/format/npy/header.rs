//! What the header of an array says of its items: read as the literal that `NumPy` writes, and
//! refused where it is written in any other way that Python would read, too.

/// Fields and texts of one item; more are refused.
const FIELDS_MAX: usize = 10_000;
/// Fields within fields.
const DEPTH_MAX: u32 = 16;

/// An array by its header.
pub(super) struct Header {
    pub(super) item: Field,
    pub(super) items: u64,
}

/// One item, or a field of one.
#[derive(Default)]
pub(super) struct Field {
    pub(super) bytes: u64,
    pub(super) has_objects: bool,
    pub(super) texts: Vec<Texts>,
}

/// Texts of four bytes a letter within an item, one behind the other.
#[derive(Clone)]
pub(super) struct Texts {
    pub(super) at: u64,
    pub(super) bytes: u64,
    pub(super) count: u64,
    pub(super) big: bool,
}

impl Header {
    /// A dictionary of three entries, each once.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text };
        let (mut item, mut items, mut order) = (None, None, None);
        reader.expect('{')?;
        while !reader.takes('}') {
            let key = reader.quoted()?;
            reader.expect(':')?;
            let again = match key {
                "descr" => item.replace(reader.description(DEPTH_MAX)?).is_some(),
                "shape" => items.replace(reader.shape()?).is_some(),
                "fortran_order" => order.replace(reader.truth()?).is_some(),
                _ => return None,
            };
            if again || !(reader.takes(',') || reader.rest.starts_with('}')) {
                return None;
            }
        }
        let is_whole = reader.rest.trim().is_empty() && order.is_some();
        let (item, items) = item.zip(items).filter(|_| is_whole)?;
        Some(Self { item, items })
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Takes a sign, and the blanks around it.
    fn takes(&mut self, sign: char) -> bool {
        let Some(rest) = self.rest.trim_start_matches(' ').strip_prefix(sign) else {
            return false;
        };
        self.rest = rest.trim_start_matches(' ');
        true
    }

    fn expect(&mut self, sign: char) -> Option<()> {
        self.takes(sign).then_some(())
    }

    /// A text in quotes, without an escape, which would have to be undone.
    fn quoted(&mut self) -> Option<&'a str> {
        let quote = self
            .rest
            .chars()
            .next()
            .filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.rest[1..].split_once(quote)?;
        // Two texts side by side are one.
        let rest = rest.trim_start_matches(' ');
        let is_plain = !text.contains(['\\', '\n', '\r', '\0']) && !rest.starts_with(['\'', '"']);
        self.rest = rest;
        is_plain.then_some(text)
    }

    fn number(&mut self) -> Option<u64> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit())?;
        let number = self.rest[..end].parse().ok()?;
        let rest = &self.rest[end..];
        // Python 2 marked long ones.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Some(number)
    }

    fn truth(&mut self) -> Option<bool> {
        for (word, is_true) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest.trim_start_matches(' ');
                return Some(is_true);
            }
        }
        None
    }

    /// A tuple of numbers; their product.
    fn shape(&mut self) -> Option<u64> {
        self.expect('(')?;
        let (mut product, mut count) = (1u64, 0);
        while !self.takes(')') {
            product = product.checked_mul(self.number()?)?;
            count += 1;
            let is_more = self.takes(',');
            // A lone number in brackets is no tuple.
            if !is_more && (count < 2 || !self.rest.starts_with(')')) {
                return None;
            }
        }
        Some(product)
    }

    /// One type, or a list of fields.
    fn description(&mut self, depth: u32) -> Option<Field> {
        if !self.takes('[') {
            return field(self.quoted()?);
        }
        let depth = depth.checked_sub(1)?;
        let mut all = Field::default();
        let mut count = 0;
        while !self.takes(']') {
            self.expect('(')?;
            // A name, or a title and a name.
            if self.takes('(') {
                self.quoted()?;
                self.expect(',')?;
                self.quoted()?;
                self.expect(')')?;
            } else {
                self.quoted()?;
            }
            self.expect(',')?;
            let one = self.description(depth)?;
            let times = if self.takes(',') && !self.rest.starts_with(')') {
                let times = self.shape()?;
                self.takes(',');
                times
            } else {
                1
            };
            self.expect(')')?;
            all.add(&one, times)?;
            count += 1;
            if count > FIELDS_MAX || !(self.takes(',') || self.rest.starts_with(']')) {
                return None;
            }
        }
        Some(all)
    }
}

impl Field {
    /// Puts a field behind the others, so many times.
    fn add(&mut self, one: &Self, times: u64) -> Option<()> {
        self.has_objects |= one.has_objects;
        if let [text] = one.texts.as_slice()
            && text.bytes.checked_mul(text.count) == Some(one.bytes)
        {
            self.texts.push(Texts {
                at: self.bytes,
                count: text.count.checked_mul(times)?,
                ..text.clone()
            });
        } else if !one.texts.is_empty() {
            for nth in 0..times {
                let start = self.bytes.checked_add(one.bytes.checked_mul(nth)?)?;
                for text in &one.texts {
                    let at = start.checked_add(text.at)?;
                    self.texts.push(Texts { at, ..text.clone() });
                }
                if self.texts.len() > FIELDS_MAX {
                    return None;
                }
            }
        }
        self.bytes = self.bytes.checked_add(one.bytes.checked_mul(times)?)?;
        Some(())
    }
}

/// A type as `<f8`, `|S5`, `<M8[ns]`, `|O`.
fn field(code: &str) -> Option<Field> {
    let (big, code) = match code.strip_prefix(['<', '>', '|', '=']) {
        Some(rest) => (code.starts_with('>'), rest),
        None => (false, code),
    };
    let kind = code.chars().next().filter(char::is_ascii)?;
    let (digits, unit) = match code[1..].split_once('[') {
        Some((digits, unit)) => (digits, Some(unit.strip_suffix(']')?)),
        None => (&code[1..], None),
    };
    let is_unit = |unit: &str| unit.bytes().all(|b| b.is_ascii_alphanumeric());
    if !digits.bytes().all(|b| b.is_ascii_digit())
        || !unit.is_none_or(|unit| matches!(kind, 'm' | 'M') && is_unit(unit))
    {
        return None;
    }
    let size = digits.parse::<u64>();
    let bytes = match (kind, size) {
        ('?', Err(_)) if digits.is_empty() => 1,
        ('O', _) => 8,
        ('U', Ok(size)) => size.checked_mul(4)?,
        ('b' | 'i' | 'u' | 'f' | 'c' | 'S' | 'a' | 'V' | 'm' | 'M', Ok(size)) => size,
        _ => return None,
    };
    let texts = (kind == 'U' && bytes > 0).then_some(Texts {
        at: 0,
        bytes,
        count: 1,
        big,
    });
    Some(Field {
        bytes,
        has_objects: kind == 'O',
        texts: texts.into_iter().collect(),
    })
}
