//! How values are taken out of a table of the configuration, so that every mistake is remembered
//! with its full key and none ends the reading.

use super::ProfileError;
use kiln_protocol::limits::LimitUnit;
use std::cell::RefCell;
use toml::{Table, Value};

/// A table with its full key, and the list that its mistakes go to.
#[derive(Debug)]
pub struct Keys<'a> {
    table: &'a Table,
    key: String,
    errors: &'a RefCell<Vec<ProfileError>>,
}

impl<'a> Keys<'a> {
    /// The values of `table`, which is called `key`.
    pub fn new(table: &'a Table, key: &str, errors: &'a RefCell<Vec<ProfileError>>) -> Self {
        Keys {
            table,
            key: key.to_owned(),
            errors,
        }
    }

    /// Names what is wrong with one of its values.
    pub fn wrong(&self, name: &str, problem: impl Into<String>) {
        self.errors.borrow_mut().push(ProfileError::Key {
            key: format!("{}.{name}", self.key),
            problem: problem.into(),
        });
    }

    /// Refuses every name but these.
    pub fn only(&self, known: &[&str]) {
        for name in self.table.keys() {
            if !known.contains(&name.as_str()) {
                self.wrong(name, unknown(name, known));
            }
        }
    }

    /// Whether anything stands there.
    pub fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// All its values.
    pub fn each(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.table
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let value = self.table.get(name)?;
        let text = value.as_str();
        if text.is_none() {
            self.wrong(name, not("a text in quotes", value));
        }
        text
    }

    /// A list of texts.
    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        let value = self.table.get(name)?;
        let texts = value.as_array().and_then(|all| {
            let text = |v: &Value| v.as_str().map(str::to_owned);
            all.iter().map(text).collect()
        });
        if texts.is_none() {
            self.wrong(name, not("a list of texts", value));
        }
        texts
    }

    /// A table in this one.
    pub fn table(&self, name: &str) -> Option<Keys<'a>> {
        let value = self.table.get(name)?;
        let Some(table) = value.as_table() else {
            self.wrong(name, not("a table", value));
            return None;
        };
        Some(Keys::new(
            table,
            &format!("{}.{name}", self.key),
            self.errors,
        ))
    }

    /// A list of tables, each with its place in it.
    pub fn tables(&self, name: &str) -> Option<Vec<Keys<'a>>> {
        let value = self.table.get(name)?;
        let tables = value.as_array().and_then(|all| {
            let tables = all.iter().map(Value::as_table);
            tables.collect::<Option<Vec<_>>>()
        });
        let Some(tables) = tables else {
            self.wrong(name, not("a list of tables", value));
            return None;
        };
        let keys = tables.into_iter().enumerate().map(|(at, table)| {
            let key = format!("{}.{name}[{at}]", self.key);
            Keys::new(table, &key, self.errors)
        });
        Some(keys.collect())
    }

    /// Yes or no.
    pub fn flag(&self, name: &str) -> Option<bool> {
        let value = self.table.get(name)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.wrong(name, not("true or false", value));
        }
        flag
    }

    /// One of some words.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let given = self.text(name)?;
        let found = words.iter().find(|(word, _)| *word == given);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.wrong(name, unknown(given, &known));
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// A figure with its unit, between two bounds.
    pub fn figure(&self, name: &str, unit: LimitUnit, least: u64, most: u64) -> Option<u64> {
        let figure = self.quantity(name, self.table.get(name)?, unit)?;
        if (least..=most).contains(&figure) {
            return Some(figure);
        }
        let (given, least, most) = (unit.format(figure), unit.format(least), unit.format(most));
        self.wrong(name, format!("{given} is not between {least} and {most}"));
        None
    }

    /// What a value says in a unit. A bare number is read as its text, so that the refusal of a
    /// size without a unit says what would be right.
    pub fn quantity(&self, name: &str, value: &Value, unit: LimitUnit) -> Option<u64> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            other => {
                self.wrong(name, not("a number, or a text with a unit", other));
                return None;
            }
        };
        unit.parse(&text)
            .map_err(|e| self.wrong(name, e.to_string()))
            .ok()
    }
}

fn not(wanted: &str, value: &Value) -> String {
    let kind = match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    };
    format!("it must be {wanted}, not {kind}")
}

/// What is said about a word that is not known: the one that was probably meant, or all of them.
pub fn unknown(given: &str, known: &[&str]) -> String {
    let shown: String = given
        .chars()
        .take(64)
        .flat_map(char::escape_debug)
        .collect();
    let near = known
        .iter()
        .map(|word| (distance(given, word), *word))
        .min()
        .filter(|(steps, word)| *steps <= 1 + word.len() / 4);
    match near {
        Some((_, word)) => format!("`{shown}` is not known here; did you mean `{word}`?"),
        None => format!(
            "`{shown}` is not known here; there are `{}`",
            known.join("`, `")
        ),
    }
}

/// How many letters must be changed, added, dropped or swapped with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut above_that: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut steps = (above[j - 1] + changed)
                .min(above[j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                steps = steps.min(above_that[j - 2] + 1);
            }
            row.push(steps);
        }
        above_that = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, steps) in [
            ("memory", "memory", 0),
            ("memroy", "memory", 1),
            ("memor", "memory", 1),
            ("", "wall", 4),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), steps, "{a} {b}");
        }
    }

    #[test]
    fn a_near_word_is_suggested_and_else_all_are_named() {
        assert_eq!(
            unknown("memroy", &["cpus", "memory"]),
            "`memroy` is not known here; did you mean `memory`?"
        );
        assert_eq!(
            unknown("\u{1b}x", &["cpus", "memory"]),
            "`\\u{1b}x` is not known here; there are `cpus`, `memory`"
        );
    }
}
