//! What is left of workers that are gone, in the record and on this machine?

use super::{engine_stop, put};
use crate::cli::doctor;
use crate::cli::escape;
use crate::cli::exit::Exit;
use crate::cli::stop::Stop;
use crate::config::Config;
use crate::engine::Engine;
use crate::registry::fleet::{Fleet, Health, Worker};

/// Takes out what is gone. A record is only a record: nothing runs less for it.
pub(super) async fn run(
    fleet: &mut Fleet,
    config: &Config,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Stop> {
    let workers = fleet.workers().await;
    let workers = workers.map_err(|error| Stop::unavailable(&error))?;
    let mut taken = Vec::new();
    for name in gone(&workers) {
        // It may have come back since it was read; then it stays.
        let out = dry_run
            || fleet
                .remove(name)
                .await
                .map_err(|error| Stop::unavailable(&error))?;
        if out {
            taken.push(name);
        }
    }
    put(&render(&taken, dry_run, json))?;
    if !dry_run {
        machine(config).await?;
    }
    Ok(Exit::Succeeded)
}

fn gone(workers: &[Worker]) -> Vec<&str> {
    let gone = workers.iter().filter(|worker| worker.state == Health::Gone);
    gone.map(|worker| worker.worker.as_str()).collect()
}

/// A start takes away what no lock holds, before anything else; so one is made and ended.
async fn machine(config: &Config) -> Result<(), Stop> {
    if doctor::preflight().is_err() {
        tracing::warn!("the record alone was swept: no sandbox can have run on this machine");
        return Ok(());
    }
    let engine = Engine::start(config.engine(1, Vec::new()))
        .await
        .map_err(|error| engine_stop(&error))?;
    engine
        .shut_down()
        .await
        .map_err(|error| Stop::unavailable(&error))
}

fn render(taken: &[&str], dry_run: bool, json: bool) -> String {
    if json {
        let answer = serde_json::json!({ "removed": taken, "dry_run": dry_run });
        return format!("{answer}\n");
    }
    let verb = if dry_run { "would take" } else { "took" };
    if taken.is_empty() {
        return "no worker of the record is gone\n".to_owned();
    }
    let line = |name: &&str| format!("{verb} `{}` out of the record\n", escape::name(name));
    let lines: Vec<_> = taken.iter().map(line).collect();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_not_what_would_be_done() {
        assert_eq!(
            render(&["a"], true, false),
            "would take `a` out of the record\n"
        );
        assert_eq!(render(&["a"], false, false), "took `a` out of the record\n");
        let json = "{\"dry_run\":true,\"removed\":[\"a\"]}\n";
        assert_eq!(render(&["a"], true, true), json);
        assert!(render(&[], false, false).starts_with("no worker"));
    }
}
