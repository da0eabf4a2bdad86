//! The loop of PID 1: what it is told, what it sees, and what it does about it.
//!
//! ```text
//!   Idle ── Prepare ──► Cell ── nothing of it lives ──► Spent ── Finish ──► Idle
//! ```
//!
//! A message that its phase does not allow, a malformed one, and the end of either socket end the
//! keeper, and with it the kernel ends every process of the sandbox.

use crate::cell::{Cell, Life, Spent};
use crate::clock::Limits;
use crate::collector;
use crate::filter::{Answer, Filter};
use crate::masks::Masks;
use crate::mounts;
use crate::peers::{Stop, WARDEN, receive, tell, tell_warden};
use crate::report::{At, Failure, Report};
use crate::sys::poll::{now, poll};
use crate::sys::process::{self, Cloned};
use crate::sys::socket::{self, Received};
use crate::sys::{Errno, cred, memory, notify};
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use kiln_keeper::wire::{Cause, FromWarden, FromWorker, Prepare, ToWarden, ToWorker};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

#[expect(
    clippy::large_enum_variant,
    reason = "there is one, and nothing is allocated here"
)]
enum Phase {
    Idle,
    Cell(Cell),
    Spent(Spent),
}

struct Keeper {
    worker: OwnedFd,
    filter: Filter,
    masks: Masks,
    /// The last cell's.
    generation: u64,
    phase: Phase,
}

/// Takes `Init`, then serves until there is a reason to end.
pub(crate) fn serve() -> Stop {
    let stopped = init().and_then(|mut keeper| {
        loop {
            keeper.turn()?;
        }
    });
    match stopped {
        Ok(()) => Stop::Gone,
        Err(stop) => stop,
    }
}

fn init() -> Result<Keeper, Stop> {
    #[cfg(feature = "unguarded")]
    crate::disobey::listen()?;
    memory::unmap_clocks().at(Step::UnmapClocks)?;
    cred::hide().at(Step::HideKeeper)?;
    cred::set_name(c"keeper").at(Step::HideKeeper)?;
    cred::no_new_privileges().at(Step::NoNewPrivileges)?;
    process::clear_signals().at(Step::ClearSignals)?;
    let (words, mut with) = receive(WARDEN, 0)?.ok_or(Stop::Gone)?;
    let message = FromWarden::decode(&words)?;
    if message != FromWarden::Init || with.count != message.descriptors() {
        return Err(Stop::Violation);
    }
    let worker = with.take(0)?;
    let filter = Filter::new(with.take(1)?).at(Step::JobFilter)?;
    let masks = Masks::new().at(Step::MaskFiles)?;
    socket::raise_loopback().at(Step::Loopback)?;
    Filter::new(with.take(2)?)
        .and_then(|own| own.install())
        .at(Step::KeeperFilter)?;
    tell_warden(ToWarden::Ready, &[])?;
    Ok(Keeper {
        worker,
        filter,
        masks,
        generation: 0,
        phase: Phase::Idle,
    })
}

/// What is polled, in the order in which it is looked at. The worker comes before the warden, who
/// speaks of the next cell when the worker has finished with the last; the end of the cell comes
/// last, so that what its processes said before it is heard.
const SOURCES: usize = 7;

impl Keeper {
    /// Waits for something to happen and sees to it.
    fn turn(&mut self) -> Result<(), Stop> {
        let mut fds = self.sources().map(|fd| libc::pollfd {
            fd: fd.unwrap_or(-1),
            events: libc::POLLIN,
            revents: 0,
        });
        let look_at = match &self.phase {
            Phase::Cell(cell) => cell.look_at(),
            Phase::Idle | Phase::Spent(_) => None,
        };
        let wait = look_at.map(|at| at.saturating_sub(now()));
        poll(&mut fds, wait)?;
        let ready = fds.map(|fd| fd.revents != 0);
        if ready[0] {
            while self.hear_worker()? {}
        }
        if ready[1] {
            self.hear_warden()?;
        }
        if ready[2] || ready[3] {
            self.hear_cell()?;
        }
        if ready[4] {
            self.hear_filter(fds[4].revents)?;
        }
        if ready[5] {
            self.hear_oom()?;
        }
        if ready[6] {
            self.hear_cell()?;
            return self.bury();
        }
        match &mut self.phase {
            Phase::Cell(cell) => Ok(cell.look(now())?),
            Phase::Idle | Phase::Spent(_) => Ok(()),
        }
    }

