//! Which YARA rules a scan runs, and what their hits mean.
//!
//! A rule's `meta` says what a hit is worth: `severity` (`info`, `active`, `suspicious`,
//! `malicious`; `suspicious` where it is absent) and `message`, a sentence; `shown_in`, of which texts
//! a hit counts only as far as they are carried out: `code`, the listings of a document; `json`, those
//! and strings of JSON; `text`, any text to read. A source that does not compile, or compiles with a
//! warning, is refused as a whole: no rule is lost in silence. So is one with a word in `meta` that
//! is none of these, or a rule that is called as one of ours: a hit of it would be told as ours.

mod meta;

use crate::shown::{Among, Shown};
use crate::{Budget, Notes, Severity, Unscannable};
use boreal::compiler::CompilerParams;
use boreal::scanner::{ScanParams, Scanner};
use boreal::{Compiler, MetadataValue};
use meta::{severity, sound};
use std::fmt;
use std::time::Duration;

/// The rules that come with this crate.
const OWN: &[(&str, &str)] = &[
    ("eicar.yar", include_str!("../rules/eicar.yar")),
    ("scripts.yar", include_str!("../rules/scripts.yar")),
    ("polyglots.yar", include_str!("../rules/polyglots.yar")),
    ("data.yar", include_str!("../rules/data.yar")),
    ("objects.yar", include_str!("../rules/objects.yar")),
];

/// A set of rules, ready to run; clones share it.
#[derive(Clone)]
pub struct Rules {
    scanner: Scanner,
    count: usize,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({})", self.count)
    }
}

/// Why a set of rules is refused, by the name of its source.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// `<name>:<line>:<column>: <what>`.
    #[error("compile the rules: {problem}")]
    Compile { problem: String },
    #[error(
        "check the rules: {source_name}: rule `{rule}`: `{key}` must be one of {allowed}; it is {got}"
    )]
    Meta {
        source_name: String,
        rule: String,
        key: &'static str,
        got: String,
        allowed: String,
    },
    #[error("check the rules: {source_name}: rule `{rule}`: `message` must be a text; it is {got}")]
    Message {
        source_name: String,
        rule: String,
        got: String,
    },
    #[error(
        "check the rules: {source_name}: rule `{rule}`: a rule of our own has this name; give it another"
    )]
    Named { source_name: String, rule: String },
}

impl Rules {
    /// Our own rules alone.
    ///
    /// # Panics
    ///
    /// Never: they are compiled in, and a test compiles them.
    #[must_use]
    pub fn own() -> Self {
        Self::with(std::iter::empty()).expect("our own rules compile")
    }

