//! Which instruction stands at a place of a pickle, and where the next one is.

use std::ops::Range;

/// What an instruction carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    None,
    Number(u64),
    /// A counted payload.
    Payload(Range<usize>),
    /// A line, without its end.
    Line(Range<usize>),
    TwoLines(Range<usize>, Range<usize>),
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u8,
    pub(super) operand: Operand,
    /// Where the next one begins.
    pub(super) end: usize,
}

/// Reads the instruction at `at`; `None` where there is none, or it is cut off.
pub(super) fn read(bytes: &[u8], at: usize) -> Option<Instruction> {
    let code = *bytes.get(at)?;
    let body = at + 1;
    let (operand, end) = match code {
        b'('
        | b'.'
        | b'0'
        | b'1'
        | b'2'
        | b'N'
        | b'Q'
        | b'R'
        | b'a'
        | b'b'
        | b'd'
        | b'}'
        | b'e'
        | b']'
        | b'l'
        | b')'
        | b's'
        | b't'
        | b'u'
        | b'o'
        | 0x81
        | 0x85..=0x89
        | 0x8f..=0x94
        | 0x97
        | 0x98 => (Operand::None, body),
        b'K' | b'h' | b'q' | 0x80 | 0x82 => number(bytes, body, 1)?,
        b'M' | 0x83 => number(bytes, body, 2)?,
        b'J' | b'j' | b'r' | 0x84 => number(bytes, body, 4)?,
        b'G' | 0x95 => number(bytes, body, 8)?,
        b'U' | b'C' | 0x8a | 0x8c => payload(bytes, body, 1)?,
        b'T' | b'B' | b'X' | 0x8b => payload(bytes, body, 4)?,
        0x8d | 0x8e | 0x96 => payload(bytes, body, 8)?,
        b'F' | b'I' | b'L' | b'P' | b'S' | b'V' | b'g' | b'p' => {
            let (line, end) = line(bytes, body)?;
            (Operand::Line(line), end)
        }
        b'c' | b'i' => {
            let (first, middle) = line(bytes, body)?;
            let (second, end) = line(bytes, middle)?;
            (Operand::TwoLines(first, second), end)
        }
        _ => return None,
    };
    Some(Instruction { code, operand, end })
}

fn little_endian(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(width)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u64::from(*byte)),
    )
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<(Operand, usize)> {
    Some((
        Operand::Number(little_endian(bytes, at, width)?),
        at + width,
    ))
}

fn payload(bytes: &[u8], at: usize, width: usize) -> Option<(Operand, usize)> {
    let length = usize::try_from(little_endian(bytes, at, width)?).ok()?;
    let start = at + width;
    let end = start.checked_add(length)?;
    (end <= bytes.len()).then_some((Operand::Payload(start..end), end))
}

fn line(bytes: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    let length = memchr::memchr(b'\n', bytes.get(at..)?)?;
    Some((at..at + length, at + length + 1))
}

/// Longer texts are no names.
const NAME_BYTES_MAX: usize = 4000;

/// The text that a string instruction pushes, for instructions that push one; escapes undone.
pub(super) fn text(bytes: &[u8], instruction: &Instruction) -> Option<String> {
    let (Operand::Payload(range) | Operand::Line(range)) = &instruction.operand else {
        return None;
    };
    if range.len() > NAME_BYTES_MAX {
        return None;
    }
    match (&instruction.operand, instruction.code) {
        (Operand::Payload(range), b'U' | b'T' | b'X' | 0x8c | 0x8d) => {
            Some(String::from_utf8_lossy(&bytes[range.clone()]).into_owned())
        }
        (Operand::Line(range), b'V') => Some(unescape(&bytes[range.clone()])),
        (Operand::Line(range), b'S') => {
            let line = bytes[range.clone()].trim_ascii();
            let inner = match line {
                [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
                _ => line,
            };
            Some(unescape(inner))
        }
        _ => None,
    }
}

fn unescape(line: &[u8]) -> String {
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        at += 1;
        let width = match (byte, line.get(at)) {
            (b'\\', Some(b'x')) => 2,
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            (b'\\', Some(b'0'..=b'7')) => {
                let digits = line[at..].iter().take(3);
                let octal: Vec<u8> = digits
                    .take_while(|d| matches!(d, b'0'..=b'7'))
                    .copied()
                    .collect();
                at += octal.len();
                out.extend(radix(&octal, 8));
                continue;
            }
            (b'\\', Some(other)) => {
                out.push(char::from(*other));
                at += 1;
                continue;
            }
            _ => {
                out.push(char::from(byte));
                continue;
            }
        };
        let digits = line.get(at + 1..at + 1 + width);
        match digits.and_then(|digits| radix(digits, 16)) {
            Some(c) => {
                out.push(c);
                at += 1 + width;
            }
            None => out.push('\\'),
        }
    }
    out
}

fn radix(digits: &[u8], radix: u32) -> Option<char> {
    let digits = std::str::from_utf8(digits).ok()?;
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape(br"o\u0073"), "os");
        assert_eq!(unescape(br"\x6f\163"), "os");
        assert_eq!(unescape(br"\q\u00"), "q\\u00");
    }

    #[test]
    fn a_payload_longer_than_the_file_is_no_instruction() {
        assert_eq!(read(b"X\xff\xff\xff\x7fab", 0), None);
        assert_eq!(read(b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffab", 0), None);
        assert_eq!(read(b"cos\nsystem", 0), None);
    }
}
