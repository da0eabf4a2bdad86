//! Where did the time of one job go, as a trace that other systems can join?
//!
//! ```text
//!  sender ──traceparent──► process kiln.jobs.interactive     (consumer; received to acknowledged)
//!                            ├─ acquire, stage_in, run, collect, scan, store, commit
//!                            ├─ send kiln.results ──traceparent──► whoever reads the outcome
//!                            └─ settle
//! ```
//!
//! Off unless `telemetry.otlp` names a collector. Spans hold ids, words of closed sets and figures:
//! nothing that a job says itself. Nothing here waits: what a job leaves goes into a queue of a
//! fixed length, and what finds no room is counted.

mod context;
mod exporter;
mod otlp;

pub use context::Parent;
pub use exporter::Exporter;

use crate::telemetry::metric::Metrics;
use exporter::Queue;
use kiln_protocol::digest::hex;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Class;
use kiln_protocol::outcome::{Fault, Outcome, Start, TimingUs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

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
            Recorded {
                to: to.clone(),
                trace: parent.map_or(new, |parent| parent.trace),
                parent: parent.map(|parent| parent.span),
                base,
                spans: Mutex::new(vec![Span {
                    id: base,
                    parent: None,
                    name: format!("process {queue}"),
                    kind: Kind::Consumer,
                    began: now(),
                    ended: 0,
                    attributes: vec![
                        ("messaging.system", "rabbitmq".into()),
                        ("messaging.operation.name", "process".into()),
                        ("messaging.operation.type", "process".into()),
                        ("messaging.destination.name", queue.into()),
                    ],
                    failed: false,
                }]),
            }
        });
        let known = parent.is_some() || recorded.is_some();
        Trace(known.then(|| Arc::new(Context { parent, recorded })))
    }
}

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
    /// The first is the delivery's own.
    spans: Mutex<Vec<Span>>,
}

/// One stretch of time.
#[derive(Clone, Debug)]
struct Span {
    id: u64,
    /// `None` is the delivery's own span, whose parent is the sender's.
    parent: Option<u64>,
    name: String,
    kind: Kind,
    /// Nanoseconds since 1970.
    began: u64,
    ended: u64,
    attributes: Vec<(&'static str, Attribute)>,
    failed: bool,
}

/// In the numbers of OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Internal = 1,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Attribute {
    Text(String),
    Number(u64),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A moment of the clock that traces are in; nought where nothing is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Moment(u64);

impl Trace {
    /// The trace that the job belongs to, as its outcome tells it.
    pub fn id(&self) -> Option<String> {
        let recorded = self.recorded().map(|recorded| recorded.trace);
        let trace = recorded.or_else(|| Some(self.parent()?.trace));
        trace.map(|trace| hex(&trace))
    }

    /// The `traceparent` of what is published for the job.
    pub fn header(&self) -> Option<String> {
        let Some(recorded) = self.recorded() else {
            return self.parent().map(Parent::header);
        };
        let sent = Parent {
            trace: recorded.trace,
            span: recorded.sent().to_be_bytes(),
            sampled: true,
        };
        Some(sent.header())
    }

    pub fn now(&self) -> Moment {
        Moment(self.recorded().map_or(0, |_| now()))
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

    /// The stages of a run that began then, laid end to end, and its commit until now.
    pub fn stages(&self, began: Moment, timing: &TimingUs) {
        let (Some(recorded), Moment(began)) = (self.recorded(), began) else {
            return;
        };
        let mut at = began;
        for (name, took) in [
            ("acquire", timing.acquire),
            ("stage_in", timing.stage_in),
            ("run", timing.run),
            ("collect", timing.collect),
            ("scan", timing.scan),
            ("store", timing.store),
        ] {
            if let Some(us) = took {
                let ended = at.saturating_add(us.saturating_mul(1_000));
                recorded.add(name.to_owned(), Kind::Internal, (at, ended), Vec::new());
                at = ended;
            }
        }
        let end = now();
        recorded.add(
            "commit".to_owned(),
            Kind::Internal,
            (at.min(end), end),
            Vec::new(),
        );
    }

    /// The outcome was published; its header named this very span.
    pub fn sent(&self, began: Moment, exchange: &str, routing_key: &str, confirmed: bool) {
        let (Some(recorded), Moment(began)) = (self.recorded(), began) else {
            return;
        };
        let destination = format!("{exchange}:{routing_key}");
        let attributes = vec![
            ("messaging.system", "rabbitmq".into()),
            ("messaging.operation.name", "send".into()),
            ("messaging.operation.type", "send".into()),
            ("messaging.destination.name", destination.as_str().into()),
            (
                "messaging.rabbitmq.destination.routing_key",
                routing_key.into(),
            ),
        ];
        recorded.lock().push(Span {
            id: recorded.sent(),
            parent: Some(recorded.base),
            name: format!("send {exchange}"),
            kind: Kind::Producer,
            began,
            ended: now(),
            attributes,
            failed: !confirmed,
        });
    }

    /// The delivery was acknowledged.
    pub fn settled(&self, began: Moment) {
        let (Some(recorded), Moment(began)) = (self.recorded(), began) else {
            return;
        };
        let attributes = vec![
            ("messaging.system", "rabbitmq".into()),
            ("messaging.operation.name", "ack".into()),
            ("messaging.operation.type", "settle".into()),
        ];
        recorded.add(
            "settle".to_owned(),
            Kind::Client,
            (began, now()),
            attributes,
        );
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

    /// The id of the span in which the outcome is sent, before there is one.
    fn sent(&self) -> u64 {
        self.base.wrapping_add(1)
    }

    fn add(
        &self,
        name: String,
        kind: Kind,
        (began, ended): (u64, u64),
        attributes: Vec<(&'static str, Attribute)>,
    ) {
        let mut spans = self.lock();
        let id = self.base.wrapping_add(1 + spans.len() as u64);
        spans.push(Span {
            id,
            parent: Some(self.base),
            name,
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
            own.ended = now();
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
