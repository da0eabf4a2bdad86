//! A cell as the keeper holds it: its processes' descriptors, and what is known of the job.
//!
//! ```text
//!   Building ── every part is ready ──► Waiting ── Start ──► Starting ── stager ended ──► Running
//!                                          └──────── Start, stager ended before ────────────┘
//! ```
//!
//! In each of them the cell may end; `killed` says that the keeper did it, and why.

use crate::clock::{Clock, Limits, Out, Usage};
use crate::collector::COLLECTOR_ID;
use crate::filter::{Filter, Noted};
use crate::init::{self, Ends};
use crate::oom::Oom;
use crate::report::{At, Failure, Report};
use crate::sys::poll::now;
use crate::sys::process::{self, Cloned};
use crate::sys::socket::{self, Received};
use crate::sys::{Errno, cred};
use kiln_keeper::step::Step;
use kiln_keeper::wire::{Cause, Ended, Placement, Prepare, TASKS_MAX};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How the waiter gets into the job's control group.
pub(crate) enum Placing {
    V1([Option<OwnedFd>; TASKS_MAX]),
    V2(OwnedFd),
}

impl Placing {
    pub(crate) fn tasks(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        match self {
            Self::V1(tasks) => tasks.as_slice(),
            Self::V2(_) => &[],
        }
        .iter()
        .flatten()
        .map(AsFd::as_fd)
    }

    pub(crate) fn leaf(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::V1(_) => None,
            Self::V2(leaf) => Some(leaf.as_fd()),
        }
    }

    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.tasks().chain(self.leaf())
    }
}

/// How far the cell's life has gone.
pub(crate) enum Life {
    Building,
    Waiting,
    Starting {
        streams: Received,
        limits: Limits,
        since: u64,
    },
    Running(Clock),
}

/// How far the stager's has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stager {
    Starting,
    Waiting,
    Ended,
}

pub(crate) struct Cell {
    pub(crate) order: Prepare,
    pub(crate) life: Life,
    pub(crate) stager: Stager,
    pub(crate) waiter_ready: bool,
    /// The keeper killed it: why and when.
    pub(crate) killed: Option<(Cause, u64)>,
    /// The main process ended: its wait status and when.
    pub(crate) main: Option<(u32, u64)>,
    pub(crate) noted: Noted,
    pub(crate) fatal: Option<u32>,
    pub(crate) pidfd: OwnedFd,
    pub(crate) events: OwnedFd,
    pub(crate) go: Option<OwnedFd>,
    /// The stager's own end, to end its reading; given up with the stager.
    pub(crate) stage: Option<OwnedFd>,
    pub(crate) usage: Usage,
    pub(crate) oom: Option<Oom>,
    pub(crate) scratch: Option<OwnedFd>,
    pub(crate) listener: Option<OwnedFd>,
    /// The mount namespace of the cell: held so that its end is not a part of the job's.
    pub(crate) mounts: Option<OwnedFd>,
}

impl Cell {
    /// Clones the cell's init, which does the rest by itself and reports.
    pub(crate) fn build(
        order: Prepare,
        mut message: Received,
        filter: &Filter,
    ) -> Result<Self, Failure> {
        let (placing, usage, oom) = take(&order, &mut message).at(Step::Sockets)?;
        let mut at = order.placement.descriptors();
        let mut socket = || {
            at += 1;
            message.take(at - 1).at(Step::Sockets)
        };
        let (events, cell_events) = (socket()?, socket()?);
        let (go, cell_go) = (socket()?, socket()?);
        let stage = socket()?;
        let pidfd = match process::clone(init::namespaces(), None).at(Step::CloneCell)? {
            Cloned::Child => init::run(&Ends {
                order: &order,
                events: cell_events.as_fd(),
                go: cell_go.as_fd(),
                stage: stage.as_fd(),
                placing: &placing,
                filter,
            }),
            Cloned::Parent { pidfd, .. } => pidfd,
        };
        Ok(Self {
            order,
            life: Life::Building,
            stager: Stager::Starting,
            waiter_ready: false,
            killed: None,
            main: None,
            noted: Noted::default(),
            fatal: None,
            pidfd,
            events,
            go: Some(go),
            stage: Some(stage),
            usage,
            oom,
            scratch: None,
            listener: None,
            mounts: None,
        })
    }

