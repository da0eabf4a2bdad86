//! Plays the warden and the worker of one keeper. Needs root and cgroup v1 groups.

#![expect(unsafe_code, reason = "starting and killing without the warden")]

use crate::filters::filter;
use crate::sys;
use kiln_keeper::collect::{Entry, Message};
use kiln_keeper::spec::Program;
use kiln_keeper::stage::{Input, Staged};
use kiln_keeper::wire::{
    self, CELL_SOCKETS, Ended, FromWarden, FromWorker, Placement, Prepare, ToWarden, ToWorker,
};
use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const SECOND: u64 = 1_000_000_000;
const CONTROLLERS: [&str; 4] = ["memory", "pids", "cpu", "cpuacct"];
static NEXT: AtomicU32 = AtomicU32::new(0);
static PROGRAM: OnceLock<OwnedFd> = OnceLock::new();

/// A sandbox with its keeper.
pub(crate) struct Sandbox {
    pub(crate) process: Child,
    pub(crate) keeper: u32,
    pub(crate) warden: OwnedFd,
    pub(crate) worker: Option<OwnedFd>,
    pub(crate) generation: u64,
    pub(crate) uid_base: u32,
    pub(crate) affinity: u64,
    pub(crate) open_files: u64,
    name: String,
    root: String,
}

/// A prepared cell.
pub(crate) struct Waiting {
    pub(crate) scratch: OwnedFd,
    pub(crate) stage: Option<OwnedFd>,
    pub(crate) job: String,
}

/// A started job.
pub(crate) struct Streams {
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

pub(crate) fn group(controller: &str, name: &str) -> String {
    format!("/sys/fs/cgroup/{controller}/{name}")
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::with_filters(&filter(true), &filter(false))
    }

    /// A sandbox with these filters for the job and for the keeper.
    pub(crate) fn with_filters(job: &OwnedFd, own: &OwnedFd) -> Self {
        // SAFETY: takes nothing.
        assert_eq!(unsafe { libc::geteuid() }, 0, "this test needs root");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiln-keeper-test-{}-{number}", std::process::id());
        let mut tasks = Vec::new();
        for controller in CONTROLLERS {
            let keeper = group(controller, &format!("{name}/keeper"));
            fs::create_dir_all(&keeper).expect("make a control group: this test needs cgroup v1");
            tasks.push(format!("{keeper}/tasks"));
        }
        let root = format!("/tmp/{name}");
        fs::create_dir(&root).expect("make the root's mount point");
        let uid_base = 1_500_000_000 + number * 65_536;
        let plan = sys::Plan {
            root: root.clone(),
            uid_base,
            tasks,
        };
        // One memfd for all, as with the warden: its pages are shared.
        let program = PROGRAM.get_or_init(|| {
            let path = std::env::var("KILN_TEST_KEEPER")
                .unwrap_or_else(|_| env!("CARGO_BIN_EXE_kiln-keeper").to_owned());
            sys::memfd(&fs::read(path).expect("read the keeper"))
        });
        let (warden, stdin) = sys::pair();
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command
            .env_clear()
            .stdin(Stdio::from(stdin))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[expect(
            clippy::disallowed_methods,
            reason = "stands in for the warden, which forks; this process makes no locks"
        )]
        // SAFETY: `enter` only makes system calls and small allocations, in the child.
        unsafe {
            command.pre_exec(move || sys::enter(&plan))
        };
        let process = command.spawn().expect("start the keeper");
        drop(command);
        let keeper = children(process.id())[0];
        let (worker, keeper_end) = sys::pair();
        let init = wire::to_bytes(&FromWarden::Init.encode());
        let fds = [keeper_end.as_fd(), job.as_fd(), own.as_fd()];
        sys::send(&warden, &init, &fds).expect("send Init");
        let sandbox = Self {
            process,
            keeper,
            warden,
            worker: Some(worker),
            generation: 0,
            uid_base,
            affinity: 1,
            open_files: 256,
            name,
            root,
        };
        drop(keeper_end);
        assert_eq!(sandbox.answer().0, ToWarden::Ready);
        sandbox
    }

    pub(crate) fn answer(&self) -> (ToWarden, Vec<OwnedFd>) {
        let (bytes, fds) = sys::receive(&self.warden);
        assert!(!bytes.is_empty(), "the keeper is gone");
        let words = wire::from_bytes(&bytes).expect("a whole message");
        let message = ToWarden::decode(&words).expect("a message");
        if let ToWarden::Failed { step, errno } = message {
            let error = std::io::Error::from_raw_os_error(errno.cast_signed());
            panic!("failed to {}: {error}", kiln_keeper::step::name(step));
        }
        assert_eq!(fds.len(), message.descriptors());
        (message, fds)
    }

