//! What is believed of an answer: only what fits the question.
//!
//! A [`Word`] is the scanner's word on one thing. `clean` stands in it only where a process that
//! scans said so of exactly these bytes; everything else that can happen to a question is
//! [`Word::unscannable`].

use super::wire::{Heard, HeardReport, Kind, LINES_MAX};
use artifact_scanner::{Limits, Serve, Unscannable, Verdict};
use kiln_protocol::outcome::{Finding, Verdict as Told};
use kiln_protocol::units::format_size;
use std::ops::Range;

/// The word on one file or stream, with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    verdict: Verdict,
    reason: Option<String>,
    media_type: String,
    serve: Option<Serve>,
    findings: Vec<Finding>,
    lines: Vec<Range<usize>>,
    by: Option<String>,
}

/// What was asked, as far as an answer must fit it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) seq: u64,
    pub(crate) index: usize,
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    /// Of a file.
    pub(crate) sha256: Option<&'a str>,
}

impl Word {
    /// The word of an answer; `None` where it is no answer to this question.
    pub(crate) fn heard(bytes: &[u8], asked: Asked<'_>) -> Option<Self> {
        let heard: Heard = serde_json::from_slice(bytes).ok()?;
        let Heard {
            seq,
            index,
            report,
            lines,
        } = heard;
        let fits = seq == asked.seq
            && index == asked.index
            && report.bytes == asked.bytes
            && sound(&report)
            && lines_fit(&lines, asked);
        // Whoever read other bytes, or not all of them, has not looked at these.
        let same = match (asked.kind, &report.sha256) {
            (Kind::File, Some(sha256)) => asked.sha256 == Some(sha256),
            (Kind::File, None) => report.verdict == Verdict::Unscannable,
            (Kind::Stream, sha256) => sha256.is_none(),
        };
        (fits && same).then(|| Self {
            verdict: report.verdict,
            reason: report.unscannable_reason,
            media_type: report.media_type,
            serve: report.serve,
            findings: report.findings.into_iter().map(placed).collect(),
            lines,
            by: None,
        })
    }

    /// The word where there is none.
    #[must_use]
    pub fn unscannable(reason: Unscannable) -> Self {
        Self {
            verdict: Verdict::Unscannable,
            reason: Some(reason.word().to_owned()),
            media_type: "application/octet-stream".to_owned(),
            serve: None,
            findings: Vec::new(),
            lines: Vec::new(),
            by: None,
        }
    }

    /// The word on a stream without a byte: nothing can be in it.
    pub(crate) fn nothing() -> Self {
        Self {
            verdict: Verdict::Clean,
            reason: None,
            media_type: "text/plain; charset=utf-8".to_owned(),
            serve: None,
            findings: Vec::new(),
            lines: Vec::new(),
            by: None,
        }
    }

    /// A word that a test chooses.
    #[cfg(test)]
    pub(crate) fn for_test(verdict: Verdict) -> Self {
        Self {
            verdict,
            media_type: "text/csv".to_owned(),
            ..Self::nothing()
        }
    }

    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The verdict as the contract says it.
    pub fn told(&self) -> Told {
        told(self.verdict)
    }

    /// Why, where the verdict is `unscannable`.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    pub fn serve(&self) -> Option<Serve> {
        self.serve
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The lines of a stream that hold a secret.
    pub(crate) fn lines(&self) -> &[Range<usize>] {
        &self.lines
    }

