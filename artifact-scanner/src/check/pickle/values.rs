//! What lies on the stack of a pickle that is followed but not loaded.

use super::opcode;
use std::collections::HashMap;

/// A symbol for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Mark,
    None,
    Int(u64),
    /// A string, by the place of the instruction that pushed it.
    Text(usize),
    /// A tuple whose items are known.
    Tuple {
        from: u32,
        count: u32,
    },
    /// A name that was imported.
    Global(u32),
    /// What a harmless name made.
    Made(u32),
    /// A type of array items.
    Dtype {
        item_bytes: u64,
        objects: bool,
    },
    /// joblib's description of the raw array behind it.
    ArrayWrapper,
    /// What came out of a call that cannot be followed.
    Computed,
    /// Numbers, bytes, lists, dicts and sets.
    Data,
}

impl Value {
    /// The item type that numpy writes as `f8`, `U5` or `O8`.
    pub(super) fn dtype(text: &str) -> Self {
        let letters = text.trim_start_matches(['<', '>', '=', '|']);
        let size = letters
            .get(1..)
            .and_then(|digits| digits.parse::<u64>().ok());
        let item = match letters.bytes().next() {
            Some(b'U') => size.and_then(|size| size.checked_mul(4)),
            _ => size,
        };
        Self::Dtype {
            item_bytes: item.unwrap_or(0),
            objects: letters.starts_with('O'),
        }
    }
}

/// What was put aside under a number.
#[derive(Default)]
pub(super) struct Memo {
    dense: Vec<Value>,
    sparse: HashMap<u64, Value>,
}

impl Memo {
    pub(super) fn len(&self) -> usize {
        self.dense.len() + self.sparse.len()
    }

    pub(super) fn get(&self, slot: u64) -> Option<Value> {
        let dense = usize::try_from(slot)
            .ok()
            .and_then(|slot| self.dense.get(slot));
        dense.or_else(|| self.sparse.get(&slot)).copied()
    }

    pub(super) fn put(&mut self, slot: u64, value: Value) {
        match usize::try_from(slot) {
            Ok(slot) if slot < self.dense.len() => self.dense[slot] = value,
            Ok(slot) if slot == self.dense.len() => {
                self.sparse.remove(&(slot as u64));
                self.dense.push(value);
            }
            _ => drop(self.sparse.insert(slot, value)),
        }
    }
}

/// The items of small tuples.
#[derive(Default)]
pub(super) struct Tuples(Vec<Value>);

/// Longer tuples are data.
const ITEMS_MAX: usize = 32;
const ALL_ITEMS_MAX: usize = 2_000_000;

impl Tuples {
    /// A tuple of these; an opaque value where they are too many.
    pub(super) fn add(&mut self, items: &[Value]) -> Value {
        if items.len() > ITEMS_MAX || self.0.len() > ALL_ITEMS_MAX {
            return Value::Data;
        }
        let tuple = Value::Tuple {
            from: u32::try_from(self.0.len()).unwrap_or(u32::MAX),
            count: u32::try_from(items.len()).unwrap_or(0),
        };
        self.0.extend_from_slice(items);
        tuple
    }

    pub(super) fn items(&self, value: Value) -> &[Value] {
        match value {
            Value::Tuple { from, count } => self
                .0
                .get(from as usize..from as usize + count as usize)
                .unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// What joblib says of an array before its raw data.
#[derive(Debug, Default)]
pub(super) struct Wrapper {
    items: Option<u64>,
    item_bytes: Option<u64>,
    pub(super) objects: bool,
    padded: bool,
}

impl Wrapper {
    /// Reads the entries of a dict that are about the array.
    pub(super) fn see_items(&mut self, bytes: &[u8], items: &[Value], tuples: &Tuples) {
        if items.len() > 64 {
            return;
        }
        for pair in items.chunks_exact(2) {
            let Value::Text(at) = pair[0] else { continue };
            let key = opcode::read(bytes, at).and_then(|step| opcode::text(bytes, &step));
            match (key.as_deref(), pair[1]) {
                (Some("shape"), shape @ Value::Tuple { .. }) => {
                    self.items =
                        tuples
                            .items(shape)
                            .iter()
                            .try_fold(1_u64, |all, item| match item {
                                Value::Int(count) => all.checked_mul(*count),
                                _ => None,
                            });
                }
                (
                    Some("dtype"),
                    Value::Dtype {
                        item_bytes,
                        objects,
                    },
                ) => {
                    self.item_bytes = Some(item_bytes);
                    self.objects = objects;
                }
                (Some("numpy_array_alignment_bytes"), Value::Int(_)) => self.padded = true,
                _ => {}
            }
        }
    }

    /// The place behind the raw data that begins at `at`.
    pub(super) fn end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let padding = if self.padded {
            1 + usize::from(*bytes.get(at)?)
        } else {
            0
        };
        let size = self.items?.checked_mul(self.item_bytes?)?;
        let end = at
            .checked_add(padding)?
            .checked_add(usize::try_from(size).ok()?)?;
        (end <= bytes.len()).then_some(end)
    }
}
