//! Can what jobs make be scanned here, and is a clamd as it must be?

use super::Finding;
use crate::cli::stop::Stop;
use crate::config::Config;
use crate::fault::chain;
use crate::report::answer::now_unix_ms;
use crate::screen::clamd::{Answer, Clamd, ClamdError};
use crate::screen::{Gate, GateOptions};
use kiln_warden::confine::Held;
use std::time::Duration;

/// A database that is older than this knows too little.
const DATABASE_AGE_MAX: Duration = Duration::from_hours(3 * 24);
/// Zip files within zip files, more than any clamd opens.
const NESTED: usize = 120;

const CLAMD: &str = "a clamd that says what it did not scan, with a database of these days";
const NO_CLAMD: &str = "every artifact is unscannable, and withheld";
const WEAK_CLAMD: &str = "clamd has nothing against what it did not scan";

/// A row for the scanner, and some for a clamd where there is one.
pub(super) fn all(config: &Config) -> Result<Vec<Finding>, Stop> {
    let options = GateOptions {
        processes: 1,
        single: true,
        ..config.gate_by_hand()
    };
    crate::cli::runtime()?.block_on(async {
        let gate = Gate::open(options);
        let proved = gate.scanner().prove().await;
        let mut findings = vec![process(proved.map_err(|error| chain(&error)))];
        if let Some(address) = &config.scanner.clamd {
            findings.extend(of_clamd(&Clamd::new(address.clone())).await);
        }
        Ok(findings)
    })
}

fn process(proved: Result<(Held, usize), String>) -> Finding {
    let (what, needed) = (
        "scanner",
        "a process that gives up files, network and rights",
    );
    let (held, rules) = match proved {
        Ok(proved) => proved,
        Err(why) => {
            let remedy = "see that seccomp is there, and that no `ulimit` is in the way";
            return Finding::missing(what, format!("failed to {why}"), needed, remedy);
        }
    };
    let Held {
        landlock,
        network,
        nobody,
        group,
    } = held;
    let landlock = landlock.map_or("no landlock".to_owned(), |held| format!("landlock {held}"));
    let apart = |is, word: &str| {
        if is {
            word.to_owned()
        } else {
            format!("not {word}")
        }
    };
    let found = format!(
        "confined by seccomp, {landlock}, {}, {}, {}; {rules} rules",
        apart(network, "in a network of its own"),
        apart(group, "in a control group of its own"),
        apart(nobody, "as nobody"),
    );
    if network && nobody && group && held.landlock.is_some() {
        return Finding::ok(what, found, needed);
    }
    Finding::degraded(
        what,
        found,
        needed,
        "the filter of system calls holds alone",
        "run as root, on a kernel with `landlock` in `lsm=`",
    )
}

/// What a clamd is; of its limits only where it is there.
async fn of_clamd(clamd: &Clamd) -> Vec<Finding> {
    let version = clamd.version().await;
    let is_there = version.is_ok();
    let mut findings = vec![database(version, now_unix_ms() / 1_000)];
    if is_there {
        findings.push(limits(clamd.says(&nested()).await));
    }
    findings
}

fn database(version: Result<String, ClamdError>, now: u64) -> Finding {
    let what = "clamd";
    let version = match version {
        Ok(version) => version,
        Err(error) => {
            let found = format!("away: failed to {}", chain(&error));
            let remedy = "start it, or see that `scanner.clamd` is right";
            return Finding::degraded(what, found, CLAMD, NO_CLAMD, remedy);
        }
    };
    let made = version.splitn(3, '/').nth(2).and_then(seconds);
    let age = made.map(|made| Duration::from_secs(now.saturating_sub(made)));
    match age {
        Some(age) if age <= DATABASE_AGE_MAX => Finding::ok(what, version, CLAMD),
        _ => Finding::degraded(
            what,
            match age {
                Some(age) => format!("{version}: {} days old", age.as_secs() / 86_400),
                None => format!("{version}: its database has no date"),
            },
            CLAMD,
            "what is newer than its database is not known to it",
            "run `freshclam`",
        ),
    }
}

fn limits(answer: Result<Answer, ClamdError>) -> Finding {
    let what = "clamd's limits";
    let remedy = "set `AlertExceedsMax yes` in clamd.conf";
    match answer {
        Ok(Answer::Found(name)) => {
            Finding::ok(what, format!("past them it answers `{name}`"), CLAMD)
        }
        Ok(Answer::Ok) => {
            let found = "past them it answers `OK`";
            Finding::degraded(what, found, CLAMD, WEAK_CLAMD, remedy)
        }
        Err(error) => {
            let found = format!("failed to {}", chain(&error));
            let remedy = match error {
                ClamdError::Nonsense(_) => remedy,
                _ => "see in its log why it does not answer",
            };
            Finding::degraded(what, found, CLAMD, NO_CLAMD, remedy)
        }
    }
}

