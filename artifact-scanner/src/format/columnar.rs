//! Whether Arrow and ORC files are whole.

use crate::bytes::{index, le32};
use crate::{Budget, Unscannable};

/// Checks the frame of an Arrow file: magic at both ends, a footer between.
pub(crate) fn check_arrow(bytes: &[u8], budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(64)?;
    let magic: &[u8] = if bytes.starts_with(b"FEA1") {
        b"FEA1"
    } else {
        b"ARROW1"
    };
    let end = bytes
        .len()
        .checked_sub(magic.len() + 4)
        .ok_or(Unscannable::Corrupt)?;
    let footer = index(le32(bytes, end).ok_or(Unscannable::Corrupt)?);
    if !bytes.ends_with(magic)
        || footer == 0
        || end.checked_sub(footer).is_none_or(|start| start < 8)
    {
        return Err(Unscannable::Corrupt);
    }
    Ok(())
}

/// Checks the frame of an ORC file: the lengths of its tail fit.
pub(crate) fn check_orc(bytes: &[u8], budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(64)?;
    let postscript = usize::from(*bytes.last().ok_or(Unscannable::Corrupt)?);
    let start = bytes
        .len()
        .checked_sub(1 + postscript)
        .ok_or(Unscannable::Corrupt)?;
    let fields = &bytes[start..bytes.len() - 1];
    let (mut at, mut tail) = (0, 0u64);
    // Fields 1 and 5 are the lengths of the footer and of the metadata.
    while at < fields.len() {
        let (tag, next) = varint(fields, at).ok_or(Unscannable::Corrupt)?;
        at = next;
        match tag & 7 {
            0 => {
                let (value, next) = varint(fields, at).ok_or(Unscannable::Corrupt)?;
                at = next;
                if matches!(tag >> 3, 1 | 5) {
                    tail = tail.saturating_add(value);
                }
            }
            2 => {
                let (length, next) = varint(fields, at).ok_or(Unscannable::Corrupt)?;
                at = next.saturating_add(index(length));
            }
            _ => return Err(Unscannable::Corrupt),
        }
    }
    if at != fields.len() || index(tail) > start {
        return Err(Unscannable::Corrupt);
    }
    Ok(())
}

fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (step, byte) in bytes.get(at..)?.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(u32::try_from(7 * step).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, at + step + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn an_arrow_file_has_two_ends() {
        let whole = [&b"ARROW1\0\0footer"[..], &6u32.to_le_bytes(), b"ARROW1"].concat();
        let mut budget = Budget::new(Limits::default());
        assert_eq!(check_arrow(&whole, &mut budget), Ok(()));
        assert_eq!(
            check_arrow(&whole[..16], &mut budget),
            Err(Unscannable::Corrupt)
        );
    }

    #[test]
    fn an_orc_tail_must_fit() {
        let mut budget = Budget::new(Limits::default());
        assert_eq!(
            check_orc(b"ORCxx\x08\x02\x05", &mut budget),
            Err(Unscannable::Corrupt)
        );
        assert_eq!(check_orc(b"ORCxx\x08\x02\x02", &mut budget), Ok(()));
        assert_eq!(
            check_orc(b"ORCxx\x08\x7f\x02", &mut budget),
            Err(Unscannable::Corrupt)
        );
    }
}
