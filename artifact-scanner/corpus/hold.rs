//! What must hold of every answer of the scanner, whatever the bytes? Panics where it does not.

use artifact_scanner::check::secrets::Own;
use artifact_scanner::{
    Budget, Finding, Limits, Passage, Policy, Report, Rules, Severity, Unscannable, Verdict,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A budget that is soon spent, so that much can be tried.
pub(crate) const LIMITS: Limits = Limits {
    size_bytes: 1 << 20,
    unpacked_bytes: 1 << 20,
    members: 64,
    depth: 6,
    ratio: 200,
    ratio_from_bytes: 256 << 10,
    member_bytes: 512 << 10,
    pixels: 50_000_000,
    nesting: 256,
    wall: Duration::from_secs(2),
};
/// What a busy machine may add.
const LATE: Duration = Duration::from_secs(2);
/// A secret that the job was given.
pub(crate) const SECRET: &str = "correct horse";

/// The standard policy, with a secret that must not leave.
pub(crate) fn policy(rules: Rules) -> Policy {
    let mut policy = Policy::standard(rules);
    let own = Own::new(&[SECRET]).expect("one is not too many");
    policy.own_secrets = Some(Arc::new(own));
    policy
}

/// Scans with a budget of its own: the answer came in time, is well formed, is never clean where
/// the budget was spent, and is the same the second time.
pub(crate) fn report(bytes: &[u8], scan: impl Fn(&mut Budget) -> Report) -> Report {
    let start = Instant::now();
    let mut budget = Budget::new(LIMITS);
    let report = scan(&mut budget);
    let took = start.elapsed();
    assert!(took < LIMITS.wall + LATE, "{took:?}");
    well_formed(&report, bytes, &budget);
    // Half of the time for one in eight.
    if bytes.iter().fold(0, |sum, byte| sum ^ byte) % 8 == 0 {
        assert_eq!(
            report,
            scan(&mut Budget::new(LIMITS)),
            "it depends on the run"
        );
    }
    report
}

fn well_formed(report: &Report, bytes: &[u8], budget: &Budget) {
    let (verdict, reason) = (report.verdict(), report.unscannable_reason());
    assert_ne!(verdict, Verdict::Unscanned);
    assert_eq!(
        reason.is_some(),
        verdict == Verdict::Unscannable,
        "{report:?}"
    );
    // No file of some kilobytes takes all of the time.
    let broken = matches!(
        reason,
        Some(Unscannable::EngineError | Unscannable::Timeout)
    );
    assert!(!broken, "{report:?}");
    assert_ne!(budget.spent(), Some(Unscannable::Timeout), "{report:?}");
    let bad = verdict > Verdict::Active;
    assert!(
        bad || budget.spent().is_none(),
        "{:?}: {report:?}",
        budget.spent()
    );
    assert_eq!(report.serve().is_none(), bad, "{report:?}");
    assert_eq!(usize::try_from(report.bytes()), Ok(bytes.len()));
    let worst = report.findings().iter().map(|one| one.severity).max();
    let worst = worst.map_or(Verdict::Clean, Severity::verdict);
    assert!(verdict >= worst, "{report:?}");
    // It is as bad as its worst finding, or a check did not finish.
    assert!(verdict == worst || reason.is_some(), "{report:?}");
    let sorted = report
        .findings()
        .is_sorted_by(|a, b| a.severity > b.severity || (a.severity == b.severity && a < b));
    assert!(sorted, "twice, or not the worst first: {report:?}");
    report
        .findings()
        .iter()
        .for_each(|finding| said(finding, bytes));
}

fn said(finding: &Finding, bytes: &[u8]) {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let rule = finding.rule.split_once('.').filter(|(area, thing)| {
        !area.is_empty() && !thing.is_empty() && format!("{area}{thing}").chars().all(word)
    });
    assert!(rule.is_some(), "{finding:?}");
    assert!(!finding.message.is_empty(), "{finding:?}");
    let text = || finding.place.chars().chain(finding.message.chars());
    assert!(!text().any(char::is_control), "{finding:?}");
    let number = |prefix| finding.place.strip_prefix(prefix)?.parse::<usize>().ok();
    if let Some(offset) = number("offset ") {
        // It is that of the text in UTF-8: what is not becomes three bytes at most.
        assert!(offset <= 3 * bytes.len(), "{finding:?}");
    }
    if let Some(line) = number("line ") {
        let ends = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
        assert!((1..=ends.count() + 1).contains(&line), "{finding:?}");
    }
}

/// What was printed: its report holds, and lines that are cut are whole, apart and in order.
pub(crate) fn passage(bytes: &[u8], scan: impl Fn(&mut Budget) -> Passage) {
    let passage = scan(&mut Budget::new(LIMITS));
    let told = report(bytes, |budget| scan(budget).report);
    assert_eq!(told, passage.report);
    let mut from = 0;
    for line in &passage.lines {
        assert!(
            from <= line.start && line.start < line.end && line.end <= bytes.len(),
            "{:?}",
            passage.lines
        );
        let end = |at: usize| matches!(bytes.get(at), None | Some(b'\n' | b'\r'));
        assert!(
            line.start == 0 || end(line.start - 1),
            "{:?}",
            passage.lines
        );
        assert!(end(line.end), "{:?}", passage.lines);
        from = line.end;
    }
    assert!(passage.lines.is_empty() || told.verdict() > Verdict::Active);
}
