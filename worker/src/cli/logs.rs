//! Where do the logs go, how much of them, and how do they look?

use crate::config::LogFormat;
use std::io::IsTerminal as _;
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The variable that says how much is logged, such as `debug` or `kiln=trace`.
const LEVEL: &str = "KILN_LOG";

/// Logs warnings, or what `KILN_LOG` says, to stderr.
pub(super) fn start() {
    start_as(LogFormat::Text, "warn");
}

/// Logs what `KILN_LOG` says, else `level`, to stderr.
pub(super) fn start_as(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_from_env(LEVEL).unwrap_or_else(|_| EnvFilter::new(level));
    // It logs whole messages, and with them what jobs printed; what it has to say we say ourselves.
    // The other tells each attempt again; what came of the request we say.
    let filter = ["lapin=off", "object_store=off"]
        .map(|silent| silent.parse().expect("it is a directive"))
        .into_iter()
        .fold(filter, EnvFilter::add_directive);
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = !no_color && std::io::stderr().is_terminal();
    let started = subscriber(format, filter, colour, std::io::stderr).try_init();
    debug_assert!(started.is_ok(), "logs are started once");
}

fn subscriber<W>(
    format: LogFormat,
    filter: EnvFilter,
    colour: bool,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let all = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer);
    match format {
        LogFormat::Text => Box::new(all.with_ansi(colour).finish()),
        LogFormat::Json => Box::new(all.with_ansi(false).json().flatten_event(true).finish()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("it is whole").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let filter = EnvFilter::new("warn");
        let subscriber = subscriber(format, filter, false, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(job = "a\n\u{1b}[31mb", "it is late");
            tracing::info!("not of interest");
        });
        let bytes = kept.0.lock().expect("it is whole").clone();
        String::from_utf8(bytes).expect("logs are text")
    }

    #[test]
    fn a_line_is_text_or_json_and_no_value_breaks_it() {
        let line = logged(LogFormat::Json);
        assert_eq!(line.lines().count(), 1, "{line}");
        let value: serde_json::Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(value["level"], "WARN");
        assert_eq!(value["message"], "it is late");
        assert_eq!(value["job"], "a\n\u{1b}[31mb");
        let line = logged(LogFormat::Text);
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(
            line.contains("WARN") && line.contains("it is late"),
            "{line}"
        );
        assert!(!line.contains('\u{1b}'), "{line}");
    }
}
