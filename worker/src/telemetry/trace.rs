//! Where did the time of one job go, as a trace that other systems can join?
//!
//! ```text
//!  sender ──traceparent──► wait kiln.jobs.interactive        (in the queue)
//!         └──────────────► process kiln.jobs.interactive     (consumer; begun to acknowledged)
//!                            ├─ acquire, stage_in, run, collect, scan, store, commit
//!                            ├─ send kiln.results ──traceparent──► whoever reads the outcome
//!                            ├─ send (temporary)  ──traceparent──► whoever asked, at the same time
//!                            └─ settle
//! ```
//!
//! Off unless `telemetry.otlp` names a collector. Spans hold ids, words of closed sets and figures:
//! nothing that a job says itself. Nothing here waits: what a job leaves goes into a queue of a
//! fixed length, and what finds no room is counted.

mod context;
mod exporter;
mod otlp;
mod span;

pub use context::Parent;
pub use exporter::Exporter;

use crate::stages::{Stages, Stretch};
use crate::telemetry::metric::Metrics;
use exporter::Queue;
use kiln_protocol::digest::hex;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Class;
use kiln_protocol::outcome::{Fault, Outcome, Start};
use kiln_protocol::topology::RESULTS;
use span::{Attribute, Kind, Span, Under, messaging};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where traces go. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Traces(Option<Queue>);

impl Traces {
    /// Nowhere.
    pub fn off() -> Self {
        Self(None)
    }

    /// To a collector; the exporter is to be closed at the end.
    pub fn to(
        endpoint: &str,
        worker: &str,
        metrics: Arc<Metrics>,
    ) -> Result<(Self, Exporter), reqwest::Error> {
        let (queue, exporter) = exporter::start(endpoint, worker, metrics)?;
        Ok((Self(Some(queue)), exporter))
    }

    /// A delivery is served from now on. One whose sender does not want it recorded is not, and
    /// its context is passed on all the same.
    pub fn begin(&self, parent: Option<Parent>, queue: &str) -> Trace {
        let wanted = parent.is_none_or(|parent| parent.sampled);
        let recorded = self.0.as_ref().filter(|_| wanted).map(|to| {
            let (mut new, mut base) = ([0; 16], [0; 8]);
            fill(&mut new);
            fill(&mut base);
            let base = u64::from_le_bytes(base);
            let (instant, began) = (Instant::now(), now());
            Recorded {
                to: to.clone(),
                trace: parent.map_or(new, |parent| parent.trace),
                parent: parent.map(|parent| parent.span),
                base,
                queue: queue.to_owned(),
                clock: (instant, began),
                spans: Mutex::new(vec![Span {
                    id: base,
                    parent: Under::Sender,
                    name: format!("process {queue}"),
                    kind: Kind::Consumer,
                    began,
                    ended: 0,
                    attributes: messaging("process", "process", queue),
                    failed: false,
                }]),
            }
        });
        let known = parent.is_some() || recorded.is_some();
        Trace(known.then(|| Arc::new(Context { parent, recorded })))
    }
}

/// To whom an outcome is sent, each in a span of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Whoever is bound to the results.
    Everybody,
    /// The queue that the job names for its answer.
    Asker,
}

/// The place of the wait among the ids; the two before it are those of what is sent.
const WAIT: u64 = 3;

/// The trace of one delivery. Cheap to clone; what is recorded goes out with the last clone.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Arc<Context>>);

#[derive(Debug)]
struct Context {
    parent: Option<Parent>,
    recorded: Option<Recorded>,
}

#[derive(Debug)]
struct Recorded {
    to: Queue,
    trace: [u8; 16],
    /// The sender's span.
    parent: Option<[u8; 8]>,
    /// The id of the first span; the others count on from it.
    base: u64,
    /// Where the delivery came from.
    queue: String,
    /// One moment by both clocks: all others are told by the monotonic one, from there.
    clock: (Instant, u64),
    /// The first is the delivery's own.
    spans: Mutex<Vec<Span>>,
}

