//! Metrics to which everything has happened.

use super::super::*;
use kiln_protocol::outcome::{ArtifactState, Start, TimingUs};

/// Everything that can happen, once, with every word of every label.
pub(super) fn eventful() -> Arc<Metrics> {
    eventful_of(Metrics::new(), &Profiles::built_in())
}

/// The same, with every profile of these.
pub(super) fn eventful_of(metrics: Arc<Metrics>, profiles: &Profiles) -> Arc<Metrics> {
    use crate::telemetry::event::{DeadLettered, DrainBegan, Panicked};
    let moment = Duration::from_millis(3);
    metrics.job(Class::Batch, "python", Status::Succeeded);
    metrics.timing(&timing());
    for class in Class::ALL {
        metrics.latency(class, &timing());
    }
    metrics.published(moment);
    metrics.queue_wait(moment);
    metrics.in_flight(2);
    metrics.slots(4);
    metrics.slots_busy(1);
    metrics.connected(Role::Consumer, true);
    metrics.delivery(true);
    metrics.ack(AckResult::Stale);
    metrics.publish_confirm(moment);
    metrics.scanned(kiln_protocol::Verdict::Clean);
    metrics.duplicate();
    metrics.redis_up(true);
    metrics.clamd_up(true);
    metrics.redis_behind(moment, 2);
    metrics.redis_behind(moment, 3);
    metrics.standing(&Readiness::new());
    metrics.consumer_timeout(Duration::from_mins(30));
    metrics.results_pending(1);
    for class in Class::ALL {
        let queue = kiln_protocol::topology::jobs_queue(class, None);
        metrics.consumer_up(&queue, true);
        metrics.queue_ready(&queue, Some(7));
    }
    let panicked = Panicked {
        job_id: "a",
        what: "task",
    };
    panicked.emit(&metrics);
    metrics.trace_spans(true, 1);
    DrainBegan {
        running: 1,
        grace: moment,
    }
    .emit(&metrics);
    for reason in DeadReason::ALL {
        DeadLettered { reason, detail: "" }.emit(&metrics);
    }
    for op in ["put", "get", "list", "delete", "sync", "upload"] {
        metrics.store_request(op, true, moment);
        metrics.store_request(op, false, moment);
    }
    for direction in Direction::ALL {
        metrics.store_bytes(direction, 9);
    }
    for kind in Holding::ALL {
        metrics.holds(kind, Some(3));
    }
    for disk in Disk::ALL {
        metrics.disk(disk, Some((1, 2)));
    }
    for call in [
        "enter", "project", "claim", "beat", "renew", "expired", "reap", "leave",
    ] {
        metrics.redis_command(call, moment);
    }
    for state in [ArtifactState::Released, ArtifactState::Withheld] {
        metrics.artifact(state);
    }
    for kind in Canary::ALL {
        metrics.canary(kind);
    }
    for kind in RESIDUE {
        metrics.residue(kind);
    }
    pool(&metrics, profiles, moment);
    metrics
}

/// Everything that the pool tells.
fn pool(metrics: &Metrics, profiles: &Profiles, moment: Duration) {
    use crate::pool::phase::Phase;
    use crate::pool::watch::{Moved, News, Watch as _};
    for profile in profiles.names().into_iter().chain(["a-stranger"]) {
        metrics.acquired(profile, Start::Warm, Some(moment));
        metrics.acquired(profile, Start::Cold, Some(moment));
        metrics.told(&News::Sized {
            profile,
            wanted: 4,
            max: 16,
        });
        metrics.told(&News::Waits { profile, jobs: 1 });
        metrics.told(&News::Making { profile });
        metrics.told(&News::Made {
            profile,
            took: moment,
        });
        for (n, reason) in [None].into_iter().chain(DISCARDS.map(Some)).enumerate() {
            let id = u32::try_from(n).expect("small");
            for phase in Phase::ALL {
                metrics.moved(&Moved {
                    id: kiln_warden::wire::SandboxId(id),
                    profile: profile.into(),
                    phase,
                    generation: 1,
                    uses: 0,
                    tenant: None,
                    reason,
                });
            }
        }
    }
}

/// Why sandboxes retire, by the words in the code.
const DISCARDS: [&str; 12] = [
    "uses", "age", "reuse", "room", "reset", "dirty", "signal", "oom", "timeout", "syscall",
    "network", "tenant",
];

/// The words of the warden for what is left.
const RESIDUE: [&str; 11] = [
    "process",
    "cgroup",
    "mount",
    "descriptor",
    "namespace",
    "memory",
    "posture",
    "key",
    "limit",
    "unreadable",
    "canary",
];

pub(super) fn timing() -> TimingUs {
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
