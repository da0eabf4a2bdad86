//! Which control groups hold a sandbox and its jobs, on cgroup v1 and v2 alike?
//!
//! ```text
//!   v2  <parent>/<instance>/<sandbox>/keeper             limited before the keeper is in it
//!       <parent>/<instance>/<sandbox>/job-<generation>   one job's leaf, beside it
//!   v1  <parent>/<instance>/<sandbox>-keeper             the same, without a group around them
//!       <parent>/<instance>/<sandbox>-job-<generation>
//!   both  <parent>/scan-<token>                          one process that scans, the worker's
//! ```
//!
//! On v1 the same path exists in the hierarchies of memory, pids, cpu and cpuacct, however these
//! are mounted together; on v2 it exists once, and controllers are enabled on the way down.
//! Every limit is written, read back and compared. A file that cannot be read is an error, never
//! a limit that is skipped.
//!
//! # Layout
//!
//! - [`layout`]: where the hierarchies are mounted
//! - [`folder`]: a group, opened
//! - [`knob`]: one file: bounded read, write, proof
//! - [`limits`]: what a group of ours must hold, per version
//! - [`sandbox`], [`leaf`]: the groups of one sandbox, and of one job
//! - [`scan`]: the group of a process that scans what jobs made
//! - [`empty`]: who is left in a group, how they are killed, how the tree is removed

mod empty;
mod folder;
mod knob;
mod layout;
mod leaf;
mod limits;
mod sandbox;
mod scan;

pub use leaf::Leaf;
pub use limits::{KEEPER_MEMORY_BYTES, KEEPER_PIDS};
pub use sandbox::SandboxGroup;
pub use scan::{ScanGroup, ScanGroups};

use crate::wire::CgroupVersion;
use layout::Tree;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a control group could not be made, limited, proved or removed.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    #[error("find the controllers `{}` in `/proc/self/mountinfo`", missing.join(" "))]
    Missing { missing: Vec<&'static str> },
    #[error("use `{name}` as the name of a control group")]
    Name { name: String },
    #[error("make a name for a control group")]
    Token(#[source] io::Error),
    #[error("lock `{}`", dir.display())]
    Lock { dir: PathBuf, source: io::Error },
    #[error("hide the hierarchy `{}`", dir.display())]
    Hide { dir: PathBuf, source: io::Error },
    #[error("make the control group `{}`", dir.display())]
    Make { dir: PathBuf, source: io::Error },
    #[error("enable `{wanted}` in `{}`", file.display())]
    Enable {
        file: PathBuf,
        wanted: String,
        source: io::Error,
    },
    #[error("give `{}` to uid `{uid}`", file.display())]
    Give {
        file: PathBuf,
        uid: u32,
        source: io::Error,
    },
    #[error("write `{wanted}` to `{}`", file.display())]
    Write {
        file: PathBuf,
        wanted: String,
        source: io::Error,
    },
    #[error("read `{}`", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("open `{}`", file.display())]
    Open { file: PathBuf, source: io::Error },
    #[error("understand `{}`: it says `{text}`", file.display())]
    Malformed { file: PathBuf, text: String },
    #[error("prove `{}`: wanted `{wanted}`, the kernel holds `{held}`", file.display())]
    Differs {
        file: PathBuf,
        wanted: String,
        held: String,
    },
    #[error("be told of OOM kills by `{}`", file.display())]
    Event { file: PathBuf, source: io::Error },
    #[error("kill process `{pid}` of `{}`", dir.display())]
    Kill {
        dir: PathBuf,
        pid: i32,
        source: io::Error,
    },
    #[error("empty `{}`: processes `{pids:?}` are left", dir.display())]
    Survivors { dir: PathBuf, pids: Vec<i32> },
    #[error("remove `{}`: processes are left in it", dir.display())]
    Busy { dir: PathBuf },
    #[error("remove `{}`", dir.display())]
    Remove { dir: PathBuf, source: io::Error },
}

/// The control groups of this machine.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    tree: Arc<Tree>,
}

