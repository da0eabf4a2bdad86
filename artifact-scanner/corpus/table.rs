//! A labelled corpus: how it is read, scanned and summed up. Shared by the test and the example.

use artifact_scanner::{
    Budget, Limits, Policy, Report, Rules, Severity, Subject, Unscannable, Verdict, scan,
};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// One labelled file.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) expected: String,
    pub(crate) family: String,
    pub(crate) bytes: Vec<u8>,
}

/// The samples of the repository are stored so that no virus scanner takes them.
pub(crate) const MASK: u8 = 0xa5;

/// Reads `DIR/labels.tsv`, and the files from `DIR/files` by name or from `DIR/samples` by number.
pub(crate) fn read(dir: &Path) -> std::io::Result<Vec<Sample>> {
    let labels = std::fs::read_to_string(dir.join("labels.tsv"))?;
    let plain = dir.join("files");
    let mut samples = Vec::new();
    for (number, line) in labels.lines().skip(1).enumerate() {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_default();
        let (name, expected, family) = (unescape(field()), field().to_owned(), field().to_owned());
        let bytes = if plain.is_dir() {
            std::fs::read(plain.join(&name))?
        } else {
            let stored = std::fs::read(dir.join(format!("samples/{number:04}.x")))?;
            stored.iter().map(|byte| byte ^ MASK).collect()
        };
        samples.push(Sample {
            name,
            expected,
            family,
            bytes,
        });
    }
    Ok(samples)
}

fn unescape(name: &str) -> String {
    let mut parts = name.split("\\u");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(4);
        let code = u32::from_str_radix(code, 16).unwrap_or(0xfffd);
        out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
        out.push_str(rest);
    }
    out
}

/// What came of one sample.
pub(crate) struct Outcome {
    pub(crate) sample: Sample,
    pub(crate) report: Report,
    pub(crate) micros: u128,
}

impl Outcome {
    fn is_hostile(&self) -> bool {
        !matches!(self.sample.expected.as_str(), "clean" | "active")
    }

    fn is_blocked(&self) -> bool {
        !matches!(self.report.verdict(), Verdict::Clean | Verdict::Active)
    }

    pub(crate) fn is_exact(&self) -> bool {
        word(self.report.verdict()) == self.sample.expected
    }

    pub(crate) fn is_missed(&self) -> bool {
        self.is_hostile() && !self.is_blocked()
    }

    pub(crate) fn is_false(&self) -> bool {
        !self.is_hostile() && self.is_blocked()
    }
}

pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Clean => "clean",
        Verdict::Active => "active",
        Verdict::Suspicious => "suspicious",
        Verdict::Malicious => "malicious",
        Verdict::Unscannable => "unscannable",
        Verdict::Unscanned => "unscanned",
    }
}

/// Scans every sample by the standard policy.
pub(crate) fn run(samples: Vec<Sample>) -> Vec<Outcome> {
    let policy = Policy::standard(Rules::own());
    samples
        .into_iter()
        .map(|sample| {
            let start = std::time::Instant::now();
            let mut budget = Budget::new(Limits::default());
            let subject = Subject {
                name: &sample.name,
                bytes: &sample.bytes,
            };
            let report = scan(subject, &policy, &mut budget);
            Outcome {
                sample,
                report,
                micros: start.elapsed().as_micros(),
            }
        })
        .collect()
}

/// The table: what was found in each family, and what was not as labelled.
pub(crate) struct Table<'a>(pub(crate) &'a [Outcome]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut families: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        for outcome in self.0 {
            let row = families.entry(&outcome.sample.family).or_default();
            let counts = [
                true,
                outcome.is_hostile() && outcome.is_blocked(),
                outcome.is_exact(),
                outcome.is_false(),
            ];
            row.iter_mut()
                .zip(counts)
                .for_each(|(cell, one)| *cell += usize::from(one));
        }
        writeln!(
            f,
            "{:<18} {:>5} {:>9} {:>6} {:>6}",
            "family", "files", "detected", "exact", "false"
        )?;
        let mut total = [0; 4];
        for (family, row) in &families {
            total
                .iter_mut()
                .zip(row)
                .for_each(|(cell, one)| *cell += one);
            writeln!(
                f,
                "{family:<18} {:>5} {:>9} {:>6} {:>6}",
                row[0], row[1], row[2], row[3]
            )?;
        }
        let hostile = self.0.iter().filter(|outcome| outcome.is_hostile()).count();
        writeln!(
            f,
            "{:<18} {:>5} {:>9} {:>6} {:>6}",
            "all", total[0], total[1], total[2], total[3]
        )?;
        writeln!(
            f,
            "\nhostile detected {} of {hostile}, exact {} of {} ({:.1} %), false positives {} of {}",
            total[1],
            total[2],
            total[0],
            percent(total[2], total[0]),
            total[3],
            total[0] - hostile
        )?;
        for outcome in self.0.iter().filter(|outcome| !outcome.is_exact()) {
            let mark = if outcome.is_missed() {
                "MISSED"
            } else if outcome.is_false() {
                "FALSE"
            } else {
                "other"
            };
            writeln!(
                f,
                "{mark:<7} {:?}: {} for {} {}",
                outcome.sample.name,
                word(outcome.report.verdict()),
                outcome.sample.expected,
                reasons(&outcome.report)
            )?;
        }
        let mut times: Vec<_> = self.0.iter().map(|outcome| outcome.micros).collect();
        times.sort_unstable();
        if let Some(most) = times.last() {
            writeln!(
                f,
                "\nscan time p50 {} us, p99 {} us, most {most} us",
                times[times.len() / 2],
                times[times.len() * 99 / 100]
            )?;
        }
        Ok(())
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    let part = u32::try_from(part).unwrap_or(u32::MAX);
    let whole = u32::try_from(whole.max(1)).unwrap_or(u32::MAX);
    100.0 * f64::from(part) / f64::from(whole)
}

fn reasons(report: &Report) -> String {
    let mut words: Vec<_> = report
        .unscannable_reason()
        .into_iter()
        .map(Unscannable::word)
        .collect();
    words.extend(
        report
            .findings()
            .iter()
            .filter(|finding| finding.severity > Severity::Info)
            .map(|finding| finding.rule),
    );
    words.dedup();
    format!("[{}]", words.join(", "))
}