    fn sources(&self) -> [Option<libc::c_int>; SOURCES] {
        let mut all = [None; SOURCES];
        all[0] = Some(self.worker.as_raw_fd());
        all[1] = Some(WARDEN.as_raw_fd());
        if let Phase::Cell(cell) = &self.phase {
            let optional = |fd: &Option<OwnedFd>| fd.as_ref().map(AsRawFd::as_raw_fd);
            all[2] = cell.will_report().then_some(cell.events.as_raw_fd());
            if matches!(cell.life, Life::Building) {
                all[3] = optional(&cell.go);
            }
            all[4] = optional(&cell.listener);
            all[5] = cell.oom.as_ref().map(|oom| oom.event.as_raw_fd());
            all[6] = Some(cell.pidfd.as_raw_fd());
        }
        all
    }

    fn hear_warden(&mut self) -> Result<(), Stop> {
        let Some((words, with)) = receive(WARDEN, libc::MSG_DONTWAIT)? else {
            return Ok(());
        };
        let message = FromWarden::decode(&words)?;
        if with.count != message.descriptors() {
            return Err(Stop::Violation);
        }
        match (message, &mut self.phase) {
            (FromWarden::Prepare(order), Phase::Idle) if order.generation > self.generation => {
                self.prepare(order, with)
            }
            (FromWarden::Resize { disk_bytes, inodes }, Phase::Cell(cell))
                if matches!(cell.life, Life::Waiting) =>
            {
                resize(cell.scratch.as_ref(), disk_bytes, inodes)
            }
            // The cell may break while the warden asks.
            (FromWarden::Resize { disk_bytes, inodes }, Phase::Spent(spent)) => {
                resize(spent.scratch.as_ref(), disk_bytes, inodes)
            }
            _ => Err(Stop::Violation),
        }
    }

    fn prepare(&mut self, order: Prepare, with: Received) -> Result<(), Stop> {
        #[cfg(feature = "unguarded")]
        crate::disobey::before_cell(order.generation)?;
        self.masks.show(order.affinity).at(Step::MaskFiles)?;
        if !order.network_kept && !off(Guard::CellNetwork) {
            // The last cell's ends with the last descriptor of it.
            process::unshare(libc::CLONE_NEWNET).at(Step::Network)?;
            socket::raise_loopback().at(Step::Loopback)?;
        }
        self.generation = order.generation;
        self.phase = Phase::Cell(Cell::build(order, with, &self.filter)?);
        Ok(())
    }

    /// Takes one message of the worker's; says whether there was one.
    fn hear_worker(&mut self) -> Result<bool, Stop> {
        let Some((words, with)) = receive(self.worker.as_fd(), libc::MSG_DONTWAIT)? else {
            return Ok(false);
        };
        let message = FromWorker::decode(&words)?;
        if with.count != message.descriptors() {
            return Err(Stop::Violation);
        }
        self.obey_worker(message, with).map(|()| true)
    }

    fn obey_worker(&mut self, message: FromWorker, mut with: Received) -> Result<(), Stop> {
        let current = self.generation;
        match (message, &mut self.phase) {
            (
                FromWorker::Start {
                    generation,
                    wall_ns,
                    cpu_ns,
                    cpus_milli,
                    affinity,
                    egress: _,
                },
                Phase::Cell(cell),
            ) if generation == current && matches!(cell.life, Life::Waiting) => {
                let limits = Limits {
                    wall_ns,
                    cpu_ns,
                    cpus_milli,
                    affinity,
                };
                Ok(cell.start(with, limits)?)
            }
            (FromWorker::Kill { generation, cause }, Phase::Cell(cell))
                if generation == current && !matches!(cell.life, Life::Building) =>
            {
                Ok(cell.kill(cause)?)
            }
            // The cell may end while the worker speaks.
            (
                FromWorker::Start { generation, .. } | FromWorker::Kill { generation, .. },
                Phase::Spent(_),
            ) if generation == current => Ok(()),
            (FromWorker::Collect { generation }, Phase::Spent(spent))
                if generation == spent.generation && spent.collector.is_none() =>
            {
                collect(spent, &with.take(0)?)
            }
            (FromWorker::Finish { generation }, Phase::Spent(spent))
                if generation == spent.generation =>
            {
                self.finish()
            }
            _ => Err(Stop::Violation),
        }
    }

