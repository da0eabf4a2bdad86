//! Where do the logs go, and how much of them?

use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;

/// The variable that says how much is logged, such as `debug` or `kiln=trace`.
const LEVEL: &str = "KILN_LOG";

/// Logs warnings, or what `KILN_LOG` says, to stderr.
pub(super) fn start() {
    let filter = EnvFilter::try_from_env(LEVEL).unwrap_or_else(|_| EnvFilter::new("warn"));
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(!no_color && std::io::stderr().is_terminal())
        .try_init();
    debug_assert!(started.is_ok(), "logs are started once");
}
