//! A worker as far as a warden and its keepers can tell.

use crate::sandbox::{Cell, Sandbox};
use kiln_warden::client::{self, Options, Spawned};
use kiln_warden::socket;
use kiln_warden::wire::{Event, Request, SandboxId};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A running warden with a folder and control groups of its own.
pub(crate) struct Worker {
    pub(crate) spawned: Option<Spawned>,
    pub(crate) runtime: PathBuf,
    pub(crate) parent: String,
    pub(crate) instance: String,
    /// Folder and groups belong to another, which removes them.
    guest: bool,
}

pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_kiln-warden-harness"))
}

/// Whether something comes to hold in time.
#[expect(
    clippy::disallowed_methods,
    reason = "what the kernel does with other processes is nothing that can be waited for"
)]
pub(crate) fn within(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    holds()
}

pub(crate) fn wait_readable(fd: &OwnedFd, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        let left = Timespec::try_from(left).expect("a time span");
        match rustix::event::poll(&mut fds, Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => panic!("poll: {e}"),
        }
    }
}

impl Worker {
    pub(crate) fn start() -> Self {
        let (runtime, parent) = Self::place();
        Self::start_in(runtime, parent)
    }

    pub(crate) fn place() -> (PathBuf, String) {
        assert!(
            rustix::process::geteuid().is_root(),
            "this test needs root: it makes real sandboxes"
        );
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiln-warden-test-{}-{count}", std::process::id());
        let runtime = std::env::temp_dir().join(&name);
        std::fs::create_dir(&runtime).expect("make the runtime folder");
        (runtime, format!("/{name}"))
    }

    /// Starts another warden in the folder and below the group of `host`.
    pub(crate) fn start_beside(host: &Self) -> Self {
        let mut guest = Self::start_in(host.runtime.clone(), host.parent.clone());
        guest.guest = true;
        guest
    }

    fn start_in(runtime: PathBuf, parent: String) -> Self {
        let spawned = client::spawn(&Options {
            program: Some(program()),
            config: None,
            runtime: Some(runtime.clone()),
            cgroup_parent: Some(parent.clone()),
            uid_base: None,
        })
        .expect("spawn");
        Self::welcome(spawned, runtime, parent)
    }

