//! Does a link lead to another file, wherever in the file it is kept?
//!
//! A group with many links keeps them in a heap, of which there are several forms; the link itself
//! is always written in one way, which does not come by chance.

use crate::bytes::{index, le16, slice};

const EXTERNAL: u8 = 64;

/// Whether any link of the file does.
pub(super) fn lead_out(file: &[u8]) -> bool {
    memchr::memchr_iter(EXTERNAL, file).any(|at| {
        let start = at.checked_sub(2).map(|start| &file[start..]);
        start.is_some_and(|link| leads_out(link).unwrap_or(false))
    })
}

/// Version, flags, type; order, letters and the length of the name as flags say; the name; the length
/// of the target, a version, the file and the object.
fn leads_out(link: &[u8]) -> Option<bool> {
    let [1, flags, EXTERNAL, ..] = *link else {
        return Some(false);
    };
    if flags & 0xe8 != 8 {
        return Some(false);
    }
    let order = if flags & 4 == 0 { 0 } else { 8 };
    let at = 3 + order + usize::from(flags >> 4 & 1);
    let width = 1 << (flags & 3);
    let length = slice(link, at, width)?;
    let length = length
        .iter()
        .rev()
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let name = slice(link, at + width, index(length))?;
    let at = at + width + name.len();
    let target = slice(link, at + 2, le16(link, at)?.into())?;
    let mut words = target.get(1..)?.split(|byte| *byte == 0);
    let is_text = |word: &[u8]| {
        !word.is_empty()
            && std::str::from_utf8(word).is_ok_and(|word| !word.contains(char::is_control))
    };
    let (file, object) = (words.next()?, words.next()?);
    Some(target[0] == 0 && is_text(name) && is_text(file) && is_text(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_known_by_their_form() {
        let target = b"\0/x.h5\0/data\0";
        let link = [&b"..\x01\x08\x40\x01a\x0d\0"[..], target].concat();
        assert!(lead_out(&link));
        let ordered = [&b"\x01\x1c\x40"[..], &[0; 8], &[1, 2], b"ab\x0d\0", target];
        assert!(lead_out(&ordered.concat()));
        for end in 0..link.len() {
            assert!(!lead_out(&link[..end]), "{end}");
        }
        assert!(!lead_out(b"\x01\x08\x40\x01a\x03\0\0\0\0"));
        assert!(!lead_out(&[64; 99]));
    }
}
