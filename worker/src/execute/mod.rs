//! How one job runs: its limits set, its inputs staged, its program started, its end seen.
//!
//! The keeper holds the deadline and kills; this side reads the streams, watches for a flood,
//! passes on a cancellation, and takes the kernel's figures when nothing of the job lives.

mod error;
pub mod memfd;
mod network;
pub mod program;
mod stage;
mod streams;

pub use error::ExecuteError;
pub use stage::{Input, Manifest, Source};
pub use streams::{Captured, Live};

use crate::egress::client::Granted;
use crate::egress::tally::Tally;
use crate::sandbox::cell::{DiskUse, Figures};
use crate::sandbox::{Leased, Running, Sandbox, Spent};
use crate::secrets::Values;
use crate::stages::Stretch;
use kiln_keeper::spec::Program;
use kiln_keeper::wire::{BYTES, Cause, Ended, FromWorker, ToWorker, from_bytes, to_bytes};
use kiln_protocol::limits::Limits;
use kiln_warden::wire::CellLimits;
use network::Network;
use std::fmt;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime};
use streams::Streams;
use tokio::time::interval_at;

/// How often the scratch is looked at while a job runs.
const SAMPLE: Duration = Duration::from_millis(100);
/// The keeper ends a job at its deadline; this long after it we no longer believe that it does.
const KEEPER_LATE: Duration = Duration::from_secs(10);
/// Pipes are read this long after nothing of the job lives; nobody can write to them by then.
const DRAIN: Duration = Duration::from_secs(1);

/// What is to be run.
pub struct Task {
    pub limits: Limits,
    /// When its answer is of no more use; ends the run where that comes before the wall limit.
    pub deadline: Option<SystemTime>,
    /// The CPUs it runs on, as a mask; 0 for those of its cell.
    pub affinity: u64,
    pub program: Program,
    /// Variables that the program has too, and that are not shown.
    pub secrets: Values,
    pub inputs: Vec<Input>,
    pub stdin: OwnedFd,
    pub live: Option<Live>,
    /// What it may reach, where that is anything.
    pub network: Option<Granted>,
    /// Called when everything is ready, just before the program starts.
    pub on_start: Box<dyn FnOnce() + Send>,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("limits", &self.limits)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// What was seen of a run, by those who saw it.
#[derive(Debug)]
pub struct Run {
    pub ended: Ended,
    pub figures: Figures,
    /// The most that samples and the state at exit saw in use.
    pub disk: DiskUse,
    /// Whether a sample saw the disk or the inodes used up.
    pub disk_full: bool,
    pub inodes_full: bool,
    pub stdout: Captured,
    pub stderr: Captured,
    pub manifest: Manifest,
    /// The first input that did not fit its limits; the program was not started then.
    pub unstaged: Option<(String, u32)>,
    /// Whether the clock that the keeper held was the deadline and not the wall limit.
    pub deadline_first: bool,
    /// What was seen of its network, where it had one.
    pub network: Tally,
    pub stage_in: Stretch,
    pub run: Stretch,
}

impl Run {
    /// Why the sandbox is not to be used again after this run, if so: doubt is dirt.
    pub fn condemns(&self) -> Option<&'static str> {
        let signalled = self.ended.status.is_some_and(|status| status & 0x7f != 0);
        match self.ended.cause {
            _ if self.figures.oom_kills > 0 => Some("oom"),
            Cause::Exited if self.ended.noted_total > 0 => Some("filter"),
            Cause::Exited if signalled => Some("signal"),
            Cause::Exited => None,
            Cause::Wall | Cause::Cpu => Some("timeout"),
            Cause::Memory => Some("oom"),
            Cause::Cancelled => Some("cancelled"),
            Cause::Output => Some("output"),
            Cause::Syscall => Some("filter"),
            Cause::Broken => Some("broken"),
        }
    }
}

/// A job that has been started.
#[derive(Debug)]
pub struct Started {
    sandbox: Sandbox<Running>,
    streams: Streams,
    manifest: Manifest,
    unstaged: Option<(String, u32)>,
    wall: Duration,
    deadline_first: bool,
    began: Instant,
    stage_in: Stretch,
    network: Network,
}

