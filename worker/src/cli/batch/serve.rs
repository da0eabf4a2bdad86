//! The loop of a batch: lines in, jobs started in their turn, answers out as they come.

use super::intake::{Intake, Verdict};
use super::lines::Line;
use super::progress::Progress;
use super::results::{Results, exit_of};
use super::tally::Tally;
use super::twins::{self, Key, Meeting, Twins};
use crate::cli::cancel::{self, Hearer};
use crate::cli::exit::Exit;
use crate::cli::signals::Asked;
use crate::cli::stop::Stop;
use crate::engine::{Delivered, Place, Submission};
use crate::execute::Cancel;
use crate::fault::chain;
use crate::report::answer::Unrun;
use crate::store::folder::Folder;
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::{Outcome, Reason, Status};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Everything that the loop holds.
pub(super) struct Batch<J> {
    /// Runs one job to its answer.
    pub(super) job: J,
    /// Who answers for a job whose task broke.
    /// Whether nothing can be run here any more.
    pub(super) gone: Box<dyn Fn() -> bool + Send + Sync>,
    pub(super) worker: String,
    pub(super) slots: usize,
    /// Below it a folder for each job.
    pub(super) out: PathBuf,
    pub(super) intake: Intake,
    pub(super) results: Results,
    pub(super) progress: Progress,
    pub(super) tally: Tally,
    pub(super) twins: Twins,
    pub(super) exit: Exit,
}

const GONE: &str = "the warden is gone, and every sandbox with it; jobs without a result run when \
                    the batch is started again with the same results";

/// Where the batch stands with its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taking {
    /// More lines are wanted.
    Open,
    /// The lines are at their end, or the person asked to stop.
    Closed,
}

/// The jobs that run, and whose each task is.
#[derive(Debug)]
struct Running {
    worker: String,
    jobs: JoinSet<Outcome>,
    ids: HashMap<tokio::task::Id, JobId>,
}

impl Running {
    fn new(worker: String) -> Self {
        Self {
            worker,
            jobs: JoinSet::new(),
            ids: HashMap::new(),
        }
    }

    fn start(&mut self, id: JobId, job: impl Future<Output = Outcome> + Send + 'static) {
        let task = self.jobs.spawn(job).id();
        self.ids.insert(task, id);
    }

    /// The next answer; `None` where nothing runs. A task that panicked is our failure.
    async fn next(&mut self) -> Option<Outcome> {
        let (task, outcome) = match self.jobs.join_next_with_id().await? {
            Ok((task, outcome)) => (task, Ok(outcome)),
            Err(error) => (error.id(), Err(error.to_string())),
        };
        let id = self.ids.remove(&task).expect("every task has its job's id");
        Some(outcome.unwrap_or_else(|why| {
            Unrun::platform_error(id, Reason::Sandbox, why, &self.worker).into()
        }))
    }
}

