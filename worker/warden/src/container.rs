//! How libcontainer makes a sandbox, and how everything of it is removed.
//!
//! libcontainer forks by raw `clone3`, changes directory and dumpability of its caller, so it is
//! called from this one thread, one create at a time. Its `delete` is not used: it sleeps where a
//! group is still busy, and it kills by number, which may belong to another sandbox by then. The
//! warden kills by pidfd, reaps, and removes the groups and folders itself.

use crate::cgroup::{CgroupError, Instance, SandboxGroup};
use crate::devices::{self, DevicesError, Nodes};
use crate::image::{Image, ImageError, RootFs};
use crate::proof::process::{LookError, Process};
use crate::socket;
use crate::spec;
use crate::sys;
use crate::uids::Range;
use crate::userns::{UserNamespace, UserNamespaceError};
use libcontainer::container::builder::ContainerBuilder;
use libcontainer::error::LibcontainerError;
use libcontainer::oci_spec::OciSpecError;
use libcontainer::oci_spec::runtime::Spec;
use libcontainer::syscall::syscall::SyscallType;
use libcontainer::workload::{
    Executor, ExecutorError, ExecutorSetEnvsError, ExecutorValidationError,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::CStr;
#[cfg(feature = "unguarded")]
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Why a container could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContainerError {
    #[error("make the sandbox's control groups")]
    Group(#[source] CgroupError),
    #[error("limit the sandbox's devices")]
    Devices(#[source] DevicesError),
    #[error("mount the sandbox's root file system")]
    Root(#[source] ImageError),
    #[error("make the sandbox's user namespace")]
    User(#[source] UserNamespaceError),
    #[error("write the sandbox's spec")]
    Spec(#[source] OciSpecError),
    #[error("make the folder `{}`", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("open /dev/null")]
    Null(#[source] io::Error),
    #[error("make the keeper's socket")]
    Socket(#[source] io::Error),
    #[error("create the container")]
    Create(#[source] Box<LibcontainerError>),
    #[error("start the container")]
    Start(#[source] Box<LibcontainerError>),
    #[error("clear what libcontainer wrote")]
    Clear(#[source] RemoveError),
    #[error("find the keeper: libcontainer names no process")]
    NoProcess,
    #[error("look at the keeper")]
    Keeper(#[from] LookError),
}

/// What was not removed of a container.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoveError {
    #[error("remove the sandbox's control groups")]
    Group(#[source] CgroupError),
    #[error("remove the folder `{}`", path.display())]
    Folder { path: PathBuf, source: io::Error },
}

/// Where the containers of this warden are made: folders on its private tmpfs.
#[derive(Debug)]
pub(crate) struct Place {
    roots: PathBuf,
    states: PathBuf,
    bundles: PathBuf,
    program: Rc<OwnedFd>,
}

/// The groups of a container to come. They depend on nothing but its name, so they can be made
/// ahead of need.
#[derive(Debug)]
pub(crate) struct Groups {
    group: SandboxGroup,
    tasks: Vec<File>,
}

impl Groups {
    pub(crate) fn make(instance: &Instance, name: &str) -> Result<Self, ContainerError> {
        let group = instance.sandbox(name).map_err(ContainerError::Group)?;
        if let Some(devices) = group.keeper_devices() {
            devices::limit(&devices).map_err(ContainerError::Devices)?;
        }
        let tasks = group.keeper_tasks().map_err(ContainerError::Group)?;
        Ok(Self { group, tasks })
    }
}

/// A container whose first process, the keeper, runs.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) keeper: Process,
    /// The warden's end of the keeper's descriptor 0, non-blocking.
    pub(crate) socket: OwnedFd,
    pub(crate) groups: SandboxGroup,
    scaffold: Option<Scaffold>,
}

/// What a container was made with: mounts, of which it has copies, and what libcontainer wrote.
#[derive(Debug)]
struct Scaffold {
    nodes: Nodes,
    root: RootFs,
    folders: [PathBuf; 2],
}

/// Becomes the keeper, in the keeper's groups: no path of the image is looked at, no environment
/// is passed.
#[derive(Clone)]
struct KeeperProgram {
    program: Rc<OwnedFd>,
    tasks: Rc<[File]>,
}

impl Executor for KeeperProgram {
    fn validate(&self, _: &Spec) -> Result<(), ExecutorValidationError> {
        Ok(())
    }

    /// Nothing: the default would take std's environment lock in a child of a raw `clone3`.
    fn setup_envs(&self, _: HashMap<String, String>) -> Result<(), ExecutorSetEnvsError> {
        Ok(())
    }

    fn exec(&self, _: &Spec) -> Result<(), ExecutorError> {
        for mut file in self.tasks.iter() {
            file.write_all(b"0")
                .map_err(|e| ExecutorError::Other(format!("enter a control group: {e}")))?;
        }
        let error = sys::execveat(self.program.as_fd(), &keeper_name());
        Err(ExecutorError::Other(format!("start the keeper: {error}")))
    }
}

/// The keeper's name, which is all of its command line; in a program for tests the guards that it
/// is to take off follow it.
fn keeper_name() -> Cow<'static, CStr> {
    #[cfg(feature = "unguarded")]
    if let Ok(name) = CString::new(format!("keeper,{}", kiln_keeper::guard::words().join(","))) {
        return Cow::Owned(name);
    }
    Cow::Borrowed(c"keeper")
}

impl Place {
    pub(crate) fn new(private: &Path, program: OwnedFd) -> Result<Self, ContainerError> {
        let place = Self {
            roots: private.join("root"),
            states: private.join("state"),
            bundles: private.join("bundle"),
            program: Rc::new(program),
        };
        for path in [&place.roots, &place.states, &place.bundles] {
            make(path)?;
        }
        Ok(place)
    }

    /// Makes a container of `image` in `groups`, which are made for `name`, and starts its keeper.
    pub(crate) fn create(
        &self,
        name: &str,
        image: &Image,
        groups: Groups,
        range: Range,
    ) -> Result<Container, ContainerError> {
        let Groups { group, tasks } = groups;
        let groups = group.owned_by(range.first).map_err(ContainerError::Group)?;
        let folders = [self.states.join(name), self.bundles.join(name)];
        match self.start(name, image, &groups, tasks, range) {
            Ok((keeper, socket, nodes, root)) => Ok(Container {
                keeper,
                socket,
                groups,
                scaffold: Some(Scaffold {
                    nodes,
                    root,
                    folders,
                }),
            }),
            Err(first) => {
                // What is left of a failed create is found by name, killed and removed; a failure
                // to do so shows when the name's groups are swept with the instance.
                if let Err(e) = groups.kill() {
                    tracing::error!(error = crate::chain(&e), "a failed create was not killed");
                }
                crate::serve::reap();
                if let Err(e) = remove(groups, &folders) {
                    tracing::error!(error = crate::chain(&e), "a failed create was not removed");
                }
                Err(first)
            }
        }
    }

    fn start(
        &self,
        name: &str,
        image: &Image,
        groups: &SandboxGroup,
        tasks: Vec<File>,
        range: Range,
    ) -> Result<(Process, OwnedFd, Nodes, RootFs), ContainerError> {
        let root = image
            .mount(&self.roots.join(name))
            .map_err(ContainerError::Root)?;
        let bundle = self.bundles.join(name);
        make(&bundle)?;
        let user = UserNamespace::new(range).map_err(ContainerError::User)?;
        spec::spec(&spec::Sandbox {
            root: root.path(),
            group: &groups.keeper_path(),
            user: &user.path(),
        })
        .and_then(|spec| spec.save(bundle.join("config.json")))
        .map_err(ContainerError::Spec)?;

        let (ours, theirs) = socket::pair().map_err(ContainerError::Socket)?;
        rustix::io::ioctl_fionbio(&ours, true).map_err(|e| ContainerError::Socket(e.into()))?;
        let null = || {
            File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
                .map_err(ContainerError::Null)
        };
        let nodes = Nodes::show(range.first).map_err(ContainerError::Devices)?;
        let create = |e| ContainerError::Create(Box::new(e));
        let mut container = ContainerBuilder::new(name.to_owned(), SyscallType::default())
            .with_root_path(&self.states)
            .map_err(create)?
            .with_stdin(theirs)
            .with_stdout(null()?)
            .with_stderr(null()?)
            .with_executor(KeeperProgram {
                program: Rc::clone(&self.program),
                tasks: tasks.into(),
            })
            .validate_id()
            .map_err(create)?
            .as_init(&bundle)
            .with_systemd(false)
            .with_detach(true)
            .build()
            .map_err(create)?;
        container
            .start()
            .map_err(|e| ContainerError::Start(Box::new(e)))?;
        let pid = container.pid().ok_or(ContainerError::NoProcess)?;
        let keeper = Process::open(pid.as_raw())?;
        keeper.unprotect()?;
        // Where it is placed is proved when it answers: until then it may not have got there.
        Ok((keeper, ours, nodes, root))
    }
}

impl Container {
    /// Takes away what it was made with: each further create would copy the mounts too, and
    /// nothing reads the folders again. The mounts cost a wait for the kernel, so it is done while
    /// the keeper starts.
    pub(crate) fn strip(&mut self) -> Result<(), ContainerError> {
        let Some(scaffold) = self.scaffold.take() else {
            return Ok(());
        };
        scaffold.nodes.hide().map_err(ContainerError::Devices)?;
        scaffold.root.unmount().map_err(ContainerError::Root)?;
        clear(&scaffold.folders).map_err(ContainerError::Clear)
    }

    /// Removes everything of the container. Its processes are dead and reaped, its jobs' groups
    /// removed.
    pub(crate) fn remove(self) -> Result<(), RemoveError> {
        let folders = self.scaffold.as_ref().map(|s| &s.folders[..]);
        remove(self.groups, folders.unwrap_or_default())
    }
}

fn make(path: &Path) -> Result<(), ContainerError> {
    fs::create_dir(path).map_err(|source| ContainerError::Folder {
        path: path.to_owned(),
        source,
    })
}

fn remove(groups: SandboxGroup, folders: &[PathBuf]) -> Result<(), RemoveError> {
    groups.remove().map_err(RemoveError::Group)?;
    clear(folders)
}

fn clear(folders: &[PathBuf]) -> Result<(), RemoveError> {
    for path in folders {
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(RemoveError::Folder {
                    path: path.clone(),
                    source: e,
                });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
