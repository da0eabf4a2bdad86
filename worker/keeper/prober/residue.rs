//! Does a job find what another left: in every place that one can write to?

use super::call::{Answer, Call, call, make, text};
use super::{Look, Seen, unsure};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const LOOKS: &[Look] = &[
    ("residue-files", files),
    ("residue-processes", processes),
    ("residue-ipc", ipc),
    ("residue-sockets", sockets),
    ("residue-locks", locks),
    ("residue-counters", counters),
];

const MARK: &str = "kiln-residue";
const KEY: i64 = 0x6b69_6c6e;
const QUEUE: &CStr = c"kiln-residue";
const PORT: u16 = 46_379;
const PLACES: [&str; 4] = ["/job", "/home/job", "/tmp", "/dev/shm"];
/// A file of the image that every sandbox shows.
const SHARED: [&str; 2] = ["/usr/bin/env", "/etc/passwd"];

/// What a job can make that other jobs could find by its key or name: call to make, call to find.
fn shared() -> [(&'static str, Call, Call); 4] {
    let make = i64::from(libc::IPC_CREAT | 0o666);
    let (queue, flags) = (text(QUEUE), i64::from(libc::O_CREAT | libc::O_RDWR));
    [
        (
            "shared memory",
            call("shmget", libc::SYS_shmget, [KEY, 4096, make, 0, 0, 0]),
            call("shmget", libc::SYS_shmget, [KEY, 0, 0, 0, 0, 0]),
        ),
        (
            "semaphore",
            call("semget", libc::SYS_semget, [KEY, 1, make, 0, 0, 0]),
            call("semget", libc::SYS_semget, [KEY, 0, 0, 0, 0, 0]),
        ),
        (
            "message queue",
            call("msgget", libc::SYS_msgget, [KEY, make, 0, 0, 0, 0]),
            call("msgget", libc::SYS_msgget, [KEY, 0, 0, 0, 0, 0]),
        ),
        (
            "POSIX queue",
            call("mq_open", libc::SYS_mq_open, [queue, flags, 0o666, 0, 0, 0]),
            call("mq_open", libc::SYS_mq_open, [queue, 0, 0, 0, 0, 0]),
        ),
    ]
}

/// What a living process holds for as long as it lives.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) seen: Seen,
    _locks: Vec<File>,
    _name: Option<UnixListener>,
    _port: Option<TcpListener>,
}

/// Takes everything that a process can hold against others.
pub(crate) fn hold() -> Held {
    let mut left = lasting();
    let files = SHARED.iter().filter_map(|at| File::open(at).ok());
    let locks: Vec<File> = files.filter(lock).collect();
    left.extend((!locks.is_empty()).then(|| format!("locks on {} files", locks.len())));
    let name = SocketAddr::from_abstract_name(MARK)
        .and_then(|address| UnixListener::bind_addr(&address))
        .ok();
    left.extend(name.as_ref().map(|_| "an abstract socket".to_owned()));
    let port = TcpListener::bind(("127.0.0.1", PORT)).ok();
    // What passes over lo is counted.
    let used = port.is_some() && TcpStream::connect(("127.0.0.1", PORT)).is_ok();
    left.extend(used.then(|| format!("port {PORT}, used")));
    let seen = match left.len() {
        0..=6 => Err(unsure("little could be left", format!("{left:?}"))),
        _ => Ok(left.join(", ")),
    };
    Held {
        seen,
        _locks: locks,
        _name: name,
        _port: port,
    }
}

/// Leaves what needs no process to stay.
fn lasting() -> Vec<String> {
    let paths = PLACES.map(|at| format!("{at}/{MARK}"));
    let files = paths.into_iter().filter(|at| fs::write(at, MARK).is_ok());
    let made = shared()
        .into_iter()
        .filter(|(_, making, _)| matches!(make(making), Answer::Done(_)))
        .map(|(what, _, _)| what.to_owned());
    files.chain(made).collect()
}

