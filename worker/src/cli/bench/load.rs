//! Jobs on their way: some are sent as others come back, so that as many as wanted are out.

use super::super::client::Client;
use super::super::exit::Exit;
use super::super::stop::Stop;
use crate::config::Amqp;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use kiln_protocol::control::{Cancellation, ControlAnswer};
use kiln_protocol::id::JobId;
use kiln_protocol::job::{Class, JOB_SCHEMA};
use kiln_protocol::outcome::{Status, TimingUs};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long no outcome may come while some are awaited.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Whoever sends jobs and hears what became of them.
pub(super) struct Load {
    client: Client,
    /// What every job is, but for its id.
    job: Value,
}

/// An outcome as it came back.
#[derive(Debug)]
pub(super) struct Back {
    pub(super) took: Duration,
    pub(super) status: Status,
    /// From the sandbox's lease to the encoded outcome, as the worker saw it.
    pub(super) served: Option<Duration>,
    /// Whether a sandbox had it.
    pub(super) ran: bool,
}

/// As much of an outcome as is looked at.
#[derive(Deserialize)]
struct Glance {
    job_id: JobId,
    status: Status,
    timing_us: TimingUs,
    sandbox: Option<IgnoredAny>,
}

/// What comes by a queue for answers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Outcome(Box<Glance>),
    Control(ControlAnswer),
}

impl Load {
    pub(super) async fn open(amqp: &Amqp) -> Result<Self, Stop> {
        let mut client = Client::connect(amqp).await?;
        client.listen(amqp).await?;
        Ok(Self {
            client,
            job: Value::Null,
        })
    }

    /// From here on every job runs this.
    pub(super) fn command(&mut self, argv: &[&str]) {
        self.job = json!({"schema": JOB_SCHEMA, "command": argv, "artifacts": []});
    }

    /// From here on every job runs this in Python.
    pub(super) fn python(&mut self, code: &str) {
        self.job = json!({"schema": JOB_SCHEMA, "code": code, "artifacts": []});
    }

    /// From here on every job is too late, and is answered without a sandbox.
    pub(super) fn overdue(&mut self) {
        self.job["deadline_unix_ms"] = 1.into();
    }

    /// Sends `jobs` and hears of all, with `in_flight` of them out at most.
    pub(super) async fn run(&mut self, jobs: usize, in_flight: usize) -> Result<Vec<Back>, Stop> {
        let outlet = self.client.outlet();
        let mut sending = FuturesUnordered::new();
        let mut out = HashMap::with_capacity(in_flight);
        let mut back = Vec::with_capacity(jobs);
        let mut sent = 0;
        while back.len() < jobs {
            while sent < jobs && out.len() < in_flight {
                let id = new_id();
                let body = self.body(&id);
                let outlet = outlet.clone();
                out.insert(id.clone(), Instant::now());
                sending.push(async move {
                    let key = Class::Interactive.as_str();
                    outlet.job(key, &id, body.as_bytes()).await
                });
                sent += 1;
            }
            tokio::select! {
                Some(sent) = sending.next() => sent?,
                answer = self.client.next(SILENCE_MAX) => {
                    let Some(glance) = understood(answer?)? else { continue };
                    if let Some(at) = out.remove(glance.job_id.as_str()) {
                        back.push(glance.back(at.elapsed()));
                    }
                }
            }
        }
        while let Some(sent) = sending.next().await {
            sent?;
        }
        Ok(back)
    }

    /// Sends one job, cancels it after `head_start`, and hears of it: how long its end took.
    pub(super) async fn cancelled(&mut self, head_start: Duration) -> Result<Back, Stop> {
        let id = new_id();
        let body = self.body(&id);
        let key = Class::Interactive.as_str();
        self.client.job(key, &id, body.as_bytes()).await?;
        tokio::time::sleep(head_start).await;
        let job = JobId::try_from(id.clone()).map_err(|error| Stop::usage(&error))?;
        let wish = Cancellation::of(job, None).to_json();
        let began = Instant::now();
        self.client.control(&id, wish.as_bytes()).await?;
        loop {
            let answer = self.client.next(SILENCE_MAX).await?;
            if let Some(glance) = understood(answer)?
                && glance.job_id.as_str() == id
            {
                return Ok(glance.back(began.elapsed()));
            }
        }
    }

    pub(super) async fn close(self) {
        self.client.close().await;
    }

    fn body(&self, id: &str) -> String {
        let mut job = self.job.clone();
        job["id"] = id.into();
        job.to_string()
    }
}

impl Glance {
    fn back(self, took: Duration) -> Back {
        Back {
            took,
            status: self.status,
            served: self.timing_us.total.map(|total| {
                let waited = self.timing_us.queue_wait.unwrap_or(0);
                Duration::from_micros(total.saturating_sub(waited))
            }),
            ran: self.sandbox.is_some(),
        }
    }
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The outcome that came, where it is one; answers of another kind are passed over.
fn understood(answer: Option<Vec<u8>>) -> Result<Option<Glance>, Stop> {
    let Some(answer) = answer else {
        let seconds = SILENCE_MAX.as_secs();
        let line = format!("no outcome came for {seconds} s: does a worker take these jobs?");
        return Err(Stop::new(Exit::Unavailable, vec![line]));
    };
    match serde_json::from_slice(&answer).map_err(|error| Stop::unavailable(&error))? {
        Answer::Outcome(glance) => Ok(Some(*glance)),
        Answer::Control(answer) => {
            tracing::debug!(job_id = %answer.cancel, worker = answer.worker, "a worker heard");
            Ok(None)
        }
    }
}
