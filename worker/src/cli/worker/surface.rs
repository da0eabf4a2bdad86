//! What does a queue worker keep of root's rights, once its warden is started?
//!
//! `worker.user` names whom it becomes: a broken worker then owns two folders and its sockets, and
//! what it can ask of the warden is what a profile allows. Without it the worker stays root with
//! the capabilities that it uses, which keeps mistakes small and no attacker out.

use crate::cli::config::wrong_key;
use crate::cli::stop::Stop;
use crate::config::{Config, Store};
use kiln_warden::confine::{self, User};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::path::Path;

/// Gives up what is not needed. The process has one thread, and its warden runs.
pub(super) fn give_up(config: &Config) -> Result<(), Stop> {
    if let Some(user) = config.worker.user {
        hand_over("worker.state", &config.worker.state, user)?;
        if let Store::Files(folder) = &config.store {
            hand_over("store.url", folder, user)?;
        }
    }
    let holds = confine::worker(config.worker.user).map_err(|error| Stop::unavailable(&error))?;
    let (has, could) = holds.capabilities;
    tracing::info!(
        uid = holds.uid,
        capabilities = format!("{has:x}"),
        bounding = format!("{could:x}"),
        "has given up what it does not need"
    );
    Ok(())
}

/// A folder of the user's: made, where it is not there. What is there is changed by nobody.
fn hand_over(key: &str, folder: &Path, user: User) -> Result<(), Stop> {
    let made = match folder.metadata() {
        Ok(meta) if meta.uid() == user.uid => return Ok(()),
        Ok(_) => Err(io::Error::other(format!(
            "it is not of `worker.user`: `chown -R {}:{}` it, where nobody else uses it",
            user.uid, user.gid
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(folder, user),
        Err(error) => Err(error),
    };
    made.map_err(|error| wrong_key(key, &format!("`{}`: {error}", folder.display())))
}

fn make(folder: &Path, user: User) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        std::fs::create_dir_all(above)?;
    }
    std::fs::DirBuilder::new().mode(0o750).create(folder)?;
    chown(folder, Some(user.uid), Some(user.gid))
}
