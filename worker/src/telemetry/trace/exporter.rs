//! How do spans get to a collector without anybody waiting for it?

use super::otlp;
use super::span::Span;
use crate::fault::chain;
use crate::telemetry::metric::Metrics;
use crate::tls;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Deliveries that wait to be told; with some ten spans each they are a few megabytes.
const WAITING_MAX: usize = 2_048;
/// Deliveries in one request, and how long the first of them waits for the others.
const TOGETHER_MAX: usize = 128;
const LINGER: Duration = Duration::from_secs(1);
/// How long a collector has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a collector that failed is left alone, from the first time to the longest.
const ALONE_MIN: Duration = Duration::from_secs(1);
const ALONE_MAX: Duration = Duration::from_secs(30);
/// How long the last request has when the worker ends.
const LAST: Duration = Duration::from_secs(2);

/// The spans of one delivery.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) trace: [u8; 16],
    /// The sender's span.
    pub(super) parent: Option<[u8; 8]>,
    pub(super) spans: Vec<Span>,
}

/// The way in.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    send: mpsc::Sender<Batch>,
    metrics: Arc<Metrics>,
}

impl Queue {
    /// Takes spans, or counts them where there is no room.
    pub(super) fn put(&self, batch: Batch) {
        let spans = batch.spans.len();
        if self.send.try_send(batch).is_err() {
            self.metrics.trace_spans(false, spans);
        }
    }
}

/// Sends what is put in, until it is closed.
#[derive(Debug)]
pub struct Exporter {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Sends what is left, for two seconds at most.
    pub async fn close(self) {
        self.stop.send_replace(true);
        match timeout(LAST, self.task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the exporter of traces ended early"),
            Err(_) => tracing::info!("the last traces were not sent in time"),
        }
    }
}

struct Sending {
    queue: mpsc::Receiver<Batch>,
    stop: watch::Receiver<bool>,
    client: reqwest::Client,
    url: String,
    worker: String,
    metrics: Arc<Metrics>,
}

pub(super) fn start(
    endpoint: &str,
    worker: &str,
    metrics: Arc<Metrics>,
) -> Result<(Queue, Exporter), reqwest::Error> {
    tls::install();
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()?;
    let (send, queue) = mpsc::channel(WAITING_MAX);
    let (stop, stopped) = watch::channel(false);
    let sending = Sending {
        queue,
        stop: stopped,
        client,
        url: format!("{}/v1/traces", endpoint.trim_end_matches('/')),
        worker: worker.to_owned(),
        metrics: Arc::clone(&metrics),
    };
    let task = tokio::spawn(sending.run());
    Ok((Queue { send, metrics }, Exporter { stop, task }))
}

impl Sending {
    async fn run(mut self) {
        let mut alone = None;
        loop {
            let batches = self.gather().await;
            let last = *self.stop.borrow();
            if !batches.is_empty() {
                alone = self.tell(&batches, alone).await;
            }
            if last {
                break;
            }
            if let Some(pause) = alone {
                tokio::select! {
                    () = sleep(pause) => {}
                    changed = self.stop.changed() => drop(changed),
                }
            }
        }
    }

    /// What came within a second of the first, or what is left where that is asked for.
    async fn gather(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        let mut until: Option<Instant> = None;
        while batches.len() < TOGETHER_MAX {
            let late = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                batch = self.queue.recv() => match batch {
                    Some(batch) => batches.push(batch),
                    None => break,
                },
                () = late => break,
                stopped = self.stop.wait_for(|stop| *stop) => {
                    drop(stopped);
                    break;
                }
            }
            until = until.or_else(|| Some(Instant::now() + LINGER));
        }
        batches
    }

    /// Sends them once; how long the collector is then left alone.
    async fn tell(&self, batches: &[Batch], alone: Option<Duration>) -> Option<Duration> {
        let spans = batches.iter().map(|batch| batch.spans.len()).sum();
        let asked = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .body(otlp::body(&self.worker, batches));
        let told = asked
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
        self.metrics.trace_spans(told.is_ok(), spans);
        match (told, alone) {
            (Ok(_), None) => None,
            (Ok(_), Some(_)) => {
                tracing::info!("the collector of traces takes them again");
                None
            }
            (Err(error), None) => {
                let why = chain(&error.without_url());
                tracing::warn!(why, "the collector of traces takes none; they are counted");
                Some(ALONE_MIN)
            }
            (Err(_), Some(alone)) => Some((alone * 2).min(ALONE_MAX)),
        }
    }
}
