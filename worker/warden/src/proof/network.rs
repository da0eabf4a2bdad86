//! Whether a cell's network namespace is as it was made, and may serve the next cell.
//!
//! To make one and to take it down is most of what a cell costs, and few jobs use theirs. Its only
//! device is `lo`, which carries whatever is sent, so one whose counters are all as at first, that
//! has no socket and no label of a flow, has nothing of a job in it. Doubt means a new one.

use super::{Differs, same};
use crate::kernel;
use kiln_keeper::guard::{Guard, off};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// What is read of it. Every packet is counted by `dev`, as there is no device but `lo`.
const FILES: [&str; 5] = ["dev", "snmp", "sockstat", "sockstat6", "ip6_flowlabel"];
/// Figures of the whole machine among them, by the word before.
const OF_THE_MACHINE: [&str; 4] = ["orphan", "alloc", "mem", "memory"];

/// A network namespace could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NetworkError {
    #[error("open the network namespace `{path}`")]
    Open { path: String, source: io::Error },
    #[error("enter a network namespace")]
    Enter(#[source] io::Error),
    #[error("read `{file}` of a network namespace")]
    Read {
        file: &'static str,
        source: io::Error,
    },
    #[error(transparent)]
    Differs(#[from] Differs),
}

/// The warden's way into the network namespaces of cells, and what a new one looks like.
#[derive(Debug)]
pub(crate) struct Looker {
    own: OwnedFd,
    /// This thread's `/proc/thread-self/net`: it shows whichever namespace the thread is in.
    folder: OwnedFd,
    fresh: String,
}

/// A cell's network namespace, held.
#[derive(Debug)]
pub(crate) struct Network(OwnedFd);

impl Network {
    /// That of a process.
    pub(crate) fn of(pid: i32) -> Result<Self, NetworkError> {
        let path = format!("/proc/{pid}/ns/net");
        rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map(Self)
            .map_err(|e| NetworkError::Open {
                path,
                source: e.into(),
            })
    }

    /// Proves that it is the one with this inode.
    pub(crate) fn is(&self, inode: u64) -> Result<(), NetworkError> {
        let status = rustix::fs::fstat(&self.0).map_err(|e| NetworkError::Enter(e.into()))?;
        Ok(same(
            "network namespace of the cell",
            &status.st_ino,
            &inode,
        )?)
    }
}

impl Looker {
    /// Makes a network namespace of its own to see what a new one looks like.
    pub(crate) fn new() -> Result<Self, NetworkError> {
        let Network(own) = Network::of(rustix::process::getpid().as_raw_nonzero().get())?;
        let path = "/proc/thread-self/net";
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder =
            rustix::fs::open(path, flags, Mode::empty()).map_err(|e| NetworkError::Open {
                path: path.to_owned(),
                source: e.into(),
            })?;
        let mut looker = Self {
            own,
            folder,
            fresh: String::new(),
        };
        crate::sys::unshare(rustix::thread::UnshareFlags::NEWNET).map_err(NetworkError::Enter)?;
        let looks = looker.looks();
        looker.back();
        looker.fresh = looks?;
        Ok(looker)
    }

    /// Proves that nothing was ever done in it.
    pub(crate) fn prove(&self, network: &Network) -> Result<(), NetworkError> {
        enter(&network.0).map_err(NetworkError::Enter)?;
        let looks = self.looks();
        self.back();
        let looks = looks?;
        if self.fresh == looks || off(Guard::NetworkProof) {
            return Ok(());
        }
        Err(Differs::new("network of the cell", &self.fresh, looks).into())
    }

    fn back(&self) {
        enter(&self.own).expect("root may go back to the namespace that it came from");
    }

    /// What there is to see in the network namespace that this thread is in.
    fn looks(&self) -> Result<String, NetworkError> {
        let mut all = String::new();
        for file in FILES {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let failed = |source| NetworkError::Read { file, source };
            match rustix::fs::openat(&self.folder, file, flags, Mode::empty()) {
                Ok(fd) => {
                    let text = kernel::read_short(fd.as_fd()).map_err(failed)?;
                    own_figures(&text, &mut all);
                }
                // A kernel without IPv6.
                Err(Errno::NOENT) => {}
                Err(e) => return Err(failed(e.into())),
            }
        }
        Ok(all)
    }
}

fn enter(namespace: &OwnedFd) -> io::Result<()> {
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

fn own_figures(text: &str, all: &mut String) {
    let mut of_the_machine = false;
    for word in text.split_whitespace() {
        if !of_the_machine {
            all.push_str(word);
            all.push(' ');
        }
        of_the_machine = OF_THE_MACHINE.contains(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use rustix::thread::UnshareFlags;
    use std::net::{TcpListener, UdpSocket};

    /// Runs in a thread, and so a network namespace, of its own: nothing here may leak into tests.
    fn in_a_new_one(act: impl FnOnce(&Looker) + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let looker = Looker::new().expect("root, and network namespaces");
                sys::unshare(UnshareFlags::NEWNET).expect("unshare");
                act(&looker);
            });
        });
    }

    fn own() -> Network {
        let path = "/proc/thread-self/ns/net";
        Network(rustix::fs::open(path, OFlags::RDONLY, Mode::empty()).expect("open"))
    }

    #[test]
    fn a_new_one_is_as_it_was_made() {
        in_a_new_one(|looker| looker.prove(&own()).expect("as it was made"));
    }

    #[test]
    fn a_socket_that_is_held_is_seen() {
        in_a_new_one(|looker| {
            let listener = TcpListener::bind("0.0.0.0:0").expect("bind");
            let seen = looker.prove(&own());
            assert!(matches!(seen, Err(NetworkError::Differs(_))), "{seen:?}");
            drop(listener);
        });
    }

    #[test]
    fn a_packet_that_went_is_seen_when_its_sockets_are_gone() {
        in_a_new_one(|looker| {
            // Without `lo` it goes nowhere, and is counted as that.
            let socket = UdpSocket::bind("0.0.0.0:0").expect("bind");
            socket.send_to(b"x", "127.0.0.1:9").expect_err("no route");
            drop(socket);
            let seen = looker.prove(&own());
            assert!(matches!(seen, Err(NetworkError::Differs(_))), "{seen:?}");
        });
    }

    #[test]
    fn figures_of_the_machine_do_not_count() {
        let mut all = String::new();
        own_figures("TCP: inuse 0 orphan 7 tw 0 alloc 17 mem 3\n", &mut all);
        assert_eq!(all, "TCP: inuse 0 orphan tw 0 alloc mem ");
    }
}
