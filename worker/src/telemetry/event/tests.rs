//! Does each happening move its figure, and only once?

use super::*;

/// A figure, as it is read from outside; nought where it is not there.
fn figure(metrics: &Metrics, series: &str) -> f64 {
    let text = metrics.encode().expect("it can be encoded");
    let of = |line: &str| line.strip_prefix(series)?.trim().parse::<f64>().ok();
    text.lines().find_map(of).unwrap_or(0.0)
}

#[test]
fn every_happening_is_counted_once() {
    type Emit = fn(&Metrics);
    let happenings: [(&str, Emit); 9] = [
        ("kiln_amqp_reconnects_total", |metrics| {
            let (connection, why) = ("consumer", "it is gone");
            Rebuilt { connection, why }.emit(metrics);
        }),
        ("kiln_amqp_returned_total", |metrics| {
            let exchange = "kiln.results";
            Unheard { exchange }.emit(metrics);
        }),
        ("kiln_amqp_returned_total", |metrics| {
            let (job_id, why) = ("a", "full");
            Returned { job_id, why }.emit(metrics);
        }),
        ("kiln_dead_lettered_total{reason=\"retries\"}", |metrics| {
            let (reason, detail) = (DeadReason::Retries, "");
            DeadLettered { reason, detail }.emit(metrics);
        }),
        ("kiln_faults_total{step=\"lease\"}", |metrics| {
            Faulted {
                job_id: "a",
                step: Step::Lease,
                why: "no sandbox",
                retries: 0,
            }
            .emit(metrics);
        }),
        ("kiln_panics_total", |metrics| {
            let (job_id, what) = ("a", "task");
            Panicked { job_id, what }.emit(metrics);
        }),
        ("kiln_orphans_reaped_total{kind=\"record\"}", |metrics| {
            let (kind, count) = (Orphan::Record, 1);
            Reaped { kind, count }.emit(metrics);
        }),
        ("kiln_pool_refill_failures_total", |metrics| {
            let (profile, why) = ("python", "no memory");
            NotMade { profile, why }.emit(metrics);
        }),
        ("kiln_sandbox_cleanup_failures_total", |metrics| {
            TakenDown {
                sandbox: SandboxId(1),
                took: Duration::ZERO,
                left: Some("a control group"),
            }
            .count(metrics);
        }),
    ];
    for (series, emit) in happenings {
        let metrics = Metrics::new();
        assert!(figure(&metrics, series).abs() < 1e-9, "{series}");
        emit(&metrics);
        assert!((figure(&metrics, series) - 1.0).abs() < 1e-9, "{series}");
    }
}

#[test]
fn states_follow_what_was_said_last() {
    let metrics = Metrics::new();
    let is = |series: &str, value: f64| {
        let found = figure(&metrics, series);
        assert!((found - value).abs() < 1e-9, "{series} is {found}");
    };
    for up in [true, false] {
        Connected(Role::Consumer, up).emit(&metrics);
        is(
            "kiln_amqp_connected{role=\"consumer\"}",
            f64::from(u8::from(up)),
        );
        Blocked(up).emit(&metrics);
        is("kiln_amqp_blocked", f64::from(u8::from(up)));
    }
    let text = metrics.encode().expect("it can be encoded");
    assert!(!text.contains("drain_started"), "no drain, no figure of it");
    DrainBegan {
        running: 1,
        grace: Duration::from_secs(30),
    }
    .emit(&metrics);
    assert!(figure(&metrics, "kiln_drain_started_timestamp_seconds") > 1e9);
    TakenDown {
        sandbox: SandboxId(1),
        took: Duration::ZERO,
        left: None,
    }
    .count(&metrics);
    is("kiln_sandbox_cleanup_seconds_count", 1.0);
    is("kiln_sandbox_cleanup_failures_total", 0.0);
}
