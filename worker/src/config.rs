//! What does the configuration say, with everything it leaves out filled in?
//!
//! The file is trusted as the warden trusts it, then the environment (`KILN_<SECTION>__<KEY>`)
//! wins over it. Everything that is wrong is told at once, each with its key.
//!
//! # Layout
//!
//! - `section`: which sections and keys there are; `sources`: who says each of them
//! - `worker`, `broker`, `store`, `scanner`, `egress`, `tenants`: what each section means
//! - `secrets`: what jobs may refer to, and what the proxy attaches for them
//! - `secret`, `url`: what must not be shown
//! - `print`, `schema`: the configuration in force, and what may stand in one

mod broker;
mod egress;
mod print;
mod scanner;
mod schema;
mod secret;
mod secrets;
mod section;
mod sources;
mod store;
mod tenants;
#[cfg(test)]
mod tests;
mod url;
mod user;
mod worker;

use kiln_warden::confine::User;
pub use kiln_warden::profile::{ProfileError as ConfigError, ProfileErrors as ConfigErrors};
pub use schema::schema;
pub use secret::Secret;
pub(crate) use secret::read as read_secret;
pub(crate) use worker::worker_name;

use crate::egress::client::Options;
use crate::egress::credential::Rule as Credential;
use crate::engine::EngineOptions;
use crate::screen::table::Row;
use crate::secrets::Secrets;
use artifact_scanner::Preset;
use kiln_protocol::id::Tenant;
use kiln_protocol::job::Class;
use kiln_protocol::limits::{LimitName, LimitUnit};
use kiln_warden::profile::{Document, Profiles};
use sources::Sources;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What a job needs beyond its wall time and the grace before its delivery is answered.
const ANSWER: Duration = Duration::from_mins(1);

/// A configuration that was understood.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file; absolute, for the warden works in another folder.
    pub path: Option<PathBuf>,
    /// The profiles that jobs may name.
    pub profiles: Profiles,
    pub worker: Worker,
    /// None where no url is said: there is no broker. See [`Config::check_for_worker`].
    pub amqp: Option<Amqp>,
    /// None where there is no `[redis]`: nothing is tracked.
    pub redis: Option<Redis>,
    pub store: Store,
    pub telemetry: Telemetry,
    pub scanner: Scanner,
    /// The network of jobs that are granted one.
    pub egress: Options,
    /// What jobs may refer to.
    pub secrets: Secrets,
    /// What the proxy attaches to their requests.
    pub credentials: Vec<Credential>,
    /// Those with queues of their own.
    pub tenants: BTreeMap<Tenant, TenantSection>,
    /// What is right and perhaps not meant.
    pub warnings: Vec<String>,
    /// The broker's own limit, also where there is no broker.
    consumer_timeout: Duration,
    /// Who says a key; by section and key, without those that nobody says.
    origins: BTreeMap<String, Origin>,
    /// Where secrets were read from; by section and key.
    secret_files: BTreeMap<String, String>,
}

/// Who says a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File,
    Environment,
}

/// `[worker]`.
#[derive(Clone, Debug)]
pub struct Worker {
    /// In outcomes and in the registry.
    pub name: String,
    /// Jobs that run at once.
    pub slots: usize,
    /// How long running jobs have at a drain.
    pub grace: Duration,
    /// How often jobs of the worker's own try its sandboxes, if at all.
    pub canary: Option<Duration>,
    /// The folder that outlives the process: journal, lock.
    pub state: PathBuf,
    /// The folder for locks and sockets; the warden's default where `None`.
    pub runtime: Option<PathBuf>,
    /// The control group below which everything is made; the warden's default where `None`.
    pub cgroup_parent: Option<String>,
    /// The first host uid for sandboxes; the warden's default where `None`.
    pub uid_base: Option<u32>,
    /// Whom the worker becomes once its warden is started; it stays root where `None`.
    pub user: Option<User>,
}

/// `[amqp]`.
#[derive(Clone, Debug)]
pub struct Amqp {
    /// With its password: never shown.
    pub url: Secret,
    pub topology: TopologyMode,
    /// Whether the tenant in a message of a shared queue is believed.
    pub trust_tenant: bool,
    /// The broker's own limit on how long a delivery may stay unanswered.
    pub consumer_timeout: Duration,
    /// The classes whose queues are served.
    pub queues: Vec<Class>,
    /// What the name of a reply queue must begin with.
    pub reply_prefixes: Vec<String>,
}

/// Who makes exchanges and queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyMode {
    /// An operator; what differs stops the worker.
    Passive,
    /// The worker, where they are not there.
    Create,
}

/// `[redis]`.
#[derive(Clone, Debug)]
pub struct Redis {
    pub url: Secret,
}

/// `[store]`.
#[derive(Clone, Debug)]
pub enum Store {
    Files(PathBuf),
    S3(S3),
}

/// Where an S3 store is and who we are there.
#[derive(Clone, Debug)]
pub struct S3 {
    pub bucket: String,
    /// Below it everything lies; empty for the bucket itself.
    pub prefix: String,
    /// Another than Amazon's.
    pub endpoint: Option<String>,
    pub region: String,
    /// From `*_file`; the environment's usual variables where `None`.
    pub access_key_id: Option<Secret>,
    pub secret_access_key: Option<Secret>,
}

