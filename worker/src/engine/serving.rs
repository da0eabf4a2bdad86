//! One job's way through the pipeline, with what each step leaves for the report.

use super::cpus::Taken;
use super::keeping::Keeping;
use super::objects::{self, Fetched};
use super::types::OnStart;
use super::{Engine, Finished, Submission};
use super::{outcome, stdin};
use crate::checkpoint::{self, Point};
use crate::collect::{self, CollectError, Collected, Selection, Wants};
use crate::egress::allow::{Ceiling, Grant};
use crate::egress::client::Granted;
use crate::egress::credential;
use crate::execute::program::program;
use crate::execute::{
    self, Cancel, ExecuteError, Input, Live, Manifest, Run, Source, Started, Task,
};
use crate::fault::{Fault, chain};
use crate::pipeline::Steps;
use crate::pool::Order;
use crate::report::answer::{Unrun, now_unix_ms};
use crate::sandbox::{Leased, Sandbox, Spent};
use crate::screen::{Cleared, Outputs};
use crate::secrets::Values;
use crate::stages::{Stages, Stretch};
use crate::store::folder::Kept;
use kiln_protocol::Rejection;
use kiln_protocol::job::{Content, Isolation, Payload};
use kiln_protocol::limits::Limits;
use kiln_protocol::outcome::{Outcome, SandboxReport};
use kiln_warden::profile::Profile;
use std::fs::File;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// The state of one job between its steps.
pub(super) struct Serving<'a> {
    engine: &'a Engine,
    profile: &'a Profile,
    submission: Submission,
    limits: Limits,
    selection: Arc<Selection>,
    keeping: Keeping,
    live: Option<Live>,
    cancel: Option<Cancel>,
    on_start: Option<OnStart>,
    secrets: Values,
    /// For each input of the job its file, where it came from the store.
    objects: Vec<Option<File>>,
    began: Instant,
    stages: Stages,
    sandbox: Option<SandboxReport>,
    manifest: Manifest,
    condemned: Option<&'static str>,
    /// Where the job runs, while it does.
    cpus: Option<Taken>,
    /// Why something of the job could not be kept.
    unkept: Option<String>,
}

