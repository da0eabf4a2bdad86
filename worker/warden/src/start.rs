//! What must hold before a warden works, and how it comes to life.
//!
//! ```text
//!   kiln warden (one thread, fd 0 = socket to the worker)
//!    ├─ everything but 0, 1, 2 closed, environment emptied
//!    ├─ may it work here? ── no ─► Refused, with what is missing and how to get it
//!    ├─ dead instances swept, a new one claimed
//!    └─ unshare(pid), fork ─► monitor stays outside; the warden is pid 1 of the pool
//! ```

mod inherited;

use crate::cgroup::{self, Hierarchy};
use crate::instance::{self, Instance};
use crate::monitor;
use crate::proof::process::{Namespaces, Process};
use crate::serve::{self, Warden};
use crate::socket;
use crate::sys::{self, Side};
use crate::uids;
use crate::wire::Event;
use rustix::net::SocketType;
use rustix::thread::UnshareFlags;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::ExitCode;

/// The command line is wrong, or nobody is on the other end of descriptor 0.
pub const EX_USAGE: u8 = 64;
/// The warden cannot work on this machine; the worker was told why.
pub const EX_UNAVAILABLE: u8 = 69;
/// The warden broke.
pub const EX_SOFTWARE: u8 = 70;

/// The group below which instances are made, unless told otherwise.
pub const CGROUP_PARENT: &str = "/kiln";

/// What the command line says.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) config: Option<PathBuf>,
    pub(crate) runtime: PathBuf,
    pub(crate) cgroup_parent: String,
    pub(crate) uid_base: u32,
}

/// Why the warden cannot work here, and what would let it.
#[derive(Debug)]
struct Refusal {
    message: String,
    remedy: &'static str,
}

/// The program `kiln warden`: `args` are those after its name. To be called before any thread
/// exists and before any descriptor above 2 is owned.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let options = match Options::parse(args) {
        Ok(options) => options,
        Err(message) => return complain(&message, EX_USAGE),
    };
    let worker = io::stdin();
    let worker = worker.as_fd();
    if !matches!(
        rustix::net::sockopt::socket_type(worker),
        Ok(SocketType::SEQPACKET)
    ) {
        return complain(
            "kiln warden is started by the worker; descriptor 0 is not its socket",
            EX_USAGE,
        );
    }
    match run(&options, worker) {
        Ok(code) => code,
        Err(refusal) => refuse(worker, &refusal),
    }
}

/// Tells the worker, or stderr where there is none, why there is no warden.
fn refuse(worker: BorrowedFd<'_>, refusal: &Refusal) -> ExitCode {
    let event = Event::Refused {
        message: refusal.message.clone(),
        remedy: refusal.remedy.to_owned(),
    };
    let sent = serde_json::to_vec(&event)
        .map_err(io::Error::other)
        .and_then(|bytes| socket::send(worker, &bytes, &[]));
    match sent {
        Ok(()) => ExitCode::from(EX_UNAVAILABLE),
        Err(_) => complain(&refusal.message, EX_UNAVAILABLE),
    }
}

/// One line on stderr, for where there is no worker to tell.
fn complain(message: &str, code: u8) -> ExitCode {
    if writeln!(io::stderr(), "kiln warden: {message}").is_err() {
        return ExitCode::from(EX_SOFTWARE);
    }
    ExitCode::from(code)
}

fn run(options: &Options, worker: BorrowedFd<'_>) -> Result<ExitCode, Refusal> {
    prepare_process()?;
    let hierarchy = cgroup::detect().map_err(|e| {
        refusal(
            &e,
            "mount cgroup v2, or the v1 controllers memory, pids, cpu and cpuacct, below \
             /sys/fs/cgroup; in a container run it with --cgroupns=host and a writable cgroup mount",
        )
    })?;
    let (instance, left) = instance::claim(&options.runtime, &hierarchy, &options.cgroup_parent)
        .map_err(|e| {
            refusal(
                &e,
                "let root alone write the runtime folder, or name another with --runtime",
            )
        })?;
    for error in left {
        complain(&format!("failed to {}", crate::chain(&error)), 0);
    }
    let groups = hierarchy
        .instance(&options.cgroup_parent, &instance.name)
        .map_err(|e| {
            refusal(
                &e,
                "let root make control groups: cgroup must be mounted read-write, and on v2 its \
                 controllers be available to the parent group",
            )
        });
    let groups = match groups {
        Ok(groups) => groups,
        Err(refusal) => return Err(give_up(refusal, &instance, &hierarchy, options)),
    };
    let started = Process::own()
        .and_then(|own| own.namespaces())
        .map_err(|e| refusal(&e, "mount /proc"))
        .and_then(|host| Ok((host, divide()?)));
    match started {
        Ok((host, Side::Child)) => Ok(warden(options, worker, instance, &hierarchy, groups, host)),
        Ok((_, Side::Parent(pid))) => {
            let watched =
                monitor::watch(worker, pid, &instance, &hierarchy, &options.cgroup_parent);
            Ok(match watched {
                Ok(()) => ExitCode::SUCCESS,
                Err(e) => complain(&format!("failed to {}", crate::chain(&e)), EX_SOFTWARE),
            })
        }
        Err(refusal) => Err(give_up(refusal, &instance, &hierarchy, options)),
    }
}

