//! What is said of each of many files that come on standard input?
//!
//! A record is the length of a name, the name, the length of the bytes, the bytes; lengths have four
//! bytes, the lowest first. For each a line of JSON comes out: `name`, `verdict`, `reason`, `rules`,
//! `members` (of a zip or a tar, as the scan lists them), `micros`. Scripts of the corpus drive it.

use artifact_scanner::{Budget, Limits, Policy, Rules, Severity, Subject, members, scan};
use std::io::{self, Read, Write as _};
use std::time::Instant;

/// One record, or nothing at the end.
fn record(input: &mut impl Read) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut length = [0; 4];
    if input.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[1..])?;
    let name = field(input, length)?;
    input.read_exact(&mut length)?;
    let bytes = field(input, length)?;
    Ok(Some((String::from_utf8_lossy(&name).into_owned(), bytes)))
}

fn field(input: &mut impl Read, length: [u8; 4]) -> io::Result<Vec<u8>> {
    let length = u64::from(u32::from_le_bytes(length));
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn main() -> io::Result<()> {
    let policy = Policy::standard(Rules::own());
    let (mut input, mut out) = (io::stdin().lock(), io::stdout().lock());
    while let Some((name, bytes)) = record(&mut input)? {
        let start = Instant::now();
        let subject = Subject {
            name: &name,
            bytes: &bytes,
        };
        let report = scan(subject, &policy, &mut Budget::new(Limits::default()));
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut names = Vec::new();
        // A file that is no archive has no members, and one that is cut has fewer.
        let whole = members(&bytes, &mut Budget::new(Limits::default()), &mut names).is_ok();
        let bad = report.findings().iter();
        let rules: Vec<_> = bad
            .filter(|finding| finding.severity >= Severity::Suspicious)
            .map(|finding| finding.rule)
            .collect();
        let line = serde_json::json!({
            "name": name,
            "verdict": report.verdict(),
            "reason": report.unscannable_reason(),
            "rules": rules,
            "members": names,
            "whole": whole,
            "micros": micros,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
