//! One `kiln worker` with a configuration of its own, from its start to its exit code.

use crate::leftovers::{Scope, wait_for};
use crate::places;
use crate::stack::folder::Folder;
use crate::stack::http;
use crate::stack::ports::Ports;
use crate::stack::process::{Plan, Process};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

/// How a worker is configured.
#[derive(Debug, Clone)]
pub struct Setup {
    /// `[worker] name`.
    pub name: String,
    /// `[worker] slots`.
    pub slots: usize,
    /// `[worker] grace_ms`.
    pub grace: Duration,
    /// `[amqp] url`.
    pub amqp: String,
    /// `[amqp] topology`.
    pub topology: &'static str,
    /// `[redis] url`; no section without.
    pub redis: Option<String>,
    /// `[store]`, whole.
    pub store: String,
    /// More sections, as text.
    pub more: String,
    /// More of the environment.
    pub env: Vec<(String, String)>,
    /// The state folder, where it is not the worker's own.
    pub state: Option<PathBuf>,
    /// Built with places to die at.
    pub checkpoints: bool,
    /// Built so that guards of its sandboxes can be taken off: these are.
    pub without: Option<&'static str>,
    /// Another program than the one that is tested.
    pub program: Option<PathBuf>,
    /// What it may call its own: runtime folder, control group, uids.
    pub scope: Scope,
}

impl Setup {
    fn text(&self, state: &Path, telemetry: u16) -> String {
        let Self {
            name,
            slots,
            amqp,
            topology,
            store,
            more,
            scope,
            ..
        } = self;
        let (runtime, group, uids) = (scope.runtime.display(), &scope.group, scope.uids.0);
        let (grace, state) = (self.grace.as_millis(), state.display());
        let redis = self.redis.as_ref();
        let redis = redis.map_or_else(String::new, |url| format!("[redis]\nurl = \"{url}\"\n\n"));
        format!(
            "[worker]\nname = \"{name}\"\nslots = {slots}\ngrace_ms = {grace}\nstate = \"{state}\"\n\
             runtime = \"{runtime}\"\ncgroup_parent = \"/{group}\"\nuid_base = {uids}\n\n\
             [amqp]\nurl = \"{amqp}\"\ntopology = \"{topology}\"\n\n{redis}[store]\n{store}\n\n\
             [telemetry]\nlisten = \"127.0.0.1:{telemetry}\"\nlog = \"json\"\n\n{more}\n"
        )
    }
}

/// A worker and all its lives: it may be killed and started again on the same state.
#[derive(Debug)]
pub struct Worker {
    setup: Setup,
    ports: Ports,
    folder: Arc<Folder>,
    state: PathBuf,
    lives: Vec<Process>,
}

impl Worker {
    /// Configures one in a folder and does not start it.
    ///
    /// # Panics
    /// When the folder is not writable.
    pub fn new(folder: &Arc<Folder>, setup: Setup) -> Self {
        let own = folder.path().join(&setup.name);
        let state = setup.state.clone().unwrap_or_else(|| own.join("state"));
        std::fs::create_dir_all(&state).expect("the folder is ours");
        let worker = Self {
            setup,
            ports: Ports::take(),
            folder: Arc::clone(folder),
            state,
            lives: Vec::new(),
        };
        worker.configure();
        worker
    }

