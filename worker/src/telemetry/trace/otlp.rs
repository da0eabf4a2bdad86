//! What do spans look like on the wire: OTLP over HTTP, as JSON?

use super::exporter::Batch;
use super::span::{Attribute, Span, Under};
use kiln_protocol::digest::hex;
use serde_json::{Value, json};

/// The status of a span that failed.
const ERROR: u8 = 2;

/// The body of one request.
pub(super) fn body(worker: &str, batches: &[Batch]) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        ("service.name", "kiln".into()),
        ("service.version", version.into()),
        ("service.instance.id", worker.into()),
    ];
    let spans: Vec<_> = batches
        .iter()
        .flat_map(|batch| batch.spans.iter().map(|one| span(batch, one)))
        .collect();
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeSpans": [{"scope": {"name": "kiln", "version": version}, "spans": spans}],
    }]});
    body.to_string().into_bytes()
}

fn span(batch: &Batch, span: &Span) -> Value {
    let id = |id: u64| hex(&id.to_be_bytes());
    let parent = match span.parent {
        Under::Span(parent) => Some(id(parent)),
        Under::Sender => batch.parent.map(|parent| hex(&parent)),
    };
    let mut value = json!({
        "traceId": hex(&batch.trace),
        "spanId": id(span.id),
        "name": span.name,
        "kind": span.kind as u8,
        // 64 bits are texts in JSON.
        "startTimeUnixNano": span.began.to_string(),
        "endTimeUnixNano": span.ended.max(span.began).to_string(),
        "attributes": attributes(&span.attributes),
    });
    if let Some(parent) = parent {
        value["parentSpanId"] = parent.into();
    }
    if span.failed {
        value["status"] = json!({ "code": ERROR });
    }
    value
}

fn attributes(all: &[(&str, Attribute)]) -> Value {
    let one = |(key, value): &(&str, Attribute)| {
        let value = match value {
            Attribute::Text(text) => json!({ "stringValue": text }),
            Attribute::Number(number) => json!({ "intValue": number.to_string() }),
            Attribute::Yes => json!({ "boolValue": true }),
        };
        json!({ "key": key, "value": value })
    };
    all.iter().map(one).collect()
}
