//! What a pickle calls, and with what.

use super::doers;
use super::globals::{Standing, method, standing};
use super::machine::{DEPTH_MAX, Halt, Machine, note};
use super::opcode::{Instruction, Operand};
use super::values::{Value, Wrapper};
use crate::{Budget, Limit, Notes, Severity, Unscannable};

/// Raw data that reads like a pickle for longer than this is one of no names.
const RAW_STEPS_MAX: u64 = 10_000;

impl Machine<'_> {
    pub(super) fn call_instruction(
        &mut self,
        step: &Instruction,
        at: usize,
        notes: &mut Notes,
    ) -> Result<(), Halt> {
        let (callee, arguments) = match (step.code, &step.operand) {
            (b'i', Operand::TwoLines(module, name)) => {
                let items = self.pop_mark()?;
                self.acts = true;
                let callee = self.global(module.clone(), name.clone(), at, notes)?;
                (callee, self.tuples.add(&items))
            }
            (b'o', _) => {
                let items = self.pop_mark()?;
                let callee = *items.first().ok_or(Halt::Broken)?;
                (callee, self.tuples.add(&items[1..]))
            }
            (0x92, _) => {
                let named = self.pop()?;
                let arguments = self.pop()?;
                let callee = self.pop()?;
                // What is given by its name may be anything.
                let opaque = named != Value::None && self.does_more(callee);
                (callee, if opaque { named } else { arguments })
            }
            _ => {
                let arguments = self.pop()?;
                (self.pop()?, arguments)
            }
        };
        let value = self.call(callee, arguments, at, notes);
        self.stack.push(value);
        Ok(())
    }

    fn call(&mut self, callee: Value, arguments: Value, at: usize, notes: &mut Notes) -> Value {
        (self.acts, self.called) = (true, true);
        let Value::Global(index) = callee else {
            note(
                notes,
                "pickle.computed_call",
                Severity::Suspicious,
                at,
                "calls something that is computed while it is loaded",
            );
            return Value::Computed;
        };
        let known = matches!(arguments, Value::Tuple { .. });
        let arguments = self.tuples.items(arguments);
        if let Some(what) = self.done(index, known.then_some(arguments)) {
            note(notes, "pickle.does", Severity::Suspicious, at, what);
            return Value::Computed;
        }
        match self
            .names
            .get(index as usize)
            .map(|name| (name.standing, name.path.as_str()))
        {
            Some((
                Standing::Harmless,
                "numpy.core._ufunc_reconstruct" | "numpy._core._ufunc_reconstruct",
            )) => {
                if self.fetches_ufunc(arguments) {
                    return Value::Made(index);
                }
                note(
                    notes,
                    "pickle.ufunc",
                    Severity::Malicious,
                    at,
                    "fetches what is no function of arrays by the name of its module",
                );
                Value::Computed
            }
            Some((Standing::Harmless, "numpy.dtype")) => {
                let text = arguments.first().and_then(|first| self.read_text(*first));
                text.map_or(Value::Made(index), |text| Value::dtype(&text))
            }
            Some((Standing::Harmless, "builtins.type" | "__builtin__.type"))
                if arguments.len() != 1 =>
            {
                note(
                    notes,
                    "pickle.makes_class",
                    Severity::Suspicious,
                    at,
                    "makes a class while it is loaded",
                );
                Value::Computed
            }
            Some((Standing::Harmless, "joblib.numpy_pickle.NumpyArrayWrapper")) => {
                self.wrapper = Wrapper::default();
                Value::ArrayWrapper
            }
            Some((Standing::Harmless, _)) => Value::Made(index),
            Some((Standing::Fetches, _)) => {
                if let Some(class) = self.fetches_method(arguments) {
                    return class;
                }
                if !self.fetches_harmless(arguments) {
                    note(
                        notes,
                        "pickle.getattr",
                        Severity::Suspicious,
                        at,
                        "fetches a member by `getattr`, which can reach any function",
                    );
                }
                Value::Computed
            }
            _ => Value::Computed,
        }
    }

    /// What the call of a harmless name does that no data needs.
    fn done(&self, index: u32, arguments: Option<&[Value]>) -> Option<&'static str> {
        let name = self.names.get(index as usize)?;
        let made_by = |value| match value {
            Value::Made(index) => self.names.get(index as usize).map(|name| &*name.path),
            _ => None,
        };
        let is_harmless = name.standing == Standing::Harmless;
        is_harmless
            .then(|| doers::does(&name.path, arguments, made_by))
            .flatten()
    }

    /// Whether it is a harmless name that does more when it is given something unknown.
    fn does_more(&self, callee: Value) -> bool {
        matches!(callee, Value::Global(index) if self.done(index, None).is_some())
    }

    pub(super) fn is_getattr(&self, value: Value) -> bool {
        matches!(value, Value::Global(index)
            if self.names.get(index as usize).is_some_and(|name| name.standing == Standing::Fetches))
    }

    /// The class of a listed method, which makes one of it when it is called.
    fn fetches_method(&self, arguments: &[Value]) -> Option<Value> {
        let [class @ Value::Global(index), name] = arguments else {
            return None;
        };
        let owner = self.names.get(*index as usize)?;
        let listed = method(&owner.path, &self.read_text(*name)?);
        (listed && owner.standing == Standing::Harmless).then_some(*class)
    }

    /// Whether a module of functions of arrays is asked for one of them.
    fn fetches_ufunc(&self, arguments: &[Value]) -> bool {
        const MODULES: [&str; 7] = [
            "numpy",
            "numpy.core.umath",
            "numpy._core.umath",
            "numpy.core._multiarray_umath",
            "numpy._core._multiarray_umath",
            "scipy.special",
            "scipy.special._ufuncs",
        ];
        let [module, name] = arguments else {
            return false;
        };
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        let names = self.read_text(*module).zip(self.read_text(*name));
        names.is_some_and(|(module, name)| {
            MODULES.contains(&&*module)
                && !name.starts_with('_')
                && name.bytes().all(plain)
                && standing(&module, &name) != Standing::Evil
        })
    }

    /// Whether it is a member of a listed class in capitals, as enumerations are written.
    fn fetches_harmless(&self, arguments: &[Value]) -> bool {
        let [Value::Global(index), name] = arguments else {
            return false;
        };
        let class = self.names.get(*index as usize);
        let name = self.read_text(*name);
        class.zip(name).is_some_and(|(class, name)| {
            let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
            let listed = name.bytes().all(plain) && !name.starts_with('_');
            class.standing == Standing::Harmless && listed
        })
    }

    pub(super) fn build(&mut self, at: usize, notes: &mut Notes) -> Result<bool, Halt> {
        self.pop()?;
        let object = *self.stack.last().ok_or(Halt::Broken)?;
        match object {
            Value::Mark => return Err(Halt::Broken),
            Value::Global(_) | Value::Computed => note(
                notes,
                "pickle.patches",
                Severity::Suspicious,
                at,
                "sets the state of something that is not a plain object",
            ),
            _ => {}
        }
        Ok(object == Value::ArrayWrapper)
    }

    /// Steps over the raw data that joblib writes behind an array's description; an array of
    /// objects is a stream of its own.
    pub(super) fn raw_array(
        &mut self,
        at: usize,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<usize, Halt> {
        let wrapper = std::mem::take(&mut self.wrapper);
        if wrapper.objects {
            if self.depth >= DEPTH_MAX {
                return Err(Halt::Spent(Unscannable::Limit(Limit::Depth)));
            }
            let mut inner = Machine::new(self.bytes, self.depth + 1);
            let end = inner.run(at, notes, budget);
            self.payloads.append(&mut inner.payloads);
            return end;
        }
        let end = wrapper.end(self.bytes, at).ok_or(Halt::Broken)?;
        budget.charge((end - at) as u64)?;
        // A type that got its fields later may be one of objects after all: a loader reads a stream.
        let mut own = Notes::default();
        let mut inner = Machine::new(&self.bytes[..end], DEPTH_MAX);
        inner.steps_max = RAW_STEPS_MAX;
        if let Err(Halt::Spent(reason)) = inner.run(at, &mut own, budget) {
            return Err(Halt::Spent(reason));
        }
        notes.copy(&own, |finding| finding.rule == "pickle.dangerous_global");
        Ok(end)
    }

    pub(super) fn persistent(
        &mut self,
        code: u8,
        at: usize,
        notes: &mut Notes,
    ) -> Result<(), Halt> {
        let storage = code == b'Q' && {
            let id = self.pop()?;
            let items = self.tuples.items(id);
            items
                .first()
                .and_then(|first| self.read_text(*first))
                .as_deref()
                == Some("storage")
        };
        if !storage {
            note(
                notes,
                "pickle.persistent_id",
                Severity::Suspicious,
                at,
                "asks its reader for an object by a persistent id",
            );
        }
        self.stack.push(Value::Data);
        Ok(())
    }
}
