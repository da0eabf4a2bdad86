//! `kiln config`: is the configuration right, what is in force, and what may stand in one?

use super::exit::Exit;
use super::stop::Stop;
use crate::config::{Amqp, Config, ConfigError, ConfigErrors, LogFormat, schema};
use crate::fault::chain;
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Check, print or describe the configuration.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Say everything that is wrong with it, or `ok`
    ///
    /// The environment counts as it does for every command. The exit code is 78 where anything is
    /// wrong.
    Check {
        #[command(flatten)]
        shared: Shared,
        /// Check too what only `kiln worker` needs; so it is in any case where a broker is named
        #[arg(long)]
        worker: bool,
    },
    /// Print what is in force, defaults and environment included; secrets as ***
    Print {
        #[command(flatten)]
        shared: Shared,
    },
    /// Print a JSON Schema (2020-12) of kiln.toml
    Schema {
        /// A schema is JSON in any case
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Shared {
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads the configuration; what is wrong with it is a line each.
pub(super) fn load(path: Option<&Path>) -> Result<Config, Stop> {
    let config = read(path).map_err(|errors| wrong(&errors))?;
    warn(&config);
    Ok(config)
}

/// The broker's section, for commands that cannot do without.
pub(super) fn amqp(config: &Config) -> Result<Amqp, Stop> {
    config.amqp.clone().ok_or_else(no_broker)
}

/// Nobody says where the broker is.
pub(super) fn no_broker() -> Stop {
    let line = "take `amqp.url`: it is missing; say where the broker is, as `amqp://host`";
    Stop::new(Exit::Config, vec![line.to_owned()])
}

/// Reads the configuration of a worker, and starts the logs as it says.
pub(super) fn load_worker(path: Option<&Path>) -> Result<Config, Stop> {
    let read = read(path);
    let format = read
        .as_ref()
        .map_or(LogFormat::Text, |config| config.telemetry.log);
    super::logs::start_as(format, "info");
    let config = read.map_err(|errors| wrong(&errors))?;
    warn(&config);
    Ok(config)
}

fn read(path: Option<&Path>) -> Result<Config, ConfigErrors> {
    Config::load(path, std::env::vars_os())
}

fn warn(config: &Config) {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
}

/// How a key that is wrong on this machine ends a command.
pub(super) fn wrong_key(key: &str, problem: &str) -> Stop {
    Stop::new(Exit::Config, vec![format!("take `{key}`: {problem}")])
}

/// How a wrong configuration ends a command.
pub(super) fn wrong(errors: &ConfigErrors) -> Stop {
    let lines = errors.iter().map(|error| chain(error)).collect();
    Stop::new(Exit::Config, lines)
}

pub(super) fn run(args: ConfigArgs) -> Result<Exit, Stop> {
    match args.command {
        ConfigCommand::Check { shared, worker } => check(&shared, worker),
        ConfigCommand::Print { shared } => {
            let config = load(shared.config.as_deref())?;
            let text = if shared.json {
                lines(&config.to_json())
            } else {
                config.to_toml()
            };
            print(&text)?;
            Ok(Exit::Succeeded)
        }
        ConfigCommand::Schema { json: _ } => {
            print(&lines(&schema()))?;
            Ok(Exit::Succeeded)
        }
    }
}

fn check(shared: &Shared, worker: bool) -> Result<Exit, Stop> {
    let config = read(shared.config.as_deref());
    let found = config.and_then(|config| {
        if worker || config.amqp.is_some() {
            config.check_for_worker()?;
        }
        Ok(config)
    });
    if !shared.json {
        warn(&found.map_err(|errors| wrong(&errors))?);
        print("ok\n")?;
        return Ok(Exit::Succeeded);
    }
    let (exit, answer) = match &found {
        Ok(config) => (
            Exit::Succeeded,
            json!({"ok": true, "errors": [], "warnings": config.warnings}),
        ),
        Err(errors) => {
            let errors: Vec<Value> = errors.iter().map(one).collect();
            (
                Exit::Config,
                json!({"ok": false, "errors": errors, "warnings": []}),
            )
        }
    };
    print(&format!("{answer}\n"))?;
    Ok(exit)
}

/// An error with its key, where it has one.
fn one(error: &ConfigError) -> Value {
    match error {
        ConfigError::Key { key, problem } => json!({"key": key, "problem": problem}),
        ConfigError::File(_) | ConfigError::Syntax { .. } => {
            json!({"key": null, "problem": chain(error)})
        }
    }
}

fn lines(value: &Value) -> String {
    format!("{value:#}\n")
}

fn print(text: &str) -> Result<(), Stop> {
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Stop::output(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_configuration_is_exit_78() {
        assert!(load(Some(Path::new(""))).is_err());
        let absent = Some(Path::new("/nonexistent/kiln.toml"));
        let stop = load(absent).expect_err("it is not there");
        assert_eq!(stop.report(), Exit::Config);
        let shared = Shared {
            config: absent.map(Path::to_owned),
            json: true,
        };
        assert_eq!(
            check(&shared, false).expect("stdout is there"),
            Exit::Config
        );
    }
}
