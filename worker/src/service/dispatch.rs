//! Deliveries wait, slots come free, the next job starts. And the end: a signal, a grace, a
//! second signal.

use super::canary::{self, Due};
use super::{Parts, Service, digging, recovery};
use crate::engine::EngineError;
use crate::intake::fair::{Charge, Fair, Next};
use crate::intake::{Delivery, Incoming, Source};
use crate::telemetry::event::{DrainBegan, Panicked};
use crate::telemetry::readiness::{Condition, Readiness};
use kiln_protocol::id::Tenant;
use kiln_protocol::job::Class;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

/// How often is looked at what nobody tells.
const TICK: Duration = Duration::from_millis(250);
/// How long the parts have to end, each.
const CLOSE_MAX: Duration = Duration::from_secs(3);
/// Interactive jobs get this much more CPU time than batch ones where both wait.
const INTERACTIVE_SHARE: u32 = 4;

/// The wishes to stop: the first drains, the second cuts.
#[derive(Debug)]
pub struct Signals(mpsc::UnboundedReceiver<()>);

impl Signals {
    pub fn new(wishes: mpsc::UnboundedReceiver<()>) -> Self {
        Self(wishes)
    }

    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// How a service ended.
#[derive(Debug)]
pub enum Drained {
    /// Every job that ran was answered.
    Whole,
    /// Jobs were killed and given back.
    Cut { jobs: usize },
    /// The warden is gone, and every sandbox with it; jobs were given back.
    WardenGone,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// Nothing new starts; what runs has until then.
    Draining(Instant),
}

struct Dispatch {
    service: Arc<Service>,
    readiness: Readiness,
    /// By their place in `fair`.
    sources: Vec<Arc<Source>>,
    fair: Fair<Delivery>,
    tasks: JoinSet<Option<u64>>,
    charges: HashMap<Id, Charge>,
    /// Whether every cancellation is known that could not be heard.
    dug: tokio::sync::watch::Sender<bool>,
    stage: Stage,
    canary: Option<Due>,
}

/// Serves until somebody wants it to end.
pub async fn run(
    parts: Parts,
    mut incoming: mpsc::UnboundedReceiver<Incoming>,
    mut signals: Signals,
) -> (Drained, Result<(), EngineError>) {
    let sweeping = tokio::spawn(super::recovery::sweep(
        parts.ledger.clone(),
        Arc::clone(&parts.metrics),
    ));
    let mut dispatch = Dispatch::new(parts);
    let drained = dispatch.serve(&mut incoming, &mut signals).await;
    sweeping.abort();
    (drained, dispatch.close().await)
}

impl Dispatch {
    fn new(parts: Parts) -> Self {
        let Parts {
            engine,
            broker,
            ledger,
            registry,
            journal,
            metrics,
            readiness,
            traces,
            sources,
            shares,
            terms,
        } = parts;
        metrics.slots(terms.slots);
        metrics.drain_grace(terms.grace);
        let canary = Due::every(terms.canary);
        let fair = Fair::new(
            &sources
                .iter()
                .map(|s| share(s, &shares))
                .collect::<Vec<_>>(),
        );
        Self {
            service: Arc::new(Service {
                engine,
                broker,
                ledger,
                registry,
                journal,
                metrics,
                traces,
                terms,
                running: super::Running::default(),
                tombs: super::Tombs::default(),
                alone: tokio::sync::RwLock::default(),
                unpublished: AtomicUsize::new(0),
            }),
            readiness,
            sources,
            fair,
            tasks: JoinSet::new(),
            charges: HashMap::new(),
            dug: tokio::sync::watch::channel(false).0,
            stage: Stage::Serving,
            canary,
        }
    }

