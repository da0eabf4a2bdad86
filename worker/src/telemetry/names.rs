//! What is each figure called? Only this file knows the names; they are an interface.

use super::process::Process;
#[cfg(feature = "uncounted")]
use super::silent::{Gauge, GaugeVec, Histogram, HistogramVec, IntCounter};
#[cfg(feature = "uncounted")]
pub(super) use super::silent::{IntCounterVec, IntGauge, IntGaugeVec};
use prometheus::core::Collector;
#[cfg(not(feature = "uncounted"))]
use prometheus::{Gauge, GaugeVec, Histogram, HistogramVec, IntCounter};
#[cfg(not(feature = "uncounted"))]
pub(super) use prometheus::{IntCounterVec, IntGauge, IntGaugeVec};
use prometheus::{Opts, Registry, TextEncoder};

/// Before every name.
const NAMESPACE: &str = "kiln";

/// Bounds of what a job's program takes, and what waits for a place.
const LONG: [f64; 17] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 1800.0,
];

/// Bounds of what Kiln itself does: mostly less than a millisecond.
const SHORT: [f64; 16] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0, 60.0,
];

/// Makes the struct of these figures: each with its name, what it says, its labels and its bounds.
macro_rules! figures {
    ($($field:ident: $kind:ty = $name:literal, $help:literal, [$($label:literal),*], $bounds:expr;)*) => {
        /// Every figure, in a registry of its own.
        #[derive(Debug)]
        pub(super) struct Names {
            registry: Registry,
            $(pub(super) $field: $kind,)*
        }

        impl Names {
            pub(super) fn new() -> Self {
                let registry = Registry::new();
                Process::new().enter(&registry);
                Self {
                    $($field: named(&registry, ($name, $help), &[$($label),*], $bounds),)*
                    registry,
                }
            }
        }
    };
}

/// For what is no histogram.
const NONE: [f64; 0] = [];

