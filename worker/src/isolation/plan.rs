//! Which jobs try the posture, in which order, and on whose sandbox?
//!
//! ```text
//!   first         look                                   on a sandbox that nobody used
//!   second        plant ─► residue ─► look               one tenant's, then another's, on one sandbox
//!   after a kill  time ran out ─► residue, look
//!   beside        hold ....................
//!                      residue                           in another sandbox, at the same time
//!   limits        memory, processes, disk, CPU time, wall time
//!   fatal         one call each, which must end the job
//! ```

use super::probe::{Limits, Probe, ProbeError, Prober, Ran, sighting};
use super::{Position, Sightings};
use kiln_protocol::outcome::{Reason, Status};
use kiln_warden::profile::Reuse;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// How long a neighbour holds what it has planted.
const HOLD: &str = "4";
/// What it needs for the planting.
const PLANTING: Duration = Duration::from_secs(1);
/// A neighbour that does not start by then never will.
const START_MAX: Duration = Duration::from_secs(30);
/// What a sandbox may need to be ready again. Of those that are the one used last comes first, so
/// that before it is ready the next job is on another one.
const RESETS: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_secs(1),
];
const TENANTS: [&str; 2] = ["kiln-one", "kiln-two"];
const FATAL: [&str; 3] = ["open_by_handle_at", "init_module", "delete_module"];

const fn probe<'a>(words: &'a [&'a str], tenant: &'a str) -> Probe<'a> {
    Probe {
        words,
        tenant,
        limits: Limits {
            wall_ms: 20_000,
            cpu_ms: 20_000,
            pids: 16,
        },
    }
}

/// Everything that one job at a time can try. The engine has one sandbox of the profile, so that
/// jobs follow each other on it.
pub async fn alone(prober: &Prober<'_>, seen: &mut Sightings) -> Result<(), ProbeError> {
    first(prober, seen).await?;
    second(prober, seen).await?;
    after_kill(prober, seen).await?;
    limits(prober, seen).await?;
    fatal(prober, seen).await
}

/// As the first job of a sandbox.
async fn first(prober: &Prober<'_>, seen: &mut Sightings) -> Result<(), ProbeError> {
    let ran = prober.run(probe(&["look"], TENANTS[0]), None).await?;
    ran.note(Position::First, "identity", seen);
    if ran.sandbox().is_none_or(|(_, uses)| uses != 1) {
        let why = "cannot tell: the sandbox of the first look was not new".to_owned();
        seen.note("identity", sighting(Position::First, false, why));
    }
    Ok(())
}

/// Behind a job of another tenant that has left what it could. Where the profile gives a used
/// sandbox to nobody else, that is what is noted.
async fn second(prober: &Prober<'_>, seen: &mut Sightings) -> Result<(), ProbeError> {
    let mut note = |holds: bool, what: &str| {
        seen.note(
            "residue-files",
            sighting(Position::Second, holds, what.to_owned()),
        );
    };
    let planted = prober.run(probe(&["plant"], TENANTS[0]), None).await?;
    let Some((_, true, _)) = planted.lines.first() else {
        let what = planted.lines.first().map(|(_, _, what)| what.as_str());
        note(false, what.unwrap_or("cannot tell: nothing was planted"));
        return Ok(());
    };
    let residue = prober.run(probe(&["residue"], TENANTS[1]), None).await?;
    match (prober.reuse(), follows(&planted, &residue)) {
        (Some(Reuse::Any), true) => {}
        (Some(Reuse::Tenant | Reuse::Never), false) => {
            note(true, "the profile gives a used sandbox to no other tenant");
        }
        (_, true) => note(false, "a used sandbox was given to another tenant"),
        (_, false) => note(false, "cannot tell: the second job was on another sandbox"),
    }
    residue.note(Position::Second, "residue-files", seen);
    let look = prober.run(probe(&["look"], TENANTS[0]), None).await?;
    look.note(Position::Second, "identity", seen);
    Ok(())
}

