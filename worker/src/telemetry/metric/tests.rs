//! Are the figures what happened, under the names of the contract, in a form that is read?

use super::*;
use eventful::{eventful, eventful_of};
use std::io::Write as _;
use std::process::{Command, Stdio};

mod cost;
mod eventful;

/// The names of the contract, in the order of the code.
const NAMES: [&str; 65] = [
    "build_info",
    "clock_seconds",
    "ready",
    "ready_condition",
    "drain_started_timestamp_seconds",
    "drain_grace_seconds",
    "jobs_total",
    "job_latency_seconds",
    "job_run_seconds",
    "job_stage_seconds",
    "job_overhead_seconds",
    "faults_total",
    "limits_hit_total",
    "queue_wait_seconds",
    "queue_ready_messages",
    "jobs_in_flight",
    "job_unacked_age_seconds_max",
    "results_pending",
    "slots",
    "slots_busy",
    "amqp_connected",
    "amqp_consumer_up",
    "amqp_blocked",
    "amqp_consumer_timeout_seconds",
    "amqp_reconnects_total",
    "amqp_deliveries_total",
    "amqp_redeliveries_total",
    "amqp_acks_total",
    "amqp_publish_confirm_seconds",
    "amqp_returned_total",
    "dead_lettered_total",
    "duplicates_total",
    "egress_total",
    "pool_sandboxes",
    "pool_target",
    "pool_size_max",
    "pool_waiting",
    "pool_acquire_total",
    "pool_acquire_seconds",
    "pool_refill_seconds",
    "pool_refill_failures_total",
    "pool_discards_total",
    "resets_total",
    "residue_total",
    "canary_last_success_timestamp_seconds",
    "sandbox_resources",
    "sandbox_cleanup_seconds",
    "sandbox_cleanup_failures_total",
    "orphans_reaped_total",
    "disk_free_bytes",
    "disk_size_bytes",
    "artifacts_total",
    "streams_withheld_total",
    "scan_total",
    "scan_seconds",
    "clamd_up",
    "store_request_seconds",
    "store_up",
    "store_bytes_total",
    "redis_up",
    "redis_command_seconds",
    "redis_lag_seconds",
    "redis_dropped_total",
    "trace_spans_total",
    "panics_total",
];

fn text(metrics: &Metrics) -> String {
    metrics.encode().expect("it can be encoded")
}