impl<J, F> Batch<J>
where
    J: Fn(Submission, Cancel) -> F,
    F: Future<Output = Outcome> + Send + 'static,
{
    /// Serves until the lines and the jobs are at their end, or the person asked twice.
    pub(super) async fn serve(
        mut self,
        mut lines: mpsc::Receiver<io::Result<Line>>,
        mut asked: Asked,
    ) -> Result<Exit, Stop> {
        let (canceller, hearer) = cancel::pair();
        let mut running = Running::new(self.worker.clone());
        let mut taking = Taking::Open;
        let mut wishes = 0;
        let stopped = loop {
            if taking == Taking::Closed && running.jobs.is_empty() {
                break Ok(());
            }
            let free = taking == Taking::Open && running.jobs.len() < self.slots;
            let step = tokio::select! {
                biased;
                () = asked.next() => {
                    wishes += 1;
                    taking = Taking::Closed;
                    self.exit = self.exit.max(Exit::Failed);
                    if wishes > 1 {
                        break Ok(());
                    }
                    self.progress.say("finishing what runs; once more ends it");
                    Ok(())
                }
                Some(outcome) = running.next(), if !running.jobs.is_empty() => {
                    if outcome.status == Status::PlatformError && (self.gone)() {
                        // No answer to a job is better than a wrong one: without a line in the
                        // results it runs when the batch is taken up again.
                        self.tally.cut();
                        break Err(Stop::new(Exit::Unavailable, vec![GONE.to_owned()]));
                    }
                    self.ended(&outcome)
                }
                line = lines.recv(), if free => match line {
                    Some(Ok(line)) => self.take(&line, &mut running, &hearer),
                    Some(Err(error)) => {
                        taking = Taking::Closed;
                        self.exit = self.exit.max(Exit::Unavailable);
                        self.progress.say(&format!("the jobs cannot be read: {error}"));
                        Ok(())
                    }
                    None => {
                        taking = Taking::Closed;
                        Ok(())
                    }
                },
            };
            if let Err(stop) = step {
                break Err(stop);
            }
            if self.results.gone() {
                // As with `kiln batch jobs.jsonl | head`: what runs is finished, for its files.
                taking = Taking::Closed;
                self.exit = self.exit.max(Exit::Failed);
            }
        };
        // What still runs here is ended without a result: by the second wish, or because its
        // result could not be kept.
        canceller.cancel();
        while running.next().await.is_some() {
            self.tally.cut();
        }
        for _ in 0..self.twins.waiting() {
            self.tally.cut();
        }
        self.progress.finish();
        self.progress.say(&self.tally.line());
        stopped.map(|()| self.exit)
    }

    /// Starts a line's job, or answers it.
    fn take(&mut self, line: &Line, running: &mut Running, hearer: &Hearer) -> Result<(), Stop> {
        match self.intake.judge(line) {
            Verdict::Known { exit, twin } => {
                if let Some((key, id)) = twin {
                    self.twins.known(key, id);
                }
                self.exit = self.exit.max(exit);
                self.tally.skipped();
                self.progress.step(exit);
                Ok(())
            }
            Verdict::Refused(outcome) => self.answer(&outcome),
            Verdict::Job(accepted) => {
                let id = accepted.job.id.clone();
                let meeting = Key::of(&accepted.job).map(|key| self.twins.meet(key, &id));
                match meeting {
                    None | Some(Meeting::Run) => {}
                    Some(Meeting::Wait) => return Ok(()),
                    Some(Meeting::Copy(first)) => {
                        return match first.outcome(&self.out) {
                            Ok(outcome) => self.copy(&outcome, id),
                            Err(error) => {
                                let why = format!("read the outcome of `{}`: {error}", first.id());
                                self.broken(id, why)
                            }
                        };
                    }
                }
                let submission = Submission {
                    place: Place::Folder(self.out.join(id.as_str())),
                    delivery: Delivered::default(),
                    job: accepted.job,
                    warnings: accepted.warnings,
                    inputs: Vec::new(),
                    stdin: None,
                };
                running.start(id, (self.job)(submission, hearer.cancel()));
                Ok(())
            }
        }
    }

    /// Answers a job that ran, and those that waited for it.
    fn ended(&mut self, outcome: &Outcome) -> Result<(), Stop> {
        self.answer(outcome)?;
        for id in self.twins.ended(outcome) {
            self.copy(outcome, id)?;
        }
        Ok(())
    }

    /// Answers a job by what another of its key came to.
    fn copy(&mut self, first: &Outcome, id: JobId) -> Result<(), Stop> {
        let outcome = twins::copy(first, id);
        let folder = self.out.join(outcome.job_id.as_str());
        match Folder::open(&folder).and_then(|folder| folder.commit(&outcome)) {
            Ok(()) => self.answer(&outcome),
            Err(error) => self.broken(outcome.job_id, chain(&error)),
        }
    }

    /// Answers a job whose copy could not be made.
    fn broken(&mut self, id: JobId, why: String) -> Result<(), Stop> {
        let outcome = Unrun::platform_error(id, Reason::Store, why, &self.worker);
        self.answer(&outcome.into())
    }

    fn answer(&mut self, outcome: &Outcome) -> Result<(), Stop> {
        let exit = exit_of(outcome.status);
        self.exit = self.exit.max(exit);
        self.tally.answered(exit);
        self.progress.step(exit);
        self.results
            .put(outcome.to_json().into_bytes())
            .map_err(|error| Stop::unavailable(&error))
    }
}

#[cfg(test)]
#[path = "serve/tests.rs"]
mod tests;