    /// Makes the next cell, with 64 MiB and 64 processes.
    pub(crate) fn prepare(&mut self) -> Waiting {
        self.prepare_with(64 << 20, 16 << 20)
    }

    pub(crate) fn prepare_with(&mut self, memory: u64, disk: u64) -> Waiting {
        self.generation += 1;
        let job = format!("{}/job-{}", self.name, self.generation);
        let open = |controller: &str, file: &str, write: bool| -> OwnedFd {
            let path = format!("{}/{file}", group(controller, &job));
            let file = fs::OpenOptions::new().read(!write).write(write).open(&path);
            file.unwrap_or_else(|error| panic!("{path}: {error}"))
                .into()
        };
        for controller in CONTROLLERS {
            fs::create_dir(group(controller, &job)).expect("make the leaf");
        }
        let limit = |controller: &str, file: &str, value: u64| {
            let path = format!("{}/{file}", group(controller, &job));
            fs::write(path, value.to_string()).expect("set a limit");
        };
        limit("memory", "memory.limit_in_bytes", memory);
        limit("pids", "pids.max", 64);
        let mut fds: Vec<OwnedFd> = CONTROLLERS.iter().map(|c| open(c, "tasks", true)).collect();
        fds.push(open("cpuacct", "cpuacct.usage", false));
        let event = sys::eventfd();
        let control = open("memory", "memory.oom_control", false);
        let order = format!("{} {}", event.as_raw_fd(), control.as_raw_fd());
        let path = format!("{}/cgroup.event_control", group("memory", &job));
        fs::write(path, order).expect("ask for OOM events");
        fds.push(event);
        fds.push(control);
        let placement = Placement::V1 { tasks: 4 };
        self.order(placement, disk, &fds, job)
    }

    pub(crate) fn order(
        &mut self,
        placement: Placement,
        disk_bytes: u64,
        fds: &[OwnedFd],
        job: String,
    ) -> Waiting {
        let prepare = FromWarden::Prepare(Prepare {
            generation: self.generation,
            placement,
            job_id: 2000 + 2 * u32::try_from(self.generation).expect("few"),
            owner_id: 2001 + 2 * u32::try_from(self.generation).expect("few"),
            disk_bytes,
            inodes: 40_000,
            open_files: self.open_files,
            open_files_max: self.open_files,
            affinity: self.affinity,
            network_kept: false,
        });
        let (events, go, (stage, staged)) = (sys::pair(), sys::pair(), sys::pair());
        let sockets: [_; CELL_SOCKETS] = [&events.0, &events.1, &go.0, &go.1, &staged];
        let fds: Vec<_> = fds.iter().chain(sockets).map(AsFd::as_fd).collect();
        sys::send(&self.warden, &wire::to_bytes(&prepare.encode()), &fds).expect("send Prepare");
        let (message, mut fds) = self.answer();
        let generation = self.generation;
        assert_eq!(message, ToWarden::Prepared { generation });
        Waiting {
            scratch: fds.pop().expect("a descriptor"),
            stage: Some(stage),
            job,
        }
    }

    pub(crate) fn say(&self, message: FromWorker, fds: &[&OwnedFd]) {
        let fds: Vec<_> = fds.iter().map(|fd| fd.as_fd()).collect();
        let worker = self.worker.as_ref().expect("not closed");
        sys::send(worker, &wire::to_bytes(&message.encode()), &fds).expect("send to the keeper");
    }

    /// Starts a job with these limits on wall and CPU time.
    pub(crate) fn start(&self, argv: &[&str], wall_ns: u64, cpu_ns: u64) -> Streams {
        let program = Program {
            argv: argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
            env: vec![
                b"PATH=/nowhere:/usr/bin".to_vec(),
                b"HOME=/home/job".to_vec(),
            ],
        };
        let program = sys::memfd(&program.encode().expect("a program"));
        let stdin: OwnedFd = fs::File::open("/dev/null").expect("open /dev/null").into();
        let (stdout, to_stdout) = sys::pipe();
        let (stderr, to_stderr) = sys::pipe();
        let message = FromWorker::Start {
            generation: self.generation,
            wall_ns,
            cpu_ns,
            cpus_milli: 1000,
            affinity: 0,
            egress: false,
        };
        self.say(message, &[&program, &stdin, &to_stdout, &to_stderr]);
        Streams { stdout, stderr }
    }

    pub(crate) fn ended(&self) -> Ended {
        let (bytes, _) = sys::receive(self.worker.as_ref().expect("not closed"));
        let words = wire::from_bytes(&bytes).expect("a whole message");
        let ToWorker::Ended(ended) = ToWorker::decode(&words).expect("a message");
        assert_eq!(ended.generation, self.generation);
        ended
    }

