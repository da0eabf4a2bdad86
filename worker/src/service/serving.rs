//! One delivery's way to its answer.

use super::Service;
use super::admit::{self, Admitted, Refused, Request, admit};
use super::answer::Address;
use super::context::Context;
use super::judging::Verdict;
use super::running::{Entry, Place};
use super::suspect::{ALONE_MAX, suspected};
use super::waiting::Lost;
use crate::checkpoint::{Point, reach};
use crate::engine::{Delivered, Finished, OnStart, Place as Where, Submission};
use crate::fault::{Fault, chain};
use crate::intake::amqp::Delay;
use crate::intake::ticket::Ticket;
use crate::intake::{Delivery, Header, Properties, Source};
use crate::journal::Note;
use crate::report::answer::now_unix_ms;
use crate::telemetry::event::Panicked;
use crate::telemetry::metric::DeadReason;
use crate::telemetry::trace::{Parent, Trace};
use crate::telemetry::wide::{self, Asked};
use futures_util::FutureExt as _;
use kiln_protocol::job::Job;
use kiln_protocol::outcome::Outcome;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// A job that sleeps holds a slot all the same: a part of its time counts as CPU time.
const SLOT_PARTS: u64 = 4;
/// What is hashed within some 100 µs.
const LIGHT_BYTES_MAX: usize = 64 * 1_024;
/// How long after its sandboxes the warden may be found dead: what they left is swept before.
const DEATH_HEARD_MAX: Duration = Duration::from_secs(30);

impl Service {
    /// Answers a delivery, whatever it is; the CPU time that its job took, where one ran.
    pub(super) async fn serve(&self, delivery: Delivery) -> Option<u64> {
        let Delivery {
            source,
            body,
            properties,
            ticket,
            received,
        } = delivery;
        let trace = self.traces.begin(parent(&properties), &source.queue);
        let admitted = self.admitted(&body, &properties, &source);
        match admitted {
            Admitted::Dead { reason, detail } => {
                trace.failed(reason.as_str());
                self.dead_letter(ticket, reason, &detail).await;
                None
            }
            Admitted::Refused(refused) => {
                self.refuse(*refused, &source, ticket, trace).await;
                None
            }
            Admitted::Job(request) => {
                let context = Context {
                    properties,
                    received,
                    run: uuid::Uuid::now_v7().simple().to_string(),
                    began_unix_ms: now_unix_ms(),
                    trace,
                };
                self.guarded(*request, &context, &source, ticket).await
            }
        }
    }

    fn admitted(&self, body: &[u8], properties: &Properties, source: &Source) -> Admitted {
        let terms = admit::Terms {
            profiles: &**self.engine.profiles(),
            secrets: self.engine.secrets(),
            trust_tenant: self.terms.trust_tenant,
            reply_prefixes: &self.terms.reply_prefixes,
            worker: &self.terms.worker,
        };
        admit(body, properties, source, &terms)
    }

    /// Tells the sender of a job that is refused.
    async fn refuse(&self, refused: Refused, source: &Source, ticket: Ticket, trace: Trace) {
        let Refused {
            outcome,
            tenant,
            reply,
        } = refused;
        let address = Address {
            id: outcome.job_id.clone(),
            tenant,
            class: source.class,
            profile: String::new(),
            reply,
            trace,
        };
        address.traced();
        if let Err(Lost) = self.refuse_as(&address, &outcome, ticket).await {
            tracing::debug!(job_id = %address.id, "a delivery was lost before it was refused");
        }
    }

    /// A refusal under an id that already is a job's would be shown in that job's place.
    async fn refuse_as(&self, to: &Address, outcome: &Outcome, ticket: Ticket) -> Result<(), Lost> {
        let known = self.waited(&ticket, || self.ledger.job(&to.id)).await?;
        if known.is_some() {
            let detail = outcome.message.as_deref().unwrap_or_default();
            let detail =
                format!("the id is another job's already, and this one is refused: {detail}");
            self.dead_letter(ticket, DeadReason::BadMessage, &detail)
                .await;
            return Ok(());
        }
        self.conclude(to, outcome, ticket).await
    }

