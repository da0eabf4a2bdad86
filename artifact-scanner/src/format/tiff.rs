//! Whether a TIFF is whole, how large its pictures claim to be, and what its fields hold besides
//! pixels.
//!
//! Directories of fields refer to one another: all of them are walked, those of cameras and those
//! within others, too. What no field refers to behind the last of these is handed on.

use super::pixels;
use crate::bytes::{be16, be32, be64, count, index, le16, le32, le64, slice};
use crate::{Budget, Limit, Notes, Unscannable};
use std::collections::HashSet;

/// Files have hundreds of pages, and fewer directories within each.
const DIRECTORIES_MAX: usize = 10_000;
/// Shorter values say nothing; short numbers stand in a field itself.
const VALUE_MIN: usize = 8;
/// Of what is handed on from one file: a scan asks for each by itself.
const PARTS_MAX: usize = 10_000;

/// So little behind the end is what a writer left there.
const LEFT_BYTES_MAX: usize = 32;

const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
/// Where the pixels stand, and how many bytes of them: strips, tiles, a preview.
const PIXELS: [(u16, u16); 3] = [(273, 279), (324, 325), (513, 514)];
/// Fields whose values are where further directories stand: within a page, of a camera, a place.
const DIRECTORIES: [u16; 4] = [330, 34_665, 34_853, 40_965];
/// Colours and how they are drawn, and tables of a JPEG within: numbers.
const DRAWS: [u16; 6] = [301, 318, 319, 320, 532, 347];

pub(crate) fn is_tiff(bytes: &[u8]) -> bool {
    Form::of(bytes).is_some()
}

/// How numbers are written.
#[derive(Clone, Copy)]
struct Form {
    little: bool,
    /// Offsets have eight bytes, and so have counts.
    big: bool,
}

impl Form {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (little, big) = match bytes {
            [b'I', b'I', 42, 0, ..] => (true, false),
            [b'M', b'M', 0, 42, ..] => (false, false),
            [b'I', b'I', 43, 0, 8, 0, 0, 0, ..] => (true, true),
            [b'M', b'M', 0, 43, 0, 8, 0, 0, ..] => (false, true),
            _ => return None,
        };
        Some(Self { little, big })
    }

    fn two(self, bytes: &[u8], at: usize) -> Option<u16> {
        if self.little {
            le16(bytes, at)
        } else {
            be16(bytes, at)
        }
    }

    fn four(self, bytes: &[u8], at: usize) -> Option<usize> {
        let number = if self.little {
            le32(bytes, at)
        } else {
            be32(bytes, at)
        };
        number.map(index)
    }

    fn offset(self, bytes: &[u8], at: usize) -> Option<usize> {
        match (self.big, self.little) {
            (true, true) => le64(bytes, at).map(index),
            (true, false) => be64(bytes, at).map(index),
            (false, _) => self.four(bytes, at),
        }
    }

    fn offset_bytes(self) -> usize {
        if self.big { 8 } else { 4 }
    }
}

/// One field of a directory.
#[derive(Clone, Copy)]
struct Field<'a> {
    tag: u16,
    kind: u16,
    value: &'a [u8],
    /// Where the value stands.
    at: usize,
}

impl<'a> Field<'a> {
    fn numbers(self, form: Form) -> impl Iterator<Item = usize> + use<'a> {
        let size = size(self.kind).unwrap_or(1);
        let number = move |at: usize| match self.kind {
            3 => form.two(self.value, at).map(usize::from),
            4 | 13 => form.four(self.value, at),
            16 | 18 => form.offset(self.value, at),
            _ => None,
        };
        (0..self.value.len()).step_by(size).filter_map(number)
    }
}

/// How many bytes a value of a kind has.
fn size(kind: u16) -> Option<usize> {
    Some(match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => return None,
    })
}

