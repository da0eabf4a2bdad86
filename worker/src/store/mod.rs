//! Where a job's outcome, logs and artifacts are kept.

pub mod folder;
pub mod media;

use std::io;
use std::path::PathBuf;

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
}