/// Leaves everything, and a process of a session of its own that holds it.
pub(crate) fn plant() -> Seen {
    let mut child = Command::new("/proc/self/exe")
        .args(["hold", "60"])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| unsure("a process to leave", e))?;
    let told = child
        .stdout
        .take()
        .ok_or_else(|| unsure("a process", "no pipe"))?;
    let mut line = String::new();
    BufReader::new(told)
        .read_line(&mut line)
        .map_err(|e| unsure("the process that is left", e))?;
    match line.trim_end().rsplit_once('\t') {
        Some((head, what)) if head.ends_with("held") => Ok(format!("{what}, and a process")),
        _ => Err(unsure("the process that is left", line)),
    }
}

/// Stays for so many seconds.
pub(crate) fn stay(seconds: u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
}

/// Locks a file of the image; says whether nobody else has.
fn lock(file: &File) -> bool {
    let how = i64::from(libc::LOCK_EX | libc::LOCK_NB);
    let lock = call(
        "flock",
        libc::SYS_flock,
        [file.as_raw_fd().into(), how, 0, 0, 0, 0],
    );
    matches!(make(&lock), Answer::Done(_))
}

fn files() -> Seen {
    for at in PLACES {
        let path = format!("{at}/{MARK}");
        if fs::symlink_metadata(&path).is_ok() {
            return Err(format!("`{path}` is there"));
        }
    }
    // What was put in for this job is all there may be.
    let entries = fs::read_dir("/tmp").map_err(|e| unsure("/tmp", e))?;
    match entries.count() {
        0 => Ok(format!("nothing in {}", PLACES.join(", "))),
        more => Err(format!("/tmp has {more} entries")),
    }
}

fn processes() -> Seen {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").map_err(|e| unsure("/proc", e))?;
    let others = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own && *pid != 1)
        .count();
    if others > 0 {
        return Err(format!("{others} processes that are not ours"));
    }
    // The first process of a new pid namespace after init, the waiter.
    match own {
        2 => Ok("none, and our number is that of a first job".to_owned()),
        _ => Err(format!("our number is {own}: the pid namespace is not new")),
    }
}

fn ipc() -> Seen {
    for (what, _, finding) in shared() {
        if let Answer::Done(_) = make(&finding) {
            return Err(format!("the {what} is there"));
        }
    }
    for name in ["shm", "sem", "msg"] {
        let path = format!("/proc/sysvipc/{name}");
        let text = fs::read_to_string(&path).map_err(|e| unsure(&path, e))?;
        if text.lines().count() > 1 {
            return Err(format!("`{path}` has entries"));
        }
    }
    Ok("no shared memory, semaphore or queue, of either kind".to_owned())
}

fn sockets() -> Seen {
    let address = SocketAddr::from_abstract_name(MARK).map_err(|e| unsure("a name", e))?;
    if UnixStream::connect_addr(&address).is_ok() {
        return Err("the abstract socket answers".to_owned());
    }
    TcpListener::bind(("127.0.0.1", PORT)).map_err(|e| format!("port {PORT} is taken: {e}"))?;
    Ok("neither the name nor the port is taken".to_owned())
}

/// On the inodes of the image that all sandboxes show.
fn locks() -> Seen {
    let mut tried = 0;
    for at in SHARED {
        let Ok(file) = File::open(at) else {
            continue;
        };
        if !lock(&file) {
            return Err(format!("`{at}` is locked by another"));
        }
        tried += 1;
    }
    match tried {
        0 => Err(unsure("locks", "no file of the image opens")),
        _ => Ok(format!("{tried} files of the image can be locked")),
    }
}

/// Figures that count on: a new namespace begins at nought.
fn counters() -> Seen {
    let text = fs::read_to_string("/proc/net/dev").map_err(|e| unsure("/proc/net/dev", e))?;
    let bytes = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("lo:"))
        .and_then(|line| line.split_whitespace().next())
        .ok_or_else(|| unsure("lo", "no line"))?;
    if bytes != "0" {
        return Err(format!("lo has carried {bytes} bytes"));
    }
    Ok("lo has carried nothing".to_owned())
}
