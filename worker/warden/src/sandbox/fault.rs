//! Why a sandbox is of no use any more, and what the worker hears of it.

use crate::cgroup::CgroupError;
use crate::container::ContainerError;
use crate::keeper::KeeperError;
use crate::proof::Differs;
use crate::proof::network::NetworkError;
use crate::proof::placed::PlacedError;
use crate::proof::process::LookError;
use crate::wire::{Event, Residue, SandboxId};
use std::io;

/// Why a sandbox is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("speak to the keeper")]
    Keeper(#[from] KeeperError),
    #[error("have the keeper {}", kiln_keeper::step::name(*step))]
    Step {
        step: u32,
        #[source]
        errno: io::Error,
    },
    #[error("hear from the keeper in time")]
    Late,
    #[error("keep the keeper alive: it ended")]
    Ended,
    #[error("accept `{what}` while the sandbox is `{state}`")]
    Illegal { what: String, state: &'static str },
    #[error("take away what the sandbox was made with")]
    Strip(#[from] ContainerError),
    #[error("look at the keeper")]
    Look(#[from] LookError),
    #[error("prove the keeper")]
    Locked(#[from] Differs),
    #[error("make the control group of a cell")]
    Group(#[from] CgroupError),
    #[error("prove the waiting process")]
    Placed(#[from] PlacedError),
    #[error("prove the cell's network")]
    Network(#[from] NetworkError),
    #[error("find ids for another job: all were used")]
    Ids,
    #[error("duplicate a descriptor")]
    Descriptor(#[source] io::Error),
    #[error("limit the cell")]
    Limit(#[source] Box<Fault>),
    #[error("take these limits: {0}")]
    Bounds(String),
    #[error("change a limit of the waiting process")]
    Process(#[source] io::Error),
    #[error("prove that nothing is left of the job")]
    Dirty(Vec<Residue>),
}

impl Fault {
    /// What the worker hears.
    pub(crate) fn event(self, sandbox: SandboxId) -> Event {
        match self {
            Self::Dirty(residue) => Event::Dirty { sandbox, residue },
            Self::Limit(fault) => Event::LimitFailed {
                sandbox,
                message: format!("failed to {}", crate::chain(&*fault)),
            },
            fault => Event::Broken {
                sandbox,
                message: format!("failed to {}", crate::chain(&fault)),
            },
        }
    }
}
