//! What does the broker say differs, when it refuses a declaration?
//!
//! `PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received the
//! value '5000' of type 'signedint' but current is the value '1000' of type 'long'`, or `received
//! none`, `current is none`, or for what is no argument `received 'true' but current is 'false'`.

/// One difference.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) name: String,
    wanted: String,
    held: String,
    pub(super) current: Current,
}

/// What the broker holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Current {
    Integer(i64),
    Text(String),
    Nothing,
}

impl Difference {
    /// Takes the broker's text apart; none where it speaks of something else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("inequivalent arg '")?;
        let (name, rest) = rest.split_once("' for ")?;
        let (_, rest) = rest.split_once(": received ")?;
        let (wanted, held) = rest.rsplit_once(" but current is ")?;
        Some(Self {
            name: name.to_owned(),
            wanted: plain(wanted),
            held: plain(held),
            current: current(held),
        })
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        let Self {
            name, wanted, held, ..
        } = self;
        format!("`{name}` is {held}, wanted is {wanted}")
    }
}

/// `the value 'x' of type 't'` or `'x'` becomes `x` in backticks.
fn plain(text: &str) -> String {
    match value(text) {
        Some(value) => format!("`{value}`"),
        None => "none".to_owned(),
    }
}

fn value(text: &str) -> Option<&str> {
    let text = text.strip_prefix("the value ").unwrap_or(text);
    let text = text
        .rsplit_once(" of type ")
        .map_or(text, |(value, _)| value);
    text.strip_prefix('\'')?.strip_suffix('\'')
}

fn current(text: &str) -> Current {
    match value(text) {
        None => Current::Nothing,
        Some(value) => match value.parse() {
            Ok(number) if !text.ends_with("of type 'longstr'") => Current::Integer(number),
            _ => Current::Text(value.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(received: &str, current: &str) -> (String, Current) {
        let text = format!(
            "PRECONDITION_FAILED - inequivalent arg 'x-a' for queue 'q' in vhost '/': \
             received {received} but current is {current}"
        );
        let difference = Difference::parse(&text).expect("it says what differs");
        (difference.line(), difference.current)
    }

    #[test]
    fn each_form_becomes_one_line() {
        assert_eq!(
            line(
                "the value '5000' of type 'signedint'",
                "the value '1000' of type 'long'"
            ),
            (
                "`x-a` is `1000`, wanted is `5000`".to_owned(),
                Current::Integer(1000)
            )
        );
        assert_eq!(
            line("the value 'quorum' of type 'longstr'", "none"),
            (
                "`x-a` is none, wanted is `quorum`".to_owned(),
                Current::Nothing
            )
        );
        assert_eq!(
            line("none", "the value '7' of type 'longstr'"),
            (
                "`x-a` is `7`, wanted is none".to_owned(),
                Current::Text("7".to_owned())
            )
        );
        assert_eq!(
            line("'true'", "'false'").0,
            "`x-a` is `false`, wanted is `true`"
        );
    }

    #[test]
    fn another_text_is_no_difference() {
        assert_eq!(Difference::parse("PRECONDITION_FAILED - fast reply"), None);
        assert_eq!(Difference::parse(""), None);
    }
}
