//! How is it with all workers, as Redis has it?

use super::frame::{Frame, Ink, Line};
use super::{ink, meter};
use crate::cli::escape::name;
use crate::cli::stop::Stop;
use crate::config::Redis;
use crate::registry::fleet::{Fleet, Health, Worker};
use kiln_protocol::units::format_duration_ms;
use serde_json::json;
use std::collections::BTreeMap;

/// The fleet's record.
pub(super) struct Workers {
    redis: Redis,
    /// None after a failure: the next look connects anew.
    fleet: Option<Fleet>,
}

impl Workers {
    pub(super) async fn of(redis: &Redis) -> Result<Self, Stop> {
        let fleet = connect(redis).await?;
        Ok(Self {
            redis: redis.clone(),
            fleet: Some(fleet),
        })
    }

    pub(super) async fn json(&mut self) -> Result<String, Stop> {
        Ok(json!({ "workers": self.look().await? }).to_string())
    }

    pub(super) async fn frame(&mut self) -> Result<Frame, Stop> {
        Ok(frame(&self.look().await?))
    }

    async fn look(&mut self) -> Result<Vec<Worker>, Stop> {
        let mut fleet = match self.fleet.take() {
            Some(fleet) => fleet,
            None => connect(&self.redis).await?,
        };
        let workers = fleet.workers().await;
        let mut workers = workers.map_err(|error| Stop::unavailable(&error))?;
        self.fleet = Some(fleet);
        workers.retain(|worker| worker.state != Health::Gone);
        // A sandbox is a line of `kiln pool ls`, not of this.
        for worker in &mut workers {
            worker.sandboxes.clear();
        }
        Ok(workers)
    }
}

async fn connect(redis: &Redis) -> Result<Fleet, Stop> {
    let fleet = Fleet::connect(redis).await;
    fleet.map_err(|error| Stop::unavailable(&error))
}

fn frame(workers: &[Worker]) -> Frame {
    let mut frame = Frame::default();
    let of = |state| workers.iter().filter(move |it| it.state == state).count();
    let (live, draining, stale) = (of(Health::Live), of(Health::Draining), of(Health::Stale));
    let (good, bad) = (live > 0 && stale == 0, live == 0);
    let mark = match (good, bad) {
        (true, _) => "✓",
        (false, true) => "✕",
        (false, false) => "!",
    };
    let says = format!("{mark} {live} live, {draining} draining, {stale} stale");
    let slots: u64 = workers.iter().map(|it| it.slots).sum();
    let busy: u64 = workers.iter().map(|it| it.busy).sum();
    frame.push(
        Line::default()
            .and(ink(good, bad), says)
            .plain(format!("  slots {} ", meter(busy, slots, 10)))
            .and(Ink::Bold, format!("{busy} of {slots} busy")),
    );
    let mut phases: BTreeMap<&str, u64> = BTreeMap::new();
    for (phase, count) in workers.iter().flat_map(|it| it.profiles.values().flatten()) {
        *phases.entry(phase).or_default() += count;
    }
    frame.push(Line::default().plain(format!("sandboxes: {}", counts(&phases))));
    frame.gap();
    let widest = workers.iter().map(|it| name(&it.worker).chars().count());
    let width = widest.max().unwrap_or(0).max("worker".len()) + 2;
    let head = format!(
        "{:width$}{:10}{:>14}{:>10}  sandboxes",
        "worker", "state", "busy", "heard"
    );
    frame.push(Line::default().and(Ink::Dim, head));
    let mut rows: Vec<_> = workers.iter().collect();
    rows.sort_by_key(|it| (rank(it.state), it.worker.clone()));
    for worker in rows {
        frame.push(row(worker, width));
    }
    if workers.is_empty() {
        frame.push(Line::default().plain("no worker is there"));
    }
    frame
}

fn row(worker: &Worker, width: usize) -> Line {
    let (mark, word) = match worker.state {
        Health::Live => ("✓", "live"),
        Health::Draining => ("!", "draining"),
        Health::Stale => ("✕", "stale"),
        Health::Gone => ("–", "gone"),
    };
    let (good, bad) = (worker.state == Health::Live, worker.state == Health::Stale);
    let busy = format!(
        "{} {}/{}",
        meter(worker.busy, worker.slots, 5),
        worker.busy,
        worker.slots
    );
    let heard = format_duration_ms(worker.heartbeat_age_ms / 1_000 * 1_000);
    let mut phases: BTreeMap<&str, u64> = BTreeMap::new();
    for (phase, count) in worker.profiles.values().flatten() {
        *phases.entry(phase).or_default() += count;
    }
    Line::default()
        .plain(format!("{:width$}", name(&worker.worker)))
        .and(ink(good, bad), format!("{mark} {word:8}"))
        .plain(format!("{busy:>14}{heard:>10}  {}", counts(&phases)))
}

/// What must be looked at comes first.
fn rank(state: Health) -> u8 {
    match state {
        Health::Stale => 0,
        Health::Draining => 1,
        Health::Live => 2,
        Health::Gone => 3,
    }
}

fn counts(phases: &BTreeMap<&str, u64>) -> String {
    let told: Vec<_> = phases
        .iter()
        .map(|(phase, count)| format!("{count} {phase}"))
        .collect();
    if told.is_empty() {
        "none".to_owned()
    } else {
        told.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str, state: Health) -> Worker {
        let phases = BTreeMap::from([("running".to_owned(), 2), ("warm".to_owned(), 3)]);
        Worker {
            worker: name.to_owned(),
            host: "h".to_owned(),
            version: "0.1.0".to_owned(),
            state,
            slots: 4,
            busy: 2,
            heartbeat_age_ms: 17_400,
            profiles: BTreeMap::from([("python".to_owned(), phases)]),
            sandboxes: Vec::new(),
        }
    }

    #[test]
    fn what_must_be_looked_at_comes_first() {
        let fleet = [
            worker("a", Health::Live),
            worker("b\u{1b}[31m", Health::Stale),
        ];
        let text = frame(&fleet).text(100, false);
        let wanted = "\
! 1 live, 0 draining, 1 stale  slots █████░░░░░ 4 of 8 busy
sandboxes: 4 running, 6 warm

worker     state               busy     heard  sandboxes
b\\x1b[31m  ✕ stale        ███░░ 2/4      17 s  2 running, 3 warm
a          ✓ live         ███░░ 2/4      17 s  2 running, 3 warm
";
        assert_eq!(text, wanted);
        assert_eq!(
            frame(&[]).text(100, false).lines().next(),
            Some("✕ 0 live, 0 draining, 0 stale  slots ░░░░░░░░░░ 0 of 0 busy")
        );
    }
}
