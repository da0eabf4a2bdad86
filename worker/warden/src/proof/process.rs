//! What one process is, read from the host's side.
//!
//! A process is opened once: a pidfd, then its directory in `/proc`. What is read through that
//! directory belongs to this very process or fails, and [`Process::alive`] afterwards tells that
//! the number was not given to another one between the two openings.

use super::status::Status;
use crate::kernel;
use crate::sys::Resource;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Pid, PidfdFlags};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The namespaces that the proofs compare, by their name in `ns/`.
pub(crate) const NAMESPACES: [&str; 7] = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];

/// A look at a process that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    #[error("open the process `{pid}`")]
    Open { pid: i32, source: io::Error },
    #[error("read `{file}` of the process `{pid}`")]
    Read {
        pid: i32,
        file: String,
        source: io::Error,
    },
    #[error("understand `{file}` of the process `{pid}`: no `{field}`")]
    Parse {
        pid: i32,
        file: &'static str,
        field: &'static str,
    },
    #[error("look at the process `{pid}`: it ended")]
    Ended { pid: i32 },
}

/// A process that was opened.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    pidfd: OwnedFd,
    folder: OwnedFd,
}

/// Namespaces by inode, in the order of [`NAMESPACES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespaces([u64; NAMESPACES.len()]);

/// The resource limits of a process, as `/proc/<pid>/limits` tells them.
#[derive(Debug)]
pub(crate) struct Limits {
    pid: i32,
    text: String,
}

impl Process {
    pub(crate) fn open(pid: i32) -> Result<Self, LookError> {
        let fail = |source| LookError::Open { pid, source };
        let number = Pid::from_raw(pid).ok_or_else(|| fail(io::Error::other("not a pid")))?;
        let pidfd =
            rustix::process::pidfd_open(number, PidfdFlags::empty()).map_err(|e| fail(e.into()))?;
        let folder = rustix::fs::open(
            format!("/proc/{pid}"),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|e| fail(e.into()))?;
        let process = Self {
            pid: number,
            pidfd,
            folder,
        };
        process.alive()?;
        Ok(process)
    }

