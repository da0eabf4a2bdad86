//! What is handed to an engine, and what comes back.

use crate::pool::LeaseError;
use crate::sandbox::host::HostError;
use kiln_protocol::job::Job;
use kiln_protocol::outcome::Outcome;
use kiln_warden::client;
use kiln_warden::profile::ProfileErrors;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// How an engine is set up.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// The file that profiles are read from, by the warden and by us.
    pub config: Option<PathBuf>,
    /// Jobs that run at once.
    pub slots: usize,
    /// Whether the first job is the last: its sandbox is not made ready for another.
    pub single: bool,
    /// Sandboxes to make at the start, by profile.
    pub warm: Vec<(String, usize)>,
    /// The name of this worker in outcomes.
    pub worker: String,
    /// The folder for locks and state; the warden's default where `None`.
    pub runtime: Option<PathBuf>,
    /// The control group below which everything is made; the warden's default where `None`.
    pub cgroup_parent: Option<String>,
    /// The first host uid for sandboxes; the warden's default where `None`.
    pub uid_base: Option<u32>,
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
    /// Where the outcome, the streams and the artifacts go.
    pub out: PathBuf,
    /// Warnings from when the job was accepted.
    pub warnings: Vec<kiln_protocol::outcome::Warning>,
}

/// A job that was served.
#[derive(Debug)]
pub struct Finished {
    pub outcome: Outcome,
}

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

    /// Sandboxes of one profile that live at once. With one slot, jobs follow each other on one
    /// sandbox; with more, a job need not wait for another's reset.
    pub(super) fn places(&self) -> usize {
        match self.slots {
            0 | 1 => 1,
            slots => slots * 2,
        }
    }
}
