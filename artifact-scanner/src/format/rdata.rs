//! What R makes of a file that it wrote: data, or code that runs when the file is read.
//!
//! The three forms of R's serialization (`saveRDS`, `save`) are walked item by item to their end. A
//! promise that nobody has kept yet runs its expression as soon as anybody looks at the object. That
//! of a variable runs as that variable is used: functions leave such arguments behind in models.

mod items;
mod seen;

use crate::{Budget, Notes, Unscannable};
use items::{Form, Reader};
use seen::Seen;

/// Ways of keeping vectors that R has itself: any other one is looked up by its name when it is read,
/// and one of these opens a file.
const VECTORS: [&[u8]; 10] = [
    b"compact_intseq",
    b"compact_realseq",
    b"deferred_string",
    b"wrap_integer",
    b"wrap_logical",
    b"wrap_real",
    b"wrap_complex",
    b"wrap_raw",
    b"wrap_string",
    b"wrap_list",
];

/// A cell whose value is what a function gives; variables of classes of references are such.
const ACTIVE: u32 = 1 << 27;
const HAS_ATTRIBUTES: u32 = 1 << 9;
const HAS_TAG: u32 = 1 << 10;
/// More than that lies open at once only where a file is made to fill the memory.
const OPEN_MAX: usize = 1 << 20;

/// Where the serialization begins, and its form. R looks at the first letter alone, and takes a new
/// line before the form in letters for what the one before left.
fn start(bytes: &[u8]) -> Option<(usize, Form)> {
    let at = if is_saved(bytes) { MAGIC_BYTES } else { 0 };
    let (letter, at) = match bytes.get(at..)? {
        [b'\n', b'A', _, ..] => (b'A', at + 3),
        [letter, _, ..] => (*letter, at + 2),
        _ => return None,
    };
    let form = match letter {
        b'X' => Form::Big,
        b'B' => Form::Little,
        b'A' => Form::Words,
        _ => return None,
    };
    // The version, that of R that wrote it, and that of the oldest that reads it.
    let mut reader = Reader::new(bytes, at, form);
    let versions = [reader.number(), reader.number(), reader.number()];
    let of_r = |version: u32| version >> 16 > 0 && version >> 24 == 0;
    let known = matches!(versions, [Some(2 | 3), Some(wrote), Some(reads)]
        if of_r(wrote) && of_r(reads));
    known.then_some((at, form))
}

const MAGIC_BYTES: usize = 5;

/// Whether it is what `save` writes, in whatever version.
fn is_saved(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [b'R', b'D', b'A' | b'B' | b'X', b'1'..=b'3', b'\n', ..]
    )
}

pub(crate) fn is_rdata(bytes: &[u8]) -> bool {
    is_saved(bytes) || start(bytes).is_some()
}

/// What is to be read next.
enum Task {
    Item,
    Items(usize),
    /// The value of a promise.
    Kept,
    /// The variables of an environment, those that are spread over lists, the value of one.
    Frame,
    Frames(Option<usize>),
    Variable,
    /// How a vector is kept: its class, the package of it, a number.
    Way,
    WayName,
    Code,
    Constants(usize),
    Language,
}

/// Walks all items; says where they end.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<usize, Unscannable> {
    let (at, form) = start(bytes).ok_or(Unscannable::Corrupt)?;
    let mut walk = Walk {
        reader: Reader::new(bytes, at, form),
        names: Vec::new(),
        todo: vec![Task::Item],
        seen: Seen::default(),
    };
    let end = walk.all(budget);
    walk.seen.tell(notes);
    end.map(|()| walk.reader.at())
}

struct Walk<'a> {
    reader: Reader<'a>,
    /// What can be referred to again, with the name of those that are symbols.
    names: Vec<Option<&'a [u8]>>,
    todo: Vec<Task>,
    seen: Seen,
}

