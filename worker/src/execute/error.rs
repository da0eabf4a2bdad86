//! What can fail between a leased sandbox and a job's end?

use super::KEEPER_LATE;
use crate::egress::client::EgressError;
use crate::sandbox::host::HostError;
use kiln_warden::counters::CounterError;
use std::io;

/// Why a job could not be run or seen to its end. Ours, never the job's.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error("set the job's limits")]
    Limit(#[source] HostError),
    #[error("stage `{path}`")]
    Stage { path: String, source: io::Error },
    #[error("write the program for the keeper")]
    Program(#[source] io::Error),
    #[error("make the job's streams")]
    Streams(#[source] io::Error),
    #[error("speak to the keeper")]
    Keeper(#[source] io::Error),
    #[error("hear from the keeper: it is gone")]
    KeeperGone,
    #[error("hear how the job ended: its cell broke")]
    CellBroken,
    #[error("hear from the keeper by {} s after the deadline", KEEPER_LATE.as_secs())]
    KeeperLate,
    #[error("understand the keeper: {0}")]
    KeeperNonsense(&'static str),
    #[error("read the job's counters")]
    Counters(#[source] CounterError),
    #[error("see the job's cgroup empty")]
    NotEmpty,
    #[error("look at the job's scratch")]
    Scratch(#[source] io::Error),
    #[error("give the job its network")]
    Network(#[source] EgressError),
}
