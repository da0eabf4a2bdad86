//! Is this JSON that means one thing only, and little enough to be held?
//!
//! `serde_json` keeps the last of two fields of one name and nests 128 deep; here both are refused,
//! with a pointer to the place.

use crate::pointer;
use crate::refusal::Refusal;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::RefCell;

/// How deep a message may nest; the outermost object is the first.
pub const DEPTH_MAX: usize = 32;
/// How many values a message may hold: what bounds the memory that 8 MiB of `0,0,0` would take.
pub const VALUES_MAX: usize = 100_000;

/// What is allowed where a message is no JSON at all.
pub(crate) const JSON_WANTED: &str = "a JSON object in UTF-8";

/// Reads one JSON value.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Refusal> {
    let state = RefCell::new(State::default());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict::new(&state, 1)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let State { found, tokens, .. } = state.into_inner();
    match (value, found) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(found)) => Err(found.refusal(&tokens)),
        (Err(error), None) => Err(Refusal::bad(
            "",
            not_json(bytes, &error),
            format!("{} bytes", bytes.len()),
            JSON_WANTED,
        )),
    }
}

/// What an editor does to a text is told apart from a slip in it.
fn not_json(bytes: &[u8], error: &serde_json::Error) -> String {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return "the message begins with a byte order mark; save it as UTF-8 without one".into();
    }
    if let Err(utf8) = std::str::from_utf8(bytes) {
        let at = utf8.valid_up_to();
        return format!("the message is not UTF-8: byte {at} of it; save it as UTF-8");
    }
    let (line, column) = (error.line(), error.column());
    format!("the message is not JSON: line {line}, column {column}")
}

/// What was found, and on the way out the tokens that lead to it, the last first.
#[derive(Default)]
struct State {
    values: usize,
    found: Option<Found>,
    tokens: Vec<String>,
}

#[derive(Clone, Copy)]
enum Found {
    TooDeep,
    TooMany,
    Twice,
}

impl Found {
    fn refusal(self, tokens: &[String]) -> Refusal {
        let at = tokens
            .iter()
            .rev()
            .fold(String::new(), |at, token| pointer::child(&at, token));
        match self {
            Self::TooDeep => Refusal::bad(
                at,
                format!("the message nests deeper than {DEPTH_MAX}"),
                format!("depth {}", DEPTH_MAX + 1),
                format!("a depth of at most {DEPTH_MAX}"),
            )
            .too_large(),
            Self::TooMany => Refusal::bad(
                "",
                format!("the message holds more than {VALUES_MAX} values"),
                format!("more than {VALUES_MAX} values"),
                format!("at most {VALUES_MAX} values"),
            )
            .too_large(),
            Self::Twice => Refusal::bad(
                &at,
                format!("the field `{}` stands there twice", at.escape_debug()),
                "two fields of one name",
                "one field of each name",
            ),
        }
    }
}

struct Strict<'s> {
    state: &'s RefCell<State>,
    depth: usize,
}

impl<'s> Strict<'s> {
    fn new(state: &'s RefCell<State>, depth: usize) -> Self {
        Self { state, depth }
    }

    fn stop<E: Error>(&self, found: Found) -> E {
        self.state.borrow_mut().found = Some(found);
        E::custom("refused")
    }

    /// Remembers by which token an error came out of a container.
    fn through<E>(&self, token: impl FnOnce() -> String) -> impl FnOnce(E) -> E {
        move |error| {
            let mut state = self.state.borrow_mut();
            if state.found.is_some() {
                state.tokens.push(token());
            }
            error
        }
    }

    fn inner(&self) -> Self {
        Self::new(self.state, self.depth + 1)
    }

    fn may_nest<E: Error>(&self) -> Result<(), E> {
        if self.depth > DEPTH_MAX {
            return Err(self.stop(Found::TooDeep));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let values = {
            let mut state = self.state.borrow_mut();
            state.values += 1;
            state.values
        };
        if values > VALUES_MAX {
            return Err(self.stop(Found::TooMany));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.may_nest()?;
        let mut list = Vec::new();
        loop {
            let at = list.len();
            match access
                .next_element_seed(self.inner())
                .map_err(self.through(|| at.to_string()))?
            {
                Some(value) => list.push(value),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.may_nest()?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                let error = self.stop(Found::Twice);
                return Err(self.through(|| key)(error));
            }
            let value = access
                .next_value_seed(self.inner())
                .map_err(self.through(|| key.clone()))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::RefusalReason;

    fn refused(text: &str) -> Refusal {
        parse(text.as_bytes()).expect_err("to be refused")
    }

    #[test]
    fn json_is_read_as_serde_json_reads_it() {
        let text = r#"{"a": [1, -2, 0.5, true, null, "ä\n"], "b": {"c": {}}}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(parse(text.as_bytes()), Ok(value));
    }

    #[test]
    fn a_field_that_stands_twice_is_refused_where_it_stands() {
        let refusal = refused(r#"{"a": [{"b/c": 1, "b/c": 2}]}"#);
        assert_eq!(refusal.pointer, "/a/0/b~1c");
    }

    #[test]
    fn the_depth_is_bounded() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
        let refusal = refused(&nested(DEPTH_MAX + 1));
        assert_eq!(refusal.reason, RefusalReason::TooLarge);
        assert_eq!(refusal.pointer, "/0".repeat(DEPTH_MAX));
        assert_eq!(refused(&nested(100_000)).reason, RefusalReason::TooLarge);
    }

    #[test]
    fn the_values_are_bounded() {
        let many = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
        assert!(parse(many(VALUES_MAX).as_bytes()).is_ok());
        assert_eq!(
            refused(&many(VALUES_MAX + 1)).reason,
            RefusalReason::TooLarge
        );
    }

    #[test]
    fn what_is_not_json_is_refused_without_quoting_it() {
        for text in [
            "",
            "{",
            "{} {}",
            "{'a': 1}",
            "{\"a\": NaN}",
            "[1,]",
            "\"\\ud800\"",
        ] {
            let refusal = refused(text);
            assert_eq!(refusal.reason, RefusalReason::BadJob);
            assert!(refusal.message.starts_with("the message is not JSON"));
        }
        assert!(parse(b"\"\xff\"").is_err());
    }
}