/// Finds memory, pids, cpu and cpuacct: v1 where these are mounted so, else v2.
pub fn detect() -> Result<Hierarchy, CgroupError> {
    let file = Path::new("/proc/self/mountinfo");
    let text = std::fs::read_to_string(file).map_err(|source| CgroupError::Read {
        file: file.into(),
        source,
    })?;
    Ok(Hierarchy {
        tree: Arc::new(Tree::from_mountinfo(&text)?),
    })
}

impl Hierarchy {
    pub fn version(&self) -> CgroupVersion {
        self.tree.version
    }

    /// The same groups, with the v1 mounts taken out of this process's mount namespace.
    ///
    /// libcontainer puts a container's first process into the groups that it finds mounted, by
    /// writing its pid to `cgroup.procs`, which waits for every fork of the host (5 to 20 ms).
    /// Where it finds none, the process can put itself there by `tasks`, see
    /// [`SandboxGroup::keeper_tasks`], which waits for nothing.
    pub fn hide(&self) -> Result<Self, CgroupError> {
        let tree = Arc::new(self.tree.hide()?);
        Ok(Self { tree })
    }

    /// Makes `<parent>/<name>`, which must not exist, in every hierarchy.
    pub fn instance(&self, parent: &str, name: &str) -> Result<Instance, CgroupError> {
        let path = below(parent, name)?;
        self.make_parents(&path)?;
        self.tree.make(&path)?;
        self.tree.enable(&path)?;
        Ok(Instance {
            tree: Arc::clone(&self.tree),
            path,
        })
    }

    /// Makes the groups above a path that are not there, and lets their children have limits.
    fn make_parents(&self, path: &Path) -> Result<(), CgroupError> {
        let parents: Vec<&Path> = path.ancestors().skip(1).collect();
        for dir in parents.into_iter().rev() {
            self.tree.make_if_absent(dir)?;
            self.tree.enable(dir)?;
        }
        Ok(())
    }

    /// Kills every process below `<parent>/<name>` and removes the tree; one that is absent is
    /// fine. On v1 the caller must see the processes: one outside its pid namespace survives, and
    /// is an error.
    pub fn sweep(&self, parent: &str, name: &str) -> Result<(), CgroupError> {
        let path = below(parent, name)?;
        empty::kill(&self.tree, &path, empty::SWEEP_MAX)?;
        empty::remove(&self.tree, &path)
    }
}

/// The groups of one running warden.
#[derive(Debug)]
pub struct Instance {
    tree: Arc<Tree>,
    path: PathBuf,
}

impl Instance {
    /// The same instance, reached as `hierarchy` reaches its groups.
    #[must_use]
    pub fn by(self, hierarchy: &Hierarchy) -> Self {
        let tree = Arc::clone(&hierarchy.tree);
        Self { tree, ..self }
    }

    /// Makes the groups of a sandbox, which nobody owns yet: the keeper's with its limits, and on
    /// v2 one around it.
    pub fn sandbox(&self, name: &str) -> Result<SandboxGroup, CgroupError> {
        check_name(name)?;
        SandboxGroup::make(Arc::clone(&self.tree), self.path.join(name))
    }

    /// Removes the instance and all below it; no process may be left.
    pub fn remove(self) -> Result<(), CgroupError> {
        empty::remove(&self.tree, &self.path)
    }
}

/// `parent/name` as a path relative to the root of a hierarchy.
fn below(parent: &str, name: &str) -> Result<PathBuf, CgroupError> {
    let mut path = PathBuf::new();
    for part in parent.split('/').filter(|part| !part.is_empty()) {
        check_name(part)?;
        path.push(part);
    }
    check_name(name)?;
    path.push(name);
    Ok(path)
}

/// A name is one path component of plain characters, and none of the kernel's own files.
fn check_name(name: &str) -> Result<(), CgroupError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | ':');
    let foreign =
        name.is_empty() || name.len() > 128 || name.starts_with('.') || !name.chars().all(plain);
    if foreign {
        return Err(CgroupError::Name { name: name.into() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_v2;
