//! What do the fields of a document say, one within another, and cut up between runs of characters?

use super::fields;
use crate::Notes;

/// Fields within fields are followed to this depth.
const DEPTH_MAX: usize = 32;
/// Of one field this much is read, and of all of a part.
const FIELD_BYTES_MAX: usize = 64 << 10;
const ALL_BYTES_MAX: usize = 8 << 20;

#[derive(Default)]
struct Field {
    /// With the text of the fields within, and without.
    whole: String,
    own: String,
    in_result: bool,
}

/// The fields of a part, as they come.
#[derive(Default)]
pub(super) struct Fields {
    open: Vec<Field>,
    done: Vec<String>,
    bytes: usize,
    named_by_field: bool,
}

impl Fields {
    /// A mark: a field begins, its result begins, or it ends.
    pub(super) fn mark(&mut self, mark: &str) {
        match mark {
            "begin" => {
                if let Some(outer) = self.open.last().filter(|outer| !outer.in_result) {
                    self.named_by_field |= fields::is_named_by_field(&outer.own);
                }
                if self.open.len() == DEPTH_MAX {
                    self.end();
                }
                self.open.push(Field::default());
            }
            "separate" => {
                if let Some(field) = self.open.last_mut() {
                    field.in_result = true;
                }
            }
            "end" => self.end(),
            _ => {}
        }
    }

    /// A piece of an instruction, which is part of each field around it.
    pub(super) fn text(&mut self, text: &str) {
        if self.open.is_empty() {
            self.open.push(Field::default());
        }
        for field in &mut self.open {
            if field.whole.len() < FIELD_BYTES_MAX {
                field.whole.push_str(text);
            }
        }
        if let Some(field) = self.open.last_mut().filter(|field| field.own.len() < 200) {
            field.own.push_str(text);
        }
    }

    fn end(&mut self) {
        let Some(field) = self.open.pop() else { return };
        self.bytes += field.whole.len();
        if self.bytes < ALL_BYTES_MAX {
            self.done.push(field.whole);
        }
    }

    /// Judges each, and all that were left open.
    pub(super) fn judge(mut self, place: &str, notes: &mut Notes) {
        while !self.open.is_empty() {
            self.end();
        }
        if self.named_by_field {
            fields::named_by_field(place, notes);
        }
        for field in &self.done {
            fields::instruction(field, place, notes);
        }
    }
}
