//! How is an operator answered: `/`, `/status.json`, `/metrics`, `/livez`, `/readyz`, and nothing
//! else?
//!
//! Whoever can reach the listener may ask, and may be slow, rude or a web page: a request has a
//! time, connections have a number, and the name that is asked for must be ours, so that no page
//! in a browser can have its own name point here.

use super::metric::Metrics;
use super::page;
use super::readiness::Readiness;
use super::status::{Identity, status};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

/// What the text of Prometheus is called.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Whose pages may read an answer: our own.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// How long those who are being answered have when the server ends.
const CLOSE: Duration = Duration::from_secs(1);

/// Why nobody can be answered.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("listen on `{address}` (`telemetry.listen`)")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
}

/// What one who asks may take.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// At once; one more, and the oldest is cut off.
    connections: usize,
    /// For the head of a request.
    head: Duration,
    /// For all of it, the reading of the answer included.
    whole: Duration,
}

const BOUNDS: Bounds = Bounds {
    connections: 64,
    head: Duration::from_secs(3),
    whole: Duration::from_secs(10),
};

/// A server that runs; it ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// The worker that is looked at.
#[derive(Debug)]
pub struct Watched {
    pub identity: Identity,
    pub metrics: Arc<Metrics>,
    pub readiness: Readiness,
}

/// Listens and answers until the server is closed.
pub async fn serve(listen: SocketAddr, watched: Watched) -> Result<Server, ServeError> {
    serve_within(BOUNDS, listen, watched).await
}

async fn serve_within(
    bounds: Bounds,
    listen: SocketAddr,
    watched: Watched,
) -> Result<Server, ServeError> {
    let failed = |source| ServeError::Listen {
        address: listen,
        source,
    };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let answers = Arc::new(Answers {
        watched,
        host: crate::config::Config::host_name(),
    });
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(accept(listener, answers, bounds, stopped));
    Ok(Server {
        address,
        stop: Some(stop),
        task,
    })
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more requests, answers those it has for a second, and ends.
    pub async fn close(mut self) {
        // A server that has ended by itself hears nothing, and need not.
        drop(self.stop.take());
        if let Err(error) = (&mut self.task).await {
            tracing::warn!(%error, "the listener of telemetry ended early");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Takes connections until `stopped`. Where there are too many the oldest goes, not the newest: who
/// asks properly has an answer within milliseconds, and a probe must not wait for who does not.
async fn accept(
    listener: TcpListener,
    answers: Arc<Answers>,
    bounds: Bounds,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut served = JoinSet::new();
    let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => break,
        };
        while served.try_join_next().is_some() {}
        oldest_first.retain(|one| !one.is_finished());
        match accepted {
            Ok((stream, _)) => {
                if oldest_first.len() >= bounds.connections
                    && let Some(oldest) = oldest_first.pop_front()
                {
                    oldest.abort();
                }
                let one = connection(stream, Arc::clone(&answers), bounds);
                oldest_first.push_back(served.spawn(one));
            }
            Err(error) => {
                // Such as no descriptor left: whoever asked goes away, the others stay.
                tracing::warn!(%error, "a connection to telemetry was not taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    let ended = async { while served.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSE, ended).await.is_err() {
        tracing::debug!("somebody was still being answered");
    }
}

/// Answers one request.
async fn connection(stream: TcpStream, answers: Arc<Answers>, bounds: Bounds) {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answers.to(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .max_buf_size(16 * 1_024)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(bounds.whole, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a request to telemetry was not served"),
        Err(_) => tracing::debug!("a request to telemetry took too long"),
    }
}

pub(super) type Answer = Response<Full<Bytes>>;

/// What is answered from.
#[derive(Debug)]
struct Answers {
    watched: Watched,
    /// The host's own name.
    host: String,
}

impl Answers {
    fn to<B>(&self, request: &Request<B>) -> Answer {
        if let Some(refused) = self.misdirected(request) {
            return refused;
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refused = answer(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n");
            let allowed = HeaderValue::from_static("GET, HEAD");
            refused.headers_mut().insert(ALLOW, allowed);
            return refused;
        }
        let Watched {
            identity,
            metrics,
            readiness,
        } = &self.watched;
        match request.uri().path() {
            "/" => page::answer_page(),
            "/status.json" => {
                let status = status(identity, metrics, readiness);
                let body = serde_json::to_string(&status).expect("texts and figures are JSON");
                answer(StatusCode::OK, JSON, body)
            }
            "/metrics" => self.figures(),
            "/livez" => {
                let live = readiness.is_live();
                answer(ok_if(live), JSON, format!("{}\n", json!({"live": live})))
            }
            "/readyz" => {
                let report = readiness.report();
                let body = serde_json::to_string(&report).expect("texts are JSON");
                answer(ok_if(report.ready), JSON, format!("{body}\n"))
            }
            _ => answer(
                StatusCode::NOT_FOUND,
                TEXT,
                "there are /, /status.json, /metrics, /livez, /readyz\n",
            ),
        }
    }

    fn figures(&self) -> Answer {
        let Watched {
            metrics, readiness, ..
        } = &self.watched;
        metrics.standing(readiness);
        match metrics.encode() {
            Ok(text) => answer(StatusCode::OK, METRICS, text),
            Err(error) => {
                tracing::error!(%error, "the figures cannot be written");
                answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, "see the log\n")
            }
        }
    }

    /// The refusal of a request that is meant for another than us, or does not say for whom.
    fn misdirected<B>(&self, request: &Request<B>) -> Option<Answer> {
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host
                .to_str()
                .ok()
                .and_then(|it| it.parse::<Authority>().ok()),
            _ => None,
        };
        let Some(host) = host else {
            return Some(answer(
                StatusCode::BAD_REQUEST,
                TEXT,
                "one Host is needed\n",
            ));
        };
        let named = request.uri().authority().into_iter().chain([&host]);
        if named.map(Authority::host).all(|name| self.is_ours(name)) {
            return None;
        }
        Some(answer(
            StatusCode::MISDIRECTED_REQUEST,
            TEXT,
            "ask by address, as localhost, or by the host's own name\n",
        ))
    }

    /// An address cannot be made to point elsewhere; a name can, but for these two.
    fn is_ours(&self, name: &str) -> bool {
        let bare = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        bare.unwrap_or(name).parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || name.eq_ignore_ascii_case(&self.host)
    }
}

fn ok_if(good: bool) -> StatusCode {
    if good {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}

pub(super) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    answer
}

#[cfg(test)]
mod tests;
