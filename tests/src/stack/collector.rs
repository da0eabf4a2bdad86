//! What do workers tell a collector of traces? A receiver of OTLP over HTTP, as JSON.

use crate::leftovers::wait_for;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A collector that listens as long as the test's process lives.
#[derive(Debug)]
pub struct Collector {
    port: u16,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    /// Starts one.
    ///
    /// # Panics
    /// When there is no free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let keeps = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let keeps = Arc::clone(&keeps);
                std::thread::spawn(move || serve(&stream, &keeps));
            }
        });
        Self { port, heard }
    }

    /// What `telemetry.otlp` has to say.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests, as they came.
    pub fn heard(&self) -> MutexGuard<'_, Vec<Value>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The spans of a trace that has so many, by the order of their beginnings.
    ///
    /// # Panics
    /// When it has others soon.
    pub fn trace(&self, trace: &str, count: usize) -> Vec<Value> {
        let mut found = Vec::new();
        wait_for(Duration::from_secs(20), || {
            let heard = self.heard();
            let spans = heard.iter().flat_map(|body| {
                let scopes = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
                scopes.into_iter().flatten().cloned()
            });
            found = spans.filter(|span| span["traceId"] == *trace).collect();
            found.len() >= count
        });
        assert_eq!(found.len(), count, "{trace}: {found:#?}");
        let began = |span: &Value| {
            let text = span["startTimeUnixNano"].as_str().map(str::parse::<u64>);
            text.and_then(Result::ok).expect("a time")
        };
        found.sort_by_key(began);
        found
    }
}

/// What an attribute of a span is, as text.
pub fn attribute(span: &Value, key: &str) -> Option<String> {
    let all = span["attributes"].as_array()?;
    let value = &all.iter().find(|it| it["key"] == key)?["value"];
    let text = value["stringValue"].as_str().or(value["intValue"].as_str());
    text.map(str::to_owned)
}

/// Answers requests of one connection until it ends.
fn serve(stream: &TcpStream, heard: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut first = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end();
            if first.is_empty() {
                line.clone_into(&mut first);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let json = serde_json::from_slice(&body);
        let good = first.starts_with("POST /v1/traces HTTP/1.1") && json.is_ok();
        if let Ok(json) = json {
            heard
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(json);
        }
        let status = if good { "200 OK" } else { "400 Bad Request" };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        if (&*stream).write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
