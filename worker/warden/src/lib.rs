//! The warden: the only process that makes and unmakes sandboxes, and the only crate that says
//! libcontainer.
//!
//! # Layout
//!
//! - [`wire`]: what the worker may ask, and what comes back
//! - [`client`]: how a worker starts its warden and speaks to it
//! - [`profile`]: the kinds of sandbox that exist, with their limits and ceilings
//! - [`counters`]: the kernel's figures about a job, read from descriptors the warden hands out
//! - [`start`]: what must hold before a warden works; its `main`
//! - `monitor`: who outlives the warden, to sweep after it
//! - `serve`: the loop that answers the worker and listens to the keepers
//! - `sandbox`: one sandbox, its state and its transitions
//! - `container`, `spec`, `devices`, `keeper`: what libcontainer makes, and how its first process is told
//! - `userns`: whose user namespace a sandbox lives in
//! - `proof`: what is proved about a sandbox from the host's side
//! - `limits`: which limits a cell may have
//! - `instance`, `uids`: what wardens of one machine share, by locks
//! - [`cgroup`]: the control groups that hold a sandbox and its jobs
//! - [`seccomp`]: the system calls a job, and a keeper, may make
//! - [`image`]: what a sandbox sees as its file system
//! - [`confine`]: how a process that is no sandbox gives up everything but its descriptors
//! - [`socket`], [`memfd`], `sys`: descriptors over sockets; files in memory; what has no safe form

pub mod cgroup;
pub mod client;
pub mod confine;
mod container;
pub mod counters;
mod devices;
pub mod image;
mod instance;
mod keeper;
mod kernel;
mod limits;
pub mod memfd;
mod monitor;
pub mod profile;
mod proof;
mod sandbox;
pub mod seccomp;
mod serve;
pub mod socket;
mod spec;
pub mod start;
mod sys;
mod uids;
mod userns;
pub mod wire;

pub use instance::RUNTIME;
pub use start::{CGROUP_PARENT, main};
pub use uids::{BASE as UID_BASE, BLOCK as UID_BLOCK};

use std::error::Error;
use std::fmt::Write;

/// A static program that tries, inside a sandbox, what a job must not be able to do; its words are
/// told by its own first lines (`worker/keeper/prober`).
pub const PROBER: &[u8] = include_bytes!(env!("KILN_PROBER"));

/// An error with everything that led to it, in one line.
///
/// # Panics
///
/// Never: a string takes whatever is written.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let why = cause.to_string();
        // Some errors say what their source says, and then have it say so again.
        if !text.ends_with(&why) {
            write!(text, ": {why}").expect("a string takes whatever is written");
        }
        source = cause.source();
    }
    text
}