    /// Takes a report of the cell's processes.
    pub(crate) fn take(&mut self, report: Report, mut with: Received) -> Result<(), Failure> {
        match report {
            Report::Scratch => {
                self.scratch = Some(with.take(0).at(Step::SendScratch)?);
                self.mounts = Some(with.take(1).at(Step::SendScratch)?);
            }
            Report::Listener => {
                self.listener = Some(with.take(0).at(Step::SendListener)?);
            }
            Report::WaiterReady => self.waiter_ready = true,
            Report::StagerReady => self.stager = Stager::Waiting,
            Report::StagerEnded(status) => {
                self.stager = Stager::Ended;
                self.stage = None;
                if status != 0 || matches!(self.life, Life::Building) {
                    self.kill(Cause::Broken).at(Step::CellDied)?;
                }
            }
            Report::MainEnded { status, at } => self.main = Some((status, at)),
            Report::Failed { step, errno } => {
                return Err(Failure {
                    step: step_of(step),
                    errno: Errno(errno.cast_signed()),
                });
            }
        }
        Ok(())
    }

    /// Every part has reported.
    pub(crate) fn is_built(&self) -> bool {
        self.scratch.is_some()
            && self.listener.is_some()
            && self.waiter_ready
            && self.stager == Stager::Waiting
    }

    /// Whether the cell's processes have more to say than how the job ended: that is read when
    /// the cell's init has ended, which is the next thing it does.
    pub(crate) fn will_report(&self) -> bool {
        self.killed.is_none()
            && !(self.stager == Stager::Ended && matches!(self.life, Life::Running(_)))
    }

    /// Kills every process of the cell. The first cause stays.
    pub(crate) fn kill(&mut self, cause: Cause) -> Result<(), Errno> {
        if self.killed.is_none() && self.main.is_none() {
            self.killed = Some((cause, now()));
        }
        process::kill(self.pidfd.as_fd())
    }

    /// Lets the job start, at once or when the stager has read what is queued for it.
    pub(crate) fn start(&mut self, streams: Received, limits: Limits) -> Result<(), Errno> {
        if self.stager == Stager::Ended {
            return self.go(&streams, limits);
        }
        if let Some(stage) = &self.stage {
            socket::end_reading(stage.as_fd())?;
        }
        let since = now();
        self.life = Life::Starting {
            streams,
            limits,
            since,
        };
        Ok(())
    }

