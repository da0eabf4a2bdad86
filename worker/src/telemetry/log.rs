//! How is an event with more parts than a log line of the usual kind written, on one line all the same?

use crate::config::LogFormat;
use crate::plain::plain;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::OnceLock;
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};

/// As which part of Kiln it speaks; `KILN_LOG` may name it.
const TARGET: &str = "kiln::job";

/// How lines look in this process.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Says how lines look, once.
pub(crate) fn look(format: LogFormat) {
    FORMAT.get_or_init(|| format);
}

pub(super) fn is_wanted() -> bool {
    tracing::enabled!(target: TARGET, Level::INFO)
}

/// Writes an event, where somebody wants to read it.
pub(super) fn event(event: &impl Serialize) {
    if !is_wanted() {
        return;
    }
    let format = FORMAT.get().copied().unwrap_or(LogFormat::Text);
    let line = line(&now(), format, event);
    // Nobody is left to tell when stderr is gone.
    drop(std::io::stderr().lock().write_all(line.as_bytes()));
}

fn now() -> String {
    let mut now = String::new();
    SystemTime
        .format_time(&mut Writer::new(&mut now))
        .expect("writing to a string does not fail");
    now
}

/// A line as `tracing` would write it.
#[derive(Serialize)]
struct Line<'a, E> {
    timestamp: &'a str,
    level: &'static str,
    #[serde(flatten)]
    event: &'a E,
    target: &'static str,
}

fn line(timestamp: &str, format: LogFormat, event: &impl Serialize) -> String {
    let line = Line {
        timestamp,
        level: "INFO",
        event,
        target: TARGET,
    };
    match format {
        LogFormat::Json => {
            serde_json::to_string(&line).expect("an event is strings and figures") + "\n"
        }
        LogFormat::Text => {
            let value = serde_json::to_value(event).expect("an event is strings and figures");
            let mut text = format!("{timestamp}  INFO {TARGET}:");
            flat("", &value, &mut text);
            text.push('\n');
            text
        }
    }
}

/// Every part as `a.b=value`; what is not known is left out.
fn flat(name: &str, value: &Value, out: &mut String) {
    match value {
        Value::Null => {}
        Value::Object(parts) => {
            for (part, value) in parts {
                let dot = if name.is_empty() { "" } else { "." };
                flat(&format!("{name}{dot}{part}"), value, out);
            }
        }
        value => {
            let value: String = plain(&value.to_string()).collect();
            write!(out, " {name}={value}").expect("writing to a string does not fail");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_one_line_whatever_a_name_holds() {
        let event = json!({"event": "job.done", "limits": {"wall_ms": 5}, "none": null, "name": "a\n\u{1b}[2J\u{9b}31mb"});
        let text = line("T", LogFormat::Json, &event);
        assert_eq!(text.matches('\n').count(), 1);
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(value["name"], "a\n\u{1b}[2J\u{9b}31mb");
        assert_eq!(
            (&value["timestamp"], &value["limits"]["wall_ms"]),
            (&json!("T"), &json!(5))
        );
        let text = line("T", LogFormat::Text, &event);
        let wanted =
            r#"T  INFO kiln::job: event="job.done" limits.wall_ms=5 name="a\n\u001b[2J\u{9b}31mb""#;
        assert_eq!(text, format!("{wanted}\n"));
    }
}
