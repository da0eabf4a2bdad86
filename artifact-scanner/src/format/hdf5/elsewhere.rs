//! Where does an HDF5 file lead out of itself: links and virtual arrays of other files, and
//! attributes that a reader loads as pickles?

use crate::bytes::{index, le16, le32, le64, slice};
use crate::check::pickle;
use crate::{Budget, Notes, Severity, Unscannable};

/// Looks for links to other files wherever they may be stored: in headers, their continuations
/// and the heaps of large groups.
pub(super) fn links(
    file: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    budget.charge(file.len().max(1) as u64)?;
    let is_link = |at: &usize| at.checked_sub(2).is_some_and(|at| is_external(&file[at..]));
    if let Some(at) = memchr::memchr_iter(64, file).find(is_link) {
        notes.find(
            "hdf5.external_link",
            Severity::Suspicious,
            format!("offset {at}"),
            "a link leads to another file on the reader's disk",
        );
    }
    // A heap that is packed would have to be unpacked to see the links in it.
    let is_packed = |at: &usize| {
        file.get(at + 4) == Some(&0) && le16(file, at + 7).is_some_and(|filters| filters > 0)
    };
    if let Some(at) = memchr::memmem::find_iter(file, b"FRHP").find(is_packed) {
        notes.find(
            "hdf5.packed_heap",
            Severity::Suspicious,
            format!("offset {at}"),
            "the names of a group are packed, which no usual program does",
        );
    }
    Ok(())
}

/// Whether a link to another file begins here, whole: its head, its name, two paths.
fn is_external(message: &[u8]) -> bool {
    let [1, flags, 64, rest @ ..] = message else {
        return false;
    };
    if flags & 8 == 0 || flags & 0xe0 != 0 {
        return false;
    }
    let order = if flags & 4 == 0 { 0 } else { 8 };
    let start = order + usize::from(flags & 16 != 0);
    let width = 1usize << (flags & 3);
    let length = slice(rest, start, width).map(|digits| {
        let digits = digits.iter().rev();
        digits.fold(0usize, |sum, digit| {
            sum.saturating_mul(256).saturating_add((*digit).into())
        })
    });
    let value = length.and_then(|length| {
        let at = start.checked_add(width)?.checked_add(length)?;
        slice(rest, at.checked_add(2)?, le16(rest, at)?.into())
    });
    let Some([0, paths @ .., 0]) = value else {
        return false;
    };
    memchr::memchr_iter(0, paths).count() == 1
        && !paths.iter().any(|byte| (1..0x20).contains(byte))
        && !paths.starts_with(b"\0")
}

/// Looks at a layout: the parts of a virtual array may lie in other files.
pub(super) fn layout(file: &[u8], body: &[u8], notes: &mut Notes) {
    let [4 | 5, 3, ..] = body else { return };
    let mapping = le64(body, 2)
        .zip(le32(body, 10))
        .and_then(|(heap, number)| heap_object(file, index(heap), number));
    let Some(mapping) = mapping else { return };
    let (Some(entries), Some(source)) = (le64(mapping, 1), mapping.get(9..)) else {
        return;
    };
    let end = memchr::memchr(0, source).unwrap_or(source.len());
    let severity = match &source[..end] {
        _ if entries == 0 => return,
        b"." if entries == 1 && mapping[0] == 0 => return,
        name if name.iter().any(|byte| b"/\\:".contains(byte)) => Severity::Malicious,
        _ => Severity::Suspicious,
    };
    notes.find(
        "hdf5.virtual",
        severity,
        "",
        "an array is put together from other files on the reader's disk",
    );
}

/// An object of a global heap.
fn heap_object(file: &[u8], heap: usize, number: u32) -> Option<&[u8]> {
    let size = index(le64(file, heap.checked_add(8)?)?);
    let heap = slice(file, heap, size)?.strip_prefix(b"GCOL")?;
    let mut at = 12;
    loop {
        let length = index(le64(heap, at + 8)?);
        let object = slice(heap, at + 16, length)?;
        match le16(heap, at)? {
            0 => return None,
            found if u32::from(found) == number => return Some(object),
            _ => {
                let padded = length.checked_next_multiple_of(8)?;
                at = at.checked_add(16)?.checked_add(padded)?;
            }
        }
    }
}

