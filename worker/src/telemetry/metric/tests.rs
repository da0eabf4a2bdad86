//! Are the figures what happened, under the names of the contract, in a form that is read?

use super::*;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The names of the contract that something feeds.
const NAMES: [&str; 32] = [
    "build_info",
    "jobs_total",
    "job_run_seconds",
    "job_stage_seconds",
    "job_overhead_seconds",
    "queue_wait_seconds",
    "jobs_in_flight",
    "slots",
    "slots_busy",
    "amqp_connected",
    "amqp_consumer_up",
    "amqp_reconnects_total",
    "amqp_deliveries_total",
    "amqp_acks_total",
    "amqp_publish_confirm_seconds",
    "amqp_returned_total",
    "dead_lettered_total",
    "duplicates_total",
    "pool_sandboxes",
    "pool_target",
    "pool_acquire_total",
    "pool_acquire_seconds",
    "pool_refill_seconds",
    "pool_discards_total",
    "resets_total",
    "residue_total",
    "artifacts_total",
    "scan_total",
    "scan_seconds",
    "store_request_seconds",
    "redis_up",
    "panics_total",
];

/// Everything that can happen, once.
fn eventful() -> Arc<Metrics> {
    use crate::pool::phase::Phase;
    use crate::pool::watch::{Moved, Watch as _};
    let metrics = Metrics::new();
    let moment = Duration::from_millis(3);
    metrics.job(Class::Batch, "python", Status::Succeeded);
    metrics.timing(&timing());
    metrics.acquired("python", Start::Warm, Some(moment));
    metrics.artifact(ArtifactState::Released);
    metrics.scanned(Verdict::Clean);
    metrics.queue_wait(moment);
    metrics.in_flight(2);
    metrics.slots(4);
    metrics.slots_busy(1);
    metrics.connected(Role::Consumer, true);
    metrics.reconnect();
    metrics.consumer_up("kiln.jobs.batch", true);
    metrics.delivery();
    metrics.ack(AckResult::Stale);
    metrics.publish_confirm(moment);
    metrics.returned();
    metrics.dead_lettered(DeadReason::Retries);
    metrics.duplicate();
    metrics.panicked();
    metrics.redis_up(true);
    metrics.store_request("put", false, moment);
    metrics.pool_target("python", 4);
    metrics.residue("process");
    for phase in [Phase::Cold, Phase::Warm, Phase::Retired] {
        metrics.moved(&Moved {
            id: kiln_warden::wire::SandboxId(1),
            profile: "python".into(),
            phase,
            generation: 1,
            uses: 0,
            tenant: None,
            reason: None,
        });
    }
    metrics
}

fn timing() -> TimingUs {
    TimingUs {
        queue_wait: Some(1_000_000),
        acquire: Some(90),
        stage_in: Some(310),
        run: Some(3_000_000),
        collect: None,
        scan: Some(900),
        store: Some(700),
        total: Some(4_002_000),
    }
}

fn text(metrics: &Metrics) -> String {
    metrics.encode().expect("it can be encoded")
}

#[test]
fn what_happened_is_counted() {
    let text = text(&eventful());
    for line in [
        "kiln_build_info{version=\"0.1.0\"} 1",
        "kiln_jobs_total{class=\"batch\",profile=\"python\",status=\"succeeded\"} 1",
        "kiln_job_run_seconds_sum 3",
        "kiln_job_run_seconds_bucket{le=\"1800\"} 1",
        "kiln_job_overhead_seconds_sum 0.002",
        "kiln_job_stage_seconds_count{stage=\"acquire\"} 1",
        "kiln_jobs_in_flight 2",
        "kiln_slots 4",
        "kiln_slots_busy 1",
        "kiln_amqp_connected{role=\"consumer\"} 1",
        "kiln_amqp_connected{role=\"publisher\"} 0",
        "kiln_amqp_consumer_up{queue=\"kiln.jobs.batch\"} 1",
        "kiln_amqp_acks_total{result=\"ok\"} 0",
        "kiln_amqp_acks_total{result=\"stale\"} 1",
        "kiln_dead_lettered_total{reason=\"retries\"} 1",
        "kiln_pool_acquire_total{profile=\"python\",start=\"warm\"} 1",
        "kiln_pool_discards_total{reason=\"dropped\"} 1",
        "kiln_redis_up 1",
        "kiln_store_request_seconds_count{op=\"put\",result=\"error\"} 1",
    ] {
        assert!(
            text.contains(&format!("\n{line}\n")),
            "`{line}` is not in:\n{text}"
        );
    }
    assert!(
        !text.contains("stage=\"collect\""),
        "what is unknown is not observed"
    );
}

#[test]
fn the_names_are_those_of_the_contract_and_no_others() {
    let text = text(&eventful());
    let mut found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE kiln_")?.split(' ').next())
        .collect();
    found.sort_unstable();
    let mut wanted = NAMES;
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    assert!(text.contains("\nprocess_resident_memory_bytes "), "{text}");
    let docs = include_str!("../../../docs/telemetry.md");
    for name in NAMES {
        let row = format!("| `kiln_{name}` |");
        assert!(docs.contains(&row), "`{row}` is not in docs/telemetry.md");
    }
}

#[test]
fn nobody_can_make_series() {
    let metrics = Metrics::new();
    for n in 0..1_000 {
        metrics.job(Class::Batch, &format!("p{n}"), Status::Failed);
        metrics.consumer_up(&format!("kiln.jobs.batch.t{n}"), true);
    }
    let text = text(&metrics);
    let lines = |prefix: &str| text.lines().filter(|line| line.starts_with(prefix)).count();
    assert_eq!(lines("kiln_jobs_total{"), 1);
    assert!(text.contains("profile=\"other\",status=\"failed\"} 1000"));
    assert_eq!(lines("kiln_amqp_consumer_up{"), QUEUES_MAX + 1);
    assert!(!text.contains("kiln_redis_up"), "nothing is tracked");
}

/// The rules of Prometheus for names and texts, which its own tool checks too where it is there.
#[test]
fn the_text_is_as_prometheus_wants_it() {
    let text = text(&eventful());
    let mut types = std::collections::BTreeMap::new();
    let mut helped = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a name has its help");
            assert!(!help.is_empty() && helped.insert(name), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name has its type");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            assert_eq!(
                name.ends_with("_seconds"),
                kind == "histogram" || name == "process_start_time_seconds",
                "{line}"
            );
            types.insert(name, kind);
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a series has its value");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let name = series.split('{').next().unwrap_or_default();
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            assert!(name.bytes().all(plain), "{line}");
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|end| name.strip_suffix(end))
                .find(|base| types.get(base) == Some(&"histogram"));
            assert!(types.contains_key(base.unwrap_or(name)), "{line}");
        }
    }
    assert_eq!(types.len(), helped.len());
    if let Some((good, said)) = promtool(&text) {
        assert!(good, "promtool: {said}");
    }
}

/// What `promtool check metrics` says, where it is there.
fn promtool(text: &str) -> Option<(bool, String)> {
    let mut tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = tool.stdin.take()?;
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = tool.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    Some((
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}