    async fn serve(
        &mut self,
        incoming: &mut mpsc::UnboundedReceiver<Incoming>,
        signals: &mut Signals,
    ) -> Drained {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut dug = self.dug.subscribe();
        loop {
            let kept = self.start_jobs();
            self.show_load();
            let drained_by = match self.stage {
                Stage::Serving => None,
                Stage::Draining(_) if self.tasks.is_empty() => return Drained::Whole,
                Stage::Draining(by) => Some(by),
            };
            let late = until(drained_by);
            tokio::select! {
                biased;
                () = signals.next() => match self.stage {
                    Stage::Serving => self.drain().await,
                    Stage::Draining(_) => return self.cut().await,
                },
                () = late => return self.cut().await,
                Some(ended) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => {
                    let (task, cpu_us) = match ended {
                        Ok((task, cpu_us)) => (task, cpu_us),
                        Err(error) => {
                            let what = &error.to_string();
                            Panicked { job_id: "", what }.emit(&self.service.metrics);
                            (error.id(), None)
                        }
                    };
                    if let Some(charge) = self.charges.remove(&task) {
                        self.settle(charge, cpu_us);
                    }
                }
                message = incoming.recv() => match message {
                    Some(message) => self.take(message).await,
                    // The broker's tasks never end before they are told to.
                    None => return self.cut().await,
                },
                () = until(kept) => {}
                _ = tick.tick() => self.look(),
                changed = dug.changed() => drop(changed),
                () = self.service.ledger.changed() => {}
            }
            if self.service.engine.is_gone() {
                let Service {
                    journal,
                    ledger,
                    terms,
                    ..
                } = &*self.service;
                recovery::tell_now(journal, ledger, &terms.worker).await;
                self.cut().await;
                return Drained::WardenGone;
            }
        }
    }

    /// Starts jobs as long as there are slots and jobs; until when a slot is kept free, if one is.
    fn start_jobs(&mut self) -> Option<Instant> {
        let open = self.stage == Stage::Serving && *self.dug.borrow();
        while open && self.tasks.len() < self.service.terms.slots && self.service.is_able() {
            let (charge, delivery) = match self.fair.next(std::time::Instant::now()) {
                Next::Start(charge, delivery) => (charge, delivery),
                Next::Keep(until) => return Some(until.into()),
                Next::Nothing => return None,
            };
            if !delivery.ticket.usable() {
                // Its channel has ended: it comes again.
                self.settle(charge, None);
                continue;
            }
            let service = Arc::clone(&self.service);
            let task = self
                .tasks
                .spawn(async move { service.serve(delivery).await });
            self.charges.insert(task.id(), charge);
        }
        None
    }

    fn settle(&mut self, charge: Charge, cpu_us: Option<u64>) {
        self.fair.settle(charge, cpu_us, std::time::Instant::now());
    }

    async fn take(&mut self, message: Incoming) {
        match message {
            Incoming::Delivery(delivery) if self.stage != Stage::Serving => {
                delivery.ticket.give_back().await;
            }
            Incoming::Delivery(delivery) => {
                let queue = self.sources.iter().position(|s| *s == delivery.source);
                if let Some(queue) = queue {
                    self.fair.push(queue, delivery);
                } else {
                    tracing::error!(queue = delivery.source.queue, "nobody consumes this queue");
                }
            }
            Incoming::Control(control) => {
                let service = Arc::clone(&self.service);
                tokio::spawn(async move { service.control(control).await });
            }
            Incoming::ControlOpen => {
                self.dug.send_replace(false);
                tokio::spawn(digging::dig(Arc::clone(&self.service), self.dug.clone()));
            }
        }
    }

    /// Starts a job of our own where one is due, in a slot that nobody wants.
    fn start_canary(&mut self) {
        let free = self.stage == Stage::Serving && self.tasks.len() < self.service.terms.slots;
        let idle = self.fair.waiting() == 0;
        if free
            && let Some(due) = &mut self.canary
            && let Some(flight) = due.flight(idle, Instant::now())
        {
            let service = Arc::clone(&self.service);
            self.tasks.spawn(async move {
                canary::fly(&service, flight).await;
                None
            });
        }
    }

