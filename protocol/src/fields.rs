//! What does a field of a message hold, and is it of the type that the contract says?
//!
//! A [`Fields`] is emptied as it is read; what is then left was unknown. What is wrong gathers in a
//! [`Report`], so that a client learns of all of it at once.

use crate::outcome::Warning;
use crate::pointer;
use crate::refusal::Refusal;
use crate::suggest::nearest;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

/// How many refusals, and how many warnings, are told.
const TOLD_MAX: usize = 32;

/// What was found on the way through a message.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) warnings: Vec<Warning>,
    warnings_untold: usize,
}

impl Report {
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        if self.refusals.len() < TOLD_MAX {
            self.refusals.push(refusal);
        }
    }

    /// A warning, whose message is made only if it is told.
    pub(crate) fn warn(&mut self, code: &str, message: impl FnOnce() -> String, pointer: &str) {
        if self.warnings.len() < TOLD_MAX {
            self.warnings.push(Warning {
                code: code.to_owned(),
                message: message(),
                pointer: Some(pointer.to_owned()),
            });
        } else {
            self.warnings_untold += 1;
        }
    }

    /// The warnings, and one that counts those past the bound.
    pub(crate) fn into_warnings(mut self) -> Vec<Warning> {
        if self.warnings_untold > 0 {
            self.warnings.push(Warning {
                code: "more_warnings".to_owned(),
                message: format!("{} more warnings", self.warnings_untold),
                pointer: None,
            });
        }
        self.warnings
    }
}

/// The fields of one object.
#[derive(Debug)]
pub(crate) struct Fields {
    at: String,
    map: Map<String, Value>,
    asked: Vec<&'static str>,
}

impl Fields {
    /// The fields of a value that must be an object.
    pub(crate) fn of(value: Value, at: String, report: &mut Report) -> Option<Self> {
        let Value::Object(map) = value else {
            report.refuse(wrong_type(&at, &value, "an object"));
            return None;
        };
        Some(Self {
            at,
            map,
            asked: Vec::new(),
        })
    }

    /// The pointer to one of them.
    pub(crate) fn at(&self, name: &str) -> String {
        pointer::child(&self.at, name)
    }

