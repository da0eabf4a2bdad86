//! Where do the logs go, how much of them, and how do they look?

use crate::config::LogFormat;
use crate::plain::plain;
use std::fmt::Debug;
use std::io::{self, IsTerminal as _};
use std::sync::OnceLock;
use tokio::signal::unix::{SignalKind, signal};
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, reload};

/// The variable that says how much is logged, such as `debug` or `kiln=trace`.
const LEVEL: &str = "KILN_LOG";

/// What one more step tells; only of ourselves, for what others say is not ours to judge.
const STEPS: [&str; 2] = ["kiln=debug", "kiln=trace"];

type Handle = reload::Handle<EnvFilter, Registry>;

/// How much is logged, and how it was at the start.
static FILTER: OnceLock<(Handle, EnvFilter)> = OnceLock::new();

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
    let colour = !no_color && io::stderr().is_terminal();
    let (subscriber, handle) = subscriber(format, filter.clone(), colour, io::stderr);
    let started = subscriber.try_init();
    debug_assert!(started.is_ok(), "logs are started once");
    crate::telemetry::log::look(format);
    FILTER.get_or_init(|| (handle, filter));
}

/// From now on SIGUSR1 has more logged, a step each time, and SIGUSR2 as much as at the start.
pub(super) fn listen() -> io::Result<()> {
    let mut more = signal(SignalKind::user_defined1())?;
    let mut again = signal(SignalKind::user_defined2())?;
    tokio::spawn(async move {
        let mut step = 0;
        loop {
            tokio::select! {
                Some(()) = more.recv() => step = (step + 1).min(STEPS.len()),
                Some(()) = again.recv() => step = 0,
                else => break,
            }
            set(step);
        }
    });
    Ok(())
}

/// Logs so many steps more than at the start.
fn set(step: usize) {
    let Some((handle, start)) = FILTER.get() else {
        return;
    };
    let more = step.checked_sub(1).map(|at| STEPS[at]);
    let filter = more.map_or_else(
        || start.clone(),
        |more| {
            let more = more.parse().expect("it is a directive");
            start.clone().add_directive(more)
        },
    );
    match handle.reload(filter) {
        Ok(()) => tracing::warn!(level = more.unwrap_or("as at the start"), "logs change"),
        Err(error) => tracing::warn!(%error, "logs stay as they are"),
    }
}

fn subscriber<W>(
    format: LogFormat,
    filter: EnvFilter,
    colour: bool,
    writer: W,
) -> (Box<dyn Subscriber + Send + Sync>, Handle)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(filter);
    let all = fmt::layer().with_writer(writer);
    let lines = match format {
        LogFormat::Text => all
            .with_ansi(colour)
            .fmt_fields(debug_fn(field).delimited(" "))
            .boxed(),
        LogFormat::Json => all.with_ansi(false).json().flatten_event(true).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(filter).with(lines);
    (Box::new(subscriber), handle)
}

/// One part of a line; whatever it holds, it stays on it and steers no terminal.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let name = field.name();
    if name != "message" {
        write!(writer, "{name}=")?;
    }
    let value = format!("{value:?}");
    plain(&value).try_for_each(|c| writer.write_char(c))
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
        let (subscriber, _) = subscriber(format, filter, false, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            let shown = "c\nd\u{1b}[2J\u{9b}1m";
            tracing::warn!(job = "a\n\u{1b}[31mb", error = %shown, "it is late");
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
        assert!(!line.contains(['\u{1b}', '\u{9b}']), "{line}");
        assert!(
            line.contains(r#"it is late job="a\n\u{1b}[31mb" error=c\nd\u{1b}[2J"#),
            "{line}"
        );
    }
}
