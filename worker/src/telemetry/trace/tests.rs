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
    assert_eq!((none.id(), none.header()), (None, None));
    let passed = Traces::off().begin(Parent::parse(HEADER), "q");
    assert_eq!(passed.header().as_deref(), Some(HEADER));
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
    assert_eq!(trace.header(), Some(unwanted));
    let (one, other) = (traces.begin(None, "q"), traces.begin(None, "q"));
    assert_ne!(one.id(), other.id());
    assert!(
        one.header()
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
