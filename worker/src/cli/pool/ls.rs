//! Who is there, and with which sandboxes?

use super::put;
use crate::cli::escape::name;
use crate::cli::exit::Exit;
use crate::cli::stop::Stop;
use crate::registry::fleet::{Fleet, Health, Sandbox, Worker};
use serde::Serialize;
use std::fmt::Write as _;

/// What of it is shown.
pub(super) struct Filter<'a> {
    pub(super) profile: Option<&'a str>,
    pub(super) sandboxes: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    workers: Vec<Worker>,
}

/// Prints every worker that is not gone.
pub(super) async fn run(fleet: &mut Fleet, filter: &Filter<'_>, json: bool) -> Result<Exit, Stop> {
    let workers = fleet.workers().await;
    let mut workers = workers.map_err(|error| Stop::unavailable(&error))?;
    narrow(&mut workers, filter);
    put(&if json {
        let answer = serde_json::to_string(&Answer { workers });
        answer.expect("strings and numbers are JSON") + "\n"
    } else {
        render(&workers)
    })
}

fn narrow(workers: &mut Vec<Worker>, filter: &Filter) {
    workers.retain(|worker| worker.state != Health::Gone);
    for worker in workers {
        if let Some(wanted) = filter.profile {
            worker.profiles.retain(|profile, _| profile == wanted);
            worker.sandboxes.retain(|sandbox| sandbox.profile == wanted);
        }
        if !filter.sandboxes {
            worker.sandboxes.clear();
        }
    }
}

fn render(workers: &[Worker]) -> String {
    if workers.is_empty() {
        return "no worker is there\n".to_owned();
    }
    let head = [
        "worker", "host", "state", "slots", "busy", "heard", "version",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(workers.iter().map(|worker| {
        [
            name(&worker.worker),
            name(&worker.host),
            state(worker.state).to_owned(),
            worker.slots.to_string(),
            worker.busy.to_string(),
            format!("{} ago", age(worker.heartbeat_age_ms)),
            name(&worker.version),
        ]
    }));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max();
    let widths: [usize; 7] = std::array::from_fn(|at| width(at).unwrap_or(0));
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<_> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        line(&mut text, cells.join("  ").trim_end());
        if let Some(worker) = at.checked_sub(1).and_then(|at| workers.get(at)) {
            below(&mut text, worker);
        }
    }
    text
}

/// What a worker has, by profile, and each sandbox where they are to be shown.
fn below(text: &mut String, worker: &Worker) {
    for (profile, phases) in &worker.profiles {
        let counts: Vec<_> = phases
            .iter()
            .map(|(phase, count)| format!("{count} {}", name(phase)))
            .collect();
        line(text, &format!("  {}: {}", name(profile), counts.join(", ")));
    }
    for sandbox in &worker.sandboxes {
        line(text, &format!("    {}", one(sandbox)));
    }
}

fn one(sandbox: &Sandbox) -> String {
    let tenant = sandbox
        .tenant
        .as_deref()
        .map(|tenant| format!(", tenant {}", name(tenant)));
    format!(
        "{}: {}, {} for {}, generation {}, {} uses{}",
        name(&sandbox.id),
        name(&sandbox.profile),
        name(&sandbox.phase),
        age(sandbox.phase_age_ms),
        sandbox.generation,
        sandbox.uses,
        tenant.unwrap_or_default()
    )
}

fn state(state: Health) -> &'static str {
    match state {
        Health::Live => "live",
        Health::Draining => "draining",
        Health::Stale => "stale",
        Health::Gone => "gone",
    }
}

fn age(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => kiln_protocol::units::format_duration_ms(ms / 60_000 * 60_000),
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn worker(id: &str, state: Health) -> Worker {
        let sandbox = |id: &str, profile: &str| Sandbox {
            id: id.to_owned(),
            profile: profile.to_owned(),
            phase: "warm".to_owned(),
            generation: 3,
            uses: 2,
            tenant: Some("acme".to_owned()),
            phase_age_ms: 1_250,
        };
        let warm = |count| BTreeMap::from([("warm".to_owned(), count)]);
        Worker {
            worker: id.to_owned(),
            host: "host\u{1b}[2J".to_owned(),
            version: "0.1.0".to_owned(),
            state,
            slots: 4,
            busy: 1,
            heartbeat_age_ms: 900,
            profiles: BTreeMap::from([("python".into(), warm(1)), ("bash".into(), warm(1))]),
            sandboxes: vec![sandbox("sbx-1", "python"), sandbox("sbx-2", "bash")],
        }
    }

    #[test]
    fn a_worker_is_a_line_and_its_profiles_are_below_it() {
        let mut workers = vec![worker("a", Health::Stale), worker("b", Health::Gone)];
        let filter = Filter {
            profile: Some("python"),
            sandboxes: true,
        };
        narrow(&mut workers, &filter);
        let wanted = "\
worker  host         state  slots  busy  heard       version
a       host\\x1b[2J  stale  4      1     900 ms ago  0.1.0
  python: 1 warm
    sbx-1: python, warm for 1.2 s, generation 3, 2 uses, tenant acme
";
        assert_eq!(render(&workers), wanted);
    }

    #[test]
    fn sandboxes_are_shown_where_they_are_asked_for() {
        let mut workers = vec![worker("a", Health::Live)];
        let filter = Filter {
            profile: None,
            sandboxes: false,
        };
        narrow(&mut workers, &filter);
        assert!(workers[0].sandboxes.is_empty());
        assert_eq!(workers[0].profiles.len(), 2);
        assert_eq!(render(&[]), "no worker is there\n");
    }

    #[test]
    fn an_age_has_its_unit() {
        assert_eq!(age(12), "12 ms");
        assert_eq!(age(61_950), "61.9 s");
        assert_eq!(age(180_000), "3 min");
    }
}