impl Trace {
    /// The trace that the job belongs to, as its outcome tells it.
    pub fn id(&self) -> Option<String> {
        let recorded = self.recorded().map(|recorded| recorded.trace);
        let trace = recorded.or_else(|| Some(self.parent()?.trace));
        trace.map(|trace| hex(&trace))
    }

    /// The `traceparent` of an outcome that goes there.
    pub fn header(&self, to: To) -> Option<String> {
        let Some(recorded) = self.recorded() else {
            return self.parent().map(Parent::header);
        };
        let sent = Parent {
            trace: recorded.trace,
            span: recorded.sent(to).to_be_bytes(),
            sampled: true,
        };
        Some(sent.header())
    }

    /// Whose job it is.
    pub fn job(&self, id: &JobId, tenant: &Tenant, class: Class, profile: &str) {
        self.own(|span| {
            span.attributes.extend([
                ("messaging.message.id", id.to_string().as_str().into()),
                ("kiln.tenant", tenant.to_string().as_str().into()),
                ("kiln.class", class.as_str().into()),
                ("kiln.profile", profile.into()),
            ]);
        });
    }

    /// What came of it.
    pub fn outcome(&self, outcome: &Outcome) {
        self.own(|span| {
            let put = &mut span.attributes;
            put.push(("kiln.status", outcome.status.as_str().into()));
            if let Some(reason) = &outcome.reason {
                put.push(("kiln.reason", reason.as_str().into()));
            }
            put.push(("kiln.attempt", Attribute::Number(outcome.attempt.into())));
            if let Some(sandbox) = &outcome.sandbox {
                let start = match sandbox.start {
                    Start::Warm => "warm",
                    Start::Cold => "cold",
                };
                put.extend([
                    ("kiln.sandbox.id", sandbox.id.as_str().into()),
                    ("kiln.sandbox.start", start.into()),
                    (
                        "kiln.sandbox.generation",
                        Attribute::Number(sandbox.generation),
                    ),
                    ("kiln.sandbox.uses", Attribute::Number(sandbox.uses)),
                ]);
            }
            // A program that fails is a delivered result; only our own failure is an error here.
            if outcome.status.fault() == Some(Fault::Platform) {
                put.push(("error.type", outcome.status.as_str().into()));
                span.failed = true;
            }
        });
    }

    /// Our own failure; `kind` is a word of a closed set.
    pub fn failed(&self, kind: &'static str) {
        self.own(|span| {
            span.attributes.push(("error.type", kind.into()));
            span.failed = true;
        });
    }

    /// The message waited so long until now, first in the queue and then here, where that is known.
    pub fn waited(&self, us: Option<u64>) {
        let (Some(recorded), Some(us)) = (self.recorded(), us) else {
            return;
        };
        let wait = ("kiln.queue_wait_us", Attribute::Number(us));
        self.own(|span| span.attributes.push(wait.clone()));
        let (now, ended) = (recorded.unix_ns(Instant::now()), recorded.clock.1);
        let began = now.saturating_sub(us.saturating_mul(1_000)).min(ended);
        // It is over when `process` begins, so it is no part of that; without a sender there is no
        // other span that it could be a part of.
        let under = match recorded.parent {
            Some(_) => Under::Sender,
            None => Under::Span(recorded.base),
        };
        recorded.put(Span {
            id: recorded.base.wrapping_add(WAIT),
            parent: under,
            name: format!("wait {}", recorded.queue),
            kind: Kind::Internal,
            began,
            ended,
            attributes: vec![
                ("messaging.system", "rabbitmq".into()),
                ("messaging.destination.name", recorded.queue.as_str().into()),
                wait,
            ],
            failed: false,
        });
    }

    /// The stages of a run, each when it was.
    pub fn stages(&self, stages: &Stages) {
        let Some(recorded) = self.recorded() else {
            return;
        };
        for (name, stretch) in stages.named() {
            if let Some(stretch) = stretch {
                recorded.add(name, Kind::Internal, stretch, Vec::new());
            }
        }
    }

