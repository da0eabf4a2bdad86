//! What of the posture holds on this machine: the report that a security team asks for.

use super::machine;
use crate::cli::exit::Exit;
use crate::cli::run::{engine_stop, shut_down};
use crate::cli::stop::Stop;
use crate::config::Config;
use crate::engine::Engine;
use crate::isolation::{Judged, Prober, Sightings, plan};
use crate::sandbox::posture::{Hardness, NOT_PROTECTED};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

/// The answer of `kiln doctor --isolation --json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Every hard property holds.
    holds: bool,
    kernel: String,
    core_pattern: String,
    profile: &'a str,
    properties: Vec<Judged>,
    not_protected: Vec<String>,
}

/// Tries everything and prints it.
pub(super) fn run(json: bool, profile: &str, config: &Config) -> Result<Exit, Stop> {
    if config.profiles.get(profile).is_none() {
        let known = config.profiles.names().join(", ");
        let line = format!("no profile is named `{profile}`; there are {known}");
        return Err(Stop::new(Exit::Usage, vec![line]));
    }
    super::preflight()?;
    let sightings = crate::cli::runtime()?.block_on(look(profile, config))?;
    let properties = sightings.judge();
    let report = Report {
        holds: properties
            .iter()
            .all(|one| one.holds || one.hardness == Hardness::Soft),
        kernel: machine::text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        core_pattern: machine::text("/proc/sys/kernel/core_pattern").unwrap_or_default(),
        profile,
        properties,
        not_protected: NOT_PROTECTED
            .iter()
            .map(|(what, why)| format!("{what}. {why}"))
            .collect(),
    };
    let mut text = if json {
        serde_json::to_string(&report).expect("strings and enums are JSON")
    } else {
        render(&report)
    };
    text.push('\n');
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Stop::output(&error))?;
    Ok(if report.holds {
        Exit::Succeeded
    } else {
        Exit::Failed
    })
}

async fn look(profile: &str, config: &Config) -> Result<Sightings, Stop> {
    let folder = std::env::temp_dir().join(format!("kiln-doctor-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder).map_err(|error| Stop::unavailable(&error))?;
    let mut seen = Sightings::default();
    let tried = Box::pin(probe(profile, config, &folder, &mut seen)).await;
    if let Err(error) = std::fs::remove_dir_all(&folder) {
        tracing::warn!(%error, folder = %folder.display(), "the folder of the probes stays");
    }
    tried.map(|()| seen)
}

/// Once with one sandbox, whose jobs follow each other; once with a slot for a neighbour.
async fn probe(
    profile: &str,
    config: &Config,
    folder: &Path,
    seen: &mut Sightings,
) -> Result<(), Stop> {
    for slots in [1, 2] {
        let engine = Engine::start(config.engine(slots, Vec::new()))
            .await
            .map_err(|error| engine_stop(&error))?;
        let prober = Prober {
            engine: &engine,
            profile,
            folder: folder.to_owned(),
        };
        let tried = if slots == 1 {
            plan::alone(&prober, seen).await
        } else {
            Box::pin(plan::beside(&prober, seen)).await
        };
        shut_down(engine).await;
        tried.map_err(|error| Stop::unavailable(&error))?;
    }
    Ok(())
}

/// A line for each property, what is open below it, and what nobody promises.
fn render(report: &Report<'_>) -> String {
    let mut text = String::new();
    let mut put = |line: String| {
        writeln!(text, "{line}").expect("writing to a string does not fail");
    };
    let width = report
        .properties
        .iter()
        .map(|one| one.property.len())
        .max()
        .unwrap_or(0);
    put(format!(
        "kernel {}, core_pattern `{}`, profile {}\n",
        report.kernel, report.core_pattern, report.profile
    ));
    for one in &report.properties {
        let state = match (one.holds, one.hardness) {
            (true, _) => "holds",
            (false, Hardness::Hard) => "OPEN",
            (false, Hardness::Soft) => "soft",
        };
        put(format!(
            "{:width$}  {state:5}  {}",
            one.property, one.promise
        ));
        put(format!("{:width$}         by {}", "", one.by));
        let mut positions: Vec<_> = one.sightings.iter().map(|s| s.position.as_str()).collect();
        positions.dedup();
        let positions = match positions.as_slice() {
            [] => "never".to_owned(),
            some => some.join(", "),
        };
        put(format!(
            "{:width$}         tried: {} ({positions})",
            "", one.tried
        ));
        for seen in told(one) {
            put(format!("{:width$}         saw: {seen}", ""));
        }
    }
    put("\nnot protected:".to_owned());
    for line in &report.not_protected {
        put(format!("- {line}"));
    }
    let open = report
        .properties
        .iter()
        .filter(|one| !one.holds && one.hardness == Hardness::Hard)
        .count();
    put(match open {
        0 => "\nevery hard property holds on this machine".to_owned(),
        1 => "\n1 hard property does not hold on this machine: run no hostile code here".to_owned(),
        more => format!(
            "\n{more} hard properties do not hold on this machine: run no hostile code here"
        ),
    });
    text.pop();
    text
}

/// What was seen, once where it holds, each time where it does not.
fn told(one: &Judged) -> Vec<String> {
    let same = one.sightings.iter().filter(|seen| seen.holds == one.holds);
    if one.holds {
        return same.take(1).map(|seen| seen.seen.clone()).collect();
    }
    same.map(|seen| format!("{}: {}", seen.position.as_str(), seen.seen))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::{Position, Sighting};

    #[test]
    fn what_is_open_is_said_first_and_last() {
        let mut seen = Sightings::default();
        let sighting = |holds, seen: &str| Sighting {
            position: Position::First,
            holds,
            seen: seen.to_owned(),
        };
        seen.note("mounts", sighting(true, "eleven calls refused"));
        seen.note("keys", sighting(false, "`add_key` went through"));
        let report = Report {
            holds: false,
            kernel: "6.18".to_owned(),
            core_pattern: "core".to_owned(),
            profile: "command",
            properties: seen
                .judge()
                .into_iter()
                .filter(|one| ["mounts", "keys"].contains(&one.property))
                .collect(),
            not_protected: Vec::new(),
        };
        let text = render(&report);
        for line in [
            "mounts  holds  no mount is made, moved or taken off",
            "saw: eleven calls refused",
            "keys    OPEN   no kernel keys, which outlive a process",
            "saw: first: `add_key` went through",
            "1 hard property does not hold on this machine: run no hostile code here",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
