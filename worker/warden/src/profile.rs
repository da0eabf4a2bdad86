//! The kinds of sandbox that exist: what a sandbox shows, what runs code in it, what a job there
//! may ask for, and how long it is used.
//!
//! # Layout
//!
//! - `file`: reads a configuration that only root can have written
//! - [`keys`]: takes values out of a table, and remembers everything that is wrong with it
//! - `raw`: what `[profiles.<name>]` says, key by key
//! - `settle`: what that means, with inheritance and the contract's bounds
//!
//! The warden reads the file itself: the worker names a profile, and cannot say what it is.

mod file;
pub mod keys;
mod raw;
mod settle;

pub use file::FileError;
pub use kiln_protocol::job::Isolation;
pub use kiln_protocol::limits::{LimitName, LimitRange, LimitTable, Limits};
pub use raw::KEYS;

use kiln_protocol::admission::{ProfileSource, ProfileView};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One kind of sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub image: ImageSource,
    /// What runs `code`; without one a job must bring a `command`.
    pub interpreter: Option<Interpreter>,
    pub limits: LimitTable,
    /// The least isolation of a job here.
    pub isolation: Isolation,
    pub reuse: Reuse,
    pub pool: PoolSize,
    /// Jobs after which a sandbox retires.
    pub max_uses: u32,
    /// Age at which a sandbox retires.
    pub max_age: Duration,
    /// What a job may ask to reach, as `host:port`; nothing where it is empty.
    pub network_allow: Vec<String>,
}

/// Where a sandbox's file system comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImageSource {
    /// The host's `/usr` under a synthetic `/etc`; `extra` names what is shown beyond the usual.
    Host { extra: Vec<String> },
    /// A root file system in a folder.
    Dir(PathBuf),
}

/// What runs the code of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The program with its own arguments; the main file follows.
    pub argv: Vec<String>,
    /// The name under `/job` that `code` is saved as.
    pub main: String,
}

/// Whose job may follow on a used sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Anybody's.
    Any,
    /// One of the same tenant.
    Tenant,
    /// Nobody's.
    Never,
}

/// How many sandboxes are kept ready; `None` follows from the number of slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSize {
    pub min: Option<u32>,
    pub max: Option<u32>,
}

/// All profiles, by name.
#[derive(Clone, Debug)]
pub struct Profiles {
    all: BTreeMap<String, Profile>,
    /// Those that leave their reuse to the default.
    reuse_open: BTreeSet<String>,
}

/// A configuration as it is written, before anything in it is understood.
#[derive(Clone, Debug, Default)]
pub struct Document(toml::Table);

/// Everything that is wrong with a configuration.
#[derive(Debug)]
pub struct ProfileErrors(Vec<ProfileError>);

/// One thing that is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("read the configuration")]
    File(#[source] FileError),
    #[error("parse `{path}`, line {line}: {message}")]
    Syntax {
        path: PathBuf,
        line: usize,
        message: String,
    },
    /// `key` is the full key, such as `profiles.python.limits.memory`.
    #[error("take `{key}`: {problem}")]
    Key { key: String, problem: String },
}

impl Profiles {
    /// Those that exist without a configuration.
    pub fn built_in() -> Self {
        let all: BTreeMap<String, Profile> = settle::built_in()
            .map(|profile| (profile.name.clone(), profile))
            .into();
        let reuse_open = all.keys().cloned().collect();
        Profiles { all, reuse_open }
    }

    /// The built-in ones, changed and joined by those of a configuration file.
    pub fn load(config: Option<&Path>) -> Result<Self, ProfileErrors> {
        Self::of(&Document::read(config)?)
    }

    /// The built-in ones, changed and joined by those of a document.
    pub fn of(document: &Document) -> Result<Self, ProfileErrors> {
        let read = raw::read(&document.0);
        settle::settle(Self::built_in(), read).map_err(ProfileErrors)
    }

    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.all.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.all.values()
    }

    pub fn names(&self) -> Vec<&str> {
        self.all.keys().map(String::as_str).collect()
    }

    /// Sets the reuse of those whose configuration does not say it. Without this it is
    /// [`Reuse::Tenant`].
    pub fn set_default_reuse(&mut self, reuse: Reuse) {
        for name in &self.reuse_open {
            if let Some(profile) = self.all.get_mut(name) {
                profile.reuse = reuse;
            }
        }
    }
}

impl Document {
    /// What a file says that root alone can change; nothing where there is none.
    pub fn read(path: Option<&Path>) -> Result<Self, ProfileErrors> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text =
            file::read(path).map_err(|error| ProfileErrors(vec![ProfileError::File(error)]))?;
        Self::parse(path, &text)
    }

    /// Its sections.
    pub fn sections(&self) -> &toml::Table {
        &self.0
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ProfileErrors> {
        text.parse().map(Self).map_err(|error: toml::de::Error| {
            let before = error
                .span()
                .map_or("", |span| text.get(..span.start).unwrap_or(""));
            ProfileErrors(vec![ProfileError::Syntax {
                path: path.to_owned(),
                line: before.matches('\n').count() + 1,
                message: error.message().to_owned(),
            }])
        })
    }
}

impl ProfileSource for Profiles {
    fn profile(&self, name: &str) -> Option<ProfileView<'_>> {
        self.get(name).map(|profile| ProfileView {
            has_interpreter: profile.interpreter.is_some(),
            main: profile.interpreter.as_ref().map(|i| i.main.as_str()),
            limits: &profile.limits,
            network: &profile.network_allow,
        })
    }

    fn names(&self) -> Vec<&str> {
        Profiles::names(self)
    }
}

impl Reuse {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Tenant => "tenant",
            Self::Never => "never",
        }
    }
}

impl From<Vec<ProfileError>> for ProfileErrors {
    fn from(all: Vec<ProfileError>) -> Self {
        Self(all)
    }
}

impl ProfileErrors {
    /// One by one, to join them with others.
    pub fn into_vec(self) -> Vec<ProfileError> {
        self.0
    }

    pub fn iter(&self) -> impl Iterator<Item = &ProfileError> {
        self.0.iter()
    }
}

impl fmt::Display for ProfileErrors {
    /// One line for each, with what led to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
            let mut source = std::error::Error::source(error);
            while let Some(cause) = source {
                write!(f, ": {cause}")?;
                source = cause.source();
            }
        }
        Ok(())
    }
}

impl std::error::Error for ProfileErrors {}

#[cfg(test)]
mod tests;