/// `[telemetry]`.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// `None` where it is switched off.
    pub listen: Option<SocketAddr>,
    pub log: LogFormat,
    /// The collector of traces; `None` where there is none.
    pub otlp: Option<String>,
}

/// `[scanner]`.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    pub preset: Preset,
    pub rules_folder: Option<PathBuf>,
    /// The rules of that folder: name and source; they compile.
    pub rules: Vec<(String, String)>,
    pub clamd: Option<ClamdAddress>,
    /// The first that applies decides, before those of the preset.
    pub rows: Vec<Row>,
}

/// Where a clamd listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClamdAddress {
    Unix(PathBuf),
    /// Host and port.
    Tcp(String),
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// `[tenants.<name>]`.
#[derive(Clone, Debug)]
pub struct TenantSection {
    /// Its part of the CPU time where others want some too; 1 is usual.
    pub share: u32,
}

impl Config {
    /// What a file says, and the environment in its place; all that is wrong with either.
    pub fn load(
        path: Option<&Path>,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigErrors> {
        let path = path.map(absolute).transpose()?;
        // Of a file that is no TOML nothing more is known, but the environment can be wrong too.
        let (document, mut errors) = match Document::read(path.as_deref()) {
            Ok(document) => (document, Vec::new()),
            Err(errors) => (Document::default(), errors.into_vec()),
        };
        let sources = Sources::new(document.sections(), variables);
        let profiles = Profiles::of(&document);
        let mut warnings = Vec::new();
        let worker = worker::settle(&sources);
        let (amqp, consumer_timeout) = broker::amqp(&sources);
        let redis = broker::redis(&sources);
        let store = store::store(&sources, &mut warnings);
        let telemetry = store::telemetry(&sources, &mut warnings);
        let scanner = scanner::scanner(&sources);
        let egress = egress::settle(&sources, worker.uid_base);
        if let Ok(profiles) = &profiles {
            egress::ceilings(&sources, profiles);
        }
        let tenants = tenants::settle(&sources);
        let secrets = secrets::secrets(&sources);
        let credentials = secrets::credentials(&sources, &secrets);
        warnings.extend(
            path.as_deref()
                .and_then(|path| sources::readable(path, &sources)),
        );
        let origins = sources::origins(&sources);
        let secret_files = sources::secret_files(&sources);
        errors.extend(sources.errors.into_inner());
        match profiles {
            Ok(profiles) if errors.is_empty() => Ok(Self {
                path,
                profiles,
                worker,
                amqp,
                redis,
                store,
                telemetry,
                scanner,
                egress,
                secrets,
                credentials,
                tenants,
                warnings,
                consumer_timeout,
                origins,
                secret_files,
            }),
            profiles => {
                errors.extend(profiles.err().into_iter().flat_map(ConfigErrors::into_vec));
                Err(errors.into())
            }
        }
    }

    /// The broker, where a worker can serve its jobs with this configuration; else everything
    /// that keeps it from that.
    pub fn check_for_worker(&self) -> Result<&Amqp, ConfigErrors> {
        let mut errors = Vec::new();
        let mut wrong = |key: String, problem| errors.push(ConfigError::Key { key, problem });
        if self.amqp.is_none() {
            let variable = sources::variable(section::AMQP.name, "url");
            let problem = format!(
                "a worker needs a broker: set it, `amqp.url_file` or the variable `{variable}`"
            );
            wrong("amqp.url".to_owned(), problem);
        }
        let most = self.consumer_timeout * 4 / 5;
        for profile in self.profiles.iter() {
            let ceiling = profile.limits.get(LimitName::Wall).ceiling;
            let longest = Duration::from_millis(ceiling) + self.worker.grace + ANSWER;
            if longest > most {
                wrong(
                    format!("profiles.{}.ceilings.wall", profile.name),
                    format!(
                        "{} and `worker.grace_ms` of {} and 1 min are more than {}, 80 % of \
                         `amqp.consumer_timeout_ms`: the broker would give a running job to \
                         another worker",
                        LimitUnit::Duration.format(ceiling),
                        time(self.worker.grace),
                        time(most),
                    ),
                );
            }
        }
        match &self.amqp {
            Some(amqp) if errors.is_empty() => Ok(amqp),
            _ => Err(errors.into()),
        }
    }

    /// An engine for jobs of this machine.
    pub fn engine(&self, slots: usize, warm: Vec<(String, usize)>) -> EngineOptions {
        EngineOptions {
            config: self.path.clone(),
            slots,
            warm,
            worker: self.worker.name.clone(),
            runtime: self.worker.runtime.clone(),
            cgroup_parent: self.worker.cgroup_parent.clone(),
            uid_base: self.worker.uid_base,
            scanner: self.gate(),
            egress: self.egress.clone(),
            secrets: Arc::new(self.secrets.clone()),
            credentials: self.credentials.as_slice().into(),
            ..EngineOptions::default()
        }
    }

    /// Who answers for jobs where no name is said.
    pub fn host_name() -> String {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    }
}

impl TopologyMode {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passive => "passive",
            Self::Create => "create",
        }
    }
}

impl LogFormat {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

fn time(duration: Duration) -> String {
    LimitUnit::Duration.format(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

fn absolute(path: &Path) -> Result<PathBuf, ConfigErrors> {
    std::path::absolute(path).map_err(|error| {
        let key = "--config".to_owned();
        let problem = format!("find `{}`: {error}", path.display());
        vec![ConfigError::Key { key, problem }].into()
    })
}
