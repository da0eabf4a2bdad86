//! Reads Thrift's compact form, which Parquet's headers are written in.

use crate::{Budget, Limit, Unscannable};

/// One value; numbers of all widths are one.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
    List(Vec<Value<'a>>),
    Struct(Vec<(i16, Value<'a>)>),
    Other,
}

impl<'a> Value<'a> {
    pub(crate) fn field(&self, id: i16) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields
                .iter()
                .find(|(field, _)| *field == id)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn number(&self, id: i16) -> Option<i64> {
        match self.field(id)? {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A number that cannot be negative.
    pub(crate) fn size(&self, id: i16) -> Option<u64> {
        self.number(id)
            .and_then(|number| u64::try_from(number).ok())
    }

    pub(crate) fn list(&self, id: i16) -> &[Self] {
        match self.field(id) {
            Some(Self::List(items)) => items,
            _ => &[],
        }
    }

    pub(crate) fn bytes(&self, id: i16) -> Option<&'a [u8]> {
        match self.field(id)? {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Reads a struct from the start of the bytes, and says where it ends.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    budget: &mut Budget,
) -> Result<(Value<'a>, usize), Unscannable> {
    let mut reader = Reader {
        bytes,
        at: 0,
        depth: 0,
    };
    let value = reader.fields(budget)?;
    Ok((value, reader.at))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, Unscannable> {
        let byte = *self.bytes.get(self.at).ok_or(Unscannable::Corrupt)?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, Unscannable> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Unscannable::Corrupt)
    }

    fn zigzag(&mut self) -> Result<i64, Unscannable> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn fields(&mut self, budget: &mut Budget) -> Result<Value<'a>, Unscannable> {
        let (mut fields, mut id) = (Vec::new(), 0i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(Value::Struct(fields));
            }
            id = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).map_err(|_| Unscannable::Corrupt)?,
                delta => id.checked_add(delta.into()).ok_or(Unscannable::Corrupt)?,
            };
            let value = match head & 0x0f {
                kind @ (1 | 2) => Value::Number(i64::from(kind == 1)),
                kind => self.value(kind, budget)?,
            };
            fields.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, budget: &mut Budget) -> Result<Value<'a>, Unscannable> {
        budget.charge(32)?;
        if self.depth > 16 {
            return Err(Unscannable::Limit(Limit::Nesting));
        }
        match kind {
            // A boolean within a list, or a byte.
            1..=3 => self.byte().map(|byte| Value::Number(byte.into())),
            4..=6 => self.zigzag().map(Value::Number),
            7 => self.skip(8).map(|_| Value::Other),
            8 => {
                let length = self.varint()?;
                self.skip(length).map(Value::Bytes)
            }
            9 | 10 => self.nested(|reader| {
                let head = reader.byte()?;
                let length = match head >> 4 {
                    15 => reader.varint()?,
                    short => short.into(),
                };
                let mut items = Vec::new();
                for _ in 0..length {
                    items.push(reader.value(head & 0x0f, budget)?);
                }
                Ok(Value::List(items))
            }),
            12 => self.nested(|reader| reader.fields(budget)),
            _ => Err(Unscannable::Corrupt),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value<'a>, Unscannable>,
    ) -> Result<Value<'a>, Unscannable> {
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn skip(&mut self, length: u64) -> Result<&'a [u8], Unscannable> {
        let bytes = crate::bytes::slice(self.bytes, self.at, crate::bytes::index(length))
            .ok_or(Unscannable::Corrupt)?;
        self.at += bytes.len();
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn a_struct_is_read() {
        // 1: i32 3, 2: "ab", 3: list<i32> [1, -1], 4: struct { 1: true }
        let bytes = [
            0x15, 6, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 1, 0x1c, 0x11, 0, 0,
        ];
        let mut budget = Budget::new(Limits::default());
        let (value, end) = read(&bytes, &mut budget).expect("sound");
        assert_eq!(end, bytes.len());
        assert_eq!(value.number(1), Some(3));
        assert_eq!(value.bytes(2), Some(&b"ab"[..]));
        assert_eq!(value.list(3).len(), 2);
        assert_eq!(value.field(4).and_then(|inner| inner.number(1)), Some(1));
        assert!(read(&bytes[..9], &mut budget).is_err());
    }
}
