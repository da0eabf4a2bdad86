//! Which guards has a test taken off? None, ever, in a program that is built without the feature
//! `unguarded`: there [`off`] is a constant, and what it would let through is not compiled.
//!
//! A guard that no test can take off is a guard of which nobody knows whether it holds anything.
//! `tests/tests/hostile/guards.rs` takes each off and has the matching probe breach. The
//! *disobedience* of a keeper that somebody has taken over is here too: the warden must notice.

macro_rules! guards {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal),* $(,)?) => {
        /// Something that can be taken off, or a way to disobey.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Guard { $($(#[doc = $doc])+ $name),* }

        impl Guard {
            /// All, with their words.
            pub const ALL: &[(Self, &str)] = &[$((Self::$name, $word)),*];
        }
    };
}

guards! {
    /// The job's system call filter.
    JobFilter = "job-filter",
    /// The keeper's system call filter, which jobs are under too.
    KeeperFilter = "keeper-filter",
    /// What the warden proves of a cell before a job may start.
    Proof = "proof",
    /// What the warden proves of a sandbox before its next cell.
    CleanProof = "clean-proof",
    /// The memory limit; four times as much is given.
    MemoryLimit = "memory-limit",
    /// The limit of processes; four times as many are given.
    PidsLimit = "pids-limit",
    /// The overlay of each sandbox.
    Overlay = "overlay",
    /// What lies over the cell's proc.
    Masks = "masks",
    /// `nosuid` and `nodev` on the writable places.
    MountFlags = "mount-flags",
    /// The size of the writable places; four times as much is given.
    DiskLimit = "disk-limit",
    /// The network namespace of each cell.
    CellNetwork = "cell-network",
    /// What the warden proves of a network namespace that is to serve again.
    NetworkProof = "network-proof",
    /// The ipc namespace of each cell.
    CellIpc = "cell-ipc",
    /// The loss of all capabilities.
    Capabilities = "capabilities",
    /// The core limit of 1.
    CoreLimit = "core-limit",
    /// The closing of descriptors.
    Descriptors = "descriptors",
    /// The hiding of other uids' processes.
    HiddenProcesses = "hidden-processes",
    /// The deadline.
    Deadline = "deadline",
    /// Links and what they lead to are not outputs.
    Links = "links",
    /// A process stays after the job.
    LeaveProcess = "leave-process",
    /// A descriptor stays after the job.
    LeaveDescriptor = "leave-descriptor",
    /// A mount stays after the job.
    LeaveMount = "leave-mount",
    /// Executable memory stays after the job.
    LeaveMemory = "leave-memory",
    /// The keeper changes a limit of its own.
    ChangeLimit = "change-limit",
    /// The waiter is not put into the job's control group.
    Unplaced = "unplaced",
    /// The scratch that is handed over is another.
    OtherScratch = "other-scratch",
    /// Nothing is ever said of the cell that was asked for.
    Silence = "silence",
    /// More is said than was asked for.
    Babble = "babble",
    /// The keeper tries to reach what is not its sandbox's, and tells how far it came.
    Reach = "reach",
}

#[cfg(not(feature = "unguarded"))]
pub use on::off;
#[cfg(feature = "unguarded")]
pub use switches::{off, take_off, words};

#[cfg(not(feature = "unguarded"))]
mod on {
    use super::Guard;

    /// Whether a guard is off: never.
    #[must_use]
    pub const fn off(_: Guard) -> bool {
        false
    }
}

#[cfg(feature = "unguarded")]
mod switches {
    use super::Guard;
    use std::sync::atomic::{AtomicU64, Ordering};

    static OFF: AtomicU64 = AtomicU64::new(0);

    fn bit(guard: Guard) -> u64 {
        1 << guard as u64
    }

    /// Whether a guard is off.
    #[must_use]
    pub fn off(guard: Guard) -> bool {
        OFF.load(Ordering::Relaxed) & bit(guard) != 0
    }

    /// Takes the guard of this word off; says whether there is one.
    #[must_use]
    pub fn take_off(word: &str) -> bool {
        let found = Guard::ALL.iter().find(|(_, name)| *name == word);
        if let Some((guard, _)) = found {
            OFF.fetch_or(bit(*guard), Ordering::Relaxed);
        }
        found.is_some()
    }

    /// The words of those that are off.
    #[must_use]
    pub fn words() -> Vec<String> {
        let off = Guard::ALL.iter().filter(|(guard, _)| off(*guard));
        off.map(|(_, word)| (*word).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(feature = "unguarded"))]
    fn without_the_feature_every_guard_is_on() {
        assert!(Guard::ALL.len() < 64);
        assert!(Guard::ALL.iter().all(|(guard, _)| !off(*guard)));
    }
}