    /// Whether it holds for these bytes whenever they are looked at again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        let passing = [Unscannable::Timeout, Unscannable::EngineError];
        let reason = self.reason.as_deref();
        !passing.iter().any(|passing| reason == Some(passing.word()))
    }

    /// In one clause, for people: why it was not scanned, the worst finding, and the row that
    /// decides where that is a reason of its own.
    pub fn why(&self) -> String {
        let unscanned = self.unscanned();
        let worst = self.findings.first().map(|worst| match &worst.place {
            Some(place) => format!("{} [{place}]", worst.message),
            None => worst.message.clone(),
        });
        let parts = [unscanned, worst, self.by.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Why there is no word on it, where there is none, with the limit's size.
    pub fn unscanned(&self) -> Option<String> {
        let reason = self.reason.as_deref()?;
        Some(format!("it could not be scanned: {}", explained(reason)))
    }

    /// By which row it is kept in, where that is a reason of its own.
    pub fn by(&self) -> Option<&str> {
        self.by.as_deref()
    }

    /// The same word, with what the table has to say.
    pub(super) fn decided(&mut self, by: Option<String>) {
        self.by = by;
    }

    /// The word of two engines: the worse, with what both found.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        let worse = self.verdict.and(other.verdict);
        if worse == self.verdict {
            self.findings.extend(other.findings);
        } else {
            self.reason = other.reason;
            self.serve = None;
            self.findings.splice(0..0, other.findings);
        }
        self.verdict = worse;
        self
    }

    /// The word of an engine that knows what it found.
    pub(crate) fn found(finding: Finding) -> Self {
        Self {
            verdict: Verdict::Malicious,
            reason: None,
            ..Self::unscannable(Unscannable::EngineError)
        }
        .with(finding)
    }

    /// The same word, and what it rests on.
    pub(crate) fn with(mut self, finding: Finding) -> Self {
        self.findings.push(finding);
        self
    }
}

/// Whether a report's parts agree.
fn sound(report: &HeardReport) -> bool {
    let plain = |b: u8| b.is_ascii_graphic() || b == b' ';
    let media = &report.media_type;
    let reasons = match report.verdict {
        Verdict::Unscannable => report.unscannable_reason.is_some(),
        Verdict::Clean | Verdict::Active | Verdict::Suspicious | Verdict::Malicious => {
            report.unscannable_reason.is_none()
        }
        Verdict::Unscanned => false,
    };
    let served = report.serve.is_none() || report.verdict <= Verdict::Active;
    // What is worse than clean has a finding that says so.
    let told = match report.verdict {
        Verdict::Clean | Verdict::Unscannable | Verdict::Unscanned => true,
        Verdict::Active | Verdict::Suspicious | Verdict::Malicious => !report.findings.is_empty(),
    };
    reasons && served && told && media.len() <= 100 && media.bytes().all(plain)
}

/// Whether lines are in order, apart, and within.
fn lines_fit(lines: &[Range<usize>], asked: Asked<'_>) -> bool {
    let size = usize::try_from(asked.bytes).unwrap_or(usize::MAX);
    let ordered = lines.windows(2).all(|pair| pair[0].end < pair[1].start);
    let within = lines
        .iter()
        .all(|line| line.start <= line.end && line.end <= size);
    let none = asked.kind == Kind::File && !lines.is_empty();
    lines.len() <= LINES_MAX && ordered && within && !none
}

fn placed(finding: Finding) -> Finding {
    Finding {
        place: finding.place.filter(|place| !place.is_empty()),
        ..finding
    }
}

/// A verdict as the contract says it.
pub(super) fn told(verdict: Verdict) -> Told {
    match verdict {
        Verdict::Clean => Told::Clean,
        Verdict::Active => Told::Active,
        Verdict::Suspicious => Told::Suspicious,
        Verdict::Malicious => Told::Malicious,
        Verdict::Unscannable => Told::Unscannable,
        Verdict::Unscanned => Told::Unscanned,
    }
}