    /// Serves a job; a panic of ours counts like a death of the worker in it.
    async fn guarded(
        &self,
        request: Request,
        context: &Context,
        source: &Source,
        ticket: Ticket,
    ) -> Option<u64> {
        let id = request.job.id.clone();
        // Boxed: a delivery that is refused needs none of it.
        let served = AssertUnwindSafe(Box::pin(self.job(request, context, source, ticket)));
        match served.catch_unwind().await {
            Ok(Ok(cpu_us)) => cpu_us,
            Ok(Err(Lost)) => {
                tracing::info!(job_id = %id, "a delivery was lost; it comes again");
                None
            }
            Err(_) => {
                Panicked {
                    job_id: id.as_str(),
                    what: "a job's task",
                }
                .emit(&self.metrics);
                let crash = self.crash(context);
                if let Err(error) = self.ledger.crashed(&id, &crash).await {
                    let error = chain(&error);
                    tracing::error!(job_id = %id, error, "a panic could not be told to the store");
                }
                None
            }
        }
    }

    async fn job(
        &self,
        mut request: Request,
        context: &Context,
        source: &Source,
        ticket: Ticket,
    ) -> Result<Option<u64>, Lost> {
        let address = Address {
            id: request.job.id.clone(),
            tenant: request.job.tenant.clone(),
            class: source.class,
            profile: request.job.profile.clone(),
            reply: request.reply.clone(),
            trace: context.trace.clone(),
        };
        address.traced();
        reach(Point::Delivered, &address.id);
        let place = match self.running.enter(&address.id, &address.tenant) {
            Entry::Free(place) => place,
            // It comes again when its result is there.
            Entry::Taken => return self.later(ticket, context, Delay::Seconds5).await,
        };
        let crashes = match self.judge(&mut request, context, &place, &ticket).await? {
            Verdict::Run { crashes } => crashes,
            Verdict::Settle(document) => {
                self.metrics.duplicate();
                self.settle(&address, document, ticket).await;
                return Ok(None);
            }
            Verdict::Conclude(outcome) => {
                self.conclude(&address, &outcome, ticket).await?;
                return Ok(None);
            }
            Verdict::NotTheirs => {
                let detail = "id: another tenant has a job of this id; choose another";
                self.dead_letter(ticket, DeadReason::BadMessage, detail)
                    .await;
                return Ok(None);
            }
            Verdict::Later => return self.later(ticket, context, Delay::Seconds5).await,
            Verdict::GiveUp(crashes) => {
                self.give_up(&address, &crashes, ticket).await?;
                return Ok(None);
            }
        };
        self.registry.claimed(&address.id);
        let asked = light(&request.job);
        let delivered = Delivered {
            attempt: context.attempt(crashes),
            redelivered: context.properties.redelivered,
            queue_wait_us: context.queue_wait_us(),
            trace_id: context.trace.id(),
        };
        context.trace.waited(delivered.queue_wait_us);
        let ran = self.run(&request, delivered, &place, context, crashes > 0);
        let ran = Box::pin(ran).await;
        self.registry.ended(&address.id);
        match ran {
            Ok(finished) => {
                let cpu_us = self.count(&address, &finished);
                context.trace.stages(&finished.stages);
                context.trace.outcome(&finished.outcome);
                let told = address.delivery(Some(&source.queue), Some(&context.run));
                let mut heavy = None;
                // While the broker has the outcome.
                let say = || heavy = tell(&told, asked.as_deref(), finished.outcome, finished.ours);
                self.settle_beside(&address, finished.document, ticket, say)
                    .await;
                if let Some(outcome) = heavy {
                    // Nobody waits for it any more.
                    let asked = tokio::task::block_in_place(|| Asked::of(&request.job));
                    wide::done(&told, Some(&asked), &outcome);
                }
                drop(place);
                reach(Point::Cleaned, &address.id);
                Ok(cpu_us)
            }
            Err(fault) => {
                self.failed(&address, &fault, context, ticket).await?;
                Ok(None)
            }
        }
    }