    /// Hands the streams to the waiter. That it is dead already is told by its end.
    fn go(&mut self, streams: &Received, limits: Limits) -> Result<(), Errno> {
        let Some(go) = self.go.take() else {
            return Err(Errno(libc::EBADF));
        };
        let started = now();
        let affinity = limits.affinity.to_le_bytes();
        match streams.forward(go.as_fd(), &affinity, libc::MSG_DONTWAIT) {
            Ok(()) => {}
            Err(Errno(libc::EPIPE | libc::ECONNRESET)) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        self.life = Life::Running(Clock::start(limits, started, self.usage.read()?));
        Ok(())
    }

    /// Goes on with a start that waited for the stager's end.
    pub(crate) fn go_on(&mut self) -> Result<(), Errno> {
        match std::mem::replace(&mut self.life, Life::Waiting) {
            Life::Starting {
                streams, limits, ..
            } if self.stager == Stager::Ended && self.killed.is_none() => self.go(&streams, limits),
            other => {
                self.life = other;
                Ok(())
            }
        }
    }

    /// When the keeper must look at the cell, if nothing happens.
    pub(crate) fn look_at(&self) -> Option<u64> {
        let oom = self.oom.as_ref().and_then(Oom::look_at);
        [self.clock_at(), oom].into_iter().flatten().min()
    }

    fn clock_at(&self) -> Option<u64> {
        match &self.life {
            _ if self.killed.is_some() || self.main.is_some() => None,
            Life::Building | Life::Waiting => None,
            Life::Starting { limits, since, .. } => Some(since.saturating_add(limits.wall_ns)),
            Life::Running(clock) => Some(clock.next_at()),
        }
    }

    /// Looks at whatever is due, and kills where a limit has run out.
    pub(crate) fn look(&mut self, time: u64) -> Result<(), Errno> {
        if let Some(oom) = &mut self.oom
            && oom.look(time)?
        {
            self.kill(Cause::Memory)?;
        }
        if self.clock_at().is_none_or(|at| time < at) {
            return Ok(());
        }
        let usage = &self.usage;
        let out = match &mut self.life {
            Life::Running(clock) => clock.look(time, || usage.read())?,
            _ => Some(Out::Wall),
        };
        match out {
            Some(Out::Wall) => self.kill(Cause::Wall),
            Some(Out::Cpu) => self.kill(Cause::Cpu),
            None => Ok(()),
        }
    }

    /// How the job ended, once nothing of the cell lives.
    pub(crate) fn ended(&self) -> Result<Ended, Errno> {
        let clock = match &self.life {
            Life::Running(clock) => Some(clock),
            _ => None,
        };
        let killed_for_memory = || self.oom.as_ref().map_or(Ok(false), Oom::has_killed);
        let cause = match (self.killed, self.main) {
            (Some((Cause::Broken, _)), _) | (None, None) => {
                if killed_for_memory()? {
                    Cause::Memory
                } else {
                    Cause::Broken
                }
            }
            (Some((cause, _)), _) => cause,
            (None, Some(_)) if clock.is_none() => {
                if killed_for_memory()? {
                    Cause::Memory
                } else {
                    Cause::Broken
                }
            }
            (None, Some((status, _))) if was_killed(status) && killed_for_memory()? => {
                Cause::Memory
            }
            (None, Some(_)) => Cause::Exited,
        };
        let end = match (self.killed, self.main) {
            (Some((_, at)), _) | (None, Some((_, at))) => at,
            (None, None) => now(),
        };
        Ok(Ended {
            generation: self.order.generation,
            cause,
            status: clock.and(self.main).map(|(status, _)| status),
            wall_ns: clock.map_or(0, |clock| end.saturating_sub(clock.started_at)),
            noted_total: self.noted.total,
            noted: self.noted.numbers,
            fatal: self.fatal,
        })
    }
}

/// Whether a wait status says SIGKILL.
fn was_killed(status: u32) -> bool {
    let status = status.cast_signed();
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL
}

fn step_of(number: u32) -> Step {
    usize::try_from(number)
        .ok()
        .and_then(|place| Step::ALL.get(place).copied())
        .unwrap_or(Step::CellDied)
}

/// Sorts the descriptors of a `Prepare`, whose number has been checked.
fn take(order: &Prepare, message: &mut Received) -> Result<(Placing, Usage, Option<Oom>), Errno> {
    match order.placement {
        Placement::V1 { tasks } => {
            let count = usize::from(tasks);
            let mut placing = [const { None }; TASKS_MAX];
            for (place, slot) in placing
                .get_mut(..count)
                .ok_or(Errno(libc::EINVAL))?
                .iter_mut()
                .enumerate()
            {
                *slot = Some(message.take(place)?);
            }
            let usage = Usage::V1(message.take(count)?);
            let event = message.take(count + 1)?;
            let control = message.take(count + 2)?;
            Ok((Placing::V1(placing), usage, Some(Oom::new(event, control))))
        }
        Placement::V2 => Ok((
            Placing::V2(message.take(0)?),
            Usage::V2(message.take(1)?),
            None,
        )),
    }
}

/// What is left of a cell when its processes are dead: the files, until they are collected.
pub(crate) struct Spent {
    pub(crate) generation: u64,
    pub(crate) scratch: Option<OwnedFd>,
    pub(crate) collector: Option<OwnedFd>,
    /// The cell's: its end waits for every reader of mounts, and nobody is to wait for that before
    /// the files are collected.
    pub(crate) mounts: Option<OwnedFd>,
}

impl Spent {
    /// Ends the collector, if there is one, waits for it, and lets go of the rest.
    pub(crate) fn finish(self) -> Result<(), Errno> {
        if let Some(collector) = self.collector {
            cred::as_user(COLLECTOR_ID, || process::kill(collector.as_fd()))?;
            while process::reap(true)?.is_none() {}
        }
        drop((self.scratch, self.mounts));
        Ok(())
    }
}
