//! What is a limit called in a job and on the command line, and how is its value written?

use crate::units::{self, UnitError};

/// How a limit's value is counted and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// Milliseconds; on the command line a duration.
    Duration,
    /// Bytes; on the command line a size.
    Size,
    /// Thousandths of a CPU; in JSON and on the command line a number of CPUs.
    Cpus,
    /// A number of things.
    Count,
}

impl LimitUnit {
    /// Reads a value as it is written on the command line.
    pub fn parse(self, text: &str) -> Result<u64, UnitError> {
        match self {
            Self::Duration => units::parse_duration(text),
            Self::Size => units::parse_size(text),
            Self::Cpus => units::parse_cpus(text),
            Self::Count => units::parse_count(text),
        }
    }

    /// A value for a message.
    pub fn format(self, value: u64) -> String {
        match self {
            Self::Duration => units::format_duration_ms(value),
            Self::Size => units::format_size(value),
            Self::Cpus => units::format_cpus(value),
            Self::Count => value.to_string(),
        }
    }

    /// A value as it stands in the job: the figure alone.
    pub fn figure(self, value: u64) -> String {
        match self {
            Self::Cpus => units::format_cpus(value),
            Self::Duration | Self::Size | Self::Count => value.to_string(),
        }
    }
}

/// The name of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitName {
    /// Time from start to end.
    Wall,
    /// User and system time of all processes.
    Cpu,
    /// CPU quota.
    Cpus,
    /// Memory of the job's group, its files included.
    Memory,
    /// Processes and threads at once.
    Pids,
    /// Bytes in all writable places.
    Disk,
    /// Files and folders in all writable places.
    Inodes,
    /// Descriptors of each process.
    OpenFiles,
    /// Bytes of standard output that are kept.
    Stdout,
    /// Bytes of standard error that are kept.
    Stderr,
    /// Artifacts that are kept.
    ArtifactCount,
    /// Bytes of all artifacts together.
    ArtifactSize,
}

impl LimitName {
    /// All of them, in the order of the contract.
    pub const ALL: [Self; 12] = [
        Self::Wall,
        Self::Cpu,
        Self::Cpus,
        Self::Memory,
        Self::Pids,
        Self::Disk,
        Self::Inodes,
        Self::OpenFiles,
        Self::Stdout,
        Self::Stderr,
        Self::ArtifactCount,
        Self::ArtifactSize,
    ];

    /// The name of its field in a job and an outcome.
    pub fn wire_name(self) -> &'static str {
        self.words().0
    }

    /// The name after `--limit`.
    pub fn cli_name(self) -> &'static str {
        self.words().1
    }

    /// How its value is counted.
    pub fn unit(self) -> LimitUnit {
        self.words().2
    }

    /// The limit with this name on the command line.
    pub fn from_cli_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.cli_name() == name)
    }

    /// The limit with this name in a job.
    pub fn from_wire_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|limit| limit.wire_name() == name)
    }

    fn words(self) -> (&'static str, &'static str, LimitUnit) {
        match self {
            Self::Wall => ("wall_ms", "wall", LimitUnit::Duration),
            Self::Cpu => ("cpu_ms", "cpu", LimitUnit::Duration),
            Self::Cpus => ("cpus", "cpus", LimitUnit::Cpus),
            Self::Memory => ("memory_bytes", "memory", LimitUnit::Size),
            Self::Pids => ("pids", "pids", LimitUnit::Count),
            Self::Disk => ("disk_bytes", "disk", LimitUnit::Size),
            Self::Inodes => ("inodes", "inodes", LimitUnit::Count),
            Self::OpenFiles => ("open_files", "open-files", LimitUnit::Count),
            Self::Stdout => ("stdout_bytes", "stdout", LimitUnit::Size),
            Self::Stderr => ("stderr_bytes", "stderr", LimitUnit::Size),
            Self::ArtifactCount => ("artifact_count", "artifact-count", LimitUnit::Count),
            Self::ArtifactSize => ("artifact_bytes", "artifact-size", LimitUnit::Size),
        }
    }
}
