//! The queue worker: deliveries in, one visible result each out.
//!
//! # Layout
//!
//! - `admit`, `encoding`, `reply`: a message becomes a job, a refusal, or a dead letter
//! - `serving`: one delivery's way to its answer; read it after [`crate::pipeline`]
//! - `judging`: is a job to run; `known`: what the fleet's store already knows of it
//! - `failing`: our own failures, tried again and at last answered
//! - `answer`: an outcome is committed, published and its delivery acknowledged, in this order
//! - `running`: the jobs that run here, who cancels them and who waits for them
//! - `control`: cancellations, heard live and found in the store
//! - `canary`: jobs of our own that look for residue and open walls
//! - `recovery`: what a dead worker left
//! - `dispatch`: deliveries wait, slots come free, the next job starts; and the drain

mod admit;
mod answer;
mod canary;
mod context;
mod control;
mod digging;
mod dispatch;
mod encoding;
mod failing;
mod judging;
mod known;
mod recovery;
mod reply;
mod running;
mod serving;
mod suspect;
mod tombs;
mod waiting;

pub use dispatch::{Drained, Signals, run};
pub use recovery::{RecoveryError, recover};

use crate::engine::Engine;
use crate::intake::Source;
use crate::intake::amqp::Broker;
use crate::journal::Journal;
use crate::registry::Registry;
use crate::store::ledger::Ledger;
use crate::telemetry::metric::Metrics;
use crate::telemetry::readiness::Readiness;
use crate::telemetry::trace::Traces;
use kiln_protocol::id::Tenant;
use running::Running;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::RwLock;
use tombs::Tombs;

/// The parts that a service is made of.
#[derive(Debug)]
pub struct Parts {
    pub engine: Engine,
    pub broker: Broker,
    pub ledger: Ledger,
    pub registry: Registry,
    pub journal: Journal,
    pub metrics: Arc<Metrics>,
    pub readiness: Readiness,
    pub traces: Traces,
    /// The queues that jobs come by.
    pub sources: Vec<Arc<Source>>,
    /// Shares of tenants with queues of their own.
    pub shares: BTreeMap<Tenant, u32>,
    pub terms: Terms,
}

/// On which terms jobs are taken and served.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Who answers.
    pub worker: String,
    /// Jobs that run at once.
    pub slots: usize,
    /// How long running jobs have at a drain.
    pub grace: Duration,
    /// How often jobs of our own try the sandboxes, if at all.
    pub canary: Option<Duration>,
    /// The folder that outlives the process.
    pub state: PathBuf,
    pub trust_tenant: bool,
    pub reply_prefixes: Vec<String>,
}

/// What every job's task sees.
#[derive(Debug)]
pub(crate) struct Service {
    engine: Engine,
    broker: Broker,
    ledger: Ledger,
    registry: Registry,
    journal: Journal,
    metrics: Arc<Metrics>,
    traces: Traces,
    terms: Terms,
    running: Running,
    tombs: Tombs,
    /// Held for writing by a job in whose run a worker has died: it runs alone, so that a second
    /// death is nobody else's.
    alone: RwLock<()>,
    /// Outcomes that the broker does not take.
    unpublished: AtomicUsize,
}

impl Service {
    /// Whether a job that starts now can be remembered here and answered.
    fn is_able(&self) -> bool {
        self.ledger.reachable() && self.journal.is_able()
    }
}
