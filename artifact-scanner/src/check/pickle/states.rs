//! What the states of objects say that a pickle sets, where a class acts on it?

use super::doers::LENGTH_MAX;
use super::globals::is_ufunc;
use super::machine::{Halt, Machine, note};
use super::opcode::{self, Operand};
use super::values::Value;
use crate::{Notes, Severity};
use std::borrow::Cow;
use std::collections::HashSet;

/// joblib's description of an array whose data stands behind it.
pub(super) const ARRAY: &str = "joblib.numpy_pickle.NumpyArrayWrapper";
/// The older one, of an array in another file.
const SIBLING: &str = "joblib.numpy_pickle.NDArrayWrapper";
const UFUNCS: [&str; 2] = [
    "numpy.core._ufunc_reconstruct",
    "numpy._core._ufunc_reconstruct",
];

/// What data calls, and never hands on to something that would call it.
const HANDED_ON_NOT: [&str; 4] = [ARRAY, UFUNCS[0], UFUNCS[1], "dateutil.tz.tz.tzfile"];

/// What is known of the dicts of one stream.
#[derive(Default)]
pub(super) struct States {
    /// Dicts with a key that was not read.
    odd: HashSet<usize>,
    /// A file name that is none of an array beside the pickle.
    path: Option<Severity>,
}

/// The text that distributions of `scipy.stats` carry out when they are loaded, for these shapes.
fn template(shapes: &str, arguments: &str, values: &str) -> String {
    format!(
        "\ndef _parse_args(self, {shapes} {arguments}):\n    return ({shapes}), {values}\n\n\
         def _parse_args_rvs(self, {shapes} {arguments}, size=None):\n    \
         return self._argcheck_rvs({shapes} {values}, size=size)\n\n\
         def _parse_args_stats(self, {shapes} {arguments}, moments='mv'):\n    \
         return ({shapes}), {values}, moments\n"
    )
}

/// Whether it is the text that `scipy.stats` makes itself.
fn is_template(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("\ndef _parse_args(self, ") else {
        return false;
    };
    let Some((shapes, _)) = rest.split_once(" loc=0") else {
        return false;
    };
    let is_plain = shapes
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b',' | b' '));
    is_plain
        && [("loc=0, scale=1", "loc, scale"), ("loc=0", "loc, 1")]
            .iter()
            .any(|(arguments, values)| template(shapes, arguments, values) == text)
}

/// What is wrong with the name of the file that an array lies in: it stands beside the pickle and
/// is looked at as an array.
fn sibling(name: Option<&str>) -> Option<Severity> {
    let Some(name) = name else {
        return Some(Severity::Suspicious);
    };
    if name.contains(['/', '\\', ':']) {
        return Some(Severity::Malicious);
    }
    let plain = name.strip_suffix(".z").unwrap_or(name);
    let is_array = plain.strip_suffix(".npy").is_some();
    (!is_array).then_some(Severity::Suspicious)
}

fn is_distribution(path: &str) -> bool {
    path.starts_with("scipy.stats.")
        && (path.ends_with("_gen") || path.contains(".rv_") && !path.ends_with("_frozen"))
}

/// Whether its objects act on the state that is set.
fn acts(path: &str) -> bool {
    is_distribution(path) || path == SIBLING
}