    /// Runs a command in a new cell to its end; gives the end and both outputs.
    pub(crate) fn run(&mut self, argv: &[&str]) -> (Ended, String, String) {
        let mut waiting = self.prepare();
        waiting.stage = None;
        let streams = self.start(argv, 10 * SECOND, 10 * SECOND);
        let ended = self.ended();
        let (stdout, stderr) = (read(streams.stdout), read(streams.stderr));
        self.finish(&waiting);
        (ended, stdout, stderr)
    }

    pub(crate) fn finish(&self, waiting: &Waiting) {
        let generation = self.generation;
        self.say(FromWorker::Finish { generation }, &[]);
        remove(&waiting.job);
    }

    /// Everything the collector lists, and its socket.
    pub(crate) fn collect(&self) -> (Vec<Entry>, bool, OwnedFd) {
        let (mine, theirs) = sys::pair();
        let generation = self.generation;
        self.say(FromWorker::Collect { generation }, &[&theirs]);
        drop(theirs);
        let mut all = Vec::new();
        loop {
            let (bytes, _) = sys::receive(&mine);
            match Message::decode(&bytes).expect("a message of the collector's") {
                Message::List(entries) => all.extend(entries),
                Message::End { truncated } => return (all, truncated, mine),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Bytes of the keeper's control group, and how many of them are the kernel's.
    pub(crate) fn keeper_memory(&self) -> (u64, u64) {
        group_memory(&self.keeper_group())
    }

    /// The name of the keeper's control group.
    pub(crate) fn keeper_group(&self) -> String {
        format!("{}/keeper", self.name)
    }

    /// Numbers of the cell's init, the waiter and the stager, as the host counts.
    pub(crate) fn cell_init(&self) -> u32 {
        children(self.keeper)[0]
    }

    pub(crate) fn waiter(&self) -> u32 {
        children(self.cell_init())[0]
    }

    pub(crate) fn stager(&self) -> u32 {
        children(self.cell_init())[1]
    }

    /// Descriptors of the keeper, with what they are.
    pub(crate) fn descriptors(&self) -> Vec<String> {
        descriptors(self.keeper)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.worker = None;
        // SAFETY: takes numbers only; the keeper's parent, which this test started, reaps it when
        // this has happened, and not before.
        unsafe { libc::kill(self.keeper.cast_signed(), libc::SIGKILL) };
        self.process.wait().expect("reap the entry");
        for generation in 0..=self.generation {
            remove(&format!("{}/job-{generation}", self.name));
        }
        remove(&format!("{}/keeper", self.name));
        remove(&self.name);
        fs::remove_dir(&self.root).expect("remove the root's mount point");
    }
}

/// Removes a group from every hierarchy, when it is empty.
fn remove(name: &str) {
    for controller in CONTROLLERS {
        let path = group(controller, name);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while Path::new(&path).exists() && fs::remove_dir(&path).is_err() {
            assert!(std::time::Instant::now() < until, "{path} is not empty");
        }
    }
}

/// Bytes of a control group, and how many of them are the kernel's.
pub(crate) fn group_memory(name: &str) -> (u64, u64) {
    let read = |file: &str| {
        let path = format!("{}/{file}", group("memory", name));
        let text = fs::read_to_string(path).expect("a usage");
        text.trim().parse().expect("a number")
    };
    (
        read("memory.usage_in_bytes"),
        read("memory.kmem.usage_in_bytes"),
    )
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
    let words = text.split_whitespace();
    words.map(|word| word.parse().expect("a number")).collect()
}

pub(crate) fn kill(pid: u32) {
    // SAFETY: takes numbers only; the process belongs to a sandbox of this test.
    unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
}

/// Waits until something is so, for five seconds.
pub(crate) fn until(mut so: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while !so() {
        assert!(std::time::Instant::now() < end, "not so within 5 s");
        std::thread::yield_now();
    }
}

pub(crate) fn descriptors(pid: u32) -> Vec<String> {
    let mut all: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("the keeper's descriptors")
        .filter_map(|entry| {
            let path = entry.expect("an entry").path();
            // One may be closed between the listing and the look at it.
            let target = fs::read_link(&path).ok()?;
            Some(format!("{} {}", path.display(), target.display()))
        })
        .collect();
    all.sort();
    all
}

pub(crate) fn read(fd: OwnedFd) -> String {
    let mut text = String::new();
    fs::File::from(fd)
        .read_to_string(&mut text)
        .expect("read an output");
    text
}

/// Stages one input and gives the answer.
pub(crate) fn stage(socket: &OwnedFd, input: &Input, content: &[u8]) -> Staged {
    let content = sys::memfd(content);
    sys::send(socket, &input.encode(), &[content.as_fd()]).expect("send an input");
    let (bytes, _) = sys::receive(socket);
    Staged::decode(&bytes).expect("an answer")
}
