//! Which words may a rule say of itself, and what are they worth?

use super::{OWN, RulesError};
use crate::Severity;
use boreal::MetadataValue;
use boreal::scanner::Scanner;

/// The words of `severity`.
const SEVERITIES: [&str; 4] = ["info", "active", "suspicious", "malicious"];
/// The words of `shown_in`.
const SHOWN_IN: [&str; 3] = ["code", "json", "text"];

/// Whether each rule says in words that are known what a hit is worth, under a name of its own.
pub(super) fn sound(scanner: &Scanner) -> Result<(), RulesError> {
    let is_own = |source: &str| OWN.iter().any(|(name, _)| *name == source);
    let (own, others): (Vec<_>, Vec<_>) = scanner.rules().partition(|rule| is_own(rule.namespace));
    for rule in own.iter().chain(&others) {
        let source_name = || rule.namespace.to_owned();
        let name = || rule.name.to_owned();
        for meta in rule.metadatas {
            let (text, got) = match meta.value {
                MetadataValue::Bytes(value) => {
                    let text = String::from_utf8_lossy(scanner.get_bytes_symbol(value));
                    let got = format!("`{text}`");
                    (Some(text.into_owned()), got)
                }
                MetadataValue::Integer(figure) => (None, format!("the number {figure}")),
                MetadataValue::Boolean(word) => (None, format!("the truth value {word}")),
            };
            let (key, words) = match scanner.get_string_symbol(meta.name) {
                "severity" => ("severity", SEVERITIES.as_slice()),
                "shown_in" => ("shown_in", SHOWN_IN.as_slice()),
                "message" if text.is_none() => {
                    return Err(RulesError::Message {
                        source_name: source_name(),
                        rule: name(),
                        got,
                    });
                }
                _ => continue,
            };
            if !text.is_some_and(|text| words.contains(&&*text)) {
                let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                return Err(RulesError::Meta {
                    source_name: source_name(),
                    rule: name(),
                    key,
                    got,
                    allowed: words.join(", "),
                });
            }
        }
    }
    match others
        .iter()
        .find(|rule| own.iter().any(|own| own.name == rule.name))
    {
        Some(rule) => Err(RulesError::Named {
            source_name: rule.namespace.to_owned(),
            rule: rule.name.to_owned(),
        }),
        None => Ok(()),
    }
}

/// An unknown word counts as the worst.
pub(super) fn severity(word: &str) -> Severity {
    match word {
        "info" => Severity::Info,
        "active" => Severity::Active,
        "suspicious" => Severity::Suspicious,
        _ => Severity::Malicious,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rules;
    use crate::shown::Among;

    #[test]
    fn a_meta_that_is_not_known_refuses_the_set() {
        let with = |name: &str, meta: &str| {
            let source = format!("rule {name} {{ meta: {meta} condition: filesize == 3 }}");
            Rules::with([("own/a.yar", &*source)]).map_err(|error| error.to_string())
        };
        let severities = "`info`, `active`, `suspicious`, `malicious`";
        let places = "`code`, `json`, `text`";
        for (meta, told) in [
            (
                "severity = \"high\"",
                format!("`severity` must be one of {severities}; it is `high`"),
            ),
            (
                "severity = \"Malicious\"",
                format!("must be one of {severities}; it is `Malicious`"),
            ),
            ("severity = 3", "it is the number 3".to_owned()),
            (
                "shown_in = \"log\"",
                format!("`shown_in` must be one of {places}; it is `log`"),
            ),
            ("shown_in = true", "it is the truth value true".to_owned()),
            (
                "message = 1",
                "`message` must be a text; it is the number 1".to_owned(),
            ),
        ] {
            let error = with("mine", meta).expect_err(meta);
            assert!(error.contains("own/a.yar: rule `mine`: "), "{error}");
            assert!(error.contains(&told), "{error}");
        }
        for severity in SEVERITIES {
            for shown_in in SHOWN_IN {
                let meta =
                    format!("author = 1 severity = \"{severity}\" shown_in = \"{shown_in}\"");
                with("mine", &meta).expect("these are known");
                assert!(Among::of(shown_in).is_some());
            }
        }
        let error = with("eicar_at_start", "message = \"m\"").expect_err("it is ours");
        assert!(
            error.contains("own/a.yar: rule `eicar_at_start`: a rule of our own"),
            "{error}"
        );
    }
}
