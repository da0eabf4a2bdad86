//! What do the figures cost a job, and what does it cost to read those of a large worker?

use super::super::*;
use super::eventful::eventful;
use crate::pool::phase::Phase;
use crate::pool::watch::{Moved, Watch as _};
use kiln_protocol::outcome::Start;
use std::time::Instant;

/// A scrape may take so long, of a worker with a thousand sandboxes.
const SCRAPE_MAX: Duration = Duration::from_millis(10);
/// A worker does no more than a thousand jobs a second on a core: one in a hundred of a job's time.
const JOB_MAX: Duration = Duration::from_micros(10);

/// The quickest of some rounds: what it costs when nobody else has the machine.
fn quickest(rounds: usize, mut work: impl FnMut()) -> Duration {
    let round = |_| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    (0..rounds).map(round).min().expect("there are rounds")
}

fn moved(id: u32, phase: Phase) -> Moved {
    Moved {
        id: kiln_warden::wire::SandboxId(id),
        profile: "python".into(),
        phase,
        generation: 1,
        uses: 0,
        tenant: None,
        reason: None,
    }
}

#[test]
fn a_worker_of_a_thousand_sandboxes_is_read_in_time() {
    let metrics = eventful();
    for id in 0..1_000 {
        metrics.moved(&moved(1_000 + id, Phase::Warm));
    }
    // As many queues as have labels.
    for n in 0..QUEUES_MAX {
        metrics.consumer_up(&format!("kiln.jobs.batch.t{n}"), true);
    }
    let mut bytes = 0;
    let took = quickest(50, || {
        bytes = metrics.encode().expect("it can be encoded").len();
    });
    tell(&format!("a scrape of {bytes} bytes takes {took:?}"));
    assert!(took <= SCRAPE_MAX, "{took:?}");
}

/// Everything that is counted on the way of one job, moves of its sandbox included. Without
/// optimisation it takes some ten times as long as it does where it is installed.
#[test]
fn a_job_pays_next_to_nothing_for_its_figures() {
    let metrics = Metrics::new();
    let timing = super::eventful::timing();
    let moves = [Phase::Warm, Phase::Leased, Phase::Running, Phase::Resetting];
    let moves = moves.map(|phase| moved(1, phase));
    let moment = Duration::from_millis(1);
    let jobs = 1_000;
    let took = quickest(20, || {
        for _ in 0..jobs {
            metrics.delivery(false);
            let held = metrics.hold();
            metrics.slots_busy(1);
            metrics.in_flight(1);
            for it in &moves {
                metrics.moved(it);
            }
            metrics.acquired("python", Start::Warm, Some(moment));
            metrics.job(Class::Batch, "python", Status::Succeeded);
            metrics.timing(&timing);
            metrics.latency(Class::Batch, &timing);
            metrics.queue_wait(moment);
            for op in ["put", "put", "upload", "sync"] {
                metrics.store_request(op, true, moment);
            }
            metrics.store_bytes(Direction::In, 900);
            metrics.publish_confirm(moment);
            metrics.published(moment);
            metrics.ack(AckResult::Ok);
            metrics.slots_busy(0);
            metrics.in_flight(0);
            drop(held);
        }
    });
    let one = took / jobs;
    tell(&format!("the figures of one job take {one:?}"));
    let slow = if cfg!(debug_assertions) { 10 } else { 1 };
    assert!(one <= JOB_MAX * slow, "{one:?}");
}

/// For whoever asks for the figures (`--nocapture`).
fn tell(line: &str) {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "{line}").expect("somebody listens");
}
