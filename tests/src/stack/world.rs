//! A broker's virtual host, a store, workers and a client: what a test of the queue is written with.

use crate::history::History;
use crate::leftovers::{Scope, Snapshot, assert_empty, wait_for};
use crate::stack::broker::Broker;
use crate::stack::client::Client;
use crate::stack::folder::Folder;
use crate::stack::letter::{Letter, Message};
use crate::stack::objects::Objects;
use crate::stack::worker::{Setup, Worker};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a job may take that has nothing against it, on a busy machine.
pub const SOON: Duration = Duration::from_mins(1);

/// All that one test has.
#[derive(Debug)]
pub struct World {
    /// Who hears and submits.
    pub client: Client,
    /// By the order of [`World::add`].
    pub workers: Vec<Worker>,
    /// The broker; shared where the test does not harm it.
    pub broker: Arc<Broker>,
    /// The virtual host.
    pub vhost: String,
    folder: Arc<Folder>,
    /// All its workers live in this one, like those of a host.
    scope: Scope,
}

impl World {
    /// One on the shared broker, without a worker.
    pub fn new() -> Self {
        Self::on(Broker::shared())
    }

    /// One on a broker of its own, without a worker.
    pub fn on(broker: Arc<Broker>) -> Self {
        let vhost = broker.vhost();
        let folder = Arc::new(Folder::new());
        Self {
            client: Client::start(&broker.url(&vhost)),
            workers: Vec::new(),
            vhost,
            broker,
            scope: Scope::own(folder.path().join("run")),
            folder,
        }
    }

    /// One with a worker `a` of so many slots that takes jobs.
    pub fn up(slots: usize) -> Self {
        Self::with(|setup| setup.slots = slots)
    }