/// Walks all directories; says where what they refer to ends.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<usize, Unscannable> {
    let form = Form::of(bytes).ok_or(Unscannable::Corrupt)?;
    let first = if form.big { 8 } else { 4 };
    let mut walk = Walk {
        bytes,
        form,
        end: first + form.offset_bytes(),
        todo: vec![form.offset(bytes, first).ok_or(Unscannable::Corrupt)?],
        seen: HashSet::new(),
        texts: HashSet::new(),
    };
    while let Some(at) = walk.todo.pop() {
        budget.charge(64)?;
        if at == 0 || !walk.seen.insert(at) {
            continue;
        }
        if walk.seen.len() > DIRECTORIES_MAX {
            return Err(Unscannable::Limit(Limit::Members));
        }
        walk.directory(at, notes, budget)?;
    }
    let rest = bytes.get(walk.end..).unwrap_or_default();
    if rest.len() > LEFT_BYTES_MAX {
        return Ok(walk.end);
    }
    // Writers of many pages leave a value behind that no field refers to.
    if rest.iter().any(|byte| *byte != 0) {
        notes.part("behind the last field", None, None, rest.to_vec());
    }
    Ok(bytes.len())
}

struct Walk<'a> {
    bytes: &'a [u8],
    form: Form,
    /// The end of all that was referred to.
    end: usize,
    todo: Vec<usize>,
    seen: HashSet<usize>,
    /// What was handed on: pages say the same.
    texts: HashSet<&'a [u8]>,
}

impl<'a> Walk<'a> {
    fn directory(
        &mut self,
        at: usize,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        let (head, step) = if self.form.big { (8, 20) } else { (2, 12) };
        let entries = if self.form.big {
            self.form.offset(self.bytes, at)
        } else {
            self.form.two(self.bytes, at).map(usize::from)
        };
        let entries = entries.ok_or(Unscannable::Corrupt)?;
        let table = entries.checked_mul(step).ok_or(Unscannable::Corrupt)?;
        let next = (at + head).saturating_add(table);
        slice(self.bytes, at + head, table).ok_or(Unscannable::Corrupt)?;
        let mut fields = Vec::new();
        for number in 0..entries {
            budget.charge(16)?;
            // Readers skip fields of kinds that they do not know.
            if let Some(field) = self.field(at + head + step * number)? {
                self.reaches(field.at + field.value.len());
                fields.push(field);
            }
        }
        // A camera's directories end without a next one.
        if let Some(following) = self.form.offset(self.bytes, next) {
            self.reaches(next + self.form.offset_bytes());
            if following < self.bytes.len() {
                self.todo.push(following);
            }
        } else {
            self.reaches(next);
        }
        self.pictures(&fields, budget)?;
        for field in &fields {
            budget.charge(16)?;
            if DIRECTORIES.contains(&field.tag) {
                let places = field.numbers(self.form).take(DIRECTORIES_MAX + 1);
                self.todo.extend(places);
                if self.todo.len() > DIRECTORIES_MAX {
                    return Err(Unscannable::Limit(Limit::Members));
                }
            } else if !is_of_pixels(field.tag) && !DRAWS.contains(&field.tag) {
                self.hand_on(*field, notes, budget)?;
            }
        }
        Ok(())
    }

    fn field(&self, at: usize) -> Result<Option<Field<'a>>, Unscannable> {
        let (bytes, form) = (self.bytes, self.form);
        let read = || {
            let tag = form.two(bytes, at)?;
            let kind = form.two(bytes, at + 2)?;
            Some((tag, kind, form.offset(bytes, at + 4)?))
        };
        let (tag, kind, items) = read().ok_or(Unscannable::Corrupt)?;
        let Some(size) = size(kind) else {
            return Ok(None);
        };
        let length = items.checked_mul(size).ok_or(Unscannable::Corrupt)?;
        let own = at + 4 + form.offset_bytes();
        let start = if length <= form.offset_bytes() {
            own
        } else {
            form.offset(bytes, own).ok_or(Unscannable::Corrupt)?
        };
        let value = slice(bytes, start, length).ok_or(Unscannable::Corrupt)?;
        let at = start;
        Ok(Some(Field {
            tag,
            kind,
            value,
            at,
        }))
    }

    fn reaches(&mut self, end: usize) {
        self.end = self.end.max(end);
    }

    /// How large the picture of a directory is, and where its pixels end.
    fn pictures(&mut self, fields: &[Field<'_>], budget: &mut Budget) -> Result<(), Unscannable> {
        let numbers = |tag: u16| {
            let field = fields.iter().find(|field| field.tag == tag);
            field.into_iter().flat_map(|field| field.numbers(self.form))
        };
        let side = |tag| numbers(tag).next().map_or(0, count);
        pixels(side(WIDTH), side(HEIGHT), budget)?;
        let mut end = 0;
        for (starts, lengths) in PIXELS {
            for (start, length) in numbers(starts).zip(numbers(lengths)) {
                budget.charge(8)?;
                let strip = slice(self.bytes, start, length).ok_or(Unscannable::Corrupt)?;
                end = end.max(start + strip.len());
            }
        }
        self.reaches(end);
        Ok(())
    }

    fn hand_on(
        &mut self,
        field: Field<'a>,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        let is_bytes = matches!(field.kind, 1 | 2 | 6 | 7);
        let filled = field.value.iter().rposition(|byte| *byte != 0);
        let value = &field.value[..filled.map_or(0, |at| at + 1)];
        if !is_bytes || value.len() < VALUE_MIN {
            return Ok(());
        }
        budget.charge(count(value.len()))?;
        if !self.texts.insert(value) {
            return Ok(());
        }
        if self.texts.len() > PARTS_MAX {
            return Err(Unscannable::Limit(Limit::Members));
        }
        budget.unpack(count(value.len()))?;
        let place = format!("field {} at offset {}", field.tag, field.at);
        notes.part(place, None, None, value.to_vec());
        Ok(())
    }
}