    fn look(&mut self) {
        self.start_canary();
        // What a channel that has ended brought comes again by the next; it need not wait twice.
        self.fair.retain(|delivery| delivery.ticket.usable());
        self.readiness.tick();
        let broker = self.service.broker.status();
        // Who drains consumes from nothing, by intent.
        let consuming = broker.consuming || self.stage != Stage::Serving;
        let pending = self.service.unpublished.load(Ordering::Relaxed);
        let metrics = &self.service.metrics;
        metrics.results_pending(pending);
        metrics.store_up(self.service.ledger.reachable());
        let published = pending == 0;
        let why = if !consuming && !broker.publishing {
            "RabbitMQ does not answer"
        } else if published {
            "not every queue has its consumer"
        } else {
            "outcomes cannot be published"
        };
        self.readiness.set(
            Condition::Broker,
            consuming && broker.publishing && published,
            why,
        );
        self.readiness.set(
            Condition::Store,
            self.service.ledger.reachable(),
            "the store does not answer, or is full",
        );
        self.service.journal.look_again();
        self.readiness.set(
            Condition::State,
            self.service.journal.is_able(),
            "the state folder takes nothing, or is full",
        );
        let engine = &self.service.engine;
        self.readiness.set(
            Condition::Pool,
            !engine.is_gone() && !engine.is_silent(),
            "the warden is gone, or does not answer",
        );
    }

    fn show_load(&self) {
        let busy = self.tasks.len();
        self.service.metrics.slots_busy(busy);
        self.service.metrics.in_flight(busy + self.fair.waiting());
        self.service.registry.busy(busy);
    }

    /// Takes nothing new; what runs has its grace.
    async fn drain(&mut self) {
        DrainBegan {
            running: self.tasks.len(),
            grace: self.service.terms.grace,
        }
        .emit(&self.service.metrics);
        self.readiness
            .set(Condition::Draining, false, "the worker ends");
        self.stage = Stage::Draining(Instant::now() + self.service.terms.grace);
        let stopped = self.service.broker.stop_consuming();
        if tokio::time::timeout(CLOSE_MAX, stopped).await.is_err() {
            tracing::warn!("the broker does not say that it sends no more");
        }
        for delivery in self.fair.drain() {
            delivery.ticket.give_back().await;
        }
    }

    /// Kills what runs; each task's ticket gives its message back.
    async fn cut(&mut self) -> Drained {
        let jobs = self.tasks.len();
        self.readiness
            .set(Condition::Draining, false, "the worker ends");
        self.tasks.shutdown().await;
        drop(self.fair.drain());
        if jobs == 0 {
            Drained::Whole
        } else {
            Drained::Cut { jobs }
        }
    }

    /// Ends every part, the ones that are asked before the ones that answer.
    async fn close(self) -> Result<(), EngineError> {
        let Self { service, .. } = self;
        let broker = service.broker.clone();
        let registry = service.registry.clone();
        if tokio::time::timeout(CLOSE_MAX, broker.close())
            .await
            .is_err()
        {
            tracing::warn!("the connections to the broker were not closed in time");
        }
        registry.close().await;
        match Arc::try_unwrap(service) {
            Ok(service) => service.engine.shut_down().await,
            // A control message is still being answered; the warden ends with this process.
            Err(_) => Ok(()),
        }
    }
}

/// Waits until then; for ever where no time is given.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// What a queue gets of the CPU time where others want some too.
fn share(source: &Source, shares: &BTreeMap<Tenant, u32>) -> u32 {
    let class = match source.class {
        Class::Interactive => INTERACTIVE_SHARE,
        Class::Batch => 1,
    };
    let tenant = source.tenant.as_ref().and_then(|tenant| shares.get(tenant));
    class * tenant.copied().unwrap_or(1)
}