    /// Whether a field is there and was not read yet.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// A string that satisfies a parser.
    pub(crate) fn parsed<T, E: std::fmt::Display>(
        &mut self,
        name: &'static str,
        report: &mut Report,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.string(name, report)?;
        let got = quoted(&text);
        match parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                let allowed = error.to_string();
                report.refuse(Refusal::bad(
                    self.at(name),
                    format!("`{name}` is {got}; {allowed}"),
                    got,
                    allowed,
                ));
                None
            }
        }
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
        report: &mut Report,
    ) -> Option<T> {
        let all: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        self.parsed(name, report, |text| {
            let found = words.iter().find(|(word, _)| *word == text);
            let words = || format!("the words are {}", all.join(" and "));
            found.map(|(_, value)| *value).ok_or_else(words)
        })
    }

    pub(crate) fn string(&mut self, name: &'static str, report: &mut Report) -> Option<String> {
        let at = self.at(name);
        string(self.take(name)?, &at, report)
    }

    pub(crate) fn boolean(&mut self, name: &'static str, report: &mut Report) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(value)) => value,
            Some(other) => {
                report.refuse(wrong_type(&self.at(name), &other, "true or false"));
                false
            }
        }
    }

    /// A whole number of at least 0; `60000.0` is one, as JSON Schema has it.
    pub(crate) fn integer(&mut self, name: &'static str, report: &mut Report) -> Option<u64> {
        self.number(name, "a whole number of at least 0", report, |number| {
            number.as_u64().or_else(|| {
                let float = number.as_f64()?;
                let whole =
                    float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a whole number between 0 and 2^53"
                )]
                whole.then_some(float as u64)
            })
        })
    }

    /// A number that a function makes something of.
    pub(crate) fn number<T>(
        &mut self,
        name: &'static str,
        allowed: &str,
        report: &mut Report,
        read: impl FnOnce(&Number) -> Option<T>,
    ) -> Option<T> {
        let refusal = match self.take(name)? {
            Value::Number(number) => match read(&number) {
                Some(value) => return Some(value),
                None => Refusal::bad(
                    self.at(name),
                    format!("`{name}` is {number}; it must be {allowed}"),
                    number.to_string(),
                    allowed,
                ),
            },
            other => wrong_type(&self.at(name), &other, allowed),
        };
        report.refuse(refusal);
        None
    }

    /// The elements of an array, each with its pointer.
    pub(crate) fn list(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<Vec<(String, Value)>> {
        let at = self.at(name);
        match self.take(name)? {
            Value::Array(list) => Some(
                list.into_iter()
                    .enumerate()
                    .map(|(index, value)| (format!("{at}/{index}"), value))
                    .collect(),
            ),
            other => {
                report.refuse(wrong_type(&at, &other, "an array"));
                None
            }
        }
    }

    pub(crate) fn strings(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<Vec<String>> {
        let list = self.list(name, report)?;
        list.into_iter()
            .map(|(at, value)| string(value, &at, report))
            .collect()
    }

    /// An object whose fields are of the client's own naming and hold strings.
    pub(crate) fn string_map(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> BTreeMap<String, String> {
        let Some(fields) = self.object(name, report) else {
            return BTreeMap::new();
        };
        let at = fields.at;
        fields
            .map
            .into_iter()
            .filter_map(|(key, value)| {
                let value = string(value, &pointer::child(&at, &key), report)?;
                Some((key, value))
            })
            .collect()
    }

    pub(crate) fn object(&mut self, name: &'static str, report: &mut Report) -> Option<Self> {
        let at = self.at(name);
        Self::of(self.take(name)?, at, report)
    }

    /// Warns of every field that nobody asked for.
    pub(crate) fn finish(self, report: &mut Report) {
        for name in self.map.keys() {
            let message = || {
                let meant = match nearest(name, self.asked.iter().copied()) {
                    Some(meant) => format!("; is `{meant}` meant?"),
                    None => String::new(),
                };
                let name = quoted(name);
                format!("the field {name} is unknown and was ignored{meant}")
            };
            report.warn("unknown_field", message, &self.at(name));
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.asked.push(name);
        self.map.remove(name)
    }
}

fn string(value: Value, at: &str, report: &mut Report) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        other => {
            report.refuse(wrong_type(at, &other, "a string"));
            None
        }
    }
}

/// The refusal of a value of another type.
fn wrong_type(at: &str, value: &Value, allowed: &str) -> Refusal {
    let got = kind(value);
    let place = match at.strip_prefix('/') {
        Some(place) => format!("`{}`", place.escape_debug()),
        None => "the message".to_owned(),
    };
    let hint = if value.is_null() && !at.is_empty() {
        "; leave the field out instead"
    } else {
        ""
    };
    let message = format!("{place} is {got} and must be {allowed}{hint}");
    Refusal::bad(at, message, got, allowed)
}

/// The type and length of a value, and nothing of what it holds.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => text_kind(text),
        Value::Array(list) => counted("an array", list.len(), "element"),
        Value::Object(map) => counted("an object", map.len(), "field"),
    }
}

/// The type and length of a string, and nothing of what it holds.
pub(crate) fn text_kind(text: &str) -> String {
    counted("a string", text.len(), "byte")
}

/// A type with its length.
pub(crate) fn counted(what: &str, count: usize, of: &str) -> String {
    format!(
        "{what} of {count} {of}{}",
        if count == 1 { "" } else { "s" }
    )
}

/// What stands in a field that holds no secret: at most 64 characters of it, controls escaped.
pub(crate) fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
    let cut = if text.chars().nth(64).is_some() {
        "..."
    } else {
        ""
    };
    format!("`{shown}{cut}`")
}