fn is_of_pixels(tag: u16) -> bool {
    PIXELS
        .iter()
        .any(|(starts, lengths)| tag == *starts || tag == *lengths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Severity};

    /// A picture of one dot with a description, in either order of bytes.
    fn picture(little: bool, side: u16, text: &[u8], behind: &[u8]) -> Vec<u8> {
        let two = |number: u16| {
            if little {
                number.to_le_bytes()
            } else {
                number.to_be_bytes()
            }
        };
        let four = |number: usize| {
            let number = u32::try_from(number).expect("small");
            if little {
                number.to_le_bytes()
            } else {
                number.to_be_bytes()
            }
        };
        let short = |tag, value| [&two(tag)[..], &two(3), &four(1), &two(value), &[0; 2]].concat();
        let long = |tag, kind, items, value| {
            [&two(tag)[..], &two(kind), &four(items), &four(value)].concat()
        };
        let directory = [
            short(WIDTH, side),
            short(HEIGHT, side),
            long(270, 2, text.len(), 12 + 2 + 5 * 12 + 4),
            long(273, 4, 1, 8),
            short(279, 4),
        ];
        let mut bytes = if little {
            b"II*\0".to_vec()
        } else {
            b"MM\0*".to_vec()
        };
        bytes.extend(four(12));
        bytes.extend([9; 4]);
        bytes.extend(two(5));
        bytes.extend(directory.concat());
        bytes.extend(four(0));
        bytes.extend(text);
        bytes.extend(behind);
        bytes
    }

    fn run(bytes: &[u8]) -> (Notes, Result<(), Unscannable>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let end = super::super::frames::check(bytes, &mut notes, &mut budget);
        (notes, end)
    }

    #[test]
    fn texts_and_what_lies_behind_are_handed_on() {
        for little in [true, false] {
            let (notes, end) = run(&picture(little, 1, b"a description\0", b""));
            assert_eq!((end, notes.worst()), (Ok(()), None));
            assert_eq!(notes.parts()[0].bytes, b"a description");
            let (notes, end) = run(&picture(little, 1, b"a description\0", b"PK\x03\x04"));
            assert_eq!((end, notes.worst()), (Ok(()), None));
            assert_eq!(notes.parts()[1].bytes, b"PK\x03\x04");
            let (notes, end) = run(&picture(little, 1, b"a description\0", &[7; 33]));
            assert_eq!((end, notes.worst()), (Ok(()), Some(Severity::Suspicious)));
            assert_eq!(notes.parts()[1].bytes, [7; 33]);
        }
    }

    #[test]
    fn cut_and_huge_pictures_are_not_read() {
        let whole = picture(true, 1, b"a description\0", b"");
        assert_eq!(run(&whole[..whole.len() - 1]).1, Err(Unscannable::Corrupt));
        let huge = picture(true, u16::MAX, b"a description\0", b"");
        assert_eq!(run(&huge).1, Err(Unscannable::Limit(Limit::Pixels)));
    }

    #[test]
    fn a_directory_that_follows_itself_is_walked_once() {
        let mut bytes = picture(true, 1, b"a description\0", b"");
        let next = 12 + 2 + 5 * 12;
        bytes[next] = 12;
        assert_eq!(run(&bytes).1, Ok(()));
    }
}
