//! What is said of one file in the end.

use crate::media::{self, Serve};
use crate::proof::Proofs;
use crate::{Finding, Kind, Limit, Severity, Unscannable, Verdict};
use serde::Serialize;

/// The word on one file, with its reasons.
///
/// It is made by [`crate::scan`] alone, and `clean` stands in it only where every engine finished:
///
/// ```compile_fail,E0451
/// # use artifact_scanner::{Report, Verdict};
/// fn whitewash(report: Report) -> Report {
///     Report { verdict: Verdict::Clean, ..report }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    verdict: Verdict,
    unscannable_reason: Option<Unscannable>,
    media_type: &'static str,
    serve: Option<Serve>,
    bytes: u64,
    sha256: Option<String>,
    findings: Vec<Finding>,
}

/// What is known of a file whatever its verdict.
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) ending: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: Option<String>,
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    /// Folds the end of a scan and its findings into the word.
    pub(crate) fn conclude(end: Result<Proofs, Unscannable>, facts: Facts) -> Self {
        let Facts {
            kind,
            ending,
            bytes,
            sha256,
            mut findings,
        } = facts;
        let floor = match end {
            Ok(_) => Verdict::Clean,
            Err(Unscannable::Limit(limit)) if limit.is_a_bombs() => {
                findings.push(bomb(limit));
                Verdict::Suspicious
            }
            Err(_) => Verdict::Unscannable,
        };
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
        findings.dedup();
        let verdict = findings
            .iter()
            .map(|finding| finding.severity.verdict())
            .fold(floor, Verdict::and);
        let media = media::of(kind, &ending);
        Self {
            verdict,
            unscannable_reason: match (verdict, end) {
                (Verdict::Unscannable, Err(reason)) => Some(reason),
                _ => None,
            },
            media_type: media.content_type,
            serve: media.serve(verdict),
            bytes,
            sha256,
            findings,
        }
    }

    /// The same word with no more than so many findings, the worst first, and no longer texts.
    #[must_use]
    pub fn shortened(mut self, findings_max: usize, text_bytes_max: usize) -> Self {
        let more = self.findings.len().saturating_sub(findings_max);
        self.findings.truncate(findings_max);
        for finding in &mut self.findings {
            cut(&mut finding.place, text_bytes_max);
            cut(&mut finding.message, text_bytes_max);
        }
        if more > 0 {
            self.findings.push(Finding {
                rule: "scan.more",
                severity: Severity::Info,
                place: String::new(),
                message: format!("{more} findings more are not listed"),
            });
        }
        self
    }

    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Why, where the verdict is [`Verdict::Unscannable`].
    pub fn unscannable_reason(&self) -> Option<Unscannable> {
        self.unscannable_reason
    }

    /// The content type to serve it under, from a table of our own.
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// How it may be served; nothing where it may not.
    pub fn serve(&self) -> Option<Serve> {
        self.serve
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// In lower-case hexadecimal digits; nothing where the file was too large to be read.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// The worst first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Limit {
    /// Whether only a bomb reaches it: then that is the finding, and more than a doubt.
    fn is_a_bombs(self) -> bool {
        match self {
            Self::Ratio | Self::Members | Self::Depth | Self::Nesting | Self::Pixels => true,
            Self::Size | Self::Unpacked | Self::Memory => false,
        }
    }
}

fn cut(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push_str("...");
    }
}

fn bomb(limit: Limit) -> Finding {
    let (rule, message) = match limit {
        Limit::Ratio => ("bomb.ratio", "unpacks to far more than its own size"),
        Limit::Members => ("bomb.members", "holds more members than are looked at"),
        Limit::Depth => (
            "bomb.depth",
            "holds containers within containers, deeper than is looked at",
        ),
        Limit::Nesting => (
            "bomb.nesting",
            "nests its elements deeper than is looked at",
        ),
        Limit::Pixels => ("bomb.pixels", "claims more pixels than are drawn"),
        Limit::Size | Limit::Unpacked | Limit::Memory => {
            ("bomb.size", "is larger than is looked at")
        }
    };
    Finding {
        rule,
        severity: Severity::Suspicious,
        place: String::new(),
        message: format!("the file {message}; the rest of it was not scanned"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(findings: Vec<Finding>) -> Facts {
        Facts {
            kind: Kind::Csv,
            ending: "csv".into(),
            bytes: 0,
            sha256: None,
            findings,
        }
    }

    fn finding(severity: Severity) -> Finding {
        Finding {
            rule: "a.b",
            severity,
            place: String::new(),
            message: String::new(),
        }
    }

    #[test]
    fn no_end_but_a_proof_is_clean() {
        use Unscannable::{Corrupt, Encrypted, EngineError, Limit as L, Timeout, Unsupported};
        let limits = [
            Limit::Size,
            Limit::Unpacked,
            Limit::Ratio,
            Limit::Members,
            Limit::Depth,
            Limit::Nesting,
            Limit::Pixels,
            Limit::Memory,
        ];
        let reasons = [Encrypted, Corrupt, Timeout, EngineError, Unsupported];
        for reason in reasons.into_iter().chain(limits.map(L)) {
            let report = Report::conclude(Err(reason), facts(Vec::new()));
            assert!(report.verdict() >= Verdict::Suspicious, "{reason}");
            assert_eq!(report.serve(), None, "{reason}");
        }
    }

    #[test]
    fn what_is_shortened_keeps_its_word_and_its_worst() {
        let mut all = vec![finding(Severity::Suspicious); 3];
        for (n, one) in all.iter_mut().enumerate() {
            one.message = format!("{n} {}", "ü".repeat(20));
        }
        all.push(finding(Severity::Malicious));
        let report = Report::conclude(Err(Unscannable::Corrupt), facts(all)).shortened(2, 10);
        assert_eq!(report.verdict(), Verdict::Malicious);
        let kept: Vec<_> = report.findings().iter().map(|one| one.severity).collect();
        let wanted = [Severity::Malicious, Severity::Suspicious, Severity::Info];
        assert_eq!(kept, wanted);
        assert_eq!(report.findings()[1].message, "0 üüüü...");
    }

    #[test]
    fn a_proven_evil_outranks_the_doubt() {
        let evil = vec![finding(Severity::Malicious)];
        let report = Report::conclude(Err(Unscannable::Corrupt), facts(evil));
        assert_eq!(report.verdict(), Verdict::Malicious);
        let odd = vec![finding(Severity::Suspicious)];
        let report = Report::conclude(Err(Unscannable::Corrupt), facts(odd));
        assert_eq!(report.verdict(), Verdict::Unscannable);
        assert_eq!(report.unscannable_reason(), Some(Unscannable::Corrupt));
    }
}
