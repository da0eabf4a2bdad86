//! One sandbox: its state, and what each message makes of it.
//!
//! ```text
//!                                                      ┌── Limit ──► Resizing ──┐
//!                                                      │                        ▼ Resized, proved: Limited
//!   Starting ─► Initialising ─► Preparing ─► Waiting ◄─┴────────────────────────┘
//!               Ready: golden    Prepared,      │ Reset
//!               manifest  ▲      proved: Ready  ▼
//!                         └───────────────── Draining
//!                proved clean; the next generation
//!
//!   anything else, from any state ─► Broken ─► (killed, reaped, removed) Retired
//! ```
//!
//! The warden does not hear of the job itself: it runs in `Waiting`, between worker and keeper.
//! A state that is left by an error is [`State::Broken`]: going on needs an explicit step.

mod fault;
mod limit;
mod place;
mod reset;

pub(crate) use fault::Fault;

use crate::cgroup::Leaf;
use crate::container::{Container, RemoveError};
use crate::keeper;
use crate::limits;
use crate::profile::{LimitName, LimitTable};
use crate::proof::locked;
use crate::proof::manifest::Manifest;
use crate::proof::network::{Looker, Network};
use crate::proof::process::{Namespaces, Process};
use crate::socket;
use crate::uids::{JobIds, Range};
use crate::wire::{CellLimits, Event, SandboxId};
use kiln_keeper::wire::{CELL_SOCKETS, FromWarden, Prepare, ToWarden};
use rustix::process::Signal;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a keeper may take for any answer.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How long a killed sandbox may take to die: the kernel gives back all its memory first.
const DEATH_MAX: Duration = Duration::from_secs(10);

/// What all sandboxes of a warden share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The namespaces of the host, and of the warden.
    pub(crate) outside: Vec<Namespaces>,
    /// The CPUs that may be used, of the first 64.
    pub(crate) cpus: Vec<usize>,
    pub(crate) job_filter: OwnedFd,
    pub(crate) keeper_filter: OwnedFd,
    pub(crate) networks: Looker,
}

/// One sandbox.
#[derive(Debug)]
pub(crate) struct Sandbox {
    id: SandboxId,
    table: Rc<LimitTable>,
    container: Container,
    range: Range,
    ids: JobIds,
    state: State,
}

/// The cell that is built, waits or is used.
#[derive(Debug)]
struct Cell {
    generation: u64,
    limits: CellLimits,
    leaf: Leaf,
    job_id: u32,
    owner_id: u32,
    affinity: u64,
    /// The keeper's too. Until the cell is placed: the one that serves again, where nothing was
    /// done in it.
    network: Option<Network>,
}

#[derive(Debug)]
enum State {
    /// The keeper starts, and has not been listened to.
    Starting {
        until: Instant,
    },
    /// `cell` is the first one's, as far as it can be made without the keeper.
    Initialising {
        cell: Cell,
        until: Instant,
    },
    Preparing {
        golden: Manifest,
        cell: Cell,
        /// The worker's end.
        stage: OwnedFd,
        until: Instant,
    },
    Waiting {
        golden: Manifest,
        cell: Cell,
        waiter: Process,
        scratch: OwnedFd,
    },
    /// `cell.limits` are the new ones already.
    Resizing {
        golden: Manifest,
        cell: Cell,
        waiter: Process,
        scratch: OwnedFd,
        until: Instant,
    },
    /// The worker's `Finish` and its `Reset` go different ways: until the keeper has let go of the
    /// spent cell, or its time is up, it is looked at again.
    Draining {
        golden: Manifest,
        cell: Cell,
        look_at: Instant,
        until: Instant,
    },
    Broken {
        until: Instant,
    },
}

/// An event for the worker and the descriptors that go with it.
#[derive(Debug)]
pub(crate) struct Emit {
    pub(crate) event: Event,
    pub(crate) descriptors: Vec<OwnedFd>,
}

impl Sandbox {
    /// Takes over a container and tells its keeper who it is. `worker` is the keeper's end of the
    /// worker's control socket.
    pub(crate) fn new(
        id: SandboxId,
        table: Rc<LimitTable>,
        container: Container,
        range: Range,
        ids: JobIds,
    ) -> Self {
        let until = Instant::now() + ANSWER_MAX;
        Self {
            id,
            table,
            container,
            range,
            ids,
            state: State::Starting { until },
        }
    }

    /// Tells the keeper who it is.
    pub(crate) fn init(&self, shared: &Shared, worker: &OwnedFd) -> Result<(), Fault> {
        let descriptors = [
            worker.as_fd(),
            shared.job_filter.as_fd(),
            shared.keeper_filter.as_fd(),
        ];
        Ok(keeper::send(
            &self.container.socket,
            &FromWarden::Init,
            &descriptors,
        )?)
    }

    /// Does what can be done while the keeper starts.
    pub(crate) fn meanwhile(&mut self, shared: &Shared) -> Result<(), Fault> {
        match self.take() {
            // Starting ---- the first leaf is made ----> Initialising
            State::Starting { until } => {
                self.container.strip()?;
                let cell = self.cell(shared, 1)?;
                self.state = State::Initialising { cell, until };
                Ok(())
            }
            state => Err(illegal("the start", &state)),
        }
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.container.socket
    }

    pub(crate) fn keeper(&self) -> &Process {
        &self.container.keeper
    }

    /// When the sandbox is given up if nothing happens.
    pub(crate) fn until(&self) -> Option<Instant> {
        match self.state {
            State::Starting { until }
            | State::Initialising { until, .. }
            | State::Preparing { until, .. }
            | State::Resizing { until, .. }
            | State::Draining { look_at: until, .. }
            | State::Broken { until } => Some(until),
            State::Waiting { .. } => None,
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.state, State::Broken { .. })
    }