fn refusal(error: &dyn Error, remedy: &'static str) -> Refusal {
    Refusal {
        message: format!("failed to {}", crate::chain(error)),
        remedy,
    }
}

/// Removes the instance that was claimed in vain; what stays is said beside the first failure.
fn give_up(
    mut refusal: Refusal,
    instance: &Instance,
    hierarchy: &Hierarchy,
    options: &Options,
) -> Refusal {
    if let Err(e) = instance.sweep(hierarchy, &options.cgroup_parent) {
        refusal.message = format!("{}; and then to {}", refusal.message, crate::chain(&e));
    }
    refusal
}

/// Brings the process into the state that everything after it relies on.
fn prepare_process() -> Result<(), Refusal> {
    let broken = |e: io::Error| refusal(&e, "this is a defect of kiln; please report it");
    sys::close_from(3).map_err(broken)?;
    sys::clear_environment().map_err(broken)?;
    let uid = rustix::process::geteuid();
    if !uid.is_root() {
        return Err(Refusal {
            message: format!(
                "the warden makes users, mounts and control groups, and runs as uid {uid}"
            ),
            remedy: "start kiln as root, for example with sudo",
        });
    }
    // A Ctrl-C at the worker's terminal is the worker's to handle. A process that leads a group
    // already cannot make a session, and gets no signal of the worker's group either.
    match rustix::process::setsid() {
        Ok(_) | Err(rustix::io::Errno::PERM) => {}
        Err(e) => return Err(broken(e.into())),
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let spaces = std::fs::read_to_string("/proc/sys/user/max_user_namespaces");
    if let Ok(text) = spaces
        && text.trim() == "0"
    {
        return Err(Refusal {
            message: "user namespaces are switched off".to_owned(),
            remedy: "sysctl -w user.max_user_namespaces=15000",
        });
    }
    inherited::reset()
}

/// Two processes from here on: the monitor, and the first process of a new pid namespace.
fn divide() -> Result<Side, Refusal> {
    let side = sys::unshare(UnshareFlags::NEWPID)
        .and_then(|()| sys::fork())
        .map_err(|e| {
            refusal(
                &e,
                "let root make pid namespaces: in a container run it with --privileged, and allow \
                 user.max_pid_namespaces",
            )
        })?;
    let name = match side {
        Side::Child => c"kiln-warden",
        Side::Parent(_) => c"kiln-monitor",
    };
    // For whoever looks at the list of processes; without it everything works.
    if let Err(error) = rustix::thread::set_name(name) {
        tracing::debug!(%error, "the process keeps its old name");
    }
    Ok(side)
}

fn warden(
    options: &Options,
    worker: BorrowedFd<'_>,
    instance: Instance,
    hierarchy: &Hierarchy,
    groups: cgroup::Instance,
    host: Namespaces,
) -> ExitCode {
    let mut warden = match Warden::new(options, worker, instance, hierarchy, groups, host) {
        Ok(warden) => warden,
        Err(e) => return refuse(worker, &refusal(&e, e.remedy())),
    };
    match serve::serve(&mut warden) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => complain(&format!("failed to {}", crate::chain(&e)), EX_SOFTWARE),
    }
}

impl Options {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut options = Self {
            config: None,
            runtime: instance::RUNTIME.into(),
            cgroup_parent: CGROUP_PARENT.to_owned(),
            uid_base: uids::BASE,
        };
        let mut args = args.into_iter();
        while let Some(name) = args.next() {
            let name = name.to_string_lossy().into_owned();
            let mut value = || args.next().ok_or(format!("`{name}` needs a value"));
            match name.as_str() {
                "--config" => options.config = Some(value()?.into()),
                "--runtime" => options.runtime = value()?.into(),
                "--cgroup-parent" => {
                    options.cgroup_parent = value()?
                        .into_string()
                        .map_err(|_| format!("`{name}` needs plain text"))?;
                }
                "--uid-base" => {
                    options.uid_base = value()?
                        .to_str()
                        .and_then(|text| text.parse().ok())
                        .ok_or(format!("`{name}` needs a number"))?;
                }
                #[cfg(feature = "unguarded")]
                "--without" => {
                    let word = value()?.to_string_lossy().into_owned();
                    if !kiln_keeper::guard::take_off(&word) {
                        return Err(format!("`{word}` is no guard"));
                    }
                }
                _ => return Err(format!("`{name}` is not an option of kiln warden")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn options_are_read_or_refused() {
        let options = parse(&["--runtime", "/r", "--uid-base", "4194304"]).expect("options");
        assert_eq!(options.runtime, PathBuf::from("/r"));
        assert_eq!(options.uid_base, 4_194_304);
        // Only a program for tests knows of guards that can be taken off.
        #[cfg(not(feature = "unguarded"))]
        assert!(parse(&["--without", "job-filter"]).is_err());
        for wrong in [&["--image"][..], &["--runtime"], &["--uid-base", "x"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
