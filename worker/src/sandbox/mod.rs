//! What may be done to a sandbox, by the state it is in.
//!
//! One rule makes the rest safe: **a sandbox is reused only if the code says so aloud, and every
//! silent path retires it.** Reset is reached by a method that must be called; retirement is
//! reached by `Drop`. An early return, a `?`, a panic or a cancelled future therefore retires the
//! sandbox, and no one need remember to.
//!
//! A job cannot be started in a sandbox that is not leased:
//!
//! ```compile_fail,E0599
//! # use kiln::sandbox::*;
//! fn wrong(sandbox: Sandbox<Warm>) {
//!     sandbox.started();
//! }
//! ```
//!
//! Nor can a used one be handed to the pool as a warm one:
//!
//! ```compile_fail,E0308
//! # use kiln::sandbox::*;
//! fn wrong(pool: &mut Vec<Sandbox<Warm>>, used: Sandbox<Spent>) {
//!     pool.push(used);
//! }
//! ```
//!
//! Nor can one lease run two jobs:
//!
//! ```compile_fail,E0382
//! # use kiln::sandbox::*;
//! fn wrong(leased: Sandbox<Leased>) {
//!     let first = leased.started();
//!     let second = leased.started();
//! }
//! ```

pub mod cell;
pub mod channel;
pub mod host;
pub mod posture;

use crate::pool::phase::Phase;
use crate::pool::watch::{Moved, Watchers};
use cell::Cell;
use channel::Channel;
use host::{HostError, Line, Reset};
use kiln_keeper::wire::{FromWorker, to_bytes};
use kiln_warden::wire::{CellLimits, Residue, SandboxId};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// A sandbox in the state `S`. Each state holds what only that state has.
#[derive(Debug)]
#[must_use = "dropping a sandbox retires it"]
pub struct Sandbox<S> {
    body: Body,
    state: S,
}

/// Its cell waits; the pool owns it.
#[derive(Debug)]
pub struct Warm {
    cell: Cell,
}

/// Promised to one job.
#[derive(Debug)]
pub struct Leased {
    cell: Cell,
}

/// The job's code runs in it.
#[derive(Debug)]
pub struct Running {
    cell: Cell,
}

/// Every process of the job is dead; its files are still there to collect.
#[derive(Debug)]
pub struct Spent {
    cell: Cell,
}

/// Word to the pool that a sandbox is out of use and is to be torn down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retirement {
    pub id: SandboxId,
    pub profile: Arc<str>,
}

/// The tie between a type of state and the phase the pool records of it.
pub trait State: std::fmt::Debug {
    const PHASE: Phase;
    fn cell(&self) -> &Cell;
}

macro_rules! states {
    ($($state:ident => $phase:ident),*) => {$(
        impl State for $state {
            const PHASE: Phase = Phase::$phase;
            fn cell(&self) -> &Cell {
                &self.cell
            }
        }
    )*};
}
// To a registry a spent sandbox is still the job's: `Resetting` begins when the outputs are out.
states!(Warm => Warm, Leased => Leased, Running => Running, Spent => Running);

/// What every state shares, and the one place where a sandbox ends.
#[derive(Debug)]
struct Body {
    line: Line,
    profile: Arc<str>,
    image: Arc<str>,
    control: Channel,
    born: Instant,
    /// Jobs that have started in it.
    uses: u32,
    tenant: Option<Arc<str>>,
    /// The generation of its cell, or of the last it had.
    generation: u64,
    /// Why it would retire if it were dropped now, where somebody has said so.
    reason: Option<&'static str>,
    retired: UnboundedSender<Retirement>,
    watchers: Watchers,
}

impl Body {
    /// Tells whoever watches that the sandbox is in another phase.
    fn moved(&self, phase: Phase) {
        if self.watchers.is_empty() {
            return;
        }
        self.watchers.moved(&Moved {
            id: self.line.id,
            profile: Arc::clone(&self.profile),
            phase,
            generation: self.generation,
            uses: self.uses,
            tenant: self.tenant.clone(),
            reason: (phase == Phase::Retired).then_some(self.reason).flatten(),
        });
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.moved(Phase::Retired);
        let word = Retirement {
            id: self.line.id,
            profile: Arc::clone(&self.profile),
        };
        if self.retired.send(word).is_err() {
            // The pool has gone, so the warden is going, and the kernel ends its sandboxes.
            tracing::debug!(sandbox = %self.line.id, "a sandbox outlived its pool");
        }
    }
}