impl<'a> Serving<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        submission: Submission,
        live: Option<Live>,
        cancel: Cancel,
        on_start: Option<OnStart>,
    ) -> Result<Self, Fault> {
        let began = Instant::now();
        let name = &submission.job.profile;
        let profile = engine
            .profiles
            .get(name)
            .ok_or_else(|| Fault::Lease(crate::pool::LeaseError::Profile(name.clone())))?;
        let limits = profile
            .limits
            .resolve(&submission.job.limits)
            .map_err(|refusals| Fault::Admit(format!("{refusals:?}")))?;
        let selection = Selection::new(submission.job.artifacts.as_deref())
            .map_err(|error| Fault::Admit(error.to_string()))?;
        let keeping = Keeping::open(&submission.place, &submission.job.id).map_err(Fault::Keep)?;
        Ok(Self {
            engine,
            profile,
            submission,
            limits,
            selection: Arc::new(selection),
            keeping,
            live,
            cancel: Some(cancel),
            on_start,
            secrets: Values::default(),
            objects: Vec::new(),
            began,
            stages: Stages::default(),
            sandbox: None,
            manifest: Manifest::new(),
            condemned: None,
            cpus: None,
            unkept: None,
        })
    }

    /// The answer to a job that is not to run: its deadline has passed already, or its inputs
    /// cannot be had. Where there is none they are here now.
    pub(super) async fn answered(&mut self) -> Result<Option<Outcome>, Fault> {
        if let Some(outcome) = self.expired().or_else(|| self.refused()) {
            return Ok(Some(outcome));
        }
        let Submission { job, place, .. } = &self.submission;
        let cancel = self.cancel.get_or_insert_with(|| Box::pin(pending()));
        let (bytes_max, worker) = (self.limits.disk_bytes, &*self.engine.worker);
        match objects::fetch(place, job, bytes_max, cancel, worker).await? {
            Fetched::All(files) => {
                self.objects = files;
                Ok(None)
            }
            Fetched::Answered(unrun) => Ok(Some(self.delivered((*unrun).into()))),
        }
    }

    fn expired(&self) -> Option<Outcome> {
        let unrun = Unrun::overdue(&self.submission.job, &self.engine.worker)?;
        Some(self.delivered(unrun.into()))
    }

    /// A secret may have expired since the job was taken in.
    fn refused(&self) -> Option<Outcome> {
        let job = &self.submission.job;
        let now = now_unix_ms();
        let refusal = self.engine.secrets.refusal(job, true, now)?;
        let worker = self.engine.worker.to_string();
        let outcome = Rejection::from(refusal).outcome(job.id.clone(), worker, now);
        Some(self.delivered(outcome))
    }

    /// An outcome without a run, with how its job came here.
    fn delivered(&self, outcome: Outcome) -> Outcome {
        let delivery = self.submission.delivery.clone();
        Outcome {
            attempt: delivery.attempt,
            redelivered: delivery.redelivered,
            trace_id: delivery.trace_id,
            timing_us: self.stages.timing(delivery.queue_wait_us, None),
            ..outcome
        }
    }

    /// The stronger of what the job asks for and what its profile says.
    fn isolation(&self) -> Isolation {
        let asked = self.submission.job.isolation;
        asked.map_or(self.profile.isolation, |asked| {
            asked.max(self.profile.isolation)
        })
    }

    /// What the job may reach, by today's ceiling.
    fn network(&self) -> Result<Option<Granted>, Fault> {
        let (job, profiles) = (&self.submission.job, &*self.engine.profiles);
        let ceiling = if self.engine.own {
            Ceiling::of_own(profiles, job)
        } else {
            Ceiling::of(profiles, job)
        };
        let grant = Grant::of(&job.network, ceiling)
            .map_err(|refusal| Fault::Admit(refusal.to_string()))?;
        let rules = (&*self.engine.credentials, &*self.engine.secrets);
        let credentials =
            credential::of(job, &grant, rules, now_unix_ms()).map_err(Fault::Secrets)?;
        let egress = &self.engine.egress;
        let job = (job.id.clone(), self.secrets.hidden());
        Ok(Granted::new(egress, grant, credentials, job))
    }

    /// What is done when everything is ready for the program.
    fn on_start(&mut self) -> OnStart {
        let id = self.submission.job.id.clone();
        let wanted = self.on_start.take();
        Box::new(move || {
            checkpoint::reach(Point::Staged, &id);
            if let Some(wanted) = wanted {
                wanted();
            }
        })
    }

    /// Every input of the job, its main file first.
    fn inputs(&mut self) -> Result<Vec<Input>, Fault> {
        let mut inputs = Vec::new();
        if let (Payload::Code(code), Some(interpreter)) =
            (&self.submission.job.payload, &self.profile.interpreter)
        {
            inputs.push(Input {
                path: interpreter.main.clone(),
                source: Source::Bytes(code.clone().into_bytes()),
                read_only: false,
                executable: false,
            });
        }
        let mut objects = std::mem::take(&mut self.objects).into_iter();
        for file in &self.submission.job.files {
            let object = objects.next().flatten();
            let source = match (&file.content, object) {
                (Content::Bytes(bytes), _) => Source::Bytes(bytes.clone()),
                (Content::Object { .. }, Some(object)) => Source::File(object),
                (Content::Object { key, .. }, None) => {
                    return Err(Fault::Admit(format!("`{key}` was not fetched")));
                }
            };
            inputs.push(Input {
                path: file.path.clone(),
                source,
                read_only: file.read_only,
                executable: file.executable,
            });
        }
        inputs.extend(self.submission.inputs.drain(..).map(|local| Input {
            path: local.path,
            source: Source::File(local.file),
            read_only: false,
            executable: local.executable,
        }));
        Ok(inputs)
    }
}