/// A reason, with what it means.
fn explained(reason: &str) -> String {
    let limits = Limits::default();
    let means = match reason {
        "encrypted" => "it cannot be read without a key".to_owned(),
        "corrupt" => "it is not what its first bytes or its name say, or ends early".to_owned(),
        "limit:size" => format!("it has more than {}", format_size(limits.size_bytes)),
        "limit:unpacked" => {
            format!(
                "it unpacks to more than {}",
                format_size(limits.unpacked_bytes)
            )
        }
        "limit:memory" => format!(
            "one piece of it unpacks to more than {}",
            format_size(limits.member_bytes)
        ),
        "timeout" => "the time was up".to_owned(),
        "engine_error" => "a check did not finish".to_owned(),
        "unsupported" => "nothing here reads its type".to_owned(),
        _ => return reason.to_owned(),
    };
    format!("{reason}, {means}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const SHA: &str = "ab";

    fn answer() -> Value {
        json!({
            "seq": 1, "index": 0, "lines": [],
            "report": {
                "verdict": "clean", "unscannable_reason": null, "media_type": "text/csv",
                "serve": "attachment", "bytes": 4, "sha256": SHA, "findings": [],
            },
        })
    }

    fn heard(answer: &Value, kind: Kind) -> Option<Word> {
        let asked = Asked {
            seq: 1,
            index: 0,
            kind,
            bytes: 4,
            sha256: Some(SHA),
        };
        Word::heard(answer.to_string().as_bytes(), asked)
    }

    #[test]
    fn an_answer_that_fits_is_believed() {
        let word = heard(&answer(), Kind::File).expect("it fits");
        assert_eq!(
            (word.verdict(), word.media_type()),
            (Verdict::Clean, "text/csv")
        );
        assert!(word.is_final());
    }

    #[test]
    fn an_answer_that_does_not_fit_is_none() {
        for (pointer, value) in [
            ("/seq", json!(2)),
            ("/index", json!(1)),
            ("/report/bytes", json!(5)),
            ("/report/sha256", json!("cd")),
            ("/report/sha256", Value::Null),
            ("/report/verdict", json!("unscanned")),
            ("/report/verdict", json!("spotless")),
            ("/report/verdict", json!("active")),
            ("/report/verdict", json!("unscannable")),
            ("/report/unscannable_reason", json!("corrupt")),
            ("/report/media_type", json!("text/html\r\nX: y")),
            ("/lines", json!([{"start": 0, "end": 1}])),
        ] {
            let mut wrong = answer();
            *wrong.pointer_mut(pointer).expect("a field") = value;
            assert_eq!(heard(&wrong, Kind::File), None, "{pointer}");
        }
        let whole = answer().to_string();
        let asked = Asked {
            seq: 1,
            index: 0,
            kind: Kind::File,
            bytes: 4,
            sha256: Some(SHA),
        };
        for cut in 0..whole.len() {
            assert_eq!(Word::heard(&whole.as_bytes()[..cut], asked), None, "{cut}");
        }
    }

    #[test]
    fn lines_are_those_of_the_stream() {
        let with = |lines: Value| {
            let mut answer = answer();
            answer["report"]["sha256"] = Value::Null;
            answer["lines"] = lines;
            heard(&answer, Kind::Stream)
        };
        assert!(with(json!([{"start": 0, "end": 1}, {"start": 2, "end": 4}])).is_some());
        for wrong in [
            json!([{"start": 0, "end": 5}]),
            json!([{"start": 3, "end": 1}]),
            json!([{"start": 2, "end": 3}, {"start": 0, "end": 1}]),
        ] {
            assert_eq!(with(wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn what_did_not_finish_is_not_final() {
        for (reason, lasts) in [
            (Unscannable::EngineError, false),
            (Unscannable::Timeout, false),
            (Unscannable::Corrupt, true),
        ] {
            assert_eq!(Word::unscannable(reason).is_final(), lasts, "{reason}");
        }
    }

    #[test]
    fn why_it_was_not_scanned_is_said_with_the_limit_and_what_else_is_known() {
        let large = Word::unscannable(Unscannable::Limit(artifact_scanner::Limit::Size));
        let why = "it could not be scanned: limit:size, it has more than 100 MiB";
        assert_eq!(large.why(), why);
        let away = Word::unscannable(Unscannable::EngineError).with(Finding {
            rule: "clamd.failed".to_owned(),
            severity: "info".to_owned(),
            place: None,
            message: "clamd gave no verdict".to_owned(),
        });
        let why = "it could not be scanned: engine_error, a check did not finish; clamd gave no \
                   verdict";
        assert_eq!(away.why(), why);
        assert_eq!(Word::for_test(Verdict::Clean).unscanned(), None);
    }
}