    fn finish(&mut self) -> Result<(), Stop> {
        match mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Spent(spent) => Ok(spent.finish()?),
            Phase::Idle | Phase::Cell(_) => Err(Stop::Violation),
        }
    }

    /// Takes every report that is there.
    fn hear_cell(&mut self) -> Result<(), Stop> {
        let Phase::Cell(cell) = &mut self.phase else {
            return Ok(());
        };
        while let Some((report, with)) = Report::receive(cell.events.as_fd())? {
            cell.take(report, with)?;
        }
        if matches!(cell.life, Life::Building) {
            while let Some(go) = &cell.go
                && let Some((report, with)) = Report::receive(go.as_fd())?
            {
                cell.take(report, with)?;
            }
            if cell.is_built() {
                return announce(cell);
            }
        }
        Ok(cell.go_on()?)
    }

    fn hear_filter(&mut self, events: libc::c_short) -> Result<(), Stop> {
        let Phase::Cell(cell) = &mut self.phase else {
            return Ok(());
        };
        let Some(listener) = &cell.listener else {
            return Ok(());
        };
        if events & libc::POLLIN == 0 {
            // No process is left under the filter.
            cell.listener = None;
            return Ok(());
        }
        let Some(notification) = notify::next(listener.as_fd())? else {
            return Ok(());
        };
        let answer = cell.noted.note(&self.filter, notification.number)?;
        if !matches!(cell.life, Life::Running(_)) {
            return Ok(cell.kill(Cause::Broken)?);
        }
        match answer {
            Answer::Refuse => Ok(notify::refuse(listener.as_fd(), &notification)?),
            Answer::EndJob => {
                if cell.killed.is_none() && cell.main.is_none() {
                    cell.fatal = Some(notification.number);
                }
                Ok(cell.kill(Cause::Syscall)?)
            }
        }
    }

    fn hear_oom(&mut self) -> Result<(), Stop> {
        if let Phase::Cell(cell) = &mut self.phase
            && let Some(oom) = &mut cell.oom
        {
            oom.hear()?;
        }
        Ok(())
    }

    /// The cell's init has ended, and every process of the cell with it.
    fn bury(&mut self) -> Result<(), Stop> {
        let Phase::Cell(cell) = mem::replace(&mut self.phase, Phase::Idle) else {
            return Ok(());
        };
        while process::reap(false).is_ok_and(|ended| ended.is_some()) {}
        if matches!(cell.life, Life::Building) {
            return Err(Failure {
                step: Step::CellDied,
                errno: Errno(libc::ESRCH),
            }
            .into());
        }
        let ended = cell.ended()?;
        #[cfg(feature = "unguarded")]
        crate::disobey::after_job()?;
        tell(self.worker.as_fd(), &ToWorker::Ended(ended).encode(), &[])?;
        self.phase = Phase::Spent(Spent {
            generation: ended.generation,
            scratch: cell.scratch,
            collector: None,
            mounts: cell.mounts,
        });
        Ok(())
    }
}

/// Hands the built cell to the warden.
fn announce(cell: &mut Cell) -> Result<(), Stop> {
    let scratch = cell.scratch.as_ref().ok_or(Stop::Failed)?;
    let generation = cell.order.generation;
    tell_warden(ToWarden::Prepared { generation }, &[scratch.as_fd()])?;
    cell.life = Life::Waiting;
    Ok(())
}

fn resize(scratch: Option<&OwnedFd>, bytes: u64, inodes: u64) -> Result<(), Stop> {
    let scratch = scratch.ok_or(Stop::Violation)?;
    mounts::resize(scratch.as_fd(), bytes, inodes)?;
    tell_warden(ToWarden::Resized, &[])
}

/// Forks the collector.
fn collect(spent: &mut Spent, socket: &OwnedFd) -> Result<(), Stop> {
    let scratch = spent.scratch.as_ref().ok_or(Stop::Violation)?;
    match process::clone(0, None).at(Step::CloneCollector)? {
        Cloned::Child => collector::run(socket.as_fd(), scratch.as_fd()),
        Cloned::Parent { pidfd, .. } => {
            spent.collector = Some(pidfd);
            Ok(())
        }
    }
}