impl Walk<'_> {
    fn all(&mut self, budget: &mut Budget) -> Result<(), Unscannable> {
        self.header().ok_or(Unscannable::Corrupt)?;
        while let Some(task) = self.todo.pop() {
            budget.charge(16)?;
            if self.todo.len() > OPEN_MAX {
                return Err(Unscannable::Limit(crate::Limit::Nesting));
            }
            self.step(&task).ok_or(Unscannable::Corrupt)?;
        }
        Ok(())
    }

    fn header(&mut self) -> Option<()> {
        let version = self.reader.number()?;
        self.reader.number()?;
        self.reader.number()?;
        if version == 3 {
            // The code of the texts.
            let length = self.reader.length()?;
            self.reader.text(length)?;
        }
        Some(())
    }

    fn step(&mut self, task: &Task) -> Option<()> {
        match task {
            Task::Item => {
                let flags = self.reader.number()?;
                self.item(flags)
            }
            Task::Items(count) => {
                if let Some(left) = count.checked_sub(1) {
                    self.todo.extend([Task::Items(left), Task::Item]);
                }
                Some(())
            }
            Task::Kept => {
                // Nothing yet, or what a missing argument is, which no promise gives.
                let flags = self.reader.number()?;
                self.seen.promise |= matches!(flags & 0xff, 251 | 252);
                self.item(flags)
            }
            Task::Frame | Task::Frames(None) => self.variables(task),
            Task::Frames(Some(count)) => {
                if let Some(left) = count.checked_sub(1) {
                    self.todo.extend([Task::Frames(Some(left)), Task::Frame]);
                }
                Some(())
            }
            Task::Variable => {
                let flags = self.reader.number()?;
                if flags & 0xff != 5 {
                    return self.item(flags);
                }
                self.seen.late = true;
                self.cell(flags, Task::Item, Task::Item);
                Some(())
            }
            Task::Way => {
                let flags = self.reader.number()?;
                if flags & 0xff == 2 && flags & (HAS_ATTRIBUTES | HAS_TAG) == 0 {
                    self.todo.extend([Task::Item, Task::WayName]);
                    return Some(());
                }
                self.seen.way = true;
                self.item(flags)
            }
            Task::WayName => {
                let flags = self.reader.number()?;
                self.item(flags)?;
                // What was referred to, or the symbol that was just read.
                let at = if flags & 0xff == 255 {
                    usize::try_from(flags >> 8).ok()?.checked_sub(1)
                } else {
                    self.names.len().checked_sub(1)
                };
                let name = at.and_then(|at| self.names.get(at).copied().flatten());
                self.seen.way |= !name.is_some_and(|name| VECTORS.contains(&name));
                Some(())
            }
            Task::Code => {
                self.todo.extend([Task::Constants(usize::MAX), Task::Item]);
                Some(())
            }
            Task::Constants(count) => self.constants(*count),
            Task::Language => {
                let kind = self.reader.number()?;
                self.language(kind)
            }
        }
    }

    /// Constants of compiled code, of which each says what it is; how many is said before the first.
    fn constants(&mut self, count: usize) -> Option<()> {
        let count = if count == usize::MAX {
            self.reader.length()?
        } else {
            count
        };
        let Some(left) = count.checked_sub(1) else {
            return Some(());
        };
        self.todo.push(Task::Constants(left));
        let kind = self.reader.number()?;
        match kind {
            21 => self.todo.push(Task::Code),
            2 | 6 | 239 | 240 | 243 | 244 => return self.language(kind),
            _ => self.todo.push(Task::Item),
        }
        Some(())
    }

    /// Calls within compiled code.
    fn language(&mut self, kind: u32) -> Option<()> {
        let kind = match kind {
            // Said before.
            243 => return self.reader.number().map(|_| ()),
            244 => {
                self.reader.number()?;
                let kind = self.reader.number()?;
                // R makes a cell of whatever is said here.
                self.seen.promise |= kind == 5;
                matches!(kind, 2 | 6 | 239 | 240).then_some(kind)?
            }
            kind => kind,
        };
        if !matches!(kind, 2 | 6 | 239 | 240) {
            self.todo.push(Task::Item);
            return Some(());
        }
        self.todo
            .extend([Task::Language, Task::Language, Task::Item]);
        if matches!(kind, 239 | 240) {
            self.todo.push(Task::Item);
        }
        Some(())
    }

    fn item(&mut self, flags: u32) -> Option<()> {
        let attributes = flags & HAS_ATTRIBUTES != 0;
        let reader = &mut self.reader;
        match flags & 0xff {
            // Nothing, and what R has by itself.
            0 | 241 | 242 | 250..=254 => return Some(()),
            255 => {
                if flags >> 8 == 0 {
                    reader.number()?;
                }
                return Some(());
            }
            1 => {
                let kind = reader.number()?;
                let length = (kind & (0xff | HAS_ATTRIBUTES) == 9).then(|| reader.length())??;
                let name = reader.text(length)?;
                self.names.push(Some(name));
                return Some(());
            }
            // A session's own, a package, a namespace: their names.
            247..=249 => {
                reader.number()?;
                let count = reader.length()?;
                self.names.push(None);
                self.todo.push(Task::Items(count));
                return Some(());
            }
            4 => {
                reader.number()?;
                self.names.push(None);
                let parts = [Task::Item, Task::Frames(None), Task::Frame, Task::Item];
                self.todo.extend(parts);
                return Some(());
            }
            kind @ (2 | 3 | 5 | 6 | 17) => {
                let value = if kind == 5 { Task::Kept } else { Task::Item };
                self.cell(flags, value, Task::Item);
                return Some(());
            }
            238 => {
                self.todo.extend([Task::Items(2), Task::Way]);
                return Some(());
            }
            _ => {}
        }
        self.vector(flags, attributes)
    }

    /// What has attributes and a name before its two parts.
    fn cell(&mut self, flags: u32, first: Task, second: Task) {
        self.seen.active |= flags & 0xff == 2 && flags & ACTIVE != 0;
        let before = (flags & HAS_ATTRIBUTES != 0, flags & HAS_TAG != 0);
        let before = usize::from(before.0) + usize::from(before.1);
        self.todo.extend([second, first, Task::Items(before)]);
    }

    /// The variables of an environment: a list of them, or a vector of lists.
    fn variables(&mut self, task: &Task) -> Option<()> {
        let flags = self.reader.number()?;
        match (task, flags & 0xff) {
            (Task::Frame, 2) => {
                self.seen.late |= flags & ACTIVE != 0;
                self.cell(flags & !ACTIVE, Task::Variable, Task::Frame);
                Some(())
            }
            (Task::Frames(_), 19) => {
                if flags & HAS_ATTRIBUTES != 0 {
                    self.todo.push(Task::Item);
                }
                let length = self.reader.values()?;
                self.todo.push(Task::Frames(Some(length)));
                Some(())
            }
            _ => self.item(flags),
        }
    }

    /// Everything whose attributes follow it.
    fn vector(&mut self, flags: u32, attributes: bool) -> Option<()> {
        if attributes {
            self.todo.push(Task::Item);
        }
        let reader = &mut self.reader;
        match flags & 0xff {
            7..=9 => {
                let length = reader.length()?;
                reader.text(length)?;
            }
            10 | 13 => {
                let length = reader.values()?;
                reader.skip(length, 4)?;
            }
            14 => {
                let length = reader.values()?;
                reader.skip(length, 8)?;
            }
            15 => {
                let length = reader.values()?.checked_mul(2)?;
                reader.skip(length, 8)?;
            }
            24 => {
                let length = reader.values()?;
                reader.skip(length, 1)?;
            }
            16 | 19 | 20 => {
                let length = reader.values()?;
                self.todo.push(Task::Items(length));
            }
            22 => {
                self.names.push(None);
                self.todo.push(Task::Items(2));
            }
            23 => self.names.push(None),
            25 => {}
            21 => {
                self.seen.compiled = true;
                reader.number()?;
                self.todo.push(Task::Code);
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
