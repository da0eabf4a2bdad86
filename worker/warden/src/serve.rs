//! The loop that answers the worker and listens to the keepers.
//!
//! The warden is the first process of the pool's pid namespace: it reaps all that dies there, and
//! when it ends the kernel kills every sandbox. It has one thread and waits in one place. Every
//! answer of a keeper has a deadline; the worker's end of file ends everything.

mod begin;
mod create;

use crate::cgroup;
use crate::container::{ContainerError, Groups, Place};
use crate::image::Image;
use crate::instance::Instance;
use crate::profile::{ImageSource, Profiles};
use crate::sandbox::{ANSWER_MAX, Emit, Fault, Sandbox, Shared};
use crate::socket;
use crate::uids::Uids;
use crate::wire::{CgroupVersion, Event, Request, SandboxId};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::process::WaitOptions;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Happenings taken in one turn at most.
const TURN_MAX: usize = 64;

/// Why the warden cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("wait for the worker and the keepers")]
    Wait(#[source] io::Error),
    #[error("receive from the worker")]
    Receive(#[source] io::Error),
    #[error("understand the worker")]
    Decode(#[source] serde_json::Error),
    #[error("send to the worker")]
    Send(#[source] io::Error),
    #[error("reach the worker: it is gone")]
    Gone,
    #[error("watch a sandbox")]
    Watch(#[source] io::Error),
}

/// The warden of one worker.
#[derive(Debug)]
pub(crate) struct Warden<'a> {
    worker: BorrowedFd<'a>,
    poll: OwnedFd,
    version: CgroupVersion,
    instance: Instance,
    groups: cgroup::Instance,
    profiles: Profiles,
    images: BTreeMap<ImageSource, Rc<Image>>,
    image_work: PathBuf,
    place: Place,
    /// The groups of the next sandbox, or why there are none.
    spare: Option<Result<Groups, ContainerError>>,
    uids: Uids,
    shared: Shared,
    sandboxes: BTreeMap<u32, Sandbox>,
    /// The last sandbox's number.
    last: u32,
    /// One message of the worker.
    buffer: Box<[u8]>,
}

/// Who has something to say, as the number that epoll hands back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Worker,
    Keeper(u32),
    Death(u32),
}

impl Source {
    fn data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Self::Worker => 0,
            Self::Keeper(id) => u64::from(id) << 1,
            Self::Death(id) => u64::from(id) << 1 | 1,
        })
    }

    fn from_data(data: epoll::EventData) -> Self {
        let number = data.u64();
        match (u32::try_from(number >> 1).unwrap_or(0), number & 1) {
            (0, _) => Self::Worker,
            (id, 0) => Self::Keeper(id),
            (id, _) => Self::Death(id),
        }
    }
}

