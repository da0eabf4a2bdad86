//! Is a worker told in words that a person reads at a glance, and in a narrow place?

use super::*;
use crate::telemetry::metric::Load;
use crate::telemetry::recent::{Failure, Shown, Starts};
use crate::telemetry::verdict::Verdict;

fn status() -> Status {
    let bar = |succeeded| Bar {
        succeeded,
        ..Bar::default()
    };
    let need = |name: &str, state, since_ms| Dependency {
        name: name.to_owned(),
        state,
        why: Some("no answer".to_owned()),
        since_ms,
        needed: true,
    };
    Status {
        schema: STATUS_SCHEMA.to_owned(),
        worker: "worker-a".to_owned(),
        version: "0.1.0".to_owned(),
        now_unix_ms: 0,
        uptime_ms: 65_400,
        verdict: Verdict {
            grade: Grade::Bad,
            says: "takes no jobs".to_owned(),
            more: "store: no answer".to_owned(),
        },
        live: true,
        ready: false,
        drain: None,
        load: Load {
            slots: 4,
            busy: 1,
            in_flight: 3,
        },
        dependencies: vec![
            need("broker", State::Up, None),
            need("store", State::Down, Some(42_000)),
            need("redis", State::Off, None),
        ],
        pool: vec![Profile {
            profile: "python\u{1b}[2J".to_owned(),
            cold: 1,
            warm: 2,
            leased: 1,
            running: 3,
            resetting: 1,
        }],
        recent: Shown {
            bar_ms: 5_000,
            ended: vec![bar(10), bar(0), bar(80), bar(7)],
            starts: Starts { warm: 90, cold: 7 },
            stages: vec![Stage {
                stage: "overhead".to_owned(),
                count: 97,
                p50_us: Some(950),
                p95_us: Some(2_600),
                p99_us: None,
            }],
            failures: vec![Failure {
                what: "platform_error".to_owned(),
                reason: "store".to_owned(),
                who: Who::Operator,
                count: 2,
                last_ms: 61_000,
            }],
        },
    }
}

#[test]
fn a_worker_is_a_page() {
    let wanted = "\
worker-a  Kiln 0.1.0, up for 65 s
✕ takes no jobs  store: no answer

6.0 jobs/s  slots ███░░░░░░░ 1 of 4 busy  3 taken
▁ █▁  5 min
97 succeeded, 0 failed by job, limit or policy, 0 failed by the platform

✓ broker       up
✕ store        down for 42 s: no answer
– redis        not configured

profile            cold      warm    leased   running resetting
python\\x1b[2J         1         2         1         3         1  ▒■■■◧□□·
90 jobs found a warm sandbox, 7 waited for one

stage              p50       p95       p99
Kiln's part     950 µs    2.6 ms         –

failure         reason        who          count        last
platform_error  store         operator         2  61.0 s ago
";
    assert_eq!(frame(&status()).text(100, false), wanted);
}

#[test]
fn a_narrow_place_has_no_longer_line_and_still_the_verdict() {
    let text = frame(&status()).text(32, false);
    assert!(
        text.lines().all(|line| line.chars().count() <= 32),
        "{text}"
    );
    assert!(text.contains("✕ takes no jobs  store: no answ"), "{text}");
}

#[test]
fn an_address_is_that_of_a_listener() {
    assert_eq!(
        address("http://10.0.0.7:9464/"),
        Ok("http://10.0.0.7:9464".to_owned())
    );
    for wrong in [
        "10.0.0.7:9464",
        "https://a",
        "http://",
        "http://a/b",
        "http://u@a",
        "ftp://a",
    ] {
        assert!(address(wrong).is_err(), "{wrong}");
    }
    let any: SocketAddr = "0.0.0.0:9464".parse().expect("an address");
    assert_eq!(here(any).to_string(), "127.0.0.1:9464");
}