    /// Our own rules and those of an operator, as (name, source).
    ///
    /// # Errors
    ///
    /// A source does not compile without a warning, has a word in `meta` that is not known, or a
    /// rule with the name of one of ours.
    pub fn with<'a>(
        sources: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, RulesError> {
        let mut compiler = Compiler::new();
        // A source is whole by itself: what is checked is what runs.
        compiler.set_params(CompilerParams::default().disable_includes(true));
        let own = OWN.iter().copied();
        for (name, source) in own.chain(sources) {
            // The compiler says `mem:<line>:<column>: ...` of what comes from memory.
            let refuse = |problem: String| RulesError::Compile {
                problem: match problem.strip_prefix("mem:") {
                    Some(rest) => format!("{name}:{rest}"),
                    None => format!("{name}: {problem}"),
                },
            };
            let status = compiler
                .add_rules_str_in_namespace(source, name)
                .map_err(|error| refuse(error.to_string()))?;
            if let Some(warning) = status.warnings().next() {
                return Err(refuse(warning.to_string()));
            }
        }
        let scanner = compiler.finalize();
        sound(&scanner)?;
        let count = scanner.rules().count();
        Ok(Self { scanner, count })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Runs them over one view, of which `shown` tells what is shown alone.
    pub(crate) fn run(
        &self,
        view: &[u8],
        shown: &Shown<'_>,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        let mut hits = self.hits(view, budget)?;
        for among in [Among::Code, Among::Json, Among::Text] {
            if !hits.iter().any(|hit| hit.among == Some(among)) {
                continue;
            }
            let Some(rest) = shown.without(among, budget)? else {
                continue;
            };
            let still = self.hits(rest.as_bytes(), budget)?;
            let stands = |hit: &Hit| still.iter().any(|still| still.rule == hit.rule);
            for hit in &mut hits {
                if hit.among == Some(among) && !stands(hit) {
                    hit.severity = hit.severity.min(Severity::Info);
                }
            }
        }
        for hit in hits {
            let is_shown = hit.severity == Severity::Info && hit.among.is_some();
            let how = if is_shown {
                ", which is only shown"
            } else {
                ""
            };
            notes.find(
                "rules.match",
                hit.severity,
                "",
                format!("{}{how} (rule `{}`)", hit.message, hit.rule),
            );
        }
        Ok(())
    }

    fn hits(&self, view: &[u8], budget: &mut Budget) -> Result<Vec<Hit>, Unscannable> {
        budget.charge(crate::bytes::count(view.len()) + 1)?;
        let left = budget.left();
        if left == Duration::ZERO {
            return Err(Unscannable::Timeout);
        }
        let mut scanner = self.scanner.clone();
        scanner.set_scan_params(
            ScanParams::default()
                .timeout_duration(Some(left))
                .string_max_nb_matches(16),
        );
        let result = scanner.scan_mem(view).map_err(|(error, _)| match error {
            boreal::scanner::ScanError::Timeout => Unscannable::Timeout,
            _ => Unscannable::EngineError,
        })?;
        let hits = result.rules.iter().map(|rule| {
            let mut hit = Hit {
                rule: rule.name.to_owned(),
                severity: Severity::Suspicious,
                message: "a rule matched".to_owned(),
                among: None,
            };
            for meta in rule.metadatas {
                let MetadataValue::Bytes(value) = meta.value else {
                    continue;
                };
                let value = String::from_utf8_lossy(scanner.get_bytes_symbol(value));
                match scanner.get_string_symbol(meta.name) {
                    "severity" => hit.severity = severity(&value),
                    "message" => hit.message = value.into_owned(),
                    "shown_in" => hit.among = Among::of(&value),
                    _ => {}
                }
            }
            hit
        });
        Ok(hits.collect())
    }
}

/// One rule that matched, by what its `meta` says.
struct Hit {
    rule: String,
    severity: Severity,
    message: String,
    among: Option<Among>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[track_caller]
    fn check(view: &[u8], expected: Option<Severity>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        Rules::own()
            .run(view, &Shown::NOTHING, &mut notes, &mut budget)
            .expect("runs");
        assert_eq!(notes.worst(), expected, "{:?}", notes.findings());
    }

    /// The test string, in two pieces, so that no virus scanner takes this file.
    fn eicar() -> Vec<u8> {
        [
            r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR",
            "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*",
        ]
        .concat()
        .into_bytes()
    }

    #[test]
    fn the_test_string_counts_where_its_definition_says() {
        check(&eicar(), Some(Severity::Malicious));
        check(
            &[b"a,b\n", eicar().as_slice()].concat(),
            Some(Severity::Suspicious),
        );
        check(b"a,b\n1,2\n", None);
    }

    #[test]
    fn a_broken_rule_refuses_the_set() {
        for (source, told) in [
            ("rule a { condition: nothing }", "own/a.yar:1:"),
            ("\nrule a {", "own/a.yar:2:"),
            ("include \"b.yar\"", "own/a.yar:1:"),
        ] {
            let error = Rules::with([("own/a.yar", source)]).expect_err(source);
            assert!(error.to_string().contains(told), "{error}");
        }
        let own = Rules::own().count();
        let rule = "rule a { strings: $a = \"needle\" condition: $a }";
        let rules = Rules::with([("a", rule)]).expect("sound");
        assert_eq!(rules.count(), own + 1);
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        rules
            .run(b"a needle", &Shown::NOTHING, &mut notes, &mut budget)
            .expect("runs");
        assert_eq!(notes.worst(), Some(Severity::Suspicious));
    }

    #[test]
    fn no_time_is_no_answer() {
        let mut budget = Budget::new(Limits {
            wall: Duration::ZERO,
            ..Limits::default()
        });
        let end = Rules::own().run(b"x", &Shown::NOTHING, &mut Notes::default(), &mut budget);
        assert_eq!(end, Err(Unscannable::Timeout));
    }
}
