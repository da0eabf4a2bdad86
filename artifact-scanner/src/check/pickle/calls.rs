//! What a pickle calls, and with what.

use super::doers;
use super::globals::{Standing, method};
use super::machine::{DEPTH_MAX, Halt, Machine, note};
use super::opcode::{Instruction, Operand};
use super::states::ARRAY;
use super::values::{ItemType, Value, Wrapper};
use crate::{Budget, Limit, Notes, Severity, Unscannable};

/// Whether it is a class that makes objects of its own kind alone.
fn is_base(path: &str) -> bool {
    let name = path
        .strip_prefix("builtins.")
        .or_else(|| path.strip_prefix("__builtin__."))
        .or_else(|| path.strip_prefix("datetime."));
    let is_numbers = path
        .strip_prefix("numpy.")
        .is_some_and(|name| !name.contains('.') && name != "poly1d");
    let containers = [
        "collections.OrderedDict",
        "collections.defaultdict",
        "collections.deque",
    ];
    name.is_some_and(|name| name != "object") || is_numbers || containers.contains(&path)
}

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

    fn call(
        &mut self,
        mut callee: Value,
        mut arguments: Value,
        at: usize,
        notes: &mut Notes,
    ) -> Value {
        (self.acts, self.called) = (true, true);
        // Data has one that calls another, and never more.
        for _ in 0..4 {
            let Value::Global(index) = callee else { break };
            match self.passed_on(index, arguments) {
                Some((inner, items)) => {
                    self.handed_on(&items, at, notes);
                    callee = inner;
                    arguments = self.tuples.add(&items);
                }
                None => return self.call_name(index, arguments, at, notes),
            }
        }
        note(
            notes,
            "pickle.computed_call",
            Severity::Suspicious,
            at,
            "calls something that is computed while it is loaded",
        );
        Value::Computed
    }

    fn call_name(&mut self, index: u32, arguments: Value, at: usize, notes: &mut Notes) -> Value {
        let known = matches!(arguments, Value::Tuple { .. });
        let arguments = self.tuples.items(arguments);
        self.handed_on(arguments, at, notes);
        if let Some(name) = self.names.get(index as usize)
            && let Some(severity) = self.reaches(&name.path, known.then_some(arguments))
        {
            note(
                notes,
                "pickle.reaches",
                severity,
                at,
                "makes by way of a harmless name something that data does not need",
            );
            return Value::Computed;
        }
        if let Some(what) = self.done(index, known.then_some(arguments)) {
            note(notes, "pickle.does", Severity::Suspicious, at, what);
            return Value::Computed;
        }
        match self
            .names
            .get(index as usize)
            .map(|name| (name.standing, name.path.as_str()))
        {
            Some((Standing::Harmless, "numpy.dtype")) => {
                let text = arguments.first().and_then(|first| self.read_text(*first));
                let Some(item) = text.and_then(|text| ItemType::read(&text)) else {
                    return Value::Made(index);
                };
                self.types.push(item);
                Value::Dtype(u32::try_from(self.types.len() - 1).unwrap_or(u32::MAX))
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
            Some((Standing::Harmless, ARRAY)) => {
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

    /// What a name calls that only calls what it is given.
    fn passed_on(&self, index: u32, arguments: Value) -> Option<(Value, Vec<Value>)> {
        const TORCH: &str = "torch._tensor._rebuild_from_type_v2";
        let path = &*self.names.get(index as usize)?.path;
        let copies = path
            .strip_prefix("copyreg.")
            .or_else(|| path.strip_prefix("copy_reg."));
        let path = copies.unwrap_or(path);
        if !matches!(arguments, Value::Tuple { .. }) {
            // They may be anything.
            let calls = path == TORCH || copies.is_some();
            return calls.then(|| (Value::Computed, Vec::new()));
        }
        let arguments = self.tuples.items(arguments);
        match (path, arguments) {
            ("__newobj__", [class, rest @ ..]) => Some((*class, rest.to_vec())),
            ("__newobj_ex__", [class, rest, ..]) => {
                Some((*class, self.tuples.items(*rest).to_vec()))
            }
            ("_reconstructor", [class, _, Value::None]) => Some((*class, Vec::new())),
            ("_reconstructor", [_, base, state]) if self.path(*base).is_some_and(is_base) => {
                Some((*base, vec![*state]))
            }
            // Any other base would only lend its name.
            ("_reconstructor", _) => Some((Value::Computed, Vec::new())),
            (TORCH, [maker @ Value::Global(_), _, rest, ..])
                if self
                    .path(*maker)
                    .is_some_and(|path| path.starts_with("torch.")) =>
            {
                Some((*maker, self.tuples.items(*rest).to_vec()))
            }
            (TORCH, _) => Some((Value::Computed, Vec::new())),
            _ => None,
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

    /// Steps over the raw data that joblib writes behind an array's description; an array of
    /// objects is a stream of its own.
    pub(super) fn raw_array(
        &mut self,
        at: usize,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<usize, Halt> {
        let wrapper = std::mem::take(&mut self.wrapper);
        // A loader that has read a frame goes on in it, and takes the data from behind it.
        if at < self.frame_end {
            note(
                notes,
                "pickle.patches",
                Severity::Suspicious,
                at,
                "describes an array in the midst of a frame",
            );
        }
        if wrapper.is_of_objects() {
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
