//! What is said of what a program printed, and which lines of it must not be shown?
//!
//! A stream is shown as text and kept as text, so that secrets are what can leave by it.

use crate::bytes::count;
use crate::check::secrets;
use crate::proof::{Proof, Proofs, Secrets};
use crate::report::Facts;
use crate::{Budget, Kind, Notes, Policy, Report, Unscannable, text};
use std::ops::Range;
use std::panic::AssertUnwindSafe;

/// A stream's report, and the lines that hold a secret as it is.
#[derive(Debug)]
pub struct Passage {
    pub report: Report,
    /// Whole lines in bytes, in order and apart, without their line ends. Empty where nothing was
    /// found, or where cutting lines would not do.
    pub lines: Vec<Range<usize>>,
}

/// Searches a stream for secrets.
pub fn scan_stream(bytes: &[u8], policy: &Policy, budget: &mut Budget) -> Passage {
    let mut notes = Notes::default();
    let mut lines = Vec::new();
    budget.packed(count(bytes.len()));
    let searched = std::panic::catch_unwind(AssertUnwindSafe(|| {
        Proof::<Secrets>::of(|| {
            let decoded = text::decode(bytes, budget)?;
            let view = decoded.as_deref().map_or(bytes, str::as_bytes);
            let own = policy.own_secrets.as_deref();
            if let Some(own) = own {
                own.check(view, &mut notes, budget)?;
            }
            secrets::check(view, &mut notes, budget)?;
            // In a text that was decoded the lines are not where they are in the bytes.
            if notes.worst().is_some() && view == bytes {
                lines = secrets::lines(view, own);
            }
            Ok(())
        })
    }));
    let searched = searched.unwrap_or(Err(Unscannable::EngineError));
    let end = match budget.spent() {
        Some(spent) => searched.and(Err(spent)),
        None => searched,
    };
    let report = Report::conclude(
        Proofs::of_stream(end),
        Facts {
            kind: Kind::Text,
            ending: String::new(),
            bytes: count(bytes.len()),
            sha256: None,
            findings: notes.into_findings(),
        },
    );
    Passage { report, lines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Rules, Verdict};
    use std::sync::Arc;

    fn scanned(text: &str) -> Passage {
        let mut policy = Policy::standard(Rules::own());
        let own = secrets::Own::new(&["correct\nhorse"]).expect("one is not too many");
        policy.own_secrets = Some(Arc::new(own));
        scan_stream(
            text.as_bytes(),
            &policy,
            &mut Budget::new(Limits::default()),
        )
    }

    fn cut(text: &str) -> String {
        let passage = scanned(text);
        let mut kept = text.to_owned();
        for line in passage.lines.into_iter().rev() {
            kept.replace_range(line, "-");
        }
        kept
    }

    #[test]
    fn whole_lines_are_cut_and_what_is_left_is_clean() {
        let body = "MIIEpAIBAAKCAQEA7bq3Zk9wXc2vRtYu8sPq1LmNoXhGfDsAeW5T6yUj";
        let pem = format!(
            "start\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n\
             -----END RSA PRIVATE KEY-----\nend\n"
        );
        let token = format!("a\nkey=ghp_{}\nb", "x9K2mQ7vB4nR8tW1pL5j".repeat(2));
        for (text, left) in [
            (pem.as_str(), "start\n-\nend\n"),
            (token.as_str(), "a\n-\nb"),
            ("a\nit is correct\nhorse here\nb", "a\n-\nb"),
        ] {
            assert_eq!(
                scanned(text).report.verdict(),
                Verdict::Suspicious,
                "{text}"
            );
            assert_eq!(cut(text), left);
            assert_eq!(scanned(left).report.verdict(), Verdict::Clean);
        }
    }

    #[test]
    fn a_key_without_an_end_takes_the_rest() {
        let body = "MIIEpAIBAAKCAQEA7bq3Zk9wXc2vRtYu8sPq1LmNoXhGfDsAeW5T6yUj";
        let text = format!("a\n-----BEGIN PRIVATE KEY-----\n{body}\n{body}");
        assert_eq!(cut(&text), "a\n-");
    }

    #[test]
    fn plain_text_is_clean_and_no_time_is_no_answer() {
        assert_eq!(scanned("hello\n").report.verdict(), Verdict::Clean);
        let limits = Limits {
            wall: std::time::Duration::ZERO,
            ..Limits::default()
        };
        let policy = Policy::standard(Rules::own());
        let long = "a line\n".repeat(20_000);
        let passage = scan_stream(long.as_bytes(), &policy, &mut Budget::new(limits));
        assert_eq!(passage.report.verdict(), Verdict::Unscannable);
    }
}