impl<S: State> Sandbox<S> {
    pub fn id(&self) -> SandboxId {
        self.body.line.id
    }
    pub fn profile(&self) -> &Arc<str> {
        &self.body.profile
    }
    pub fn image(&self) -> &str {
        &self.body.image
    }
    /// Jobs that have started in it, this one included once it has.
    pub fn uses(&self) -> u32 {
        self.body.uses
    }
    pub fn born(&self) -> Instant {
        self.body.born
    }
    /// The tenant of the last job, if there was one.
    pub fn tenant(&self) -> Option<&str> {
        self.body.tenant.as_deref()
    }
    pub fn cell(&self) -> &Cell {
        self.state.cell()
    }
    pub fn control(&self) -> &Channel {
        &self.body.control
    }

    /// Ends it, and says why.
    pub(crate) fn retire(mut self, reason: &'static str) {
        self.body.reason = Some(reason);
    }
}

impl Sandbox<Warm> {
    /// A sandbox as the warden has made it.
    pub(crate) fn made(
        made: host::Made,
        profile: Arc<str>,
        retired: UnboundedSender<Retirement>,
        watchers: Watchers,
    ) -> Self {
        let body = Body {
            line: made.line,
            profile,
            image: made.image,
            control: made.control,
            born: Instant::now(),
            uses: 0,
            tenant: None,
            generation: made.cell.generation,
            reason: None,
            retired,
            watchers,
        };
        body.moved(Warm::PHASE);
        Self {
            body,
            state: Warm { cell: made.cell },
        }
    }

    pub fn lease(self, tenant: Arc<str>) -> Sandbox<Leased> {
        let Self {
            mut body,
            state: Warm { cell },
        } = self;
        body.tenant = Some(tenant);
        body.moved(Leased::PHASE);
        Sandbox {
            body,
            state: Leased { cell },
        }
    }
}

impl Sandbox<Leased> {
    /// The staging socket, once.
    pub(crate) fn take_stage(&mut self) -> Option<OwnedFd> {
        self.state.cell.take_stage()
    }

    /// Has the kernel hold other limits than the profile's for this job, read back by the warden.
    pub(crate) async fn limit(&mut self, limits: CellLimits) -> Result<(), HostError> {
        self.body
            .line
            .limit(self.state.cell.generation, limits)
            .await?;
        self.state.cell.limits = limits;
        Ok(())
    }

    /// The start message is on its way: from here on the job's code may have run.
    pub fn started(self) -> Sandbox<Running> {
        let Self {
            mut body,
            state: Leased { cell },
        } = self;
        body.uses += 1;
        body.moved(Running::PHASE);
        Sandbox {
            body,
            state: Running { cell },
        }
    }
}

impl Sandbox<Running> {
    /// The keeper has said that nothing of the job lives, and the counters agree.
    pub(crate) fn ended(self) -> Sandbox<Spent> {
        let Self {
            body,
            state: Running { cell },
        } = self;
        Sandbox {
            body,
            state: Spent { cell },
        }
    }
}

impl Sandbox<Spent> {
    /// Lets go of everything of the cell that we hold, has the warden prove that nothing of the
    /// job is left, and takes the next cell.
    ///
    /// # Errors
    ///
    /// The sandbox is dirty or could not be proved clean. It has been retired.
    pub(crate) async fn reset(mut self) -> Result<Sandbox<Warm>, ResetError> {
        // Whatever ends this early ends the sandbox.
        self.body.reason = Some("reset");
        self.body.moved(Phase::Resetting);
        let generation = self.state.cell.generation;
        let finish = FromWorker::Finish { generation };
        self.body
            .control
            .send(&to_bytes(&finish.encode()), &[])
            .await
            .map_err(ResetError::Finish)?;
        self.state.cell.release();
        match self
            .body
            .line
            .reset(generation)
            .await
            .map_err(ResetError::Ask)?
        {
            Reset::Clean(cell) => {
                let Self { mut body, .. } = self;
                body.reason = None;
                body.generation = cell.generation;
                body.moved(Warm::PHASE);
                Ok(Sandbox {
                    body,
                    state: Warm { cell },
                })
            }
            Reset::Dirty(residue) => {
                self.body.reason = Some("dirty");
                Err(ResetError::Dirty(residue))
            }
        }
    }
}

/// Why a sandbox did not come back warm.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    #[error("tell the keeper that the job is over")]
    Finish(#[source] std::io::Error),
    #[error("ask the warden for a reset")]
    Ask(#[source] HostError),
    #[error("prove the sandbox clean: {0:?}")]
    Dirty(Vec<Residue>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::phase::Event;

    #[test]
    fn the_types_and_the_phases_agree() {
        let moves = [
            (Warm::PHASE, Event::Claimed, Leased::PHASE),
            (Leased::PHASE, Event::Started, Running::PHASE),
            (Spent::PHASE, Event::Released, Phase::Resetting),
            (Phase::Resetting, Event::Cleansed, Warm::PHASE),
        ];
        for (from, event, to) in moves {
            assert_eq!(from.after(event), Ok(to));
        }
    }
}