impl Steps for Serving<'_> {
    type Leased = Sandbox<Leased>;
    type Running = Started;
    type Spent = Sandbox<Spent>;
    type Run = Run;
    type Raw = Outputs;
    type Cleared = Cleared;
    type Kept = Kept;
    type Visible = Finished;

    async fn lease(&mut self) -> Result<Self::Leased, Fault> {
        let began = Instant::now();
        let order = Order {
            profile: self.submission.job.profile.as_str().into(),
            tenant: self.submission.job.tenant.as_str().into(),
            unused: self.isolation() == Isolation::Strict,
        };
        let (leased, start) = self.engine.pool.lease(&order).await.map_err(Fault::Lease)?;
        if self.engine.single {
            self.engine.pool.close();
        }
        self.stages.acquire = Some(Stretch::since(began));
        checkpoint::reach(Point::Acquired, &self.submission.job.id);
        self.sandbox = Some(SandboxReport {
            id: leased.id().to_string(),
            generation: leased.cell().generation,
            uses: u64::from(leased.uses()) + 1,
            start,
            isolation: self.isolation(),
            image: leased.image().to_owned(),
            profile: self.profile.name.clone(),
        });
        Ok(leased)
    }

    async fn start(&mut self, leased: Self::Leased) -> Result<Self::Running, Fault> {
        let job = &self.submission.job;
        let secrets = self.engine.secrets.resolve(job).map_err(Fault::Secrets)?;
        self.secrets = secrets.clone();
        let network = self.network()?;
        let interpreter = self.profile.interpreter.as_ref();
        let program = program(job, interpreter, &self.limits, network.is_some());
        let stdin = stdin::open(self.submission.stdin.take(), job.stdin.as_bytes())
            .map_err(|e| Fault::Start(ExecuteError::Streams(e)))?;
        let (limits, live) = (self.limits, self.live.take());
        let deadline = job
            .deadline_unix_ms
            .map(|at| UNIX_EPOCH + Duration::from_millis(at));
        let inputs = self.inputs()?;
        let cpus = self.engine.cpus.take(limits.cpus_whole());
        let affinity = cpus.mask();
        self.cpus = Some(cpus);
        let task = Task {
            limits,
            deadline,
            affinity,
            program,
            secrets,
            inputs,
            stdin,
            live,
            network,
            on_start: self.on_start(),
        };
        let started = execute::start(leased, task).await.map_err(Fault::Start)?;
        checkpoint::reach(Point::Started, &self.submission.job.id);
        Ok(started)
    }

    async fn wait(&mut self, running: Self::Running) -> Result<(Self::Spent, Run), Fault> {
        let cancel = self.cancel.take().unwrap_or_else(|| Box::pin(pending()));
        let (spent, mut run) = running.wait(cancel).await.map_err(Fault::Wait)?;
        self.cpus = None;
        checkpoint::reach(Point::Exited, &self.submission.job.id);
        self.stages.stage_in = Some(run.stage_in);
        self.stages.run = Some(run.run);
        self.condemned = if self.isolation() == Isolation::Strict {
            Some("strict")
        } else {
            run.condemns()
        };
        self.manifest = std::mem::take(&mut run.manifest);
        Ok((spent, run))
    }

    async fn collect(&mut self, spent: &mut Self::Spent, run: &mut Run) -> Result<Outputs, Fault> {
        let began = Instant::now();
        let wants = Wants {
            selection: Arc::clone(&self.selection),
            manifest: std::mem::take(&mut self.manifest),
            limits: self.limits,
            spool: self.keeping.spool().to_owned(),
            hidden: self.secrets.hidden(),
        };
        let Collected { files, skipped } = match collect::collect(spent, wants).await {
            // What the job printed is still to be told. A job of a queue is tried again instead.
            Err(error @ CollectError::Copy { .. }) if self.keeping.is_folder() => {
                self.unkept = Some(chain(&error));
                Collected::default()
            }
            collected => collected.map_err(Fault::Collect)?,
        };
        self.stages.collect = Some(Stretch::since(began));
        checkpoint::reach(Point::Collected, &self.submission.job.id);
        let (stdout, stderr) = (
            std::mem::take(&mut run.stdout),
            std::mem::take(&mut run.stderr),
        );
        Ok(Outputs {
            stdout,
            stderr,
            files,
            skipped,
            secrets: self.secrets.own(),
        })
    }

    fn hand_back(&mut self, spent: Self::Spent) {
        self.engine.pool.hand_back(spent, self.condemned);
    }

    async fn screen(&mut self, raw: Outputs) -> Result<Cleared, Fault> {
        let began = Instant::now();
        let screened = Box::pin(self.engine.gate.screen(raw)).await;
        let cleared = screened.map_err(Fault::Screen)?;
        self.stages.scan = Some(Stretch::since(began));
        Ok(cleared)
    }

    async fn keep(&mut self, cleared: Cleared) -> Result<Kept, Fault> {
        let began = Instant::now();
        let (kept, failed) = Box::pin(self.keeping.keep(cleared)).await;
        self.unkept = self.unkept.take().or(failed.map(|error| chain(&error)));
        self.stages.store = Some(Stretch::since(began));
        Ok(kept)
    }

    fn report(&mut self, run: Run, kept: Kept) -> Outcome {
        let waited = self.submission.delivery.queue_wait_us;
        let timing = self.stages.timing(waited, Some(self.began));
        let outcome = outcome::outcome(outcome::Record {
            job: &self.submission.job,
            profile: self.profile,
            limits: self.limits,
            run,
            kept,
            warnings: std::mem::take(&mut self.submission.warnings),
            timing,
            sandbox: self.sandbox.take(),
            worker: &self.engine.worker,
            delivery: self.submission.delivery.clone(),
        });
        match self.unkept.take() {
            Some(why) => outcome::unkept(outcome, &why),
            None => outcome,
        }
    }

    async fn commit(&mut self, outcome: Outcome) -> Result<Finished, Fault> {
        self.keeping.worth_keeping(&outcome)?;
        let began = Instant::now();
        let finished = self.keeping.commit(outcome).await?;
        self.stages.commit = Some(Stretch::since(began));
        checkpoint::reach(Point::Stored, &self.submission.job.id);
        Ok(Finished {
            stages: self.stages,
            ..finished
        })
    }
}