impl Machine<'_> {
    pub(super) fn path(&self, value: Value) -> Option<&str> {
        let (Value::Global(index) | Value::Made(index)) = value else {
            return None;
        };
        self.names.get(index as usize).map(|name| &*name.path)
    }

    fn has(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.names.iter().any(|name| wanted(&name.path))
    }

    /// Looks at the entries that are put into a dict, if it is one.
    pub(super) fn entries(&mut self, dict: Value, items: &[Value], at: usize, notes: &mut Notes) {
        let Value::Dict(dict) = dict else { return };
        for pair in items.chunks_exact(2) {
            let key = match pair[0] {
                Value::Text(place) => key(self.bytes, place),
                Value::Int(_) | Value::None => continue,
                _ => None,
            };
            let Some(key) = key else {
                self.states.odd.insert(dict);
                continue;
            };
            let value = pair[1];
            match &*key {
                b"_parse_arg_template" => {
                    let text = self.read_text(value);
                    if !text.is_some_and(|text| is_template(&text)) {
                        note(
                            notes,
                            "pickle.template",
                            Severity::Malicious,
                            at,
                            "sets a source text that `scipy.stats` runs when it is loaded",
                        );
                    }
                }
                b"filename" => {
                    let text = self.read_text(value);
                    self.states.path = self.states.path.max(sibling(text.as_deref()));
                }
                key => self
                    .wrapper
                    .see(dict, key, value, &self.tuples, &self.types),
            }
        }
    }

    /// Sets the state of the object on top; true where raw array data follows.
    pub(super) fn build(&mut self, at: usize, notes: &mut Notes) -> Result<bool, Halt> {
        let state = self.pop()?;
        let object = *self.stack.last().ok_or(Halt::Broken)?;
        let is_read = matches!(state, Value::Dict(dict) if !self.states.odd.contains(&dict));
        let what = match object {
            Value::Mark => return Err(Halt::Broken),
            Value::Global(_) | Value::Computed => {
                Some("sets the state of something that is not a plain object")
            }
            Value::ArrayWrapper => {
                let is_own = matches!(state, Value::Dict(dict) if self.wrapper.dict == Some(dict));
                (!is_read || !is_own).then_some("describes an array in a way that is not followed")
            }
            Value::Dtype(number) => {
                let state = self.tuples.items(state);
                let known = self.types.get_mut(number as usize);
                let is_known = known.is_some_and(|item| item.see_state(state));
                (!is_known).then_some("describes a type in a way that is not followed")
            }
            Value::Made(_) if !is_read => {
                let path = self.path(object).unwrap_or_default();
                acts(path).then_some("sets a state that acts in a way that is not followed")
            }
            _ => None,
        };
        if let Some(what) = what {
            note(notes, "pickle.patches", Severity::Suspicious, at, what);
        }
        if let Some(severity) = self.states.path
            && self.has(|path| path == SIBLING)
        {
            note(
                notes,
                "pickle.sibling",
                severity,
                at,
                "loads the pickle at a path of its own choice",
            );
        }
        Ok(object == Value::ArrayWrapper)
    }

    /// Tells of what is only ever called, and here is handed on as a value.
    pub(super) fn handed_on(&self, items: &[Value], at: usize, notes: &mut Notes) {
        for item in items {
            let path = self
                .path(*item)
                .filter(|_| matches!(item, Value::Global(_)));
            if self.is_getattr(*item) {
                note(
                    notes,
                    "pickle.getattr",
                    Severity::Suspicious,
                    at,
                    "hands `getattr` on as a value",
                );
            } else if path.is_some_and(|path| HANDED_ON_NOT.contains(&path)) {
                note(
                    notes,
                    "pickle.handed_on",
                    Severity::Suspicious,
                    at,
                    "hands on as a value what data only calls",
                );
            }
        }
    }

    /// What the call of a harmless name does by way of the names and functions it is given.
    pub(super) fn reaches(&self, path: &str, arguments: Option<&[Value]>) -> Option<Severity> {
        let arguments = match arguments {
            Some(arguments) => arguments,
            None if UFUNCS.contains(&path) => return Some(Severity::Suspicious),
            None => &[],
        };
        let is_listed = |value: &Value, wanted: &dyn Fn(&str) -> bool| {
            matches!(value, Value::Global(_)) && self.path(*value).is_some_and(wanted)
        };
        let is_harmless = match (path, arguments) {
            (path, [module, name, ..]) if UFUNCS.contains(&path) => {
                match self.read_text(*module).zip(self.read_text(*name)) {
                    Some((module, name)) if is_ufunc(&module, &name) => true,
                    Some(_) => return Some(Severity::Malicious),
                    None => false,
                }
            }
            (path, [_, maker, ..])
                if path.starts_with("numpy.random._pickle.__") && path.ends_with("_ctor") =>
            {
                is_listed(maker, &|path| path.ends_with(".__bit_generator_ctor"))
            }
            // An empty array is filled by its state; a fraction is written as a whole.
            (_, [_, shape, ..]) if path.ends_with("multiarray._reconstruct") => {
                let sizes = self.tuples.items(*shape).iter();
                !sizes
                    .into_iter()
                    .any(|size| matches!(size, Value::Int(size) if *size > LENGTH_MAX))
            }
            ("fractions.Fraction", [text, ..]) => {
                let text = self.read_text(*text);
                !text.is_some_and(|text| text.contains(['e', 'E']))
            }
            // What makes one by its class would set its state unseen.
            _ => !arguments.iter().any(|value| is_listed(value, &acts)),
        };
        (!is_harmless).then_some(Severity::Suspicious)
    }
}

/// The bytes of a key; `None` where it is not read.
fn key(bytes: &[u8], place: usize) -> Option<Cow<'_, [u8]>> {
    let step = opcode::read(bytes, place)?;
    match &step.operand {
        Operand::Payload(range) => Some(Cow::Borrowed(&bytes[range.clone()])),
        _ => opcode::text(bytes, &step).map(|text| Cow::Owned(text.into_bytes())),
    }
}

#[cfg(test)]
mod tests;
