//! One process that scans, as the gate holds it.
//!
//! Whatever it does but answer ends it: a child that failed once is killed and never asked again.

use super::process::WORD;
use super::wire::{Hello, MESSAGE_MAX, Setup};
use crate::execute::memfd;
use crate::sandbox::channel::Channel;
use kiln_warden::cgroup::{CgroupError, ScanGroup};
use kiln_warden::confine::Held;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::time::Duration;

/// A process is ready within this, rules compiled.
const READY_MAX: Duration = Duration::from_secs(20);

/// Why there is no process that scans.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("start a process that scans")]
    Spawn(#[source] io::Error),
    #[error("hold a process that scans in a control group of its own")]
    Group(#[source] CgroupError),
    #[error("hand the rules to a process that scans")]
    Setup(#[source] io::Error),
    #[error("hear from a process that scans that it is ready: {0}")]
    Silent(&'static str),
    /// What it says itself.
    #[error("make a process that scans ready: failed to {0}")]
    Refused(String),
}

/// A process that is confined and ready. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Child {
    channel: Channel,
    process: Option<Alive>,
    pub(crate) held: Held,
    /// How many rules it runs.
    pub(crate) rules: usize,
    /// What it has been asked so far.
    pub(crate) asked: u64,
    pub(crate) bytes: u64,
}

/// A process that was started and has not said yet that it is ready.
#[derive(Debug)]
pub(crate) struct Starting(Option<(Channel, Alive)>);

/// A process and the group that holds it. Dropping it waits for the process to be dead, which
/// somebody has killed.
#[derive(Debug)]
struct Alive {
    process: Process,
    group: Option<ScanGroup>,
}

impl Starting {
    /// Starts a process with nothing but a socket, and hands it what it works by, and the doors
    /// of its group.
    pub(crate) async fn spawn(
        program: Option<&Path>,
        setup: &Setup,
        group: Option<ScanGroup>,
    ) -> Result<Self, StartError> {
        let (channel, theirs) = Channel::pair().map_err(StartError::Spawn)?;
        let own = PathBuf::from("/proc/self/exe");
        let process = Command::new(program.unwrap_or(&own))
            .arg0("kiln")
            .arg(WORD)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = match process {
            Ok(process) => process,
            Err(error) => {
                group
                    .map(ScanGroup::remove)
                    .transpose()
                    .map_err(StartError::Group)?;
                return Err(StartError::Spawn(error));
            }
        };
        let starting = Self(Some((channel, Alive { process, group })));
        let words = serde_json::to_vec(setup).expect("texts and numbers always serialise");
        let file = memfd::sealed("scanner", &words).map_err(StartError::Setup)?;
        let (channel, alive) = starting.0.as_ref().expect("it was just put there");
        let doors = alive.group.as_ref().map(ScanGroup::doors).transpose();
        let doors = doors.map_err(StartError::Group)?.unwrap_or_default();
        let handed: Vec<_> = [file.as_fd()]
            .into_iter()
            .chain(doors.iter().map(AsFd::as_fd))
            .collect();
        channel
            .send(&[0], &handed)
            .await
            .map_err(StartError::Setup)?;
        Ok(starting)
    }

    /// Waits until it is ready.
    pub(crate) async fn ready(mut self) -> Result<Child, StartError> {
        let (channel, _) = self.0.as_ref().expect("it is taken below alone");
        let heard = tokio::time::timeout(READY_MAX, channel.recv(MESSAGE_MAX)).await;
        let message = match heard {
            Err(_) => return Err(StartError::Silent("it says nothing")),
            Ok(Err(error)) => return Err(StartError::Setup(error)),
            Ok(Ok(None)) => return Err(StartError::Silent("it is gone")),
            Ok(Ok(Some(message))) => message,
        };
        let nonsense = |_| StartError::Silent("it says something else");
        match serde_json::from_slice(&message.bytes).map_err(nonsense)? {
            Hello::Refused(why) => Err(StartError::Refused(why)),
            Hello::Ready { held, rules } => {
                let (_, alive) = self.0.as_ref().expect("it is taken below alone");
                let group = alive.proved().map_err(StartError::Group)?;
                let (channel, process) = self.0.take().expect("it is taken here alone");
                Ok(Child {
                    channel,
                    process: Some(process),
                    held: Held { group, ..held },
                    rules,
                    asked: 0,
                    bytes: 0,
                })
            }
        }
    }
}

impl Child {
    pub(crate) async fn send(
        &self,
        bytes: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        self.channel.send(bytes, descriptors).await
    }

    /// The bytes of one answer.
    pub(crate) async fn hear(&self) -> io::Result<Vec<u8>> {
        let message = self.channel.recv(MESSAGE_MAX).await?;
        message
            .map(|message| message.bytes)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        end(self.process.take());
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        end(self.0.take().map(|(_, process)| process));
    }
}

impl Alive {
    /// Whether a group holds it. It is one that has been proved, then.
    fn proved(&self) -> Result<bool, CgroupError> {
        let Some(group) = &self.group else {
            return Ok(false);
        };
        group.prove(self.process.id().cast_signed())?;
        Ok(true)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if let Err(error) = self.process.wait() {
            tracing::warn!(%error, "a process that scans is not waited for");
        }
        if let Some(group) = self.group.take()
            && let Err(error) = group.remove()
        {
            let error = crate::fault::chain(&error);
            tracing::warn!(error, "the control group of a process that scans stays");
        }
    }
}

/// Kills a process and takes its remains away, on a thread that nobody waits for.
fn end(alive: Option<Alive>) {
    let Some(mut alive) = alive else { return };
    if let Err(error) = alive.process.kill() {
        tracing::warn!(%error, "a process that scans cannot be killed");
    }
    // A runtime that ends drops what it does not begin any more, which is the same.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        drop(runtime.spawn_blocking(move || drop(alive)));
    }
}
