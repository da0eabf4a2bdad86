//! Which words may a label hold? Each set is closed, so nobody outside can make series.

use kiln_protocol::outcome::{Outcome, Reason};

/// Makes a set of words: each value with its word.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$own:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$own])* $value,)+
        }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// The word of the label.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }
    };
}

words! {
    /// Which of the two connections to the broker.
    Role { Consumer = "consumer", Publisher = "publisher", }
}

words! {
    /// What the broker made of an answer to a delivery.
    AckResult {
        Ok = "ok",
        /// The delivery was no longer ours: it is, or will be, delivered again.
        Stale = "stale",
        Error = "error",
    }
}

words! {
    /// What a job of the worker's own looks for.
    Canary { Residue = "residue", Isolation = "isolation", }
}

words! {
    /// Why a message is in the queue of dead letters: the words of the contract.
    DeadReason {
        BadMessage = "bad_message",
        NoId = "no_id",
        TooLarge = "too_large",
        WorkerCrash = "worker_crash",
        Retries = "retries",
    }
}

words! {
    /// The step of a job's life that failed by our fault.
    Step {
        Admit = "admit",
        Journal = "journal",
        Fetch = "fetch",
        Secrets = "secrets",
        Lease = "lease",
        Start = "start",
        Wait = "wait",
        Collect = "collect",
        Screen = "screen",
        Keep = "keep",
        Commit = "commit",
        Crash = "crash",
    }
}

words! {
    /// What a job may run into.
    Limit {
        WallTime = "wall_time",
        CpuTime = "cpu_time",
        Memory = "memory",
        Pids = "pids",
        Disk = "disk",
        Inodes = "inodes",
        Output = "output",
        Syscall = "syscall",
        Network = "network",
    }
}

words! {
    /// What somebody dead had left.
    Orphan {
        /// The sandboxes of a worker that was killed.
        Instance = "instance",
        /// The record in Redis of a worker that was not heard of.
        Record = "record",
        /// What a run that lost had stored.
        Object = "object",
    }
}

words! {
    /// What a worker has of the kernel's.
    Holding {
        Cgroup = "cgroup",
        Mount = "mount",
        Namespace = "namespace",
        Process = "process",
    }
}

words! {
    /// A folder of the worker's.
    Disk { State = "state", Store = "store", Runtime = "runtime", }
}

words! {
    /// Which way bytes go, as the store sees it.
    Direction { In = "in", Out = "out", }
}

impl Limit {
    /// Whether a job ran into it, be it that it ended there or went on.
    pub(super) fn was_hit(self, outcome: &Outcome) -> bool {
        let word = self.as_str();
        outcome.reason.as_ref().map(Reason::as_str) == Some(word)
            || outcome.warnings.iter().any(|warning| warning.code == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_a_reason_of_the_contract() {
        for word in Limit::ALL.map(Limit::as_str) {
            assert!(Reason::WORDS.contains(&word), "{word}");
        }
    }
}
