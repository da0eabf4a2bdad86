//! Whether an HDF5 file is whole, reads other files, or claims more data than it can hold.

mod elsewhere;

use super::trailing;
use crate::bytes::{count, index, le16, le32, le64, slice};
use crate::check::pickle;
use crate::{Budget, Notes, Severity, Unscannable};
use memchr::memmem;
use std::collections::HashSet;

/// Reads the superblock, then every object header there is, linked or not.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let start = memmem::find(bytes, b"\x89HDF\r\n\x1a\n").ok_or(Unscannable::Corrupt)?;
    let own = bytes.starts_with(b"MATLAB ") || bytes[..start].iter().all(|byte| *byte == 0);
    if !own {
        notes.find(
            "polyglot.around",
            Severity::Suspicious,
            "head",
            "bytes stand before the file's format",
        );
        notes.part("head", None, None, bytes[..start].to_vec());
    }
    let file = &bytes[start..];
    let end = match file.get(8) {
        Some(0) => le64(file, 40),
        Some(1) => le64(file, 44),
        Some(2 | 3) => le64(file, 28),
        _ => None,
    };
    let end = index(end.ok_or(Unscannable::Corrupt)?);
    let end = if end <= file.len() {
        end
    } else {
        end.saturating_sub(start)
    };
    if end > file.len() {
        return Err(Unscannable::Corrupt);
    }
    let mut headers = Headers {
        file: &file[..end],
        notes,
        limit: budget.limits().unpacked_bytes,
        fair: count(file.len()).saturating_mul(budget.limits().ratio.into()),
        seen: HashSet::new(),
    };
    for at in (0..end).step_by(8) {
        budget.charge(8)?;
        headers.first(at, budget)?;
    }
    for at in memmem::find_iter(&file[..end], b"OHDR") {
        budget.charge(8)?;
        headers.second(at, budget)?;
    }
    elsewhere::links(&file[..end], notes, budget)?;
    pickle::within(&file[..end], notes, budget)?;
    trailing(file, end, notes);
    Ok(())
}

struct Headers<'a> {
    file: &'a [u8],
    notes: &'a mut Notes,
    limit: u64,
    fair: u64,
    /// Where continuations stand that were read: each may name all others.
    seen: HashSet<u64>,
}

/// What the messages of one object say together.
#[derive(Default)]
struct Object {
    items: Option<u64>,
    item_bytes: Option<u64>,
}

impl Headers<'_> {
    /// A header of the first form, if one stands here.
    fn first(&mut self, at: usize, budget: &mut Budget) -> Result<(), Unscannable> {
        let Some([1, 0]) = slice(self.file, at, 2).and_then(|head| <[u8; 2]>::try_from(head).ok())
        else {
            return Ok(());
        };
        let (Some(messages), Some(references), Some(length)) = (
            le16(self.file, at + 2),
            le32(self.file, at + 4),
            le32(self.file, at + 8),
        ) else {
            return Ok(());
        };
        if !(1..=4096).contains(&messages) || !(1..=4096).contains(&references) || length % 8 != 0 {
            return Ok(());
        }
        let Some(body) = slice(self.file, at + 16, index(length)) else {
            return Ok(());
        };
        let mut object = Object::default();
        self.messages(body, 4, &mut object, budget)?;
        self.judge(&object, at);
        Ok(())
    }

    fn messages(
        &mut self,
        mut body: &[u8],
        chunks: u32,
        object: &mut Object,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        while let (Some(kind), Some(length)) = (le16(body, 0), le16(body, 2)) {
            budget.charge(8)?;
            let Some(message) = slice(body, 8, length.into()) else {
                break;
            };
            self.message(kind, message, object, budget);
            if kind == 0x10 && chunks > 0 {
                let chunk = le64(message, 0).zip(le64(message, 8));
                let chunk = chunk.filter(|(at, _)| self.seen.insert(*at));
                if let Some(chunk) =
                    chunk.and_then(|(at, length)| slice(self.file, index(at), index(length)))
                {
                    self.messages(chunk, chunks - 1, object, budget)?;
                }
            }
            body = &body[8 + usize::from(length)..];
        }
        Ok(())
    }

    /// A header of the second form.
    fn second(&mut self, at: usize, budget: &mut Budget) -> Result<(), Unscannable> {
        let Some(flags) = self.file.get(at + 5).copied() else {
            return Ok(());
        };
        let mut start =
            at + 6 + if flags & 0x20 == 0 { 0 } else { 16 } + if flags & 0x10 == 0 { 0 } else { 4 };
        let width = 1usize << (flags & 3);
        let Some(length) = slice(self.file, start, width) else {
            return Ok(());
        };
        let length = length.iter().rev().fold(0usize, |sum, byte| {
            sum.saturating_mul(256).saturating_add((*byte).into())
        });
        start += width;
        let Some(body) = slice(self.file, start, length) else {
            return Ok(());
        };
        let head = if flags & 4 == 0 { 4 } else { 6 };
        let mut object = Object::default();
        let mut chunks = vec![body];
        while let Some(mut body) = chunks.pop() {
            while let (Some(kind), Some(length)) = (body.first().copied(), le16(body, 1)) {
                budget.charge(8)?;
                let Some(message) = slice(body, head, length.into()) else {
                    break;
                };
                self.message(kind.into(), message, &mut object, budget);
                let chunk = le64(message, 0).zip(le64(message, 8));
                let chunk = chunk.filter(|(at, _)| kind == 0x10 && self.seen.insert(*at));
                let chunk = chunk.and_then(|(at, size)| slice(self.file, index(at), index(size)));
                chunks.extend(chunk.and_then(|chunk| chunk.strip_prefix(b"OCHK")));
                body = &body[head + usize::from(length)..];
            }
        }
        self.judge(&object, at);
        Ok(())
    }

    fn message(&mut self, kind: u16, body: &[u8], object: &mut Object, budget: &mut Budget) {
        match kind {
            1 => object.items = items(body),
            3 => object.item_bytes = le32(body, 4).map(u64::from),
            7 if body.first() == Some(&1)
                && le64(body, 8)
                    .is_some_and(|heap| slice(self.file, index(heap), 4) == Some(b"HEAP")) =>
            {
                self.notes.find(
                    "hdf5.external_data",
                    Severity::Malicious,
                    "",
                    "the data of an array is read from another file on the reader's disk",
                );
            }
            8 => elsewhere::layout(self.file, body, self.notes),
            12 => elsewhere::attribute(body, self.notes, budget),
            _ => {}
        }
    }

    fn judge(&mut self, object: &Object, at: usize) {
        let (Some(items), Some(item)) = (object.items, object.item_bytes) else {
            return;
        };
        let claimed = items.saturating_mul(item);
        if claimed > self.limit && claimed > self.fair {
            self.notes.find(
                "bomb.array",
                Severity::Suspicious,
                format!("object at offset {at}"),
                format!(
                    "an array of {} MiB that the file has no room for",
                    claimed >> 20
                ),
            );
        }
    }
}