#[test]
fn what_happened_is_counted() {
    let text = text(&eventful());
    for line in [
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
        "kiln_amqp_redeliveries_total 1",
        "kiln_job_latency_seconds_sum{class=\"batch\"} 1.002",
        "kiln_job_stage_seconds_count{stage=\"publish\"} 1",
        "kiln_queue_ready_messages{queue=\"kiln.jobs.batch\"} 7",
        "kiln_ready 0",
        "kiln_ready_condition{condition=\"broker\"} 0",
        "kiln_ready_condition{condition=\"state\"} 1",
        "kiln_redis_dropped_total 3",
        "kiln_pool_target{profile=\"python\"} 4",
        "kiln_pool_size_max{profile=\"python\"} 16",
        "kiln_pool_waiting{profile=\"other\"} 1",
        "kiln_sandbox_resources{kind=\"cgroup\"} 3",
        "kiln_disk_free_bytes{place=\"store\"} 1",
        "kiln_jobs_total{class=\"batch\",profile=\"node\",status=\"failed\"} 0",
        "kiln_amqp_acks_total{result=\"stale\"} 1",
        "kiln_dead_lettered_total{reason=\"retries\"} 1",
        "kiln_limits_hit_total{limit=\"memory\"} 0",
        "kiln_pool_acquire_total{profile=\"python\",start=\"warm\"} 1",
        "kiln_pool_discards_total{reason=\"dropped\"} 6",
        "kiln_redis_up 1",
        "kiln_store_request_seconds_count{op=\"put\",result=\"error\"} 1",
    ] {
        assert!(
            text.contains(&format!("\n{line}\n")),
            "`{line}` is not in:\n{text}"
        );
    }
    let build = text
        .lines()
        .find(|line| line.starts_with("kiln_build_info{"));
    let build = build.expect("it says which build it is");
    assert!(
        build.ends_with("version=\"0.1.0\"} 1") && build.contains("features=\"none\""),
        "{build}"
    );
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
    let labels = Class::ALL.len() * (Profiles::built_in().names().len() + 1);
    assert_eq!(lines("kiln_jobs_total{"), labels * Status::ALL.len());
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
            if kind == "histogram" {
                assert!(name.ends_with("_seconds"), "{line}");
            }
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

/// What a server keeps of a worker: the dearest of all figures are those nobody counted.
#[test]
fn a_worker_has_few_series() {
    let count = |metrics: &Metrics| {
        text(metrics)
            .lines()
            .filter(|it| !it.starts_with('#'))
            .count()
    };
    let usual = count(&eventful());
    assert!(usual <= 1_100, "{usual} series of a usual worker");
    // More profiles, and queues of tenants, than get a label.
    let metrics = eventful_of(Metrics::of(&many_profiles()), &many_profiles());
    for n in 0..QUEUES_MAX + 9 {
        metrics.consumer_up(&format!("kiln.jobs.batch.t{n}"), true);
        metrics.queue_ready(&format!("kiln.jobs.batch.t{n}"), Some(1));
    }
    let most = count(&metrics);
    writeln!(std::io::stderr(), "{usual} series, {most} at most").expect("somebody listens");
    assert!(most <= 1_500, "{most} series");
}

/// Those built in and forty more.
fn many_profiles() -> Profiles {
    let path = std::env::temp_dir().join(format!("kiln-profiles-{}.toml", std::process::id()));
    let profiles: Vec<_> = (0..40).map(|n| format!("[profiles.a{n:02}]\n")).collect();
    let text = profiles.join("image = \"host\"\n\n") + "image = \"host\"\n";
    std::fs::write(&path, text).expect("a folder for temporary files");
    let profiles = Profiles::load(Some(&path)).expect("they are profiles");
    std::fs::remove_file(&path).expect("it was just made");
    profiles
}

#[test]
fn profiles_past_the_sixteenth_share_a_label_and_those_built_in_never_do() {
    let metrics = Metrics::of(&many_profiles());
    for name in Profiles::built_in()
        .names()
        .into_iter()
        .chain(["a00", "a10"])
    {
        assert_eq!(metrics.profile(name), name);
    }
    for name in ["a11", "a39", "nobodys", "../../x{}\"\n"] {
        assert_eq!(metrics.profile(name), OTHER);
    }
}

#[test]
fn what_is_not_known_any_more_is_not_there() {
    let metrics = eventful();
    metrics.queue_ready("kiln.jobs.batch", None);
    metrics.holds(Holding::Mount, None);
    metrics.disk(Disk::Store, None);
    let text = text(&metrics);
    for gone in [
        "kiln_queue_ready_messages{queue=\"kiln.jobs.batch\"}",
        "kiln_sandbox_resources{kind=\"mount\"}",
        "kiln_disk_free_bytes{place=\"store\"}",
    ] {
        assert!(!text.contains(gone), "{gone}");
    }
}

/// Labels are words of closed sets, and none is an id.
#[test]
fn no_label_is_another_than_these() {
    let known = [
        "call",
        "class",
        "condition",
        "decision",
        "direction",
        "features",
        "kind",
        "le",
        "limit",
        "op",
        "phase",
        "place",
        "profile",
        "queue",
        "reason",
        "result",
        "revision",
        "role",
        "rustc",
        "stage",
        "start",
        "state",
        "status",
        "step",
        "verdict",
        "version",
    ];
    let text = text(&eventful());
    let found: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('{')?.1.rsplit_once('}').map(|it| it.0))
        .flat_map(|labels| labels.split("\","))
        .filter_map(|label| label.split_once('=').map(|it| it.0))
        .collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), known);
}
