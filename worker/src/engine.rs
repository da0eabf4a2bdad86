//! The parts put together for one process: warden, pool and store, without broker or Redis.

mod cpus;
mod keeping;
mod objects;
mod outcome;
mod serving;
mod stdin;
pub mod types;

use crate::egress;
use crate::egress::client::Egress;
use crate::egress::credential::Rule as Credential;
use crate::execute::Cancel;
use crate::fault::Fault;
use crate::pipeline::{self, Steps as _};
use crate::pool::Pool;
use crate::sandbox::host::{Greeting, Host, HostError};
use crate::screen::Gate;
use crate::secrets::Secrets;
use cpus::Cpus;
use kiln_warden::client::{self, Spawned};
use kiln_warden::profile::Profiles;
use serving::Serving;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub use types::{
    Delivered, EngineError, EngineOptions, Finished, LocalInput, OnStart, Place, Sizing, Submission,
};

pub use crate::execute::Live;

/// The warden has this long to take everything down before it is killed, which does the same.
const SHUTDOWN_MAX: Duration = Duration::from_secs(5);

/// Everything that runs jobs in this process.
#[derive(Debug)]
pub struct Engine {
    host: Arc<Host>,
    pool: Arc<Pool>,
    profiles: Arc<Profiles>,
    gate: Gate,
    warden: Child,
    worker: Arc<str>,
    single: bool,
    cpus: Arc<Cpus>,
    egress: Arc<Egress>,
    secrets: Arc<Secrets>,
    credentials: Arc<[Credential]>,
    /// Whether jobs are the operator's own.
    own: bool,
}

/// A warden that was started, and the profiles of it and of the engine to be. Dropping it ends it.
#[derive(Debug)]
pub struct Prepared {
    profiles: Profiles,
    warden: Spawned,
}

impl Engine {
    /// Starts a warden and has it make the first sandboxes.
    pub async fn start(options: EngineOptions) -> Result<Self, EngineError> {
        let prepared = Self::prepare(&options)?;
        Self::begin(options, prepared).await
    }

    /// All that needs root: reads the profiles and starts the warden. It starts no thread, so that
    /// the process can give up its rights before it [begins](Self::begin).
    pub fn prepare(options: &EngineOptions) -> Result<Prepared, EngineError> {
        let mut profiles =
            Profiles::load(options.config.as_deref()).map_err(EngineError::Profiles)?;
        profiles.set_default_reuse(options.reuse);
        let warden = client::spawn(&options.warden()).map_err(EngineError::Spawn)?;
        Ok(Prepared { profiles, warden })
    }

    /// Has a warden that was started make the first sandboxes.
    pub async fn begin(options: EngineOptions, prepared: Prepared) -> Result<Self, EngineError> {
        let Prepared { profiles, warden } = prepared;
        let Spawned { socket, child } = warden;
        let profiles = Arc::new(profiles);
        let gate = Gate::open(options.gate());
        let host = match Host::greet(socket).await.map_err(EngineError::Warden)? {
            Greeting::Ready(host) => Arc::new(host),
            Greeting::Refused { message, remedy } => {
                return Err(EngineError::Refused { message, remedy });
            }
        };
        let (sizes, watchers) = (options.sizes(), options.watchers.clone());
        let pool = Pool::open(Arc::clone(&host), Arc::clone(&profiles), sizes, watchers);
        if options.sizing == Sizing::Worker {
            // Who stays finds out at the start whether anything can be scanned here.
            gate.scanner().prove().await.map_err(EngineError::Scanner)?;
        }
        for (profile, warm) in &options.warm {
            pool.keep(profile, *warm).map_err(EngineError::Pool)?;
        }
        let worker = options.worker.into();
        let single = options.single;
        let cpus = Cpus::of_this_process().map_err(EngineError::Cpus)?;
        let egress = egress::client::Options {
            tls: !options.credentials.is_empty(),
            ..options.egress
        };
        let egress = Egress::new(egress, options.listeners);
        Ok(Self {
            single,
            cpus,
            egress,
            secrets: options.secrets,
            credentials: options.credentials,
            own: options.own,
            host,
            pool,
            profiles,
            gate,
            warden: child,
            worker,
        })
    }

    /// The profiles that jobs may name.
    pub fn profiles(&self) -> &Arc<Profiles> {
        &self.profiles
    }

    /// What jobs may refer to.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Runs one job to its committed outcome. `cancel` ends it when it resolves; `on_start` is
    /// called just before its program starts.
    pub async fn run(
        &self,
        submission: Submission,
        live: Option<Live>,
        cancel: Cancel,
        on_start: Option<OnStart>,
    ) -> Result<Finished, Fault> {
        let mut serving = Serving::new(self, submission, live, cancel, on_start)?;
        match serving.answered().await? {
            Some(outcome) => serving.commit(outcome).await,
            None => pipeline::serve(&mut serving).await,
        }
    }

    /// Dead instances that were swept at the start.
    pub fn swept(&self) -> u32 {
        self.host.swept
    }

    /// The name of this instance, and the process that all its sandboxes descend from.
    pub fn instance(&self) -> (&str, u32) {
        (&self.host.instance, self.warden.id())
    }

    /// Whether the warden is gone: no job can run any more.
    pub fn is_gone(&self) -> bool {
        self.host.is_gone()
    }

    /// Whether the warden leaves questions without an answer.
    pub fn is_silent(&self) -> bool {
        self.host.is_silent()
    }

    /// Ends every sandbox and the warden, and waits until nothing of them is left.
    pub async fn shut_down(mut self) -> Result<(), EngineError> {
        self.pool.close();
        self.egress.shut_down().await;
        let asked = self.host.shut_down().await;
        let deadline = Instant::now() + SHUTDOWN_MAX;
        loop {
            match self.warden.try_wait().map_err(EngineError::Wait)? {
                Some(_) => break,
                None if Instant::now() >= deadline => {
                    self.warden.kill().map_err(EngineError::Wait)?;
                    return Err(EngineError::Warden(HostError::Late));
                }
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
        match asked {
            // A warden that is gone already has nothing left to end.
            Ok(()) | Err(HostError::Socket(_) | HostError::Gone) => Ok(()),
            Err(error) => Err(EngineError::Warden(error)),
        }
    }
}