/// How many items a dataspace has.
fn items(body: &[u8]) -> Option<u64> {
    let (version, rank) = (*body.first()?, usize::from(*body.get(1)?));
    let start = if version == 1 { 8 } else { 4 };
    if !(1..=2).contains(&version) || rank > 32 {
        return None;
    }
    (0..rank).try_fold(1u64, |product, dimension| {
        Some(product.saturating_mul(le64(body, start + 8 * dimension)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn file(messages: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, message) in messages {
            body.extend(kind.to_le_bytes());
            body.extend(u16::try_from(message.len()).expect("small").to_le_bytes());
            body.extend([0; 4]);
            body.extend(message);
        }
        let mut file = b"\x89HDF\r\n\x1a\n".to_vec();
        file.resize(96, 0);
        file.extend([
            1,
            0,
            u8::try_from(messages.len()).expect("small"),
            0,
            1,
            0,
            0,
            0,
        ]);
        file.extend(u32::try_from(body.len()).expect("small").to_le_bytes());
        file.extend([0; 4]);
        file.extend(body);
        file.extend(b"HEAP");
        let end = count(file.len()).to_le_bytes();
        file[40..48].copy_from_slice(&end);
        file
    }

    #[track_caller]
    fn check(bytes: &[u8], end: Result<(), Unscannable>, worst: Option<Severity>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        assert_eq!(super::check(bytes, &mut notes, &mut budget), end);
        assert_eq!(notes.worst(), worst, "{:?}", notes.findings());
    }

    #[test]
    fn data_elsewhere_and_data_that_cannot_be() {
        check(&file(&[]), Ok(()), None);
        let whole = file(&[]);
        check(&whole[..whole.len() - 1], Err(Unscannable::Corrupt), None);
        let heap = count(96 + 16 + 8 + 16);
        let external = [&[1, 0, 0, 0, 1, 0, 1, 0][..], &heap.to_le_bytes()].concat();
        check(&file(&[(7, external)]), Ok(()), Some(Severity::Malicious));
        let space = |items: u64| [&[1, 1, 0, 0, 0, 0, 0, 0][..], &items.to_le_bytes()].concat();
        let kind = vec![0x11, 0, 0, 0, 8, 0, 0, 0];
        check(&file(&[(1, space(4)), (3, kind.clone())]), Ok(()), None);
        check(
            &file(&[(1, space(1 << 40)), (3, kind)]),
            Ok(()),
            Some(Severity::Suspicious),
        );
    }

    /// Each of them was once read anew from each that names it.
    #[test]
    fn continuations_that_name_each_other_are_read_once() {
        let count = 100u32;
        let chunk = 96 + 16 + 24 * u64::from(count) + 4;
        let message = [
            &chunk.to_le_bytes()[..],
            &(24 * u64::from(count)).to_le_bytes(),
        ]
        .concat();
        let mut bytes = file(&vec![(0x10, message); 100]);
        let own = bytes[112..bytes.len() - 4].to_vec();
        bytes.extend(own);
        let end = super::count(bytes.len()).to_le_bytes();
        bytes[40..48].copy_from_slice(&end);
        let start = std::time::Instant::now();
        check(&bytes, Ok(()), None);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    /// Each message was once read from a copy of all that followed it.
    #[test]
    fn a_header_of_many_messages_is_read_in_one_go() {
        let mut bytes = file(&[]);
        let messages = 1 << 20;
        bytes.extend(b"OHDR\x02\x03");
        bytes.extend(count(4 * messages).to_le_bytes());
        bytes.resize(bytes.len() + 4 * messages, 0);
        let end = count(bytes.len()).to_le_bytes();
        bytes[40..48].copy_from_slice(&end);
        let start = std::time::Instant::now();
        check(&bytes, Ok(()), None);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
}