figures! {
    build_info: IntGaugeVec = "build_info", "Which build this is; always 1", ["version", "revision", "rustc", "features"], &NONE;
    clock: Gauge = "clock_seconds", "The worker's clock, in seconds since 1970", [], &NONE;
    ready: IntGauge = "ready", "Whether jobs are taken", [], &NONE;
    condition: IntGaugeVec = "ready_condition", "Whether a condition of readiness holds", ["condition"], &NONE;
    drain_started: GaugeVec = "drain_started_timestamp_seconds", "When the drain began, where one has", [], &NONE;
    drain_grace: Gauge = "drain_grace_seconds", "How long running jobs have at a drain", [], &NONE;
    jobs: IntCounterVec = "jobs_total", "Committed outcomes, once a job", ["class", "profile", "status"], &NONE;
    job_latency: HistogramVec = "job_latency_seconds", "How long a job took beyond its program, its wait in the queue included", ["class"], &LONG;
    job_run: Histogram = "job_run_seconds", "How long a job's program ran", [], &LONG;
    job_stage: HistogramVec = "job_stage_seconds", "How long each stage of a job took", ["stage"], &SHORT;
    job_overhead: Histogram = "job_overhead_seconds", "How long a job took beyond its program and its wait in the queue", [], &LONG;
    faults: IntCounterVec = "faults_total", "Our own failures, by the step that failed; most are tried again", ["step"], &NONE;
    limits_hit: IntCounterVec = "limits_hit_total", "Jobs that reached a limit or did what is not allowed", ["limit"], &NONE;
    queue_wait: Histogram = "queue_wait_seconds", "How long a job waited in the queue", [], &LONG;
    queue_ready: IntGaugeVec = "queue_ready_messages", "Messages that wait in a queue and are nobody's yet", ["queue"], &NONE;
    in_flight: IntGauge = "jobs_in_flight", "Jobs taken and not yet answered", [], &NONE;
    unacked_age: Gauge = "job_unacked_age_seconds_max", "How long the oldest delivery has waited for its answer", [], &NONE;
    results_pending: IntGauge = "results_pending", "Committed outcomes that the broker does not take yet", [], &NONE;
    slots: IntGauge = "slots", "Jobs that may run at once", [], &NONE;
    slots_busy: IntGauge = "slots_busy", "Jobs that run", [], &NONE;
    connected: IntGaugeVec = "amqp_connected", "Whether a connection to the broker stands", ["role"], &NONE;
    consumer_up: IntGaugeVec = "amqp_consumer_up", "Whether a queue is consumed from", ["queue"], &NONE;
    blocked: IntGauge = "amqp_blocked", "Whether the broker takes no messages for now", [], &NONE;
    consumer_timeout: Gauge = "amqp_consumer_timeout_seconds", "How long the broker waits for the answer to a delivery", [], &NONE;
    reconnects: IntCounter = "amqp_reconnects_total", "Connections to the broker that were made again", [], &NONE;
    deliveries: IntCounter = "amqp_deliveries_total", "Messages that the broker delivered", [], &NONE;
    redeliveries: IntCounter = "amqp_redeliveries_total", "Messages that the broker delivered again", [], &NONE;
    acks: IntCounterVec = "amqp_acks_total", "Answers to deliveries, by what the broker made of them", ["result"], &NONE;
    publish_confirm: Histogram = "amqp_publish_confirm_seconds", "How long the broker took to confirm a message", [], &SHORT;
    returned: IntCounter = "amqp_returned_total", "Messages that no queue took", [], &NONE;
    dead_lettered: IntCounterVec = "dead_lettered_total", "Messages given up on", ["reason"], &NONE;
    duplicates: IntCounter = "duplicates_total", "Jobs that were answered with an outcome that was there", [], &NONE;
    pool_sandboxes: IntGaugeVec = "pool_sandboxes", "Sandboxes by what they are doing", ["profile", "phase"], &NONE;
    pool_target: IntGaugeVec = "pool_target", "Sandboxes that the pool wants to have", ["profile"], &NONE;
    pool_size_max: IntGaugeVec = "pool_size_max", "Sandboxes that may live at once", ["profile"], &NONE;
    pool_waiting: IntGaugeVec = "pool_waiting", "Jobs that wait for a sandbox", ["profile"], &NONE;
    pool_acquire: IntCounterVec = "pool_acquire_total", "Sandboxes that jobs got, by whether they were there", ["profile", "start"], &NONE;
    pool_acquire_seconds: Histogram = "pool_acquire_seconds", "How long a job waited for its sandbox", [], &SHORT;
    pool_refill: Histogram = "pool_refill_seconds", "How long it took to make a sandbox", [], &SHORT;
    pool_refill_failures: IntCounter = "pool_refill_failures_total", "Sandboxes that could not be made", [], &NONE;
    pool_discards: IntCounterVec = "pool_discards_total", "Sandboxes that retired", ["reason"], &NONE;
    resets: IntCounterVec = "resets_total", "Resets between two jobs", ["result"], &NONE;
    residue: IntCounterVec = "residue_total", "What a reset found that a job had left", ["kind"], &NONE;
    canary: GaugeVec = "canary_last_success_timestamp_seconds", "When a canary last came back whole", ["kind"], &NONE;
    resources: IntGaugeVec = "sandbox_resources", "What this worker has of the kernel's", ["kind"], &NONE;
    cleanup: Histogram = "sandbox_cleanup_seconds", "How long it took to take a sandbox down", [], &SHORT;
    cleanup_failures: IntCounter = "sandbox_cleanup_failures_total", "Sandboxes of which something is left, or may be", [], &NONE;
    orphans: IntCounterVec = "orphans_reaped_total", "What the dead had left and was removed", ["kind"], &NONE;
    disk_free: IntGaugeVec = "disk_free_bytes", "Free bytes under a folder of the worker's", ["place"], &NONE;
    disk_size: IntGaugeVec = "disk_size_bytes", "Size of the disk under a folder of the worker's", ["place"], &NONE;
    artifacts: IntCounterVec = "artifacts_total", "Files that jobs made", ["state"], &NONE;
    streams_withheld: IntCounter = "streams_withheld_total", "Outputs of jobs of which the gate held something back", [], &NONE;
    scan: IntCounterVec = "scan_total", "Files that were scanned, by what the gate was told of them", ["verdict"], &NONE;
    scan_seconds: Histogram = "scan_seconds", "How long the gate took with all that one job made", [], &SHORT;
    clamd_up: IntGaugeVec = "clamd_up", "Whether the clamd answers that is asked about files", [], &NONE;
    store_request: HistogramVec = "store_request_seconds", "How long the store took", ["op", "result"], &SHORT;
    store_up: IntGauge = "store_up", "Whether the store answers and has room", [], &NONE;
    store_bytes: IntCounterVec = "store_bytes_total", "Bytes to the store and from it", ["direction"], &NONE;
    egress: IntCounterVec = "egress_total", "What jobs asked the network for, by what became of it", ["decision"], &NONE;
    redis_up: IntGaugeVec = "redis_up", "Whether Redis answers", [], &NONE;
    redis_command: HistogramVec = "redis_command_seconds", "How long Redis took", ["call"], &SHORT;
    redis_lag: GaugeVec = "redis_lag_seconds", "How long the record in Redis has lacked something", [], &NONE;
    redis_dropped: IntCounter = "redis_dropped_total", "News for Redis that were given up on; the next whole record has them", [], &NONE;
    trace_spans: IntCounterVec = "trace_spans_total", "Spans, by whether the collector has them", ["result"], &NONE;
    panics: IntCounter = "panics_total", "Tasks that ended by a bug", [], &NONE;
}

impl Names {
    pub(super) fn encode(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace(NAMESPACE)
}

/// What can be entered into a registry.
pub(super) trait Entered {
    fn enter(self, registry: &Registry);
}

impl<T: Collector + 'static> Entered for T {
    fn enter(self, registry: &Registry) {
        registry
            .register(Box::new(self))
            .expect("each name is given once");
    }
}

/// A kind of figure that can be made of a name.
pub(super) trait Registered: Entered + Clone + Sized {
    fn make(opts: Opts, labels: &[&str], buckets: &[f64]) -> prometheus::Result<Self>;
}

fn named<T: Registered>(
    registry: &Registry,
    (name, help): (&str, &str),
    labels: &[&str],
    buckets: &[f64],
) -> T {
    let made =
        T::make(opts(name, help), labels, buckets).expect("names and labels are plain words");
    made.clone().enter(registry);
    made
}