    /// The outcome was sent there until now; its header named this very span.
    pub fn sent(&self, to: To, began: Instant, routing_key: &str, confirmed: bool) {
        let Some(recorded) = self.recorded() else {
            return;
        };
        let (name, mut attributes) = match to {
            To::Everybody => {
                let destination = format!("{RESULTS}:{routing_key}");
                let mut attributes = messaging("send", "send", &destination);
                let key = "messaging.rabbitmq.destination.routing_key";
                attributes.push((key, routing_key.into()));
                (format!("send {RESULTS}"), attributes)
            }
            // Whoever knows the name of such a queue can write to it.
            To::Asker => (
                "send (temporary)".to_owned(),
                messaging("send", "send", "(temporary)"),
            ),
        };
        if to == To::Asker {
            attributes.push(("messaging.destination.temporary", Attribute::Yes));
        }
        recorded.put(Span {
            id: recorded.sent(to),
            parent: Under::Span(recorded.base),
            name,
            kind: Kind::Producer,
            began: recorded.unix_ns(began),
            ended: recorded.unix_ns(Instant::now()),
            attributes,
            failed: !confirmed,
        });
    }

    /// The delivery was acknowledged, from then until now.
    pub fn settled(&self, began: Instant) {
        if let Some(recorded) = self.recorded() {
            let attributes = messaging("ack", "settle", &recorded.queue);
            recorded.add("settle", Kind::Client, Stretch::since(began), attributes);
        }
    }

    fn recorded(&self) -> Option<&Recorded> {
        self.0.as_ref()?.recorded.as_ref()
    }

    fn parent(&self) -> Option<&Parent> {
        self.0.as_ref()?.parent.as_ref()
    }

    fn own(&self, change: impl FnOnce(&mut Span)) {
        if let Some(recorded) = self.recorded()
            && let Some(own) = recorded.lock().first_mut()
        {
            change(own);
        }
    }
}

impl Recorded {
    fn lock(&self) -> MutexGuard<'_, Vec<Span>> {
        // Whole between two calls of its own.
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of the span in which the outcome is sent there, before there is one.
    fn sent(&self, to: To) -> u64 {
        self.base.wrapping_add(match to {
            To::Everybody => 1,
            To::Asker => 2,
        })
    }

    fn unix_ns(&self, at: Instant) -> u64 {
        let (known, ns) = self.clock;
        let ns_of = |took: Duration| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        match at.checked_duration_since(known) {
            Some(after) => ns.saturating_add(ns_of(after)),
            None => ns.saturating_sub(ns_of(known.saturating_duration_since(at))),
        }
    }

    fn put(&self, span: Span) {
        self.lock().push(span);
    }

    /// A part of the delivery's own span.
    fn add(
        &self,
        name: &'static str,
        kind: Kind,
        stretch: Stretch,
        attributes: Vec<(&'static str, Attribute)>,
    ) {
        let (began, ended) = (self.unix_ns(stretch.began), self.unix_ns(stretch.ended));
        let mut spans = self.lock();
        let id = self.base.wrapping_add(WAIT + spans.len() as u64);
        spans.push(Span {
            id,
            parent: Under::Span(self.base),
            name: name.to_owned(),
            kind,
            began,
            ended,
            attributes,
            failed: false,
        });
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let mut spans = std::mem::take(&mut *self.lock());
        if let Some(own) = spans.first_mut() {
            own.ended = self.unix_ns(Instant::now());
        }
        self.to.put(exporter::Batch {
            trace: self.trace,
            parent: self.parent,
            spans,
        });
    }
}

/// Ids need not be secret, only different: where the kernel has no random bytes the clock will do.
fn fill<const N: usize>(bytes: &mut [u8; N]) {
    let filled = rustix::rand::getrandom(&mut *bytes, rustix::rand::GetRandomFlags::empty());
    if filled != Ok(N) {
        for (byte, of) in bytes
            .iter_mut()
            .zip(now().to_le_bytes().into_iter().cycle())
        {
            *byte ^= of;
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests;
