//! Whatever the order in which moves arrive, and however often: the record goes only forward.

use super::super::link::{self, Link};
use super::super::pending::{Entry, word};
use super::*;
use crate::telemetry::metric::Metrics;
use std::collections::HashMap;

const PHASES: [Phase; 5] = [
    Phase::Warm,
    Phase::Leased,
    Phase::Running,
    Phase::Resetting,
    Phase::Retired,
];

/// A source of choices that a seed repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// What the record should say: epoch, session, and per sandbox the furthest it has been.
#[derive(Default)]
struct Model {
    writer: (u64, u64),
    furthest: HashMap<u32, (u64, u8)>,
}

impl Model {
    /// Whether a move is taken.
    fn project(&mut self, writer: (u64, u64), id: u32, at: (u64, u8)) -> bool {
        let had = self.furthest.get(&id);
        let taken = writer == self.writer && had.is_none_or(|had| had.1 != 4 && *had < at);
        if taken {
            self.furthest.insert(id, at);
        }
        taken
    }

    fn lives(&self) -> Vec<(String, String, u64)> {
        let mut lives: Vec<_> = self
            .furthest
            .iter()
            .filter(|(_, (_, rank))| *rank != 4)
            .map(|(id, (generation, rank))| {
                let phase = PHASES.into_iter().find(|phase| word(*phase).1 == *rank);
                let (phase, _) = word(phase.expect("a rank is a phase's"));
                (SandboxId(*id).to_string(), phase.to_owned(), *generation)
            })
            .collect();
        lives.sort();
        lives
    }
}

async fn enter(link: &mut Link, instance: &str, session: u64, started: u64) -> Option<u64> {
    let keys = vec![
        keys::EPOCH.to_owned(),
        keys::WORKERS.to_owned(),
        keys::EPOCHS.to_owned(),
        keys::worker("a"),
        keys::sandboxes("a"),
        keys::gone("a"),
        keys::EVENTS.to_owned(),
    ];
    let session = session.to_string();
    let started = started.to_string();
    let words = [
        "a", instance, &started, "0", &session, "4", "0", "host", "0.1.0", "600000",
    ];
    let args = words.map(str::to_owned).to_vec();
    let answer = link.ask("enter", keys, args).await.expect("an answer");
    (answer.word == "ok").then(|| answer.number("enter").expect("an epoch"))
}

async fn project(link: &mut Link, writer: (u64, u64), moved: &Moved) -> bool {
    let keys = vec![
        keys::worker("a"),
        keys::sandboxes("a"),
        keys::gone("a"),
        keys::EVENTS.to_owned(),
    ];
    let entry = Entry::of(moved);
    let args = vec![
        "a".to_owned(),
        writer.0.to_string(),
        writer.1.to_string(),
        "600000".to_owned(),
        entry.id.to_string(),
        entry.generation.to_string(),
        entry.rank.to_string(),
        entry.rest,
    ];
    let answer = link.ask("project", keys, args).await.expect("an answer");
    answer.word == "ok" && answer.more.as_deref() == Some("0")
}

/// Random moves by the present writer and by every writer before it, in any order and repeated,
/// between restarts and reconnections.
async fn interleave(server: &Server, seed: u64) {
    server.command(&["FLUSHALL"]).await;
    let client = link::client(&server.url()).expect("an address");
    let patient = Tempo {
        response: Duration::from_secs(5),
        connect: Duration::from_secs(5),
        ..fast()
    };
    let mut link = Link::open(&client, &patient, Metrics::new())
        .await
        .expect("it is up");
    let mut dice = Dice(seed);
    let mut model = Model::default();
    let (mut life, mut session) = (1, 1);
    let first = enter(&mut link, "life-1", 1, 1).await.expect("an epoch");
    model.writer = (first, session);
    let mut writers = vec![model.writer];
    for step in 0..300 {
        match dice.below(40) {
            0 => {
                (life, session) = (life + 1, 1);
                let instance = format!("life-{life}");
                let entered = enter(&mut link, &instance, session, life).await;
                let epoch = entered.expect("a later life is let in");
                assert!(epoch > model.writer.0, "an epoch rises");
                (model.writer, model.furthest) = ((epoch, session), HashMap::new());
                writers.push(model.writer);
            }
            1 => {
                session += 1;
                let instance = format!("life-{life}");
                let entered = enter(&mut link, &instance, session, life).await;
                assert_eq!(entered, Some(model.writer.0), "a life has one epoch");
                (model.writer.1, model.furthest) = (session, HashMap::new());
                writers.push(model.writer);
            }
            2 => {
                // A zombie's entry, which waited in a socket.
                let instance = format!("life-{life}");
                assert_eq!(enter(&mut link, &instance, session, life).await, None);
                let earlier = life.saturating_sub(1);
                let instance = format!("life-{earlier}");
                assert_eq!(enter(&mut link, &instance, 99, earlier).await, None);
            }
            _ => {
                let pick = if dice.below(3) == 0 {
                    dice.below(writers.len() as u64)
                } else {
                    writers.len() as u64 - 1
                };
                let writer = writers[usize::try_from(pick).expect("small")];
                let id = u32::try_from(dice.below(4)).expect("small");
                // Retirement is rarer, or nothing would live.
                let phase = match dice.below(24) {
                    0 => Phase::Retired,
                    n => PHASES[usize::try_from(n % 4).expect("small")],
                };
                let generation = 1 + step / 30 + dice.below(3);
                let taken = project(&mut link, writer, &moved(id, phase, generation)).await;
                let wanted = model.project(writer, id, (generation, word(phase).1));
                assert_eq!(taken, wanted, "seed {seed}, step {step}");
            }
        }
    }
    let mut found = view(&server.url(), "a").await;
    found.sort();
    assert_eq!(found, model.lives(), "seed {seed}");
}

#[tokio::test]
async fn redis_goes_only_forward_whatever_the_order() {
    let server = Server::start(&[]).await;
    for seed in 1..=12 {
        interleave(&server, seed * 0x9e37_79b9).await;
    }
}

#[tokio::test]
async fn redis_goes_only_forward_without_functions_too() {
    let server = Server::start(&["--rename-command", "FUNCTION", ""]).await;
    for seed in 1..=4 {
        interleave(&server, seed * 0x5851_f42d).await;
    }
}
