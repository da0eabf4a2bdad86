//! What the worker may ask of the warden, and what comes back.
//!
//! One `SOCK_SEQPACKET` socket; a message is one JSON object of at most [`MESSAGE_MAX`] bytes,
//! descriptors travel beside it by `SCM_RIGHTS` in the order documented on the variant. The worker
//! names profiles and limits; it cannot name a path, an image or a container spec.
//!
//! ```text
//!   worker: Create ─────────► Created ─► Ready (generation 1)
//!           Limit  ─────────► Limited
//!           (the job runs: worker and keeper alone)
//!           Reset  ─────────► Ready (generation + 1)   proved clean, next cell waits
//!                        └──► Dirty, Retired
//!           Retire ─────────► Retired
//! ```

use crate::counters::Counter;
use serde::{Deserialize, Serialize};

/// Bytes of one message at most.
pub const MESSAGE_MAX: usize = 64 * 1024;

/// A sandbox of this warden; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SandboxId(pub u32);

impl std::fmt::Display for SandboxId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sbx-{}", self.0)
    }
}

/// The limits that the kernel holds for one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellLimits {
    pub memory_bytes: u64,
    pub pids: u64,
    /// CPU quota in thousandths of a CPU.
    pub cpus_milli: u64,
    pub disk_bytes: u64,
    pub inodes: u64,
    pub open_files: u64,
}

/// From the worker to the warden.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Makes a sandbox of a profile and its first cell. `seq` comes back in the answer.
    Create { seq: u64, profile: String },
    /// Sets other limits than the profile's on the waiting cell, and reads them back.
    Limit {
        sandbox: SandboxId,
        generation: u64,
        limits: CellLimits,
    },
    /// The job of this generation is over and its scratch dropped (`Finish`): prove, make the
    /// next cell.
    Reset { sandbox: SandboxId, generation: u64 },
    /// Ends a sandbox, whatever it does.
    Retire { sandbox: SandboxId },
    /// Ends every sandbox and the warden.
    Shutdown,
}

/// The kernel's control group interface in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    V1,
    V2,
}

/// From the warden to the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The first message: the warden can work.
    Welcome {
        cgroup: CgroupVersion,
        instance: String,
        /// Dead instances that were swept before.
        swept: u32,
    },
    /// The first and last message: the warden cannot work here.
    Refused {
        message: String,
        remedy: String,
    },
    /// Descriptor: the worker's end of the keeper's control socket.
    Created {
        seq: u64,
        sandbox: SandboxId,
        image: String,
    },
    /// `platform` is false where the request itself was wrong (an unknown profile).
    CreateFailed {
        seq: u64,
        message: String,
        platform: bool,
    },
    /// A cell waits, its limits are read back, its process is proved. Descriptors: the scratch's
    /// root directory; the staging socket; then one for each of `counters`.
    Ready {
        sandbox: SandboxId,
        generation: u64,
        limits: CellLimits,
        counters: Vec<Counter>,
    },
    Limited {
        sandbox: SandboxId,
        generation: u64,
    },
    /// A limit could not be set or proved; the sandbox is being retired.
    LimitFailed {
        sandbox: SandboxId,
        message: String,
    },
    /// The reset could not be proved; the sandbox is being retired.
    Dirty {
        sandbox: SandboxId,
        residue: Vec<Residue>,
    },
    /// The sandbox broke by itself (keeper gone, a step of the next cell failed).
    Broken {
        sandbox: SandboxId,
        message: String,
    },
    /// Nothing of the sandbox is left; or, with `failed`, what is.
    Retired {
        sandbox: SandboxId,
        failed: Option<String>,
    },
}

impl Event {
    /// Descriptors that come with the event.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        match self {
            Self::Created { .. } => 1,
            Self::Ready { counters, .. } => 2 + counters.len(),
            _ => 0,
        }
    }
}

/// What a job may leave behind, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResidueKind {
    Process,
    Cgroup,
    Mount,
    Descriptor,
    Namespace,
    Memory,
    Posture,
    Key,
    Limit,
    /// A look that failed: doubt is dirt.
    Unreadable,
}

/// One thing that should not be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residue {
    pub kind: ResidueKind,
    /// What was expected and what was found.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_is_refused() {
        let text = r#"{"ask":"create","seq":1,"profile":"python","image":"/"}"#;
        assert!(serde_json::from_str::<Request>(text).is_err());
    }
}
