//! What a pickle does, followed symbol by symbol on a stack and a memo, never carried out.

use super::globals::{Standing, standing};
use super::numbers::{frame, integer};
use super::opcode::{self, Instruction, Operand};
use super::states::States;
use super::values::{ItemType, Memo, Tuples, Value, Wrapper};
use crate::{Budget, Limit, Notes, Severity, Unscannable};
use std::collections::HashMap;

/// Why a stream was not followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// Not an instruction, or one that a real loader would refuse.
    Broken,
    Spent(Unscannable),
}

impl From<Unscannable> for Halt {
    fn from(reason: Unscannable) -> Self {
        Self::Spent(reason)
    }
}

/// Values on the stack and in the memo at one time; more is refused.
const VALUES_MAX: usize = 2_000_000;
/// Different names in one file; more is refused.
const NAMES_MAX: usize = 5_000;
/// Payloads of one stream that may be files again; more is refused.
const PAYLOADS_MAX: usize = 1_000_000;
/// Streams within streams (arrays of objects in a joblib file).
pub(super) const DEPTH_MAX: u32 = 8;

pub(super) struct Name {
    pub(super) path: String,
    pub(super) standing: Standing,
}

/// One stream while it is followed.
pub(super) struct Machine<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) stack: Vec<Value>,
    pub(super) memo: Memo,
    pub(super) tuples: Tuples,
    pub(super) names: Vec<Name>,
    known: HashMap<(String, String), u32>,
    pub(super) wrapper: Wrapper,
    pub(super) types: Vec<ItemType>,
    pub(super) states: States,
    pub(super) depth: u32,
    /// Where the frame ends that a loader has read ahead.
    pub(super) frame_end: usize,
    /// How many instructions were carried out.
    pub(super) steps: u64,
    /// How many are carried out at most.
    pub(super) steps_max: u64,
    /// Something was imported or called.
    pub(super) acts: bool,
    pub(super) called: bool,
    /// Payloads that are to be looked at as files of their own.
    pub(super) payloads: Vec<std::ops::Range<usize>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(bytes: &'a [u8], depth: u32) -> Self {
        Self {
            bytes,
            stack: Vec::new(),
            memo: Memo::default(),
            tuples: Tuples::default(),
            names: Vec::new(),
            known: HashMap::new(),
            wrapper: Wrapper::default(),
            types: Vec::new(),
            states: States::default(),
            depth,
            frame_end: 0,
            steps: 0,
            steps_max: u64::MAX,
            acts: false,
            called: false,
            payloads: Vec::new(),
        }
    }

    /// Follows the stream that begins at `at`; the place behind its end.
    pub(super) fn run(
        &mut self,
        mut at: usize,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<usize, Halt> {
        loop {
            let step = opcode::read(self.bytes, at).ok_or(Halt::Broken)?;
            budget.charge((step.end - at) as u64)?;
            if step.code == b'.' {
                self.pop()?;
                return Ok(step.end);
            }
            self.steps += 1;
            if self.steps > self.steps_max {
                return Err(Halt::Broken);
            }
            let raw = self.step(&step, at, notes)?;
            at = step.end;
            if raw {
                at = self.raw_array(at, notes, budget)?;
            }
            let is_over = self.stack.len() + self.memo.len() > VALUES_MAX
                || self.names.len() > NAMES_MAX
                || self.payloads.len() > PAYLOADS_MAX;
            if is_over {
                return Err(Halt::Spent(Unscannable::Limit(Limit::Memory)));
            }
        }
    }

    /// Carries out one instruction; true where raw array data follows it.
    fn step(&mut self, step: &Instruction, at: usize, notes: &mut Notes) -> Result<bool, Halt> {
        match step.code {
            b'(' => self.stack.push(Value::Mark),
            b'0' => drop(self.stack.pop().ok_or(Halt::Broken)?),
            b'1' => drop(self.pop_mark()?),
            b'2' => {
                let top = *self.stack.last().ok_or(Halt::Broken)?;
                self.stack.push(top);
            }
            b'N' => self.stack.push(Value::None),
            // Other text than a number ends the work of a real loader; prose begins like that.
            b'F' | b'L' if !self.is_number(step) => return Err(Halt::Broken),
            0x8a | 0x8b => self.stack.push(self.long(step)),
            0x88 | 0x89 | b'F' | b'G' | 0x97 | b']' | 0x8f => {
                self.stack.push(Value::Data);
            }
            b'}' => self.stack.push(Value::Dict(at)),
            b'K' | b'M' | b'J' => self.stack.push(integer(step)),
            b'I' | b'L' => self.stack.push(self.line_integer(step)),
            b'S' | b'V' | b'U' | b'T' | b'X' | 0x8c | 0x8d => {
                self.payload(step);
                self.stack.push(Value::Text(at));
            }
            b'C' | b'B' | 0x8e | 0x96 => {
                self.payload(step);
                self.stack.push(Value::Data);
            }
            b')' | b't' | 0x85..=0x87 => self.tuple(step.code, at, notes)?,
            b'd' | b'l' | 0x91 => {
                let items = self.pop_mark()?;
                self.handed_on(&items, at, notes);
                if step.code == b'd' {
                    self.entries(Value::Dict(at), &items, at, notes);
                    self.stack.push(Value::Dict(at));
                } else {
                    self.stack.push(Value::Data);
                }
            }
            b'a' | b's' | b'e' | b'u' | 0x90 => self.fill(step.code, at, notes)?,
            b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => self.remember(step)?,
            b'c' | 0x93 | 0x82..=0x84 => self.import(step, at, notes)?,
            b'R' | 0x81 | 0x92 | b'i' | b'o' => self.call_instruction(step, at, notes)?,
            b'b' => return self.build(at, notes),
            b'P' | b'Q' => self.persistent(step.code, at, notes)?,
            0x95 => self.frame_end = step.end.saturating_add(frame(step)),
            _ => {} // PROTO, READONLY_BUFFER
        }
        Ok(false)
    }

    pub(super) fn pop(&mut self) -> Result<Value, Halt> {
        match self.stack.pop() {
            None | Some(Value::Mark) => Err(Halt::Broken),
            Some(value) => Ok(value),
        }
    }

    pub(super) fn pop_mark(&mut self) -> Result<Vec<Value>, Halt> {
        let mark = self.stack.iter().rposition(|value| *value == Value::Mark);
        let items = self.stack.split_off(mark.ok_or(Halt::Broken)? + 1);
        self.stack.pop();
        Ok(items)
    }

    /// Keeps payloads that are files again: pickles and archives.
    fn payload(&mut self, step: &Instruction) {
        let (Operand::Payload(range) | Operand::Line(range)) = &step.operand else {
            return;
        };
        let head = &self.bytes[range.start..range.end.min(range.start + 4)];
        let file = matches!(
            head,
            [0x80, 0..=5, ..] | [b'P', b'K', 3, 4] | [0x1f, 0x8b, ..]
        ) || (range.len() > 8
            && range.len() < 65536
            // A pickle that acts names something, on lines or from the stack.
            && memchr::memchr2(b'\n', 0x93, &self.bytes[range.clone()]).is_some()
            && b"c(]}NIKMJSVXUTLF)".contains(&head[0]));
        if file {
            self.payloads.push(range.clone());
        }
    }

    fn tuple(&mut self, code: u8, at: usize, notes: &mut Notes) -> Result<(), Halt> {
        let items = match code {
            b')' => Vec::new(),
            b't' => self.pop_mark()?,
            _ => {
                let count = usize::from(code - 0x84);
                let from = self.stack.len().checked_sub(count).ok_or(Halt::Broken)?;
                let items = self.stack.split_off(from);
                if items.contains(&Value::Mark) {
                    return Err(Halt::Broken);
                }
                items
            }
        };
        self.handed_on(&items, at, notes);
        let tuple = self.tuples.add(&items);
        self.stack.push(tuple);
        Ok(())
    }

    fn fill(&mut self, code: u8, at: usize, notes: &mut Notes) -> Result<(), Halt> {
        let items = match code {
            b'a' => vec![self.pop()?],
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.pop_mark()?,
        };
        self.handed_on(&items, at, notes);
        if let (b's' | b'u', Some(top)) = (code, self.stack.last()) {
            self.entries(*top, &items, at, notes);
        }
        match self.stack.last() {
            None | Some(Value::Mark) => return Err(Halt::Broken),
            Some(Value::Global(_) | Value::Computed) => note(
                notes,
                "pickle.fills",
                Severity::Suspicious,
                at,
                "puts items into something that is no container",
            ),
            Some(_) => {}
        }
        Ok(())
    }

    fn import(&mut self, step: &Instruction, at: usize, notes: &mut Notes) -> Result<(), Halt> {
        self.acts = true;
        let value = match &step.operand {
            Operand::TwoLines(module, name) => {
                self.global(module.clone(), name.clone(), at, notes)?
            }
            Operand::Number(code) => {
                note(
                    notes,
                    "pickle.extension",
                    Severity::Suspicious,
                    at,
                    &format!("asks for extension {code}, whose meaning only its reader knows"),
                );
                Value::Computed
            }
            _ => {
                let (name, module) = (self.pop()?, self.pop()?);
                if let (Some(module), Some(name)) = (self.read_text(module), self.read_text(name)) {
                    self.named(module, name, at, notes)
                } else {
                    note(
                        notes,
                        "pickle.computed_name",
                        Severity::Suspicious,
                        at,
                        "imports a name that is computed while it is loaded",
                    );
                    Value::Computed
                }
            }
        };
        self.stack.push(value);
        Ok(())
    }

    pub(super) fn global(
        &mut self,
        module: std::ops::Range<usize>,
        name: std::ops::Range<usize>,
        at: usize,
        notes: &mut Notes,
    ) -> Result<Value, Halt> {
        let read = |range: std::ops::Range<usize>| {
            let line = &self.bytes[range];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let text = std::str::from_utf8(line).map_err(|_| Halt::Broken)?;
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            if text.is_empty() || !text.chars().all(word) {
                return Err(Halt::Broken);
            }
            Ok(text.to_owned())
        };
        let (module, name) = (read(module)?, read(name)?);
        Ok(self.named(module, name, at, notes))
    }

    pub(super) fn read_text(&self, value: Value) -> Option<String> {
        let Value::Text(at) = value else { return None };
        opcode::text(self.bytes, &opcode::read(self.bytes, at)?)
    }

    fn named(&mut self, module: String, name: String, at: usize, notes: &mut Notes) -> Value {
        if let Some(&index) = self.known.get(&(module.clone(), name.clone())) {
            return Value::Global(index);
        }
        let standing = standing(&module, &name);
        let path: String = format!("{module}.{name}").chars().take(120).collect();
        match standing {
            Standing::Harmless | Standing::Fetches => {}
            Standing::Unknown => note(
                notes,
                "pickle.unknown_global",
                Severity::Suspicious,
                at,
                &format!("imports `{path}`, which is not among the names that data files need"),
            ),
            Standing::Evil => note(
                notes,
                "pickle.dangerous_global",
                Severity::Malicious,
                at,
                &format!("imports `{path}`, which can run code or reach files and networks"),
            ),
        }
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(Name { path, standing });
        self.known.insert((module, name), index);
        Value::Global(index)
    }
}

pub(super) fn note(
    notes: &mut Notes,
    rule: &'static str,
    severity: Severity,
    at: usize,
    message: &str,
) {
    notes.find(rule, severity, format!("offset {at}"), message);
}
