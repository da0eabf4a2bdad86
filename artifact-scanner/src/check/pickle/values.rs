//! What lies on the stack of a pickle that is followed but not loaded.

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
    /// A type of array items, by its number.
    Dtype(u32),
    /// A dict, by the place of the instruction that made it.
    Dict(usize),
    /// joblib's description of the raw array behind it.
    ArrayWrapper,
    /// What came out of a call that cannot be followed.
    Computed,
    /// Numbers, bytes, lists and sets.
    Data,
}

/// A type of array items, as `numpy.dtype` is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemType {
    kind: u8,
    bytes: u64,
    objects: bool,
}

impl ItemType {
    /// The item type that numpy writes as `f8`, `U5` or `O8`, and in no other way.
    pub(super) fn read(text: &str) -> Option<Self> {
        let letters = text.strip_prefix(['<', '>', '=', '|']).unwrap_or(text);
        let kind = letters.bytes().next()?;
        let digits = letters.get(1..)?;
        if !b"biufcSaUVmMO".contains(&kind) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let size = digits.parse::<u64>().ok()?;
        Some(Self {
            kind,
            bytes: if kind == b'U' {
                size.checked_mul(4)?
            } else {
                size
            },
            objects: kind == b'O',
        })
    }

    /// Takes over what the state of a type says; false where it says it in an unusual way.
    pub(super) fn see_state(&mut self, state: &[Value]) -> bool {
        let [
            Value::Int(3 | 4),
            _,
            _,
            _,
            _,
            size,
            _,
            Value::Int(flags),
            ..,
        ] = state
        else {
            return false;
        };
        self.objects |= flags & 1 == 1;
        match size {
            Value::Int(size) if b"SaUV".contains(&self.kind) => self.bytes = *size,
            _ => return !b"SaUV".contains(&self.kind),
        }
        true
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
    /// The dict that says it.
    pub(super) dict: Option<usize>,
    items: Option<u64>,
    item: Option<ItemType>,
    padded: bool,
}

impl Wrapper {
    /// Reads an entry of a dict that is about the array; only the last such dict counts.
    pub(super) fn see(
        &mut self,
        dict: usize,
        key: &[u8],
        value: Value,
        tuples: &Tuples,
        types: &[ItemType],
    ) {
        if !matches!(key, b"shape" | b"dtype" | b"numpy_array_alignment_bytes") {
            return;
        }
        if self.dict != Some(dict) {
            *self = Self {
                dict: Some(dict),
                ..Self::default()
            };
        }
        match (key, value) {
            (b"shape", shape) => {
                let is_known = matches!(shape, Value::Tuple { .. });
                let mut sizes = tuples.items(shape).iter();
                self.items = sizes
                    .try_fold(1_u64, |all, item| match item {
                        Value::Int(count) => all.checked_mul(*count),
                        _ => None,
                    })
                    .filter(|_| is_known);
            }
            (b"dtype", Value::Dtype(number)) => self.item = types.get(number as usize).copied(),
            (b"dtype", _) => self.item = None,
            (_, Value::Int(_)) => self.padded = true,
            (_, Value::None) => self.padded = false,
            _ => self.items = None,
        }
    }

    pub(super) fn is_of_objects(&self) -> bool {
        self.item.is_some_and(|item| item.objects)
    }

    /// The place behind the raw data that begins at `at`.
    pub(super) fn end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let padding = if self.padded {
            1 + usize::from(*bytes.get(at)?)
        } else {
            0
        };
        let size = self.items?.checked_mul(self.item?.bytes)?;
        let end = at
            .checked_add(padding)?
            .checked_add(usize::try_from(size).ok()?)?;
        (end <= bytes.len()).then_some(end)
    }
}
