//! Where a job's outcome, logs and artifacts are kept.
//!
//! # Layout
//!
//! - [`folder`]: a folder per job, for people
//! - [`ledger`]: what a fleet remembers of its jobs, under the names of `key`
//! - `backend`: what a store can do; `files` (with `syncs`) and `objects` do it
//! - `health`: whether the store can be reached

mod backend;
mod files;
pub mod folder;
mod health;
mod key;
pub mod ledger;
mod objects;
mod syncs;

use backend::BackendError;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("make the folder `{path}`")]
    Folder { path: PathBuf, source: io::Error },
    #[error("use the folder `{path}`: it holds `{name}`, which is not of an earlier run")]
    Foreign { path: PathBuf, name: String },
    #[error("clear `{name}` of an earlier run in `{path}`")]
    Clear {
        path: PathBuf,
        name: String,
        source: io::Error,
    },
    #[error("write `{name}` in `{path}`")]
    Write {
        path: PathBuf,
        name: String,
        source: io::Error,
    },
    /// The folder that is the store.
    #[error("open the store `file://{}`{}", path.display(), advised(folder_advice(path, source)))]
    Open { path: PathBuf, source: io::Error },
    /// The store as it is configured cannot be used.
    #[error("open the store: {0}")]
    Configuration(String),
    /// A request that the store did not do.
    #[error("{op} `{key}` in the store{}", advised(*advice))]
    Request {
        op: &'static str,
        key: String,
        /// What an operator can do.
        advice: Option<&'static str>,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("understand `{key}` in the store")]
    Document {
        key: String,
        source: serde_json::Error,
    },
    #[error("name the crash: `{0}` is no token of a run")]
    Token(String),
    #[error("take the input `{key}`: {problem}")]
    Input { key: String, problem: InputProblem },
    #[error("use a file of our own for `{key}`")]
    Local { key: String, source: io::Error },
}

/// What is wrong with an input that a job names; the job's own matter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputProblem {
    #[error("it does not lie below `inputs/{0}/`")]
    Elsewhere(String),
    #[error("it is not in the store")]
    Absent,
    #[error("what is there is no file")]
    NoFile,
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error("its sha256 is `{0}`")]
    Digest(String),
}

impl StoreError {
    /// Whether the configuration must change before this can succeed.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Configuration(_) => true,
            // One that is not there yet, or that may not be used, is away.
            Self::Open { path, source } => is_no_folder(path, source),
            Self::Request { source, .. } => {
                matches!(source.downcast_ref(), Some(BackendError::NoBucket))
            }
            _ => false,
        }
    }

    /// What is wrong with the job's own input, where that is it.
    pub fn input_problem(&self) -> Option<&InputProblem> {
        match self {
            Self::Input { problem, .. } => Some(problem),
            _ => None,
        }
    }

    fn request(op: &'static str, key: &str, source: BackendError) -> Self {
        let key = key.to_owned();
        if let BackendError::Local(source) = source {
            return Self::Local { key, source };
        }
        Self::Request {
            op,
            key,
            advice: advice(&source),
            source: Box::new(source),
        }
    }
}

fn advised(advice: Option<&str>) -> String {
    advice.map_or_else(String::new, |advice| format!(" ({advice})"))
}

/// Whether a path can never be a store, whoever asks.
fn is_no_folder(path: &Path, error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let never = [
        Kind::NotADirectory,
        Kind::AlreadyExists,
        Kind::InvalidFilename,
    ];
    let kernels = ["/proc", "/sys"]
        .iter()
        .any(|place| path.starts_with(place));
    kernels || never.contains(&error.kind())
}

/// What an operator can do about a folder that does not open.
pub(crate) fn folder_advice(path: &Path, error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        _ if is_no_folder(path, error) => "let `store.url` name a folder of a disk",
        io::ErrorKind::NotFound => "no worker has used it yet, or `store.url` names another",
        io::ErrorKind::PermissionDenied => "run as its owner, or as root",
        io::ErrorKind::ReadOnlyFilesystem => "mount it so that it can be written to",
        _ => return None,
    })
}

/// What an operator can do about a failure.
fn advice(error: &BackendError) -> Option<&'static str> {
    use object_store::Error as Objects;
    Some(match error {
        BackendError::NoBucket => "make the bucket, or name another in `store.url`",
        BackendError::Objects(Objects::PermissionDenied { .. }) => {
            "give the key the rights to get, put, list and delete there, and see that the clocks \
             agree"
        }
        BackendError::Objects(Objects::Unauthenticated { .. }) => {
            "see that the access key and its secret are right"
        }
        BackendError::Objects(error) if error.to_string().contains("400 Bad Request") => {
            "see that `store.region` and `store.endpoint` are right"
        }
        BackendError::Files(error) => match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room",
            io::ErrorKind::ReadOnlyFilesystem => "mount it so that it can be written to",
            io::ErrorKind::NotFound => "make the folder of `store.url` again",
            io::ErrorKind::PermissionDenied => "let the worker's user write there",
            _ => return None,
        },
        BackendError::Objects(_)
        | BackendError::Local(_)
        | BackendError::TooLarge { .. }
        | BackendError::NoFile => {
            return None;
        }
    })
}
