//! Which numbers stand in a pickle, and what is kept under them?

use super::machine::{Halt, Machine};
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

    pub(super) fn remember(&mut self, step: &Instruction) -> Result<(), Halt> {
        let slot = match &step.operand {
            Operand::Number(slot) => *slot,
            Operand::Line(range) => slot(&self.bytes[range.clone()]).ok_or(Halt::Broken)?,
            _ => self.memo.len() as u64,
        };
        if matches!(step.code, b'g' | b'h' | b'j') {
            self.stack.push(self.memo.get(slot).ok_or(Halt::Broken)?);
        } else {
            let top = *self.stack.last().ok_or(Halt::Broken)?;
            self.memo.put(slot, top);
        }
        Ok(())
    }
}

/// The number of a place in the memo, as Python reads one from text. Numbers without end are told
/// apart by a hash.
fn slot(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let digits: String = line.chars().filter(|c| *c != '_').collect();
    let digits = digits.strip_prefix('+').unwrap_or(&digits);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hash = || {
        let digits = digits.trim_start_matches('0').bytes();
        digits.fold(0xcbf2_9ce4_8422_2325_u64, |hash, digit| {
            (hash ^ u64::from(digit)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    Some(digits.parse().unwrap_or_else(|_| hash() | 1 << 63))
}

/// How long a frame is.
pub(super) fn frame(step: &Instruction) -> usize {
    match step.operand {
        Operand::Number(number) => usize::try_from(number).unwrap_or(usize::MAX),
        _ => 0,
    }
}

pub(super) fn integer(step: &Instruction) -> Value {
    match step.operand {
        Operand::Number(number) => Value::Int(number),
        _ => Value::Data,
    }
}

#[cfg(test)]
mod tests {
    use super::slot;

    #[test]
    fn places_are_read_as_python_reads_them() {
        for (text, number) in [("7", 7), (" 007\r", 7), ("+7", 7), ("1_0", 10)] {
            assert_eq!(slot(text.as_bytes()), Some(number), "{text}");
        }
        assert_eq!(slot(b"-1"), None);
        let long = |last| slot(format!("9999999999999999999999{last}").as_bytes());
        assert!(long(1).is_some());
        assert_ne!(long(1), long(2));
    }
}