impl Warden<'_> {
    fn emit(&self, emit: &Emit) -> Result<(), ServeError> {
        let bytes = serde_json::to_vec(&emit.event).map_err(|e| ServeError::Send(e.into()))?;
        let descriptors: Vec<_> = emit.descriptors.iter().map(AsFd::as_fd).collect();
        socket::send(self.worker, &bytes, &descriptors).map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ServeError::Gone,
            _ => ServeError::Send(e),
        })
    }

    fn tell(&self, event: Event) -> Result<(), ServeError> {
        self.emit(&Emit {
            event,
            descriptors: Vec::new(),
        })
    }

    /// Takes one request of the worker; `false` where it wants no more.
    fn request(&mut self) -> Result<bool, ServeError> {
        let received =
            socket::receive(self.worker, &mut self.buffer).map_err(ServeError::Receive)?;
        let Some((n, _)) = received else {
            return Ok(false);
        };
        match serde_json::from_slice(&self.buffer[..n]).map_err(ServeError::Decode)? {
            Request::Create { seq, profile } => self.create(seq, &profile)?,
            Request::Limit {
                sandbox,
                generation,
                limits,
            } => {
                let shared = &self.shared;
                match self.sandboxes.get_mut(&sandbox.0) {
                    Some(found) if !found.is_broken() => {
                        let limited = found.limit(shared, generation, limits);
                        self.settle(sandbox.0, limited)?;
                    }
                    _ => self.stranger(sandbox)?,
                }
            }
            Request::Reset {
                sandbox,
                generation,
            } => {
                let shared = &self.shared;
                match self.sandboxes.get_mut(&sandbox.0) {
                    Some(found) if !found.is_broken() => {
                        let reset = found.reset(shared, generation).map(|()| None);
                        self.settle(sandbox.0, reset)?;
                    }
                    _ => self.stranger(sandbox)?,
                }
            }
            Request::Retire { sandbox } => {
                if self.sandboxes.contains_key(&sandbox.0) {
                    self.kill(sandbox.0)?;
                } else {
                    let known = (1..=self.last).contains(&sandbox.0);
                    self.tell(Event::Retired {
                        sandbox,
                        failed: (!known).then(|| "there never was such a sandbox".to_owned()),
                    })?;
                }
            }
            Request::Shutdown => return Ok(false),
        }
        Ok(true)
    }

    /// A request for a sandbox that is not there (any more).
    fn stranger(&self, sandbox: SandboxId) -> Result<(), ServeError> {
        self.tell(Event::Broken {
            sandbox,
            message: "failed to find the sandbox: it is retired, or never was".to_owned(),
        })
    }

    /// Tells the worker what a step brought; a fault ends the sandbox.
    fn settle(&mut self, id: u32, step: Result<Option<Emit>, Fault>) -> Result<(), ServeError> {
        match step {
            Ok(None) => Ok(()),
            Ok(Some(emit)) => self.emit(&emit),
            Err(fault) => {
                self.tell(fault.event(SandboxId(id)))?;
                self.kill(id)
            }
        }
    }

    fn watch(&self, id: u32, sandbox: &Sandbox) -> Result<(), ServeError> {
        let add = |fd: BorrowedFd<'_>, source: Source| {
            epoll::add(&self.poll, fd, source.data(), epoll::EventFlags::IN)
                .map_err(|e| ServeError::Watch(e.into()))
        };
        add(sandbox.socket().as_fd(), Source::Keeper(id))?;
        add(sandbox.keeper().pidfd(), Source::Death(id))
    }

    /// Kills a sandbox and stops listening to it; its death shows on the keeper's pidfd.
    fn kill(&mut self, id: u32) -> Result<(), ServeError> {
        let Some(sandbox) = self.sandboxes.get_mut(&id) else {
            return Ok(());
        };
        match epoll::delete(&self.poll, sandbox.socket()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(e) => return Err(ServeError::Watch(e.into())),
        }
        match sandbox.kill() {
            Ok(()) => Ok(()),
            Err(fault) => self.abandon(id, &crate::chain(&fault)),
        }
    }

    fn heard(&mut self, id: u32) -> Result<(), ServeError> {
        let Some(sandbox) = self.sandboxes.get_mut(&id) else {
            return Ok(());
        };
        if sandbox.is_broken() {
            return Ok(());
        }
        let step = sandbox.hear(&self.shared);
        self.settle(id, step)?;
        // Whatever it said, the keeper now has something to do.
        self.prepare_spare();
        Ok(())
    }

    /// The keeper is dead, and with it every process of the sandbox.
    fn died(&mut self, id: u32) -> Result<(), ServeError> {
        let Some(sandbox) = self.sandboxes.remove(&id) else {
            return Ok(());
        };
        if !sandbox.is_broken() {
            self.tell(Fault::Ended.event(SandboxId(id)))?;
        }
        reap();
        for fd in [sandbox.socket().as_fd(), sandbox.keeper().pidfd()] {
            match epoll::delete(&self.poll, fd) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(ServeError::Watch(e.into())),
            }
        }
        let failed = match sandbox.remove() {
            Ok(range) => {
                self.uids.give_back(range);
                None
            }
            Err(e) => Some(format!("failed to {}", crate::chain(&e))),
        };
        self.tell(Event::Retired {
            sandbox: SandboxId(id),
            failed,
        })
    }

    /// A sandbox that does not die: it is left to the monitor's sweep, and its uids are not used
    /// again.
    fn abandon(&mut self, id: u32, why: &str) -> Result<(), ServeError> {
        let Some(sandbox) = self.sandboxes.remove(&id) else {
            return Ok(());
        };
        drop(sandbox);
        self.tell(Event::Retired {
            sandbox: SandboxId(id),
            failed: Some(format!("failed to {why}")),
        })
    }

    /// Wakes whose time came until `now`; ends what should have answered.
    fn expire(&mut self, now: Instant) -> Result<(), ServeError> {
        let late: Vec<(u32, bool)> = self
            .sandboxes
            .iter()
            .filter(|(_, sandbox)| sandbox.until().is_some_and(|until| until <= now))
            .map(|(id, sandbox)| (*id, sandbox.is_broken()))
            .collect();
        for (id, dying) in late {
            if dying {
                self.abandon(id, "see the keeper die in time")?;
            } else if let Some(sandbox) = self.sandboxes.get_mut(&id) {
                let woken = sandbox.wake(&self.shared, now).map(|()| None);
                self.settle(id, woken)?;
            }
        }
        Ok(())
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.sandboxes.values().filter_map(Sandbox::until).min()
    }
}

/// Serves until the worker is gone or wants no more.
pub(crate) fn serve(warden: &mut Warden<'_>) -> Result<(), ServeError> {
    match answer(warden) {
        Err(ServeError::Gone) => Ok(()),
        other => other,
    }
}

fn answer(warden: &mut Warden<'_>) -> Result<(), ServeError> {
    warden.tell(Event::Welcome {
        cgroup: warden.version,
        instance: warden.instance.name.clone(),
        swept: warden.instance.swept,
    })?;
    let mut events = Vec::with_capacity(TURN_MAX);
    loop {
        // Taken before the wait: an answer that came while the warden was busy is in time.
        let now = Instant::now();
        let patience = warden
            .next_deadline()
            .map(|until| until.saturating_duration_since(now) + Duration::from_millis(1));
        let timeout = patience.map(|wait| {
            Timespec::try_from(wait.min(ANSWER_MAX)).expect("two seconds are a time span")
        });
        events.clear();
        match epoll::wait(&warden.poll, spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(ServeError::Wait(e.into())),
        }
        for event in &events {
            match Source::from_data(event.data) {
                Source::Worker => {
                    if !warden.request()? {
                        return Ok(());
                    }
                }
                Source::Keeper(id) => warden.heard(id)?,
                Source::Death(id) => warden.died(id)?,
            }
        }
        reap();
        if events.len() < TURN_MAX {
            warden.expire(now)?;
        }
    }
}

/// Reaps everything that is dead: the warden is everybody's last parent here.
pub(crate) fn reap() {
    while let Ok(Some(_)) | Err(Errno::INTR) = rustix::process::wait(WaitOptions::NOHANG) {}
}
