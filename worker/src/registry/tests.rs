//! The record against a real server: order, outages, fleets.
//!
//! Every test starts a `redis-server` of its own, on a socket in a folder of its own.

mod claims;
mod fleets;
mod order;
mod outages;
mod server;

use super::fleet::{Fleet, Worker};
use super::*;
use crate::config::{Redis, Secret};
use crate::pool::phase::Phase;
use kiln_warden::wire::SandboxId;
use server::Server;
use std::time::{Duration, Instant};

/// Paces at which a test is short.
fn fast() -> Tempo {
    Tempo {
        beat: Duration::from_millis(150),
        stale: Duration::from_millis(800),
        gone: Duration::from_secs(2),
        flush: Duration::from_millis(10),
        response: Duration::from_millis(300),
        connect: Duration::from_millis(400),
        probe: Duration::from_millis(200),
        // What is measured in milliseconds elsewhere is not judged on a busy machine.
        claim: Duration::from_millis(500),
        ..Tempo::default()
    }
}

fn redis(url: &str) -> Redis {
    Redis {
        url: Secret::new(url),
    }
}

fn identity(worker: &str) -> Identity {
    Identity {
        worker: worker.to_owned(),
        host: "host-a".to_owned(),
        slots: 4,
    }
}

fn start(url: &str, worker: &str) -> Registry {
    Registry::paced(Some(&redis(url)), identity(worker), Metrics::new(), fast())
}

fn moved(id: u32, phase: Phase, generation: u64) -> Moved {
    Moved {
        id: SandboxId(id),
        profile: "python".into(),
        phase,
        generation,
        uses: 1,
        tenant: Some("acme".into()),
        reason: None,
    }
}

fn job(name: &str) -> JobId {
    JobId::try_from(name.to_owned()).expect("a name")
}

/// Waits until something holds, for ten seconds: the promise of the record.
async fn until<T>(what: &str, mut holds: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = holds().await {
            return found;
        }
        assert!(Instant::now() < deadline, "within 10 s: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn up(registry: &Registry) {
    until("the record is kept", async || {
        registry.is_up().then_some(())
    })
    .await;
}

async fn down(registry: &Registry) {
    until("the outage is seen", async || {
        (!registry.is_up()).then_some(())
    })
    .await;
}

async fn workers(url: &str) -> Option<Vec<Worker>> {
    let mut fleet = Fleet::paced(&redis(url), fast()).await.ok()?;
    fleet.workers().await.ok()
}

/// The sandboxes that the record has of a worker: id, phase, generation.
async fn view(url: &str, worker: &str) -> Vec<(String, String, u64)> {
    let found = workers(url).await.unwrap_or_default();
    found
        .into_iter()
        .filter(|found| found.worker == worker)
        .flat_map(|found| found.sandboxes)
        .map(|sandbox| (sandbox.id, sandbox.phase, sandbox.generation))
        .collect()
}

/// Waits until the record has exactly these.
async fn sees(url: &str, worker: &str, wanted: &[(u32, &str, u64)]) {
    let wanted: Vec<_> = wanted
        .iter()
        .map(|(id, phase, generation)| {
            (SandboxId(*id).to_string(), (*phase).to_owned(), *generation)
        })
        .collect();
    until(&format!("the record has {wanted:?}"), async || {
        (view(url, worker).await == wanted).then_some(())
    })
    .await;
}