/// Looks at an attribute: one reader loads as a pickle whatever looks like one.
pub(super) fn attribute(body: &[u8], notes: &mut Notes, budget: &mut Budget) {
    let sizes = [2, 4, 6].map(|at| le16(body, at).map(usize::from));
    let [Some(name), Some(kind), Some(space)] = sizes else {
        return;
    };
    let start = match body.first() {
        Some(1) => {
            8 + name.next_multiple_of(8) + kind.next_multiple_of(8) + space.next_multiple_of(8)
        }
        Some(2) => 8 + name + kind + space,
        Some(3) => 9 + name + kind + space,
        _ => return,
    };
    if let Some(value) = body.get(start..) {
        pickle::lurks(value, notes, budget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn link(kind: u8, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(value.len()).expect("small").to_le_bytes();
        [&[1, 0x18, kind, 1, 3][..], b"x12", &length, value].concat()
    }

    #[test]
    fn links_to_other_files_are_found_wherever_they_are() {
        for (bytes, expected) in [
            (link(64, b"\0/etc/x.h5\0/k\0"), Some(Severity::Suspicious)),
            (link(64, b"\0/etc/x.h5/k\0"), None),
            (link(1, b"/k"), None),
            (b"FRHP\0\x08\0\x10\0".to_vec(), Some(Severity::Suspicious)),
            (b"FRHP\0\x08\0\0\0".to_vec(), None),
        ] {
            let bytes = [&b"FHDB12345"[..], &bytes, b"rest"].concat();
            let mut notes = Notes::default();
            links(&bytes, &mut notes, &mut Budget::new(Limits::default())).expect("little");
            assert_eq!(notes.worst(), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_virtual_array_of_its_own_file_is_none_of_others() {
        let layout = [&[4, 3][..], &8u64.to_le_bytes(), &1u32.to_le_bytes()].concat();
        for (name, expected) in [
            (&b".\0d\0"[..], None),
            (b"b.h5\0d\0", Some(Severity::Suspicious)),
            (b"/home/x.h5\0d\0", Some(Severity::Malicious)),
            (b"\\\\e\\s\0d\0", Some(Severity::Malicious)),
        ] {
            let object = [&[0][..], &1u64.to_le_bytes(), name].concat();
            let length = (object.len() as u64).to_le_bytes();
            let entry = [&[1, 0, 1, 0, 0, 0, 0, 0][..], &length, &object].concat();
            let size = (16 + entry.len() as u64).to_le_bytes();
            let file = [&[0; 8][..], b"GCOL\x01\0\0\0", &size, &entry].concat();
            let mut notes = Notes::default();
            super::layout(&file, &layout, &mut notes);
            assert_eq!(notes.worst(), expected);
        }
    }

    #[test]
    fn an_attribute_may_be_a_pickle() {
        let value = b"cos\nsystem\n(S'x'\ntR.";
        for head in [
            &b"\x01\0\x02\0\x08\0\x08\0a\0\0\0\0\0\0\0KKKKKKKKSSSSSSSS"[..],
            b"\x02\0\x02\0\x08\0\x08\0a\0KKKKKKKKSSSSSSSS",
            b"\x03\0\x02\0\x08\0\x08\0\0a\0KKKKKKKKSSSSSSSS",
        ] {
            let mut notes = Notes::default();
            let mut budget = Budget::new(Limits::default());
            attribute(&[head, value].concat(), &mut notes, &mut budget);
            assert_eq!(notes.worst(), Some(Severity::Malicious));
            let mut notes = Notes::default();
            attribute(
                &[head, b"cell size in mm."].concat(),
                &mut notes,
                &mut budget,
            );
            assert_eq!(notes.worst(), None);
        }
    }
}