/// One tenant's look behind its own plant, on a worker that has other jobs too; `false` where they
/// were never on one sandbox, and nothing was looked at. A look that the platform cut short has seen
/// no open wall: that is an error, and no finding.
pub async fn residue(
    prober: &Prober<'_>,
    tenant: &str,
    seen: &mut Sightings,
) -> Result<bool, ProbeError> {
    for pause in RESETS {
        let planted = prober.run(probe(&["plant"], tenant), None).await?;
        sleep(pause).await;
        let looked = prober.run(probe(&["residue"], tenant), None).await?;
        let Some((_, true, _)) = planted.lines.first() else {
            return Ok(false);
        };
        let looked = looked.whole()?;
        looked.note(Position::Second, "residue-files", seen);
        if follows(&planted, &looked) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// One look, on whatever sandbox there is.
pub async fn look(
    prober: &Prober<'_>,
    tenant: &str,
    seen: &mut Sightings,
) -> Result<(), ProbeError> {
    let ran = prober.run(probe(&["look"], tenant), None).await?;
    ran.whole()?.note(Position::Second, "identity", seen);
    Ok(())
}

/// Whether the second was on the sandbox of the first, as its next use.
fn follows(first: &Ran, second: &Ran) -> bool {
    match (first.sandbox(), second.sandbox()) {
        (Some((one, uses)), Some((two, next))) => one == two && uses + 1 == next,
        _ => false,
    }
}

async fn after_kill(prober: &Prober<'_>, seen: &mut Sightings) -> Result<(), ProbeError> {
    let limits = Limits {
        wall_ms: 250,
        ..Limits::default()
    };
    for words in [["residue"], ["look"]] {
        let job = Probe {
            limits,
            ..probe(&["hold", "60"], TENANTS[0])
        };
        let killed = prober.run(job, None).await?;
        if killed.outcome.reason != Some(Reason::WallTime) {
            let why = format!("cannot tell: nothing was killed: {}", killed.ending());
            seen.note("time-limit", sighting(Position::AfterKill, false, why));
        }
        let ran = prober.run(probe(&words, TENANTS[1]), None).await?;
        ran.note(Position::AfterKill, "identity", seen);
    }
    Ok(())
}

/// While a neighbour in another sandbox holds everything that one can hold. The engine has two
/// slots.
pub async fn beside(prober: &Prober<'_>, seen: &mut Sightings) -> Result<(), ProbeError> {
    let (started, starts) = oneshot::channel();
    let on_start = Box::new(move || {
        // Nobody waits any more where the look has given up.
        started.send(()).ok();
    });
    let holding = prober.run(probe(&["hold", HOLD], TENANTS[0]), Some(on_start));
    let looking = async {
        if !matches!(timeout(START_MAX, starts).await, Ok(Ok(()))) {
            return Ok(None);
        }
        sleep(PLANTING).await;
        prober
            .run(probe(&["residue"], TENANTS[1]), None)
            .await
            .map(Some)
    };
    let (held, looked) = tokio::join!(holding, looking);
    let (held, looked) = (held?, looked?);
    let apart = |looked: &Ran| match (held.sandbox(), looked.sandbox()) {
        (Some((one, _)), Some((two, _))) => one != two,
        _ => false,
    };
    // The clocks of both jobs say whether the one ran within the other.
    let within = |looked: &Ran| looked.outcome.finished_unix_ms < held.outcome.finished_unix_ms;
    match looked {
        Some(looked) if held.done && apart(&looked) && within(&looked) => {
            looked.note(Position::Beside, "residue-locks", seen);
        }
        _ => {
            let why = format!(
                "cannot tell: two jobs were not side by side: {}",
                held.ending()
            );
            seen.note("residue-locks", sighting(Position::Beside, false, why));
        }
    }
    Ok(())
}

/// Each limit, against a job that takes as much as it gets.
async fn limits(prober: &Prober<'_>, seen: &mut Sightings) -> Result<(), ProbeError> {
    let quick = Limits {
        wall_ms: 500,
        ..Limits::default()
    };
    let busy = Limits {
        cpu_ms: 250,
        ..Limits::default()
    };
    for (name, limits, reason) in [
        ("memory-limit", Limits::default(), Some(Reason::Memory)),
        ("process-limit", Limits::default(), None),
        ("disk-limit", Limits::default(), None),
        ("cpu-limit", busy, Some(Reason::CpuTime)),
        ("time-limit", quick, Some(Reason::WallTime)),
    ] {
        let words = ["eat", name];
        let job = Probe {
            limits,
            ..probe(&words, TENANTS[0])
        };
        let ran = prober.run(job, None).await?;
        // A file in a tmpfs is memory too: whichever limit comes first has held.
        let stopped = ran.outcome.reason.is_some() && ran.outcome.reason == reason;
        if stopped {
            let told = ran.outcome.message.clone().unwrap_or_default();
            seen.note(name, sighting(Position::First, true, told));
        } else if reason.is_some() {
            seen.note(name, sighting(Position::First, false, ran.ending()));
        } else {
            ran.note(Position::First, name, seen);
        }
    }
    Ok(())
}

/// Each call that must end the job.
async fn fatal(prober: &Prober<'_>, seen: &mut Sightings) -> Result<(), ProbeError> {
    for name in FATAL {
        let ran = prober
            .run(probe(&["fatal", name], TENANTS[0]), None)
            .await?;
        let outcome = &ran.outcome;
        let ended = outcome.status == Status::PolicyDenied;
        let told = outcome
            .message
            .clone()
            .unwrap_or_else(|| "it went on".into());
        seen.note(
            "fatal-calls",
            sighting(Position::First, ended && ran.lines.is_empty(), told),
        );
    }
    Ok(())
}
