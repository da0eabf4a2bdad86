//! Which step of the keeper's work failed: one list of numbers and of words for them.
//!
//! A [`crate::wire::ToWarden::Failed`] carries the number; [`name`] gives the words that complete
//! "failed to …".

macro_rules! steps {
    ($($step:ident = $text:literal,)*) => {
        /// A step that can fail, in the order in which they are taken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Step {
            $(#[doc = $text] $step,)*
        }

        impl Step {
            /// Every step, at the place of its number.
            pub const ALL: &[Self] = &[$(Self::$step),*];

            /// The words for it.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$step => $text,)*
                }
            }
        }
    };
}

steps! {
    UnmapClocks = "unmap the kernel's code for asking the time",
    HideKeeper = "make the keeper not dumpable",
    ClearSignals = "reset the keeper's signals",
    MaskFiles = "make the read-only files behind the masks",
    Loopback = "raise the loopback device",
    KeeperFilter = "install the keeper's filter",
    Network = "make a network namespace for the cell",
    Sockets = "make the cell's sockets",
    CloneCell = "clone the cell's init",
    CellDescriptors = "drop the keeper's descriptors in the cell's init",
    PrivateMounts = "make the cell's mounts private",
    Scratch = "mount the cell's tmpfs",
    ScratchDirectories = "make the directories of the cell's tmpfs",
    BindScratch = "bind a directory of the cell's tmpfs",
    Proc = "mount the cell's proc",
    Mask = "mask a file of the cell's proc",
    ReadOnlySys = "make `/proc/sys` of the cell read-only",
    HostName = "set the cell's host name",
    CloneWaiter = "clone the waiting process",
    MapIds = "map the ids of the cell's user namespace",
    CellLock = "drop the capabilities of the cell's init",
    SendScratch = "hand the cell's tmpfs to the keeper",
    Place = "place the waiting process in its control group",
    CgroupNamespace = "make the cell's cgroup namespace",
    AwaitMap = "wait for the map of ids",
    CloneStager = "clone the stager",
    Session = "make a session of its own",
    BoundingSet = "drop the capability bounding set",
    Ids = "change to the process's own ids",
    Capabilities = "set the process's capabilities",
    NoNewPrivileges = "give up new privileges",
    ResourceLimits = "set a resource limit",
    Affinity = "set the CPU affinity",
    WorkingDirectory = "change to the working directory",
    Descriptors = "close every other descriptor",
    JobFilter = "install the job's filter",
    SendListener = "hand the filter's listener to the keeper",
    CellDied = "keep the cell alive until it was built",
    Resize = "resize the cell's tmpfs",
    CloneCollector = "clone the collector",
}

/// The words for a step's number; they complete "failed to …".
#[must_use]
pub fn name(step: u32) -> &'static str {
    usize::try_from(step)
        .ok()
        .and_then(|n| Step::ALL.get(n))
        .map_or("do a step that has no name", |step| step.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_its_place_in_the_list() {
        for (place, step) in Step::ALL.iter().enumerate() {
            assert_eq!(*step as usize, place);
            assert_eq!(name(*step as u32), step.text());
        }
    }

    #[test]
    fn an_unknown_number_is_said_to_be_one() {
        assert_eq!(name(u32::MAX), "do a step that has no name");
    }
}
