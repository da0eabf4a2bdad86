//! What does the configuration say, before anything starts?
//!
//! It is read here and by the warden, by the same rules, so that what is wrong with it is told
//! before there is a warden.

use super::exit::Exit;
use super::stop::Stop;
use crate::engine::EngineOptions;
use crate::fault::chain;
use kiln_warden::profile::{Configuration, ProfileErrors, Profiles, WorkerSection};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A configuration that was understood.
#[derive(Debug)]
pub(super) struct Config {
    /// Absolute: the warden works in another folder than we.
    pub(super) path: Option<PathBuf>,
    /// The profiles that jobs may name.
    pub(super) profiles: Profiles,
    worker: WorkerSection,
}

/// Reads the configuration; what is wrong with it is a line each.
pub(super) fn load(path: Option<&Path>) -> Result<Config, Stop> {
    with_variables(path, std::env::vars_os())
}

fn with_variables(
    path: Option<&Path>,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Config, Stop> {
    let path = path.map(absolute).transpose()?;
    // What is not UTF-8 is shown so and then refused like any other wrong value.
    let variables = variables.filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    let read = Configuration::load(path.as_deref(), variables).map_err(|errors| wrong(&errors))?;
    let Configuration { profiles, worker } = read;
    if let Some(line) = worker.runtime.as_deref().and_then(untrusted) {
        return Err(Stop::new(Exit::Config, vec![line]));
    }
    Ok(Config {
        path,
        profiles,
        worker,
    })
}

impl Config {
    /// Who answers for jobs here.
    pub(super) fn worker_name(&self) -> String {
        let name = self.worker.name.clone();
        name.unwrap_or_else(super::worker_name)
    }

    /// Jobs that run at once where nobody else says it: the CPUs.
    pub(super) fn slots(&self) -> usize {
        self.worker.slots.map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        )
    }

    /// The folder for locks and sockets, where one is named.
    pub(super) fn runtime(&self) -> Option<&Path> {
        self.worker.runtime.as_deref()
    }

    /// An engine for jobs of this machine.
    pub(super) fn engine(&self, slots: usize, warm: Vec<(String, usize)>) -> EngineOptions {
        EngineOptions {
            config: self.path.clone(),
            slots,
            warm,
            worker: self.worker_name(),
            runtime: self.worker.runtime.clone(),
            cgroup_parent: self.worker.cgroup_parent.clone(),
            uid_base: self.worker.uid_base,
            ..EngineOptions::default()
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    std::path::absolute(path).map_err(|error| {
        let line = format!("find the configuration `{}`: {error}", path.display());
        Stop::new(Exit::Config, vec![line])
    })
}

/// Why the warden would not take a folder for locks and sockets; one that is not there is made.
fn untrusted(runtime: &Path) -> Option<String> {
    let meta = runtime.symlink_metadata().ok()?;
    let trusted = meta.is_dir() && meta.uid() == 0 && meta.mode() & 0o022 == 0;
    (!trusted).then(|| {
        format!(
            "take `worker.runtime`: `{}` must be a folder of root that nobody else can write to",
            runtime.display()
        )
    })
}

/// How a wrong configuration ends a command.
pub(super) fn wrong(errors: &ProfileErrors) -> Stop {
    let lines = errors.iter().map(|error| chain(error)).collect();
    Stop::new(Exit::Config, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_relative_path_becomes_absolute() {
        let found = absolute(Path::new("kiln.toml")).expect("there is a working folder");
        let here = std::env::current_dir().expect("there is a working folder");
        assert_eq!(found, here.join("kiln.toml"));
        assert!(load(Some(Path::new(""))).is_err());
    }

    #[test]
    fn a_runtime_folder_that_others_can_write_to_is_refused() {
        let dir = crate::cli::scratch::Folder::new();
        let open = dir.path().join("open");
        std::fs::create_dir(&open).expect("scratch");
        std::fs::set_permissions(&open, Permissions::from_mode(0o777)).expect("ours");
        assert!(untrusted(&open).is_some_and(|line| line.contains("open` must be")));
        assert!(untrusted(&dir.path().join("kiln.toml/x")).is_none());
        assert!(untrusted(Path::new("/etc/passwd")).is_some());
        assert!(untrusted(Path::new("/etc")).is_none());
    }

    #[test]
    fn the_environment_wins_over_the_file_and_both_reach_the_engine() {
        let dir = crate::cli::scratch::Folder::new();
        let path = dir.path().join("kiln.toml");
        let text = "[worker]\nname = \"w-1\"\nslots = 3\nruntime = \"/run/a\"\n\
                    cgroup_parent = \"/kiln-a\"\nuid_base = 4194304\n";
        std::fs::write(&path, text).expect("scratch");
        let set = [("KILN_WORKER__RUNTIME".into(), "/run/b".into())];
        let config = with_variables(Some(&path), set.into_iter()).expect("it is right");
        assert_eq!(config.slots(), 3);
        assert_eq!(config.runtime(), Some(Path::new("/run/b")));
        let options = config.engine(1, Vec::new());
        assert_eq!(options.worker, "w-1");
        assert_eq!(options.runtime.as_deref(), Some(Path::new("/run/b")));
        assert_eq!(options.cgroup_parent.as_deref(), Some("/kiln-a"));
        assert_eq!(options.uid_base, Some(4_194_304));
        let set = [("KILN_WORKER__SLOTS".into(), "banana".into())];
        let stop = with_variables(None, set.into_iter()).expect_err("it is wrong");
        assert_eq!(stop.report(), Exit::Config);
    }
}
