//! What is handed to an engine, and what comes back.

use crate::egress;
use crate::pool::watch::Watchers;
use crate::pool::{LeaseError, Sizes};
use crate::sandbox::host::HostError;
use crate::screen::{GateOptions, StartError};
use crate::secrets::Secrets;
use crate::stages::Stages;
use crate::store::ledger::Ledger;
use kiln_protocol::job::Job;
use kiln_protocol::outcome::Outcome;
use kiln_warden::client;
use kiln_warden::profile::{ProfileErrors, Reuse};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// How an engine is set up.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The file that profiles are read from, by the warden and by us.
    pub config: Option<PathBuf>,
    /// Jobs that run at once.
    pub slots: usize,
    /// Whether the first job is the last: its sandbox is not made ready for another.
    pub single: bool,
    /// How many sandboxes of a profile there are, and how many wait.
    pub sizing: Sizing,
    /// Who hears of every move of a sandbox.
    pub watchers: Watchers,
    /// Whose job may follow on a used sandbox where the profile does not say it.
    pub reuse: Reuse,
    /// Sandboxes to make at the start, by profile; wins over `sizing`.
    pub warm: Vec<(String, usize)>,
    /// The name of this worker in outcomes.
    pub worker: String,
    /// The folder for locks and state; the warden's default where `None`.
    pub runtime: Option<PathBuf>,
    /// The control group below which everything is made; the warden's default where `None`.
    pub cgroup_parent: Option<String>,
    /// The first host uid for sandboxes; the warden's default where `None`.
    pub uid_base: Option<u32>,
    /// How what jobs make is looked at.
    pub scanner: GateOptions,
    /// The network of jobs that are granted one.
    pub egress: egress::client::Options,
    /// What jobs may refer to.
    pub secrets: Arc<Secrets>,
    /// What the proxy attaches to their requests.
    pub credentials: Arc<[egress::credential::Rule]>,
    /// Who hears of what jobs ask the network for.
    pub listeners: Vec<Arc<dyn egress::client::Listen>>,
    /// Whether the jobs are the operator's own: where a profile has no ceiling of hosts, what such
    /// a job asks for is the ceiling.
    pub own: bool,
}

/// Who decides how many sandboxes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizing {
    /// The jobs of one call: none ahead of need, and no more than the slots keep busy.
    #[default]
    Call,
    /// A worker that stays: `[profiles.<name>.pool]`.
    Worker,
}

/// Where the outcome, the streams and the artifacts of a job go.
#[derive(Clone, Debug)]
pub enum Place {
    /// A folder of its own, for people.
    Folder(PathBuf),
    /// The store of a fleet.
    Ledger(Ledger),
    /// A folder, for a job whose inputs are in a store.
    Replay { folder: PathBuf, inputs: Ledger },
}

/// A file of this machine that goes into the job's folder.
#[derive(Debug)]
pub struct LocalInput {
    /// Relative to the job's folder, checked like a job's own paths.
    pub path: String,
    pub file: File,
    pub executable: bool,
}

/// One job and what comes with it.
#[derive(Debug)]
pub struct Submission {
    pub job: Job,
    pub inputs: Vec<LocalInput>,
    /// Read as the job reads it; the job's own `stdin` where `None`.
    pub stdin: Option<File>,
    pub place: Place,
    /// Warnings from when the job was accepted.
    pub warnings: Vec<kiln_protocol::outcome::Warning>,
    pub delivery: Delivered,
}

/// How a job came here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The how-manieth start this is, from 1.
    pub attempt: u32,
    /// Whether the broker had delivered it before.
    pub redelivered: bool,
    /// How long it waited in a queue, where there was one.
    pub queue_wait_us: Option<u64>,
    /// Of the trace it belongs to.
    pub trace_id: Option<String>,
}

/// A job that nobody queued.
impl Default for Delivered {
    fn default() -> Self {
        Self {
            attempt: 1,
            redelivered: false,
            queue_wait_us: None,
            trace_id: None,
        }
    }
}

/// A job that was served: its one visible result.
#[derive(Debug)]
pub struct Finished {
    pub outcome: Outcome,
    /// The bytes of the outcome as they are stored.
    pub document: Arc<[u8]>,
    /// Whether it is the result of this run, and not of another that was first.
    pub ours: bool,
    /// When this run did what.
    pub stages: Stages,
}

/// Called just before a job's program starts; not where nothing is started.
pub type OnStart = Box<dyn FnOnce() + Send>;

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("read the profiles")]
    Profiles(#[source] ProfileErrors),
    #[error("start the warden")]
    Spawn(#[source] io::Error),
    #[error("work with the warden")]
    Warden(#[source] HostError),
    /// The machine does not offer what is needed.
    #[error("{message}; {remedy}")]
    Refused { message: String, remedy: String },
    #[error("work with the scanner")]
    Scanner(#[source] StartError),
    #[error("find the CPUs of this process")]
    Cpus(#[source] io::Error),
    #[error("fill the pool")]
    Pool(#[source] LeaseError),
    #[error("wait for the warden's end")]
    Wait(#[source] io::Error),
}

impl EngineOptions {
    pub(super) fn warden(&self) -> client::Options {
        client::Options {
            program: None,
            config: self.config.clone(),
            runtime: self.runtime.clone(),
            cgroup_parent: self.cgroup_parent.clone(),
            uid_base: self.uid_base,
        }
    }

    /// As many processes that scan as jobs run at once.
    pub(super) fn gate(&self) -> GateOptions {
        GateOptions {
            processes: self.slots.max(1),
            single: self.single,
            ..self.scanner.clone()
        }
    }

    /// Sandboxes of each profile that live at once.
    pub(super) fn sizes(&self) -> Sizes {
        match self.sizing {
            // With one slot, jobs follow each other on one sandbox; with more, a job need not
            // wait for another's reset.
            Sizing::Call => Sizes::Same(match self.slots {
                0 | 1 => 1,
                slots => slots * 2,
            }),
            Sizing::Worker => Sizes::ForSlots(self.slots.max(1)),
        }
    }
}

/// The one call that starts a warden and nothing else.
impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            config: None,
            slots: 1,
            single: false,
            sizing: Sizing::Call,
            watchers: Watchers::default(),
            reuse: Reuse::Any,
            warm: Vec::new(),
            worker: String::new(),
            runtime: None,
            cgroup_parent: None,
            uid_base: None,
            scanner: GateOptions::default(),
            egress: egress::client::Options::default(),
            secrets: Arc::default(),
            credentials: Vec::new().into(),
            listeners: Vec::new(),
            own: false,
        }
    }
}
