//! Is a context taken and passed on as the standard wants it, and does nobody wait for a collector?

use super::*;
use std::time::{Duration, Instant};

const HEADER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn a_context_is_taken_where_it_is_one() {
    let parent = Parent::parse(HEADER).expect("it is one");
    assert_eq!(parent.header(), HEADER);
    let later = format!("cc{}-more", &HEADER[2..]);
    assert_eq!(Parent::parse(&later), Some(parent));
    let zeros = |n: usize| "0".repeat(n);
    for wrong in [
        String::new(),
        "00-XY-b7-01".to_owned(),
        HEADER.to_uppercase(),
        format!("{HEADER}-more"),
        format!("ff{}", &HEADER[2..]),
        HEADER[..HEADER.len() - 3].to_owned(),
        format!("00-{}-b7ad6b7169203331-01", zeros(32)),
        format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", zeros(16)),
        "00-0af7651916cd43dd8448eb211c80319ö-b7ad6b716920333-01".to_owned(),
    ] {
        assert_eq!(Parent::parse(&wrong), None, "{wrong}");
    }
}

#[test]
fn where_nothing_is_recorded_the_context_is_passed_on() {
    let none = Traces::off().begin(None, "q");
    assert_eq!((none.id(), none.header(To::Everybody)), (None, None));
    let passed = Traces::off().begin(Parent::parse(HEADER), "q");
    assert_eq!(passed.header(To::Asker).as_deref(), Some(HEADER));
    assert_eq!(
        passed.id().as_deref(),
        Some("0af7651916cd43dd8448eb211c80319c")
    );
}

#[tokio::test]
async fn one_that_its_sender_does_not_want_is_not_recorded() {
    let to = Traces::to("http://127.0.0.1:9", "w", Metrics::new());
    let (traces, _exporter) = to.expect("a client can be made");
    let unwanted = HEADER.replace("-01", "-00");
    let trace = traces.begin(Parent::parse(&unwanted), "q");
    assert!(trace.recorded().is_none());
    assert_eq!(trace.header(To::Everybody), Some(unwanted));
    let (one, other) = (traces.begin(None, "q"), traces.begin(None, "q"));
    assert_ne!(one.id(), other.id());
    assert!(
        one.header(To::Everybody)
            .is_some_and(|header| Parent::parse(&header).is_some_and(|it| it.sampled))
    );
}

#[tokio::test]
async fn a_collector_that_hangs_costs_nobody_anything_but_spans() {
    // It takes connections and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let metrics = Metrics::new();
    let to = Traces::to(&format!("http://{address}"), "w", Arc::clone(&metrics));
    let (traces, exporter) = to.expect("a client can be made");
    let begun = Instant::now();
    for _ in 0..10_000 {
        drop(traces.begin(None, "q"));
    }
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    let text = metrics.encode().expect("it can be encoded");
    let dropped = text
        .lines()
        .find_map(|line| line.strip_prefix("kiln_trace_spans_total{result=\"dropped\"} "));
    let dropped: u64 = dropped
        .and_then(|it| it.parse().ok())
        .expect("it is counted");
    assert!((7_000..10_000).contains(&dropped), "{dropped}");
    let begun = Instant::now();
    exporter.close().await;
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}

/// Stages that overlap are told as they were, with the gaps between others.
#[tokio::test]
async fn every_stage_is_told_when_it_was() {
    let to = Traces::to("http://127.0.0.1:9", "w", Metrics::new());
    let (traces, _exporter) = to.expect("a client can be made");
    let trace = traces.begin(None, "q");
    let from = Instant::now();
    let stretch = |began: u64, ended: u64| {
        let at = |ms| from + Duration::from_millis(ms);
        Some(Stretch {
            began: at(began),
            ended: at(ended),
        })
    };
    let stages = Stages {
        acquire: stretch(0, 5),
        run: stretch(10, 40),
        collect: stretch(20, 60),
        ..Stages::default()
    };
    trace.stages(&stages);
    trace.waited(Some(2_000_000));
    let recorded = trace.recorded().expect("it is recorded");
    let spans = recorded.lock();
    let of = |name: &str| spans.iter().find(|span| span.name == name).expect(name);
    let ms = |later: u64, sooner: u64| later.abs_diff(sooner) / 1_000_000;
    let (acquire, run, collect) = (of("acquire"), of("run"), of("collect"));
    assert_eq!(ms(run.began, acquire.ended), 5, "the gap is told");
    assert_eq!(ms(run.ended, run.began), 30);
    assert!(collect.began < run.ended && run.ended < collect.ended);
    let (own, wait) = (of("process q"), of("wait q"));
    assert_eq!(wait.ended, own.began, "it is over when it is served");
    assert!((1_900..=2_000).contains(&ms(own.began, wait.began)));
    let ids: std::collections::BTreeSet<_> = spans.iter().map(|span| span.id).collect();
    let sends = [To::Everybody, To::Asker].map(|to| recorded.sent(to));
    assert_eq!(ids.len(), spans.len());
    assert!(sends.iter().all(|id| !ids.contains(id)), "kept for later");
}
