//! Which groups belong to one sandbox, and is its keeper alone in its own?

use super::layout::Tree;
use super::limits::Limits;
use super::{CgroupError, Leaf, empty, knob};
use crate::wire::{CellLimits, CgroupVersion};
use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long [`SandboxGroup::kill`] repeats itself on v1, where a fork can race the list.
const KILL_MAX: Duration = Duration::from_millis(50);

/// The groups of one sandbox.
#[derive(Debug)]
pub struct SandboxGroup {
    tree: Arc<Tree>,
    /// v2: the group that holds the others. v1: what their names begin with.
    path: PathBuf,
    /// Root's, until it is [`SandboxGroup::owned_by`] a keeper.
    keeper_uid: u32,
    /// The generation of the leaf that was made last; one before it is removed by then.
    last: Cell<u64>,
}

impl SandboxGroup {
    pub(super) fn make(tree: Arc<Tree>, path: PathBuf) -> Result<Self, CgroupError> {
        if tree.version == CgroupVersion::V2 {
            tree.make(&path)?;
            tree.enable(&path)?;
        }
        let group = Self {
            tree,
            path,
            keeper_uid: 0,
            last: Cell::new(0),
        };
        let keeper = group.keeper();
        group.tree.make(&keeper)?;
        Limits::KEEPER.set_new(&group.tree, &group.tree.folders(&keeper)?)?;
        Ok(group)
    }

    /// Gives the groups to the host's uid of a keeper; on v2 it may place processes, no more.
    pub fn owned_by(self, keeper_uid: u32) -> Result<Self, CgroupError> {
        self.tree.give(&self.path, keeper_uid)?;
        Ok(Self { keeper_uid, ..self })
    }

    /// v1: beside all others, for a group costs the kernel memory, and nothing asks for one
    /// around them. v2: below one, whose owner may place a process into each.
    fn below(&self, name: &str) -> PathBuf {
        match self.tree.version {
            CgroupVersion::V1 => {
                let mut path = OsString::from(&self.path);
                path.push("-");
                path.push(name);
                path.into()
            }
            CgroupVersion::V2 => self.path.join(name),
        }
    }

    fn keeper(&self) -> PathBuf {
        self.below("keeper")
    }

    fn job(&self, generation: u64) -> PathBuf {
        self.below(&format!("job-{generation}"))
    }

    /// Everything there may be, as the tops of trees.
    fn tops(&self) -> Vec<PathBuf> {
        match self.tree.version {
            CgroupVersion::V1 => vec![self.job(self.last.get()), self.keeper()],
            CgroupVersion::V2 => vec![self.path.clone()],
        }
    }

    /// The path for libcontainer's `cgroupsPath`, from the root of every hierarchy. The group
    /// exists and is limited already.
    pub fn keeper_path(&self) -> PathBuf {
        Path::new("/").join(self.keeper())
    }

    /// The keeper's group where v1 lists devices, if it does. The group need not exist yet.
    pub fn keeper_devices(&self) -> Option<PathBuf> {
        self.tree.devices(&self.keeper())
    }

    /// v1: files by which a process of one thread puts itself into the keeper's groups, writing
    /// `0` to each; the kernel asks for the rights of who opened them. v2: none, libcontainer does.
    pub fn keeper_tasks(&self) -> Result<Vec<File>, CgroupError> {
        let dirs = match self.tree.version {
            CgroupVersion::V1 => self.tree.dirs(&self.keeper()),
            CgroupVersion::V2 => Vec::new(),
        };
        dirs.into_iter()
            .chain(self.keeper_devices())
            .map(|dir| {
                let file = dir.join("tasks");
                let opened = File::options().write(true).open(&file);
                opened.map_err(|source| CgroupError::Open { file, source })
            })
            .collect()
    }

    /// Proves that process `pid`, and nothing else, is in the keeper's group of every hierarchy,
    /// that nothing is in a group around it, and that the keeper's limits hold. `pid` is as the
    /// caller sees it; a member that the caller cannot see counts as another.
    pub fn prove_keeper(&self, pid: i32) -> Result<(), CgroupError> {
        let expect = |held: Vec<i32>, wanted: &[i32], file: PathBuf| {
            if held == wanted {
                return Ok(());
            }
            Err(CgroupError::Differs {
                file,
                wanted: format!("{wanted:?}"),
                held: format!("{held:?}"),
            })
        };
        if self.tree.version == CgroupVersion::V2 {
            for dir in self.tree.dirs(&self.path) {
                let file = dir.join("cgroup.procs");
                expect(knob::numbers(&file)?, &[], file)?;
            }
        }
        // It lists the threads of every process there is.
        let threads = match self.tree.version {
            CgroupVersion::V1 => "tasks",
            CgroupVersion::V2 => "cgroup.threads",
        };
        let folders = self.tree.folders(&self.keeper())?;
        for folder in &folders.0 {
            expect(folder.numbers(threads)?, &[pid], folder.file(threads))?;
        }
        if let Some(devices) = self.keeper_devices() {
            let file = devices.join(threads);
            expect(knob::numbers(&file)?, &[pid], file)?;
        }
        Limits::KEEPER.prove(&self.tree, &folders)
    }

    /// Makes the leaf of a generation, beside the keeper's group, and proves its limits.
    pub fn leaf(&self, generation: u64, limits: &CellLimits) -> Result<Leaf, CgroupError> {
        self.last.set(generation);
        let path = self.job(generation);
        Leaf::make(Arc::clone(&self.tree), path, self.keeper_uid, limits)
    }

    /// Kills everything in the sandbox, and looks for at most 50 ms whether it is dead: a wait for
    /// the rest is the caller's.
    pub fn kill(&self) -> Result<(), CgroupError> {
        for path in self.tops() {
            match empty::kill(&self.tree, &path, KILL_MAX) {
                Ok(()) | Err(CgroupError::Survivors { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Removes the sandbox's groups; no process may be left.
    pub fn remove(self) -> Result<(), CgroupError> {
        self.tops()
            .iter()
            .try_for_each(|path| empty::remove(&self.tree, path))
    }
}