/// Ends when the job is to be cancelled.
pub type Cancel = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The part of a job's limits that the kernel holds for its cell.
pub fn cell_limits(limits: &Limits) -> CellLimits {
    CellLimits {
        memory_bytes: limits.memory_bytes,
        pids: limits.pids,
        cpus_milli: limits.cpus_milli,
        disk_bytes: limits.disk_bytes,
        inodes: limits.inodes,
        open_files: limits.open_files,
    }
}

/// Stages the inputs and lets the program start.
pub async fn start(mut sandbox: Sandbox<Leased>, task: Task) -> Result<Started, ExecuteError> {
    let began = Instant::now();
    let wanted = cell_limits(&task.limits);
    if sandbox.cell().limits != wanted {
        sandbox.limit(wanted).await.map_err(ExecuteError::Limit)?;
    }
    let staged = stage::stage(sandbox.take_stage(), task.inputs).await?;
    let (streams, stdout, stderr) =
        Streams::open(&task.limits, task.live).map_err(ExecuteError::Streams)?;
    let generation = sandbox.cell().generation;
    let stage_in = Stretch::since(began);
    let sandbox = sandbox.started();
    let (wall, deadline_first) = clock(&task.limits, task.deadline, SystemTime::now());
    let began;
    let mut network = Network::Off;
    if staged.failed.is_some() {
        began = Instant::now();
        kill(&sandbox, Cause::Cancelled).await?;
    } else {
        let door = network::door(task.network.as_ref()).await?;
        let program = task
            .secrets
            .encode(task.program)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in an argument"))
            .and_then(|bytes| memfd::sealed("program", &bytes))
            .map_err(ExecuteError::Program)?;
        let message = FromWorker::Start {
            generation,
            wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            cpu_ns: task.limits.cpu_ms.saturating_mul(1_000_000),
            cpus_milli: task.limits.cpus_milli,
            affinity: task.affinity,
            egress: door.is_some(),
        };
        let mut descriptors = vec![
            program.as_fd(),
            task.stdin.as_fd(),
            stdout.as_fd(),
            stderr.as_fd(),
        ];
        descriptors.extend(door.iter().map(|(_, theirs)| theirs.as_fd()));
        (task.on_start)();
        began = Instant::now();
        sandbox
            .control()
            .send(&to_bytes(&message.encode()), &descriptors)
            .await
            .map_err(ExecuteError::Keeper)?;
        if let (Some(granted), Some((door, theirs))) = (&task.network, door) {
            // Our copy would keep the door open when the cell is gone.
            drop(theirs);
            network = Network::enter(granted, door).await?;
        }
    }
    Ok(Started {
        sandbox,
        streams,
        manifest: staged.manifest,
        unstaged: staged.failed,
        wall,
        deadline_first,
        began,
        stage_in,
        network,
    })
}

/// How long a program may run from now, and whether it is the deadline that says so.
fn clock(limits: &Limits, deadline: Option<SystemTime>, now: SystemTime) -> (Duration, bool) {
    let wall = Duration::from_millis(limits.wall_ms);
    let left = deadline.map(|at| at.duration_since(now).unwrap_or(Duration::ZERO));
    match left {
        // The keeper takes no clock of nought.
        Some(left) if left < wall => (left.max(Duration::from_millis(1)), true),
        _ => (wall, false),
    }
}

