//! Which number does an instruction push?

use super::machine::Machine;
use super::opcode::{Instruction, Operand};
use super::values::Value;

impl Machine<'_> {
    pub(super) fn is_number(&self, step: &Instruction) -> bool {
        let Operand::Line(range) = &step.operand else {
            return true;
        };
        let line = self.bytes[range.clone()].trim_ascii();
        let fits = |b: &u8| b.is_ascii_hexdigit() || b"+-._xXoOinfatyINFATYL".contains(b);
        !line.is_empty() && line.iter().all(fits)
    }

    pub(super) fn line_integer(&self, step: &Instruction) -> Value {
        let Operand::Line(range) = &step.operand else {
            return Value::Data;
        };
        let digits = std::str::from_utf8(&self.bytes[range.clone()]).unwrap_or("");
        let digits = digits.trim().trim_end_matches('L');
        match digits.parse() {
            Ok(number) => Value::Int(number),
            Err(_) if digits.len() > 19 && !digits.starts_with('-') => Value::Int(u64::MAX),
            Err(_) => Value::Data,
        }
    }

    /// The largest there is stands for what is larger.
    pub(super) fn long(&self, step: &Instruction) -> Value {
        let Operand::Payload(range) = &step.operand else {
            return Value::Data;
        };
        let digits = &self.bytes[range.clone()];
        if digits.last().is_some_and(|last| *last > 0x7f) {
            return Value::Data;
        }
        let number = digits.iter().rev().try_fold(0_u64, |number, digit| {
            Some(number.checked_mul(256)? + u64::from(*digit))
        });
        Value::Int(number.unwrap_or(u64::MAX))
    }
}

pub(super) fn integer(step: &Instruction) -> Value {
    match step.operand {
        Operand::Number(number) => Value::Int(number),
        _ => Value::Data,
    }
}