    /// Takes the state out; what is not put back is broken.
    fn take(&mut self) -> State {
        let until = Instant::now() + DEATH_MAX;
        std::mem::replace(&mut self.state, State::Broken { until })
    }

    /// Takes in what the keeper says.
    pub(crate) fn hear(&mut self, shared: &Shared) -> Result<Option<Emit>, Fault> {
        let Some((message, descriptors)) = keeper::receive(&self.container.socket)? else {
            return Ok(None);
        };
        match (self.take(), message) {
            // Initialising ---- Ready ----> Preparing
            (State::Initialising { mut cell, .. }, ToWarden::Ready) => {
                let golden = Manifest::take(&self.container.keeper)?;
                locked::prove(&golden, self.range, &shared.outside)?;
                self.container
                    .groups
                    .prove_keeper(self.container.keeper.number())?;
                let network = Network::of(self.container.keeper.number())?;
                shared.networks.prove(&network)?;
                cell.network = Some(network);
                self.prepare(golden, cell)?;
                Ok(None)
            }
            // Preparing ---- Prepared ----> Waiting
            (
                State::Preparing {
                    golden,
                    cell,
                    stage,
                    ..
                },
                ToWarden::Prepared { generation },
            ) if generation == cell.generation => self
                .place(shared, golden, cell, descriptors, stage)
                .map(Some),
            // Resizing ---- Resized ----> Waiting
            (
                State::Resizing {
                    golden,
                    cell,
                    waiter,
                    scratch,
                    ..
                },
                ToWarden::Resized,
            ) => self
                .limited(shared, golden, cell, &waiter, scratch)
                .map(Some)
                .map_err(|fault| Fault::Limit(Box::new(fault))),
            (_, ToWarden::Failed { step, errno }) => Err(Fault::Step {
                step,
                errno: io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(0)),
            }),
            (state, message) => Err(illegal(message, &state)),
        }
    }

    /// Makes what a cell needs of the warden.
    fn cell(&self, shared: &Shared, generation: u64) -> Result<Cell, Fault> {
        let limits = limits::defaults(&self.table);
        let (job_id, owner_id) = self.ids.pair(generation).ok_or(Fault::Ids)?;
        let leaf = self.container.groups.leaf(generation, &limits)?;
        let affinity = limits::affinity(&shared.cpus, limits.cpus_milli, self.range.slot());
        Ok(Cell {
            generation,
            limits,
            leaf,
            job_id,
            owner_id,
            affinity,
            network: None,
        })
    }

    /// Asks the keeper to build a cell.
    fn prepare(&mut self, golden: Manifest, cell: Cell) -> Result<(), Fault> {
        let prepare = FromWarden::Prepare(Prepare {
            generation: cell.generation,
            placement: cell.leaf.placement(),
            job_id: cell.job_id,
            owner_id: cell.owner_id,
            disk_bytes: cell.limits.disk_bytes,
            inodes: cell.limits.inodes,
            open_files: cell.limits.open_files,
            open_files_max: self.open_files_max(),
            affinity: cell.affinity,
            network_kept: cell.network.is_some(),
        });
        let descriptors = cell.leaf.keeper_fds()?;
        let pair = || socket::pair().map_err(Fault::Descriptor);
        let (events, go, (stage, staged)) = (pair()?, pair()?, pair()?);
        let sockets: [_; CELL_SOCKETS] = [&events.0, &events.1, &go.0, &go.1, &staged];
        let borrowed = descriptors.iter().chain(sockets).map(AsFd::as_fd);
        let borrowed: Vec<_> = borrowed.collect();
        keeper::send(&self.container.socket, &prepare, &borrowed)?;
        self.state = State::Preparing {
            golden,
            cell,
            stage,
            until: Instant::now() + ANSWER_MAX,
        };
        Ok(())
    }

    /// The hard limit of a waiting process: what its soft limit may be raised to. That takes no
    /// `CAP_SYS_RESOURCE`, which root lacks in many containers.
    fn open_files_max(&self) -> u64 {
        self.table.get(LimitName::OpenFiles).ceiling
    }

    /// Its time has come: a spent cell is looked at again, anything else is late.
    pub(crate) fn wake(&mut self, shared: &Shared, now: Instant) -> Result<(), Fault> {
        match self.take() {
            State::Draining {
                golden,
                cell,
                until,
                ..
            } => self.drain(shared, golden, cell, now, until),
            _ => Err(Fault::Late),
        }
    }

    /// Kills everything in the sandbox; its end shows on the keeper's pidfd.
    pub(crate) fn kill(&mut self) -> Result<(), Fault> {
        drop(self.take());
        match rustix::process::pidfd_send_signal(self.container.keeper.pidfd(), Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(e) => return Err(Fault::Process(e.into())),
        }
        Ok(())
    }

    /// Removes everything of a sandbox whose keeper is dead and reaped: its range is free then.
    pub(crate) fn remove(self) -> Result<Range, RemoveError> {
        drop(self.state);
        self.container.remove()?;
        Ok(self.range)
    }
}

fn illegal(what: impl fmt::Debug, state: &State) -> Fault {
    Fault::Illegal {
        what: format!("{what:?}"),
        state: match state {
            State::Starting { .. } => "starting",
            State::Initialising { .. } => "initialising",
            State::Preparing { .. } => "preparing",
            State::Waiting { .. } => "waiting",
            State::Resizing { .. } => "resizing",
            State::Draining { .. } => "draining",
            State::Broken { .. } => "broken",
        },
    }
}
