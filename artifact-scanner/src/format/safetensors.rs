//! Whether the tensors of a safetensors file lie where its header says, and nothing else does.

use super::trailing;
use crate::bytes::{count, index, le64, slice};
use crate::{Budget, Notes, Unscannable};
use serde_json::Value;

/// Compares the header with the data.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let length = index(le64(bytes, 0).ok_or(Unscannable::Corrupt)?);
    let header = slice(bytes, 8, length).ok_or(Unscannable::Corrupt)?;
    budget.charge(count(length) + 1)?;
    let header: Value = serde_json::from_slice(header).map_err(|_| Unscannable::Corrupt)?;
    let tensors = header.as_object().ok_or(Unscannable::Corrupt)?;
    let mut spans = Vec::new();
    for (_, tensor) in tensors.iter().filter(|(name, _)| *name != "__metadata__") {
        let offset = |at| tensor.get("data_offsets")?.get(at)?.as_u64();
        let (Some(start), Some(end)) = (offset(0), offset(1)) else {
            return Err(Unscannable::Corrupt);
        };
        spans.push((start, end));
    }
    spans.sort_unstable();
    let mut at = 0;
    for (start, end) in spans {
        if start != at || end < start {
            return Err(Unscannable::Corrupt);
        }
        at = end;
    }
    let data = count(bytes.len() - 8 - length);
    if at > data {
        return Err(Unscannable::Corrupt);
    }
    trailing(bytes, 8 + length + index(at), notes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[track_caller]
    fn check(header: &str, data: &[u8], expected: Result<(), Unscannable>) {
        let bytes = [
            &count(header.len()).to_le_bytes()[..],
            header.as_bytes(),
            data,
        ]
        .concat();
        let mut budget = Budget::new(Limits::default());
        assert_eq!(
            super::check(&bytes, &mut Notes::default(), &mut budget),
            expected
        );
    }

    #[test]
    fn tensors_fill_the_file() {
        let header = r#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        check(header, &[0; 4], Ok(()));
        check(header, &[0; 3], Err(Unscannable::Corrupt));
        check(
            r#"{"w":{"data_offsets":[1,4]}}"#,
            &[0; 4],
            Err(Unscannable::Corrupt),
        );
        check(r#"{"w":3}"#, &[0; 4], Err(Unscannable::Corrupt));
    }
}