    /// Its configuration file.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join(format!("{}.toml", self.setup.name))
    }

    /// Its state folder.
    pub fn state(&self) -> &Path {
        &self.state
    }

    fn configure(&self) {
        let text = self.setup.text(&self.state, self.ports.at(0));
        std::fs::write(self.config(), text).expect("the folder is ours");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(self.config(), mode).expect("the file is ours");
    }

    /// Changes the configuration for the next start.
    pub fn change(&mut self, change: impl FnOnce(&mut Setup)) {
        change(&mut self.setup);
        self.configure();
    }

    fn program(&self) -> PathBuf {
        if let Some(program) = &self.setup.program {
            return program.clone();
        }
        match (self.setup.checkpoints, self.setup.without) {
            (true, _) => places::kiln_checkpoints(),
            (false, Some(_)) => places::kiln_unguarded(),
            (false, None) => places::kiln(),
        }
    }

    fn env(&self) -> Vec<(String, String)> {
        let path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        let mut env = vec![
            ("PATH".to_owned(), path.to_owned()),
            ("HOME".to_owned(), "/root".to_owned()),
        ];
        env.extend(self.setup.env.iter().cloned());
        let off = self
            .setup
            .without
            .map(|guards| ("KILN_WITHOUT".to_owned(), guards.to_owned()));
        env.extend(off);
        env
    }

    /// Starts it, and does not wait.
    pub fn start(&mut self) {
        let name = format!("{}-{}", self.setup.name, self.lives.len());
        let config = self.config().display().to_string();
        let program = self.program().display().to_string();
        let plan = Plan {
            name: &name,
            words: [&program, "worker", "--config", &config]
                .map(str::to_owned)
                .to_vec(),
            env: self.env(),
            folder: self.folder.path(),
        };
        self.lives.push(plan.start());
    }

    /// Starts it and waits until it takes jobs.
    pub fn up(&mut self) {
        self.start();
        self.wait_ready();
    }

    /// Runs another command of `kiln` with this configuration.
    ///
    /// # Panics
    /// When `kiln` cannot be started.
    pub fn kiln(&self, words: &[&str]) -> Output {
        let mut kiln = Command::new(places::kiln());
        kiln.args(words).arg("--config").arg(self.config());
        kiln.env_clear()
            .envs(self.env())
            .current_dir(self.folder.path());
        kiln.output().expect("kiln can be started")
    }

    /// The process that lives now, or lived last.
    ///
    /// # Panics
    /// When it was never started.
    pub fn process(&self) -> &Process {
        self.lives.last().expect("the worker was started")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.setup.name
    }

    /// Where it is asked for its figures.
    pub fn telemetry(&self) -> u16 {
        self.ports.at(0)
    }

    /// What `/readyz` says: the status and the body.
    pub fn ready(&self) -> Option<http::Answer> {
        http::get(self.ports.at(0), "/readyz")
    }

    /// Waits until it takes jobs.
    ///
    /// # Panics
    /// When it does not within a minute, or ends.
    pub fn wait_ready(&self) {
        let mut ready = false; // Once is enough: what befalls it may make it unready again.
        wait_for(Duration::from_mins(1), || {
            ready = self.ready().is_some_and(|said| said.status == 200);
            ready || self.process().ended().is_some()
        });
        let name = &self.setup.name;
        assert!(
            ready,
            "{name} is not ready: {:?}\n{}",
            self.ready(),
            self.last_words()
        );
    }

    /// Waits until it says that it takes none.
    pub fn wait_unready(&self, patience: Duration) -> bool {
        wait_for(patience, || {
            self.ready().is_none_or(|said| said.status == 503)
        })
    }

    /// The sum of a metric over all its labels that hold a text; nought where there is none.
    pub fn metric(&self, name: &str, labels: &str) -> f64 {
        let page =
            http::get(self.ports.at(0), "/metrics").map_or_else(String::new, |said| said.body);
        sum(&page, name, labels)
    }

    /// Asks it to drain.
    pub fn term(&self) {
        self.process().signal(Signal::TERM);
    }

    /// Waits for its end and tells its exit code; `None` where it does not end or a signal ended it.
    pub fn exit(&self, patience: Duration) -> Option<i32> {
        self.process()
            .wait(patience)
            .and_then(|status| status.code())
    }

    /// How many of its lives are over.
    pub fn exits(&self) -> usize {
        let over = |life: &&Process| life.ended().is_some();
        self.lives.iter().filter(over).count()
    }

    /// Kills it, and waits until it is gone.
    pub fn kill9(&self) {
        self.process().kill9();
    }

    /// The logs of all its lives.
    pub fn logs(&self) -> String {
        self.lives.iter().map(Process::stderr).collect()
    }

    /// The end of the last log.
    pub fn last_words(&self) -> String {
        self.lives
            .last()
            .map_or_else(String::new, Process::last_words)
    }
}

fn sum(page: &str, name: &str, labels: &str) -> f64 {
    let of = |line: &str| {
        let (key, value) = line.rsplit_once(' ')?;
        let (metric, rest) = key.split_once('{').unwrap_or((key, ""));
        (metric == name && rest.contains(labels)).then(|| value.parse::<f64>().ok())?
    };
    page.lines().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn metrics_are_summed_over_their_labels() {
        let page = "# HELP kiln_a b\nkiln_a{x=\"1\"} 2\nkiln_a{x=\"2\"} 3\nkiln_ab 9\nkiln_c 4\n";
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(sum(page, "kiln_a", ""), 5.0));
        assert!(close(sum(page, "kiln_a", "x=\"2\""), 3.0));
        assert!(close(sum(page, "kiln_c", ""), 4.0));
        assert!(close(sum(page, "kiln_d", ""), 0.0));
    }
}
