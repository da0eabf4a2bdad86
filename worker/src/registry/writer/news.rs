//! What is said within a session: what moved, that we live, and who does not.

use super::{Standing, Writer, push};
use crate::pool::watch::Moved;
use crate::registry::keys;
use crate::registry::library::Call;
use crate::registry::link::{Answer, Link, LinkError};
use crate::registry::pending::{Batch, Word};
use crate::registry::tempo::ms;
use crate::telemetry::event::Reaped;
use crate::telemetry::metric::Orphan;
use kiln_protocol::id::JobId;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Workers taken out in one go.
const REAP_MAX: &str = "64";

/// Batches written before the next beat is looked at.
const BATCHES: usize = 64;

impl Writer {
    pub(super) async fn flush(&self, link: &mut Link) -> Result<Standing, LinkError> {
        for _ in 0..BATCHES {
            let batch = self.shared.pending().take();
            if batch.is_empty() {
                break;
            }
            let standing = self.send(link, batch).await?;
            if standing != Standing::Good {
                return Ok(standing);
            }
        }
        Ok(Standing::Good)
    }

    /// Sends a batch in one go. Words that may not have arrived are taken back.
    async fn send(&self, link: &mut Link, batch: Batch) -> Result<Standing, LinkError> {
        let mut pipeline = redis::pipe();
        for word in &batch.words {
            pipeline.add_command(self.word(link, word));
        }
        let projected = !batch.moves.is_empty();
        if projected {
            pipeline.add_command(link.command(&self.project(&batch.moves)));
        }
        let answers = match link.send("project", &pipeline).await {
            Ok(answers) => answers,
            Err(error) => {
                self.shared.pending().back(batch.words);
                return Err(error);
            }
        };
        for (word, answer) in batch.words.iter().zip(&answers) {
            let Word::Claimed(job) = word else { continue };
            let answer = Answer::of("claim", answer)?;
            if answer.word != "ours" {
                return Ok(Standing::Unknown);
            }
            let token = answer.number("claim")?;
            self.shared.pending().learn(job, token);
        }
        match answers.last() {
            Some(answer) if projected => Ok(standing(&Answer::of("project", answer)?)),
            _ => Ok(Standing::Good),
        }
    }

    fn word(&self, link: &Link, word: &Word) -> redis::Cmd {
        match word {
            Word::Claimed(job) => link.command(&self.shared.claim(self.epoch, job, true)),
            Word::Ended(job, token) => link.command(&self.held("finish", job, *token)),
            Word::Cancelled(job) => redis::cmd("SET")
                .arg(keys::cancel(job))
                .arg(&self.shared.identity.worker)
                .arg("PX")
                .arg(ms(self.shared.tempo.cancel_kept))
                .to_owned(),
        }
    }

    /// A call about a claim that should be ours.
    fn held(&self, call: &'static str, job: &JobId, token: Option<u64>) -> Call {
        let args = vec![
            self.shared.identity.worker.clone(),
            self.epoch.to_string(),
            token.map(|token| token.to_string()).unwrap_or_default(),
            ms(self.shared.tempo.claim_kept),
        ];
        Call::new(call, vec![keys::job(job)], args)
    }

    fn project(&self, moves: &[Moved]) -> Call {
        let name = &self.shared.identity.worker;
        let keys = vec![
            keys::worker(name),
            keys::sandboxes(name),
            keys::gone(name),
            keys::EVENTS.to_owned(),
        ];
        let mut args = self.fence();
        args.push(self.kept());
        for moved in moves {
            push(&mut args, moved);
        }
        Call::new("project", keys, args)
    }

    /// Says that we live, keeps our claims, and takes out who does not.
    pub(super) async fn beat(&mut self, link: &mut Link) -> Result<Standing, LinkError> {
        self.beat_at = Instant::now() + self.shared.tempo.beat;
        let name = &self.shared.identity.worker;
        let keys = vec![
            keys::WORKERS.to_owned(),
            keys::worker(name),
            keys::sandboxes(name),
            keys::gone(name),
        ];
        let (count, held) = {
            let pending = self.shared.pending();
            // With news on the way the figures cannot agree.
            let count = pending.is_idle().then(|| pending.sandboxes().to_string());
            (count.unwrap_or_default(), pending.held())
        };
        let mut args = self.fence();
        args.extend([
            self.shared.identity.slots.to_string(),
            self.shared.busy.load(Ordering::Relaxed).to_string(),
            count,
            self.kept(),
        ]);
        let answer = link.ask("beat", keys, args).await?;
        let standing = standing(&answer);
        if standing != Standing::Good {
            return Ok(standing);
        }
        if answer.more.as_deref() == Some("drain") && !self.shared.drain.send_replace(true) {
            tracing::info!("an operator asks this worker to drain");
        }
        if !held.is_empty() {
            let mut pipeline = redis::pipe();
            for (job, token) in held {
                pipeline.add_command(link.command(&self.held("renew", &job, token)));
            }
            link.send("renew", &pipeline).await?;
        }
        self.reap(link).await?;
        Ok(Standing::Good)
    }

    async fn reap(&self, link: &mut Link) -> Result<(), LinkError> {
        let gone = ms(self.shared.tempo.gone);
        let args = vec![gone.clone(), REAP_MAX.to_owned()];
        for name in link
            .names("expired", vec![keys::WORKERS.into()], args)
            .await?
        {
            let args = vec![name.clone(), gone.clone()];
            let answer = link.ask("reap", keys::whole(&name), args).await?;
            if answer.word == "ok" {
                tracing::info!(
                    worker = name,
                    "a worker was not heard of and is off the record"
                );
                let kind = Orphan::Record;
                Reaped { kind, count: 1 }.emit(&self.shared.metrics);
            }
        }
        Ok(())
    }
}

fn standing(answer: &Answer) -> Standing {
    match answer.word.as_str() {
        "ok" => Standing::Good,
        "stale" => Standing::Superseded,
        _ => Standing::Unknown,
    }
}