    /// This process.
    pub(crate) fn own() -> Result<Self, LookError> {
        Self::open(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// Lets the kernel's OOM killer take it, and what it starts, no later than others: what guards
    /// the warden is not for jobs.
    pub(crate) fn unprotect(&self) -> Result<(), LookError> {
        const FILE: &str = "oom_score_adj";
        if !self.read(FILE)?.trim().starts_with('-') {
            return Ok(());
        }
        let file = self.open_file(FILE, OFlags::WRONLY)?;
        rustix::io::write(&file, b"0").map_err(|e| self.failed(FILE, e.into()))?;
        Ok(())
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn number(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Fails where the process has ended.
    pub(crate) fn alive(&self) -> Result<(), LookError> {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let ended = rustix::event::poll(&mut fds, Some(&Timespec::default()))
            .map_err(|e| self.failed("pidfd", e.into()))?;
        if ended == 0 {
            Ok(())
        } else {
            Err(LookError::Ended { pid: self.number() })
        }
    }

    fn failed(&self, file: impl Into<String>, source: io::Error) -> LookError {
        LookError::Read {
            pid: self.number(),
            file: file.into(),
            source,
        }
    }

    fn open_file(&self, file: &str, flags: OFlags) -> Result<OwnedFd, LookError> {
        rustix::fs::openat(
            &self.folder,
            file,
            OFlags::RDONLY | OFlags::CLOEXEC | flags,
            Mode::empty(),
        )
        .map_err(|e| self.failed(file, e.into()))
    }

    /// A whole file of the process's directory.
    pub(crate) fn read(&self, file: &str) -> Result<String, LookError> {
        self.read_by(file, kernel::read)
    }

    /// The same, of a file without long records.
    fn read_short(&self, file: &str) -> Result<String, LookError> {
        self.read_by(file, kernel::read_short)
    }

    fn read_by(
        &self,
        file: &str,
        read: fn(BorrowedFd<'_>) -> io::Result<String>,
    ) -> Result<String, LookError> {
        let fd = self.open_file(file, OFlags::empty())?;
        read(fd.as_fd()).map_err(|source| self.failed(file, source))
    }

    /// Where a link of the process's directory leads.
    pub(crate) fn link(&self, name: &str) -> Result<String, LookError> {
        let target = rustix::fs::readlinkat(&self.folder, name, Vec::new())
            .map_err(|e| self.failed(name, e.into()))?;
        Ok(target.to_string_lossy().into_owned())
    }

    pub(crate) fn namespaces(&self) -> Result<Namespaces, LookError> {
        let mut inodes = [0; NAMESPACES.len()];
        for (inode, name) in inodes.iter_mut().zip(NAMESPACES) {
            // `mnt:[4026531841]`: to read the link costs less than to follow it.
            let target = self.link(&format!("ns/{name}"))?;
            *inode = target
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix(":[")?.strip_suffix(']')?.parse().ok())
                .ok_or(LookError::Parse {
                    pid: self.number(),
                    file: "ns",
                    field: name,
                })?;
        }
        Ok(Namespaces(inodes))
    }

    /// The numbers of the open descriptors, in order.
    pub(crate) fn descriptor_numbers(&self) -> Result<Vec<u32>, LookError> {
        let folder = self.open_file("fd", OFlags::DIRECTORY)?;
        let entries = rustix::fs::Dir::new(folder).map_err(|e| self.failed("fd", e.into()))?;
        let mut numbers = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| self.failed("fd", e.into()))?;
            let name = entry.file_name().to_string_lossy();
            if !matches!(&*name, "." | "..") {
                numbers.push(name.parse().map_err(|_| LookError::Parse {
                    pid: self.number(),
                    file: "fd",
                    field: "number",
                })?);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The open descriptors, in order, and what they are.
    pub(crate) fn descriptors(&self) -> Result<Vec<(u32, String)>, LookError> {
        self.descriptor_numbers()?
            .into_iter()
            .map(|number| Ok((number, self.link(&format!("fd/{number}"))?)))
            .collect()
    }

    /// The children of a process that must have one thread: a second could have others.
    pub(crate) fn children(&self) -> Result<Vec<i32>, LookError> {
        let tasks = rustix::fs::statat(&self.folder, "task", AtFlags::empty())
            .map_err(|e| self.failed("task", e.into()))?;
        // Each thread is a folder in it.
        if tasks.st_nlink != 3 {
            return Err(self.failed("task", io::Error::other("it has more than one thread")));
        }
        let text = self.read_short(&format!("task/{}/children", self.number()))?;
        text.split_whitespace()
            .map(|word| {
                word.parse().map_err(|_| LookError::Parse {
                    pid: self.number(),
                    file: "children",
                    field: "pid",
                })
            })
            .collect()
    }

    pub(crate) fn status(&self) -> Result<Status, LookError> {
        let text = self.read_short("status")?;
        Status::parse(&text).map_err(|field| LookError::Parse {
            pid: self.number(),
            file: "status",
            field,
        })
    }

    /// The resource limits.
    pub(crate) fn limits(&self) -> Result<Limits, LookError> {
        let text = self.read_short("limits")?;
        let pid = self.number();
        Ok(Limits { pid, text })
    }

    /// The lines of `cgroup`.
    pub(crate) fn groups(&self) -> Result<String, LookError> {
        self.read_short("cgroup")
    }

    /// The lines of `mountinfo`.
    pub(crate) fn mounts(&self) -> Result<String, LookError> {
        self.read("mountinfo")
    }
}

impl Limits {
    /// The soft and hard value of a resource limit.
    pub(crate) fn get(&self, resource: Resource) -> Result<(u64, u64), LookError> {
        let line = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix(resource.name()));
        let mut values = line
            .unwrap_or_default()
            .split_whitespace()
            .map_while(|word| match word {
                "unlimited" => Some(u64::MAX),
                _ => word.parse().ok(),
            });
        values
            .next()
            .zip(values.next())
            .ok_or_else(|| LookError::Parse {
                pid: self.pid,
                file: "limits",
                field: resource.name(),
            })
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl Namespaces {
    /// The inode of one namespace.
    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        let at = NAMESPACES.iter().position(|known| *known == name)?;
        self.0.get(at).copied()
    }

    /// The names of those namespaces that both share.
    pub(crate) fn shared(&self, other: &Self) -> Vec<&'static str> {
        NAMESPACES
            .into_iter()
            .zip(self.0.iter().zip(&other.0))
            .filter_map(|(name, (a, b))| (a == b).then_some(name))
            .collect()
    }
}

impl fmt::Display for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, inode) in NAMESPACES.iter().zip(self.0) {
            write!(f, "{name}:{inode} ")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_looked_at() {
        let own = Process::own().expect("open");
        let status = own.status().expect("status");
        assert_eq!(status.uids.len(), 4);
        assert!(own.descriptor_numbers().expect("descriptors").len() >= 3);
        let namespaces = own.namespaces().expect("namespaces");
        assert_eq!(namespaces.shared(&namespaces), NAMESPACES);
        let limits = own.limits().expect("limits");
        limits.get(Resource::OpenFiles).expect("limit");
    }

    #[test]
    fn a_process_that_ended_is_an_error_and_not_an_empty_answer() {
        let mut child = std::process::Command::new("/bin/sleep")
            .arg("100")
            .spawn()
            .expect("spawn");
        let process = Process::open(i32::try_from(child.id()).expect("pid")).expect("open");
        process.status().expect("alive");
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(process.alive().is_err());
        assert!(process.status().is_err());
        assert!(process.descriptors().is_err());
        assert!(process.children().is_err());
        assert!(process.namespaces().is_err());
    }
}
