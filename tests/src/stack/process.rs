//! How is a server started, watched, stopped and killed, so that it never outlives its test?
//!
//! All are started by one thread that lives as long as the test's process: the kernel kills a server when the *thread*
//! that started it ends (`setpriv --pdeathsig`).

use crate::leftovers::wait_for;
use crate::stack::folder;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A server that runs, or ran.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    child: Mutex<Child>,
    out: PathBuf,
    err: PathBuf,
}

/// What is started.
#[derive(Debug)]
pub struct Plan<'a> {
    /// For its files: `<name>.out`, `<name>.err`.
    pub name: &'a str,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Where its files go and where it is noted.
    pub folder: &'a Path,
}

impl Plan<'_> {
    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(self) -> Process {
        let open = |ending: &str| {
            let path = self.folder.join(format!("{}.{ending}", self.name));
            let file = File::options().create(true).append(true).open(&path);
            let file = file.unwrap_or_else(|error| panic!("open `{}`: {error}", path.display()));
            (path, file)
        };
        let ((out, stdout), (err, stderr)) = (open("out"), open("err"));
        let mut command = Command::new("/usr/bin/setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .args(&self.words)
            .env_clear()
            .envs(self.env)
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        let child = spawn(command)
            .unwrap_or_else(|error| panic!("start `{}`: {error}", self.words.join(" ")));
        let pid = child.id();
        folder::note(self.folder, pid);
        Process {
            pid,
            child: Mutex::new(child),
            out,
            err,
        }
    }
}

type Order = (Command, Sender<std::io::Result<Child>>);

fn spawn(command: Command) -> std::io::Result<Child> {
    static STARTER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (send, orders) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in orders {
                answer.send(command.spawn()).ok();
            }
        });
        Mutex::new(send)
    });
    let (send, answer) = channel();
    let starter = starter.lock().unwrap_or_else(PoisonError::into_inner);
    starter
        .send((command, send))
        .expect("the starter lives as long as the process");
    answer.recv().expect("the starter answers")
}

impl Process {
    /// Its process id, the same from start to end.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The memory it has now, in KiB; nought where it is gone.
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        number.unwrap_or(0)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it ended, or `None` while it runs.
    ///
    /// # Panics
    /// Never: it is our child.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.child().try_wait().expect("it is our child")
    }

    /// Waits for the end; `None` when patience ends first.
    pub fn wait(&self, patience: Duration) -> Option<ExitStatus> {
        wait_for(patience, || self.ended().is_some());
        self.ended()
    }

    /// Sends a signal; one that has ended does not mind.
    pub fn signal(&self, signal: Signal) {
        if self.ended().is_none()
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            kill_process(pid, signal).ok();
        }
    }

    /// Kills it and waits until it is gone.
    ///
    /// # Panics
    /// When it is not gone within ten seconds.
    pub fn kill9(&self) {
        self.signal(Signal::KILL);
        let gone = self.wait(Duration::from_secs(10));
        assert!(gone.is_some(), "process {} bears a SIGKILL", self.pid);
    }

    /// Freezes it.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// What it wrote to its standard output.
    pub fn stdout(&self) -> String {
        text(&self.out)
    }

    /// What it wrote to its standard error.
    pub fn stderr(&self) -> String {
        text(&self.err)
    }

    /// The end of both, for a message about what went wrong.
    pub fn last_words(&self) -> String {
        let tail = |text: String| {
            let lines: Vec<_> = text.lines().collect();
            lines[lines.len().saturating_sub(25)..].join("\n")
        };
        format!("{}\n{}", tail(self.stdout()), tail(self.stderr()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        child.kill().ok();
        child.wait().ok();
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// `<pid>-<start time>` of a process: the same for no two processes of one boot.
pub fn tag(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let since = fields.nth(18)?;
    (!state.starts_with(['Z', 'X'])).then(|| format!("{pid}-{since}"))
}

#[cfg(test)]
mod tests {
    use super::{Plan, tag};
    use crate::leftovers::lives;
    use crate::stack::folder::Folder;
    use std::time::Duration;

    fn plan<'a>(folder: &'a Folder, script: &str) -> Plan<'a> {
        Plan {
            name: "shell",
            words: ["sh", "-c", script].map(str::to_owned).to_vec(),
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            folder: folder.path(),
        }
    }

    #[test]
    fn its_words_and_its_end_are_told() {
        let folder = Folder::new();
        let process = plan(&folder, "echo a; echo b >&2; exit 7").start();
        let end = process.wait(Duration::from_secs(10)).expect("it ends");
        assert_eq!(end.code(), Some(7));
        assert_eq!(
            (process.stdout(), process.stderr()),
            ("a\n".to_owned(), "b\n".to_owned())
        );
    }

    #[test]
    fn dropped_it_is_gone() {
        let folder = Folder::new();
        let process = plan(&folder, "exec sleep 60").start();
        let pid = process.pid();
        assert!(lives(pid) && tag(pid).is_some());
        drop(process);
        assert!(!lives(pid));
    }

    #[test]
    fn a_thread_that_ends_takes_no_server_with_it() {
        let folder = Folder::new();
        let process = std::thread::scope(|scope| {
            let started = scope.spawn(|| plan(&folder, "exec sleep 60").start());
            started.join().expect("it starts")
        });
        assert!(process.wait(Duration::from_millis(300)).is_none());
    }
}