/// Seconds since 1970 of `Mon Nov 30 09:26:12 2026`, in UTC.
fn seconds(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let words: Vec<_> = text.split_whitespace().collect();
    let [_, month, day, time, year] = words[..] else {
        return None;
    };
    let month = 1 + MONTHS.iter().position(|name| *name == month)?;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let mut clock = time.split(':').map(str::parse::<u64>);
    let mut next = || clock.next()?.ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    // Days from the first of March of a year that is counted from March.
    let (year, month) = match u64::try_from(month).ok()? {
        month @ 1..=2 => (year.checked_sub(1)?, month + 9),
        month => (year, month - 3),
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let since = days.checked_sub(719_468)?;
    Some(86_400 * since + 3_600 * hours + 60 * minutes + seconds)
}

/// A text in zip files within zip files, stored.
fn nested() -> Vec<u8> {
    let mut inner = ("a.txt", b"text\n".to_vec());
    for _ in 0..NESTED {
        inner = ("a.zip", zip(inner.0, &inner.1));
    }
    inner.1
}

fn zip(name: &str, content: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    let size = u32::try_from(content.len())
        .expect("it is small")
        .to_le_bytes();
    let length = u16::try_from(name.len())
        .expect("it is short")
        .to_le_bytes();
    let about = [
        &[10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x28][..],
        &crc.sum().to_le_bytes(),
        &size,
        &size,
        &length,
        &[0; 2],
    ]
    .concat();
    let mut zip = [b"PK\x03\x04", &*about, name.as_bytes(), content].concat();
    let at = u32::try_from(zip.len()).expect("it is small").to_le_bytes();
    let entry = [b"PK\x01\x02\x0a\0", &*about, &[0; 14], name.as_bytes()].concat();
    let long = u32::try_from(entry.len())
        .expect("it is short")
        .to_le_bytes();
    zip.extend(entry);
    zip.extend([b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &long[..], &at, &[0; 2]].concat());
    zip
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_date_is_read() {
        assert_eq!(seconds("Thu Jan  1 00:00:01 1970"), Some(1));
        assert_eq!(seconds("Mon Nov 30 09:26:12 2026"), Some(1_796_030_772));
        assert_eq!(seconds("Thu Feb 29 00:00:00 2024"), Some(1_709_164_800));
        assert_eq!(seconds("yesterday"), None);
    }

    #[test]
    fn an_old_database_and_a_clamd_that_passes_what_it_skips_are_told() {
        let said = |text: &str| database(Ok(text.to_owned()), 1_796_030_772).state;
        let young = "ClamAV 1.4.3/27000/Sun Nov 29 09:26:12 2026";
        assert_eq!(said(young), State::Ok);
        let old = "ClamAV 1.4.3/27000/Sun Nov 22 09:26:12 2026";
        assert_eq!(said(old), State::Degraded);
        assert_eq!(said("ClamAV 1.4.3"), State::Degraded);
        let found = limits(Ok(Answer::Found("Heuristics.Limits.Exceeded".into())));
        assert_eq!(found.state, State::Ok);
        assert_eq!(limits(Ok(Answer::Ok)).state, State::Degraded);
    }

    #[tokio::test]
    async fn of_a_clamd_that_is_away_only_that_is_told() {
        let absent = crate::config::ClamdAddress::Unix("/nonexistent/clamd.ctl".into());
        let findings = of_clamd(&Clamd::new(absent)).await;
        let [away] = &findings[..] else {
            panic!("one row, not {findings:?}");
        };
        assert_eq!(away.state, State::Degraded);
        assert!(
            away.found.starts_with("away: failed to connect"),
            "{away:?}"
        );
        assert!(!away.remedy.contains("AlertExceedsMax"), "{away:?}");
    }

    #[test]
    fn what_is_nested_is_a_zip_that_our_own_scanner_opens() {
        use artifact_scanner::{Budget, Limits, Policy, Rules, Subject, Verdict};
        let policy = Policy::standard(Rules::own());
        let scan = |bytes: &[u8]| {
            let subject = Subject {
                name: "a.zip",
                bytes,
            };
            artifact_scanner::scan(subject, &policy, &mut Budget::new(Limits::default()))
        };
        assert_eq!(scan(&zip("a.txt", b"text\n")).verdict(), Verdict::Clean);
        let deep = scan(&nested());
        assert_eq!(deep.findings()[0].rule, "bomb.depth", "{deep:?}");
    }
}