    /// Starts a warden as a careless parent would: with descriptors that are not closed on exec,
    /// and an environment that offers them.
    pub(crate) fn start_dirty() -> Self {
        let (runtime, parent) = Self::place();
        let (socket, theirs) = socket::pair().expect("pair");
        let secrets: Vec<File> = (0..4)
            .map(|_| {
                let file = File::open("/etc/passwd").expect("open");
                rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).expect("flags");
                file
            })
            .collect();
        let child = Command::new(program())
            .arg("warden")
            .arg("--runtime")
            .arg(&runtime)
            .arg("--cgroup-parent")
            .arg(&parent)
            .env("LISTEN_FDS", "9")
            .env("LISTEN_PID", "1")
            .env("SECRET", "x")
            .stdin(theirs)
            .spawn()
            .expect("spawn");
        drop(secrets);
        Self::welcome(Spawned { socket, child }, runtime, parent)
    }

    /// Starts a warden where it cannot work: what it says.
    pub(crate) fn refused(change: impl FnOnce(&mut Command) -> &mut Command) -> Event {
        let (socket, theirs) = socket::pair().expect("pair");
        // Anybody may read and start this copy.
        let copy = std::env::temp_dir().join(format!("kiln-warden-copy-{}", std::process::id()));
        std::fs::copy(program(), &copy).expect("copy");
        let mut command = Command::new(&copy);
        command.arg("warden").stdin(theirs);
        let event = Self::refusal(&socket, change(&mut command));
        std::fs::remove_file(copy).expect("remove");
        event
    }

    pub(crate) fn refusal(socket: &OwnedFd, command: &mut Command) -> Event {
        let mut child = command.spawn().expect("spawn");
        assert!(wait_readable(socket, PATIENCE), "the warden is silent");
        let (event, _) = client::recv(socket).expect("receive").expect("an event");
        assert_eq!(child.wait().expect("wait").code(), Some(69));
        event
    }

    pub(crate) fn welcome(spawned: Spawned, runtime: PathBuf, parent: String) -> Self {
        let mut worker = Self {
            spawned: Some(spawned),
            runtime,
            parent,
            instance: String::new(),
            guest: false,
        };
        match worker.event() {
            Event::Welcome { instance, .. } => worker.instance = instance,
            other => panic!("not welcome: {other:?}"),
        }
        worker
    }

    pub(crate) fn spawned(&self) -> &Spawned {
        self.spawned.as_ref().expect("the warden was not ended")
    }

    pub(crate) fn send(&self, request: &Request) {
        client::send(&self.spawned().socket, request).expect("send");
    }

    pub(crate) fn receive(&self) -> (Event, Vec<OwnedFd>) {
        let socket = &self.spawned().socket;
        assert!(wait_readable(socket, PATIENCE), "the warden is silent");
        client::recv(socket)
            .expect("receive")
            .expect("the warden is gone")
    }

    pub(crate) fn event(&self) -> Event {
        self.receive().0
    }

    pub(crate) fn ask_create(&self, profile: &str) {
        self.send(&Request::Create {
            seq: 7,
            profile: profile.to_owned(),
        });
    }

    pub(crate) fn created(&self) -> Sandbox {
        match self.receive() {
            (Event::Created { sandbox, seq, .. }, mut fds) => {
                assert_eq!(seq, 7);
                Sandbox {
                    id: sandbox,
                    control: fds.remove(0),
                    cell: None,
                }
            }
            (other, _) => panic!("not created: {other:?}"),
        }
    }

    /// A sandbox of the profile `command`, with its first cell.
    pub(crate) fn create(&self) -> Sandbox {
        self.ask_create("command");
        let mut sandbox = self.created();
        self.ready(&mut sandbox);
        sandbox
    }

    pub(crate) fn ready(&self, sandbox: &mut Sandbox) {
        match self.receive() {
            (
                Event::Ready {
                    sandbox: id,
                    generation,
                    limits,
                    ..
                },
                fds,
            ) => {
                assert_eq!(id, sandbox.id);
                let mut fds = fds.into_iter();
                sandbox.cell = Some(Cell {
                    generation,
                    limits,
                    scratch: fds.next().expect("scratch"),
                    stage: fds.next().expect("stage"),
                });
            }
            (other, _) => panic!("not ready: {other:?}"),
        }
    }

    pub(crate) fn reset(&self, sandbox: &mut Sandbox) {
        self.ask_reset(sandbox);
        self.ready(sandbox);
    }

    pub(crate) fn ask_reset(&self, sandbox: &mut Sandbox) {
        let cell = sandbox.cell.take().expect("a cell");
        self.send(&Request::Reset {
            sandbox: sandbox.id,
            generation: cell.generation,
        });
    }

    pub(crate) fn retire(&self, sandbox: Sandbox) {
        self.send(&Request::Retire {
            sandbox: sandbox.id,
        });
        self.retired(sandbox.id);
        // Not before: a keeper whose worker lets go ends, and would be told as broken.
        drop(sandbox);
    }

    pub(crate) fn retired(&self, id: SandboxId) {
        match self.event() {
            Event::Retired { sandbox, failed } => {
                assert_eq!(sandbox, id);
                assert_eq!(failed, None);
            }
            other => panic!("not retired: {other:?}"),
        }
    }

    /// The warden's process, as the host numbers it.
    pub(crate) fn warden(&self) -> i32 {
        let monitor = self.spawned().child.id();
        let file = format!("/proc/{monitor}/task/{monitor}/children");
        let children = std::fs::read_to_string(file).expect("children");
        children.trim().parse().expect("one child")
    }

    /// The keeper's process, as the host numbers it.
    pub(crate) fn keeper(&self, sandbox: &Sandbox) -> i32 {
        let name = self.group(sandbox, "keeper");
        let groups = self.groups();
        let group = groups.first().expect("a control group");
        let file = group.join(name).join("cgroup.procs");
        let text = std::fs::read_to_string(file).expect("processes");
        // The cell's init is there too; the keeper was first.
        text.lines()
            .filter_map(|pid| pid.parse().ok())
            .find(|pid| {
                std::fs::read_to_string(format!("/proc/{pid}/comm"))
                    .is_ok_and(|name| name.trim() == "keeper")
            })
            .expect("a keeper")
    }

    /// The name of a sandbox's group, below each of [`Worker::groups`].
    pub(crate) fn group(&self, sandbox: &Sandbox, name: &str) -> String {
        let beside = format!("{}-{name}", sandbox.id);
        let is_there = |group: &PathBuf| group.join(&beside).exists();
        if self.groups().iter().any(is_there) {
            beside
        } else {
            format!("{}/{name}", sandbox.id)
        }
    }

    /// The groups of this warden in every hierarchy that has any.
    pub(crate) fn groups(&self) -> Vec<PathBuf> {
        let root = std::path::Path::new("/sys/fs/cgroup");
        let mut found = Vec::new();
        let parent = self.parent.trim_start_matches('/');
        let mut hierarchies = vec![root.to_owned()];
        for entry in std::fs::read_dir(root).expect("cgroups").flatten() {
            hierarchies.push(entry.path());
        }
        for hierarchy in hierarchies {
            let instance = hierarchy.join(parent).join(&self.instance);
            if !self.instance.is_empty() && instance.exists() {
                found.push(instance);
            }
        }
        found
    }

    /// Whether nothing of this warden is left: groups, folder, mounts.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self
            .groups()
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let folder = self.runtime.join(&self.instance);
        if folder.exists() {
            left.push(folder.display().to_string());
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let runtime = self.runtime.display().to_string();
        left.extend(
            mounts
                .lines()
                .filter(|l| l.contains(&runtime))
                .map(str::to_owned),
        );
        left
    }

    /// Lets go of the warden as a killed worker does, and waits for the monitor's end.
    pub(crate) fn end(&mut self) -> Duration {
        let mut spawned = self.spawned.take().expect("not ended before");
        let begin = Instant::now();
        drop(spawned.socket);
        spawned.child.wait().expect("wait");
        begin.elapsed()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.spawned.is_some() {
            self.end();
        }
        let mut left = self.left();
        if self.guest {
            left.retain(|what| what.contains(&self.instance));
            assert_eq!(left, Vec::<String>::new());
            return;
        }
        let parent = self.parent.trim_start_matches('/');
        for entry in std::fs::read_dir("/sys/fs/cgroup")
            .expect("cgroups")
            .flatten()
        {
            let path = entry.path().join(parent);
            if path.exists() {
                std::fs::remove_dir(path).expect("remove the parent group");
            }
        }
        if left.is_empty() {
            std::fs::remove_dir_all(&self.runtime).expect("remove the runtime folder");
        }
        if !std::thread::panicking() {
            assert_eq!(left, Vec::<String>::new());
        }
    }
}