impl Started {
    /// Waits until nothing of the job lives, and takes down what was seen of it.
    pub async fn wait(mut self, mut cancel: Cancel) -> Result<(Sandbox<Spent>, Run), ExecuteError> {
        let mut disk = DiskUse::default();
        let (mut disk_full, mut inodes_full) = (false, false);
        let mut tick = interval_at(tokio::time::Instant::now() + SAMPLE, SAMPLE);
        let late = tokio::time::sleep(self.wall + KEEPER_LATE);
        tokio::pin!(late);
        let mut asked = false;
        let ended = loop {
            let cause = tokio::select! {
                biased;
                ended = hear(&self.sandbox) => break ended?,
                () = &mut cancel, if !asked => Cause::Cancelled,
                _ = tick.tick() => {
                    self.sample(&mut disk, &mut disk_full, &mut inodes_full)?;
                    continue;
                }
                () = &mut late => return Err(ExecuteError::KeeperLate),
                // Last: it reads as long as there is something to read.
                () = self.streams.flood() => {
                    if asked {
                        continue;
                    }
                    Cause::Output
                }
            };
            asked = true;
            kill(&self.sandbox, cause).await?;
        };
        let run = Stretch::since(self.began);
        if ended.generation != self.sandbox.cell().generation {
            return Err(ExecuteError::KeeperNonsense(
                "it speaks of another generation",
            ));
        }
        if !self
            .sandbox
            .cell()
            .is_empty()
            .map_err(ExecuteError::Counters)?
        {
            return Err(ExecuteError::NotEmpty);
        }
        self.sample(&mut disk, &mut disk_full, &mut inodes_full)?;
        let figures = self
            .sandbox
            .cell()
            .figures()
            .map_err(ExecuteError::Counters)?;
        let starved = self
            .unstaged
            .as_ref()
            .is_some_and(|(_, errno)| *errno == stage::GONE);
        if starved && figures.oom_kills == 0 {
            return Err(ExecuteError::KeeperNonsense(
                "the stager ended before its inputs did",
            ));
        }
        let network = self.network.close(ended.cause).await?;
        let (stdout, stderr) = self.streams.finish(DRAIN).await;
        let run = Run {
            ended,
            figures,
            disk,
            disk_full,
            inodes_full,
            stdout,
            stderr,
            manifest: self.manifest,
            unstaged: self.unstaged,
            deadline_first: self.deadline_first,
            network,
            stage_in: self.stage_in,
            run,
        };
        Ok((self.sandbox.ended(), run))
    }

    fn sample(
        &self,
        most: &mut DiskUse,
        disk_full: &mut bool,
        inodes_full: &mut bool,
    ) -> Result<(), ExecuteError> {
        let Some(now) = self
            .sandbox
            .cell()
            .disk_use()
            .map_err(ExecuteError::Scratch)?
        else {
            return Ok(());
        };
        *disk_full |= now.bytes_free == 0;
        *inodes_full |= now.inodes_free == 0;
        most.bytes = most.bytes.max(now.bytes);
        most.inodes = most.inodes.max(now.inodes);
        Ok(())
    }
}

/// Asks the keeper to end the job.
async fn kill(sandbox: &Sandbox<Running>, cause: Cause) -> Result<(), ExecuteError> {
    let generation = sandbox.cell().generation;
    let message = FromWorker::Kill { generation, cause };
    sandbox
        .control()
        .send(&to_bytes(&message.encode()), &[])
        .await
        .map_err(ExecuteError::Keeper)
}

/// The keeper's word that the job has ended.
async fn hear(sandbox: &Sandbox<Running>) -> Result<Ended, ExecuteError> {
    let message = sandbox
        .control()
        .recv(BYTES)
        .await
        .map_err(ExecuteError::Keeper)?
        .ok_or(ExecuteError::KeeperGone)?;
    let words = from_bytes(&message.bytes)
        .map_err(|_| ExecuteError::KeeperNonsense("a message of another size"))?;
    match ToWorker::decode(&words) {
        Ok(ToWorker::Ended(ended)) => Ok(ended),
        Err(_) => Err(ExecuteError::KeeperNonsense("a message that is none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_protocol::limits::{LimitRequest, LimitTable};

    #[test]
    fn the_earlier_of_deadline_and_wall_limit_holds() {
        let limits = LimitTable::contract(2)
            .resolve(&LimitRequest::default())
            .expect("defaults are in range");
        let wall = Duration::from_millis(limits.wall_ms);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        assert_eq!(clock(&limits, None, now), (wall, false));
        assert_eq!(clock(&limits, Some(now + wall * 2), now), (wall, false));
        assert_eq!(clock(&limits, Some(now + wall / 2), now), (wall / 2, true));
        let past = now - Duration::from_secs(1);
        assert_eq!(
            clock(&limits, Some(past), now),
            (Duration::from_millis(1), true)
        );
    }
}