    /// Runs the job to its committed outcome.
    async fn run(
        &self,
        request: &Request,
        delivery: Delivered,
        place: &Place,
        context: &Context,
        suspect: bool,
    ) -> Result<Finished, Fault> {
        let job: &Job = &request.job;
        let alone = if suspect {
            tokio::time::timeout(ALONE_MAX, self.alone.write())
                .await
                .ok()
        } else {
            None
        };
        let _company = match &alone {
            Some(_) => None,
            None => Some(self.alone.read().await),
        };
        let note = Note {
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            run: context.run.clone(),
            began_unix_ms: context.began_unix_ms,
        };
        let entry = Arc::new(self.journal.begin(&note).map_err(Fault::Journal)?);
        reach(Point::Journaled, &job.id);
        let on_start: OnStart = {
            let entry = Arc::clone(&entry);
            let id = job.id.clone();
            let attempt = delivery.attempt;
            Box::new(move || {
                if let Err(error) = entry.started() {
                    tracing::error!(job_id = %id, %error, "the journal does not know of a start");
                }
                tracing::info!(event = "job.started", job_id = %id, attempt);
            })
        };
        let submission = Submission {
            job: job.clone(),
            inputs: Vec::new(),
            stdin: None,
            place: Where::Ledger(self.ledger.clone()),
            warnings: request.warnings.clone(),
            delivery,
        };
        let engine = &self.engine;
        let running = engine.run(submission, None, place.cancel(), Some(on_start));
        let finished = match alone {
            Some(alone) => Box::pin(suspected(running, alone, ALONE_MAX)).await,
            None => running.await,
        };
        if let Err(Fault::Start(_) | Fault::Wait(_) | Fault::Collect(_)) = finished {
            // Its sandbox may have died with all others, and that the warden has is heard later.
            tokio::spawn(async move {
                tokio::time::sleep(DEATH_HEARD_MAX).await;
                drop(entry);
            });
        }
        finished
    }

    /// Counts a job that ran; the CPU time it is charged.
    fn count(&self, address: &Address, finished: &Finished) -> Option<u64> {
        let outcome = &finished.outcome;
        if finished.ours {
            let Address { class, profile, .. } = address;
            self.metrics.outcome(*class, profile, outcome);
            if let Some(us) = outcome.timing_us.queue_wait {
                self.metrics.queue_wait(Duration::from_micros(us));
            }
        } else {
            self.metrics.duplicate();
        }
        let usage = &outcome.usage;
        let cpu_us = usage.cpu_user_us? + usage.cpu_system_us.unwrap_or(0);
        let held_us = outcome.timing_us.run.unwrap_or(0);
        Some(cpu_us.max(held_us / SLOT_PARTS))
    }
}

/// What a job asks for, where that is said before its answer without delaying it.
fn light(job: &Job) -> Option<Box<Asked>> {
    let light = wide::is_wanted() && Asked::weight(job) <= LIGHT_BYTES_MAX;
    light.then(|| Box::new(Asked::of(job)))
}

/// Says what became of a job, or gives it back to be said when it has its answer.
fn tell(
    told: &wide::Delivery<'_>,
    asked: Option<&Asked>,
    outcome: Outcome,
    ours: bool,
) -> Option<Box<Outcome>> {
    if ours && asked.is_some() {
        wide::done(told, asked, &outcome);
    }
    (ours && asked.is_none() && wide::is_wanted()).then(|| Box::new(outcome))
}

/// The trace that the sender wants the job to be in.
fn parent(properties: &Properties) -> Option<Parent> {
    match properties.headers.get("traceparent") {
        Some(Header::Text(header)) => Parent::parse(header),
        _ => None,
    }
}