    /// One with a worker `a`, changed in some way, that takes jobs.
    pub fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let mut world = Self::new();
        world.add("a", change).up();
        world.client.wait_bound();
        world
    }

    /// The store of all workers.
    pub fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// What its workers may call their own.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The folder of this world.
    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// Where a worker finds the virtual host.
    pub fn amqp(&self) -> String {
        self.broker.url(&self.vhost)
    }

    /// Adds a worker and does not start it.
    pub fn add(&mut self, name: &str, change: impl FnOnce(&mut Setup)) -> &mut Worker {
        let mut setup = Setup {
            name: name.to_owned(),
            slots: 2,
            grace: Duration::from_secs(30),
            amqp: self.amqp(),
            topology: "create",
            redis: None,
            store: format!("url = \"file://{}\"", self.store().display()),
            more: String::new(),
            env: Vec::new(),
            state: None,
            checkpoints: false,
            without: None,
            program: None,
            scope: self.scope.clone(),
        };
        change(&mut setup);
        let place = self.workers.len();
        self.workers.push(Worker::new(&self.folder, setup));
        &mut self.workers[place]
    }

    /// The first worker.
    pub fn worker(&mut self) -> &mut Worker {
        &mut self.workers[0]
    }

    /// Submits jobs to the interactive class.
    pub fn submit(&self, jobs: &[Value]) {
        let letters: Vec<_> = jobs
            .iter()
            .map(|job| Letter::job("interactive", job))
            .collect();
        self.client.send(&letters);
    }

    /// The outcome of a job that was submitted.
    ///
    /// # Panics
    /// When there is none soon.
    pub fn answer(&self, job: &str) -> Value {
        self.message(job).json()
    }

    /// The message with the outcome of a job that was submitted.
    ///
    /// # Panics
    /// When there is none soon.
    pub fn message(&self, job: &str) -> Message {
        let message = self.client.outcome(job, SOON);
        message.unwrap_or_else(|| panic!("no outcome of {job}\n{}", self.last_words()))
    }

    /// Submits a job and waits for its outcome.
    ///
    /// # Panics
    /// When there is none soon.
    pub fn serve(&self, job: &Value) -> Value {
        self.submit(std::slice::from_ref(job));
        self.answer(&id(job))
    }

    /// Submits a letter as it is and waits for the outcome of this job.
    pub fn serve_letter(&self, letter: Letter, job: &str) -> Value {
        self.client.send(&[letter]);
        self.answer(job)
    }

    /// Waits until each of these has an outcome.
    ///
    /// # Panics
    /// When some have none in time.
    pub fn wait_all(&self, jobs: &[String], patience: Duration) {
        let missing = self.client.outcomes(jobs, patience);
        assert!(
            missing.is_empty(),
            "{} of {} jobs have no outcome: {:?} ...\n{}",
            missing.len(),
            jobs.len(),
            &missing[..missing.len().min(5)],
            self.last_words()
        );
    }

    /// Waits until a worker says that it starts a job.
    ///
    /// # Panics
    /// When none does soon.
    pub fn wait_started(&self, job: &str) {
        let started = wait_for(SOON, || self.starts(job) > 0);
        assert!(started, "{job} is not started\n{}", self.last_words());
    }

    /// Waits until workers say that they start all of these.
    ///
    /// # Panics
    /// When they do not soon.
    pub fn wait_all_started(&self, jobs: &[Value]) {
        for job in jobs {
            self.wait_started(&id(job));
        }
    }

    /// Waits for messages in a queue for answers.
    ///
    /// # Panics
    /// When there are not so many in time.
    pub fn replies(&self, queue: &str, count: usize) -> Vec<Message> {
        let mut found = Vec::new();
        wait_for(SOON, || {
            found = self.client.peek(queue);
            found.len() >= count
        });
        assert!(
            found.len() == count,
            "{} in {queue}: {found:#?}",
            found.len()
        );
        found
    }

    /// Waits for dead letters.
    ///
    /// # Panics
    /// When there are not so many in time.
    pub fn dead(&self, count: usize) -> Vec<Message> {
        self.replies("kiln.dead", count)
    }

    /// Reads the results of a store of objects into the history.
    pub fn read_objects(&self, objects: &Objects, bucket: &str, prefix: &str) {
        let jobs: Vec<_> = self
            .client
            .history(|history| history.names().map(str::to_owned).collect());
        for job in jobs {
            let key = format!("{prefix}results/{job}.json");
            if let Some(body) = objects.object(bucket, &key) {
                self.client
                    .history(|history| history.stored(&job, body.as_bytes()));
            }
        }
    }

    /// Reads the store and the logs, and judges with what the client heard: no job may be started more often than this.
    pub fn assert_kept(&self, starts: u32, about: &str) {
        self.client.history(|history| {
            history.forget_starts();
            history.read_store(&self.store());
            self.read_logs(history);
            history.assert_kept(starts, about);
        });
    }

    fn read_logs(&self, history: &mut History) {
        for worker in &self.workers {
            history.read_log(&worker.logs());
        }
    }

    /// How often a job was started, by the logs of all workers.
    pub fn starts(&self, job: &str) -> u32 {
        let mut history = History::default();
        self.read_logs(&mut history);
        history.starts(job)
    }

    /// The stored outcome of a job, as its bytes.
    pub fn stored(&self, job: &str) -> Option<Vec<u8>> {
        std::fs::read(self.store().join("results").join(format!("{job}.json"))).ok()
    }

    /// What of the machine's these workers have now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.scope)
    }

    /// Asks the one worker to end, which it must do well and leave nothing.
    ///
    /// # Panics
    /// With its last words, or what is left.
    pub fn assert_ends(&mut self) {
        self.worker().term();
        assert_eq!(self.workers[0].exit(SOON), Some(0), "{}", self.last_words());
        self.assert_nothing_left(Duration::from_secs(5));
    }

    /// Waits until these workers have nothing of the machine's any more.
    ///
    /// # Panics
    /// With what is left, when it stays.
    pub fn assert_nothing_left(&self, patience: Duration) {
        assert_empty(&self.scope, patience);
    }

    /// The last words of all workers.
    pub fn last_words(&self) -> String {
        self.workers.iter().map(Worker::last_words).collect()
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.workers.clear(); // Before the virtual host: what is killed retries nothing.
        wait_for(Duration::from_secs(3), || self.snapshot().is_empty());
        self.scope.remove();
        if self.broker.ready() {
            self.broker.forget(&self.vhost);
        }
    }
}

/// A token no other job of these tests has.
pub fn fresh(word: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{word}-{}-{n}", std::process::id())
}

/// Shell text as a job with a fresh id.
pub fn bash(code: &str) -> Value {
    json!({"schema": "kiln.job.v1", "id": fresh("job"), "profile": "bash", "code": code})
}

/// A job that takes so many milliseconds.
pub fn sleeper(ms: u64) -> Value {
    let seconds = format!("{}.{:03}", ms / 1000, ms % 1000);
    bash(&format!("sleep {seconds}; echo slept"))
}

/// The id of a job.
///
/// # Panics
/// When it has none.
pub fn id(job: &Value) -> String {
    job["id"]
        .as_str()
        .expect("a job of the tests has an id")
        .to_owned()
}

/// The ids of jobs.
pub fn ids(jobs: &[Value]) -> Vec<String> {
    jobs.iter().map(id).collect()
}
