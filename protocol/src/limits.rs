//! What limits are there, what may a job ask for, and what is then in force?

pub(crate) mod cpus;
mod name;

use crate::refusal::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use name::{LimitName, LimitUnit};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What one limit may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRange {
    /// In force where a job asks for nothing.
    pub default: u64,
    /// The least a job may ask for.
    pub minimum: u64,
    /// The most a job may ask for.
    pub ceiling: u64,
}

/// What every limit of a profile may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitTable {
    ranges: [LimitRange; 12],
    disk_as_memory: bool,
}

impl LimitTable {
    /// The table of the contract, on a host with so many CPUs.
    pub fn contract(host_cpus: u32) -> Self {
        let range = |default, ceiling, minimum| LimitRange {
            default,
            minimum,
            ceiling,
        };
        let ranges = LimitName::ALL.map(|name| match name {
            LimitName::Wall | LimitName::Cpu => range(60_000, 20 * 60_000, 10),
            LimitName::Cpus => range(1_000, u64::from(host_cpus.max(1)) * 1_000, 50),
            LimitName::Memory => range(512 * MIB, 4 * GIB, 16 * MIB),
            LimitName::Disk => range(512 * MIB, 4 * GIB, MIB),
            LimitName::Pids => range(64, 1_024, 1),
            LimitName::Inodes => range(20_000, 200_000, 16),
            LimitName::OpenFiles => range(1_024, 4_096, 16),
            LimitName::Stdout | LimitName::Stderr => range(MIB, 64 * MIB, 0),
            LimitName::ArtifactCount => range(100, 1_000, 0),
            LimitName::ArtifactSize => range(100 * MIB, GIB, 0),
        });
        Self {
            ranges,
            disk_as_memory: true,
        }
    }

    /// The range of one limit.
    pub fn get(&self, name: LimitName) -> LimitRange {
        self.ranges[name as usize]
    }

    /// Another default. A default of `Disk` ends its following of the memory asked for.
    pub fn set_default(&mut self, name: LimitName, value: u64) {
        self.ranges[name as usize].default = value;
        if name == LimitName::Disk {
            self.disk_as_memory = false;
        }
    }

    /// Another ceiling; the default may then be above it, which [`LimitTable::contradictions`] tells.
    pub fn set_ceiling(&mut self, name: LimitName, value: u64) {
        self.ranges[name as usize].ceiling = value;
    }

    /// Whether a job that asks for no disk gets as much as it has memory.
    pub fn disk_follows_memory(&self) -> bool {
        self.disk_as_memory
    }

    /// The limits whose default does not lie between minimum and ceiling.
    pub fn contradictions(&self) -> Vec<LimitName> {
        let out = |range: LimitRange| !(range.minimum..=range.ceiling).contains(&range.default);
        let follows = |name| name == LimitName::Disk && self.disk_as_memory;
        LimitName::ALL
            .into_iter()
            .filter(|&name| {
                let range = self.get(name);
                range.minimum > range.ceiling || (out(range) && !follows(name))
            })
            .collect()
    }

    /// The limits in force for a request, or everything in it that may not be.
    pub fn resolve(&self, request: &LimitRequest) -> Result<Limits, Vec<Refusal>> {
        let refusals: Vec<Refusal> = LimitName::ALL
            .into_iter()
            .filter_map(|name| self.refusal(name, request.get(name)?))
            .collect();
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let mut limits = Limits::default();
        for name in LimitName::ALL {
            let range = self.get(name);
            let default = if name == LimitName::Disk && self.disk_as_memory {
                // `ALL` has the memory before the disk.
                limits.memory_bytes.max(range.minimum)
            } else {
                range.default
            };
            *limits.slot(name) = request.get(name).unwrap_or(default.min(range.ceiling));
        }
        Ok(limits)
    }

    fn refusal(&self, name: LimitName, asked: u64) -> Option<Refusal> {
        let LimitRange {
            minimum, ceiling, ..
        } = self.get(name);
        let (side, bound) = if asked > ceiling {
            ("above the ceiling", ceiling)
        } else if asked < minimum {
            ("below the minimum", minimum)
        } else {
            return None;
        };
        let (field, unit) = (name.wire_name(), name.unit());
        let both = |value| match unit {
            LimitUnit::Duration | LimitUnit::Size => {
                format!("{} ({})", unit.figure(value), unit.format(value))
            }
            LimitUnit::Cpus | LimitUnit::Count => unit.figure(value),
        };
        Some(Refusal::bad(
            format!("/limits/{field}"),
            format!("`{field}` is {}, {side} of {}", both(asked), both(bound)),
            unit.figure(asked),
            format!("{} to {}", unit.figure(minimum), unit.figure(ceiling)),
        ))
    }
}

macro_rules! limit_fields {
    ($limits:expr, $name:expr, $($by:tt)+) => {
        match $name {
            LimitName::Wall => $($by)+ $limits.wall_ms,
            LimitName::Cpu => $($by)+ $limits.cpu_ms,
            LimitName::Cpus => $($by)+ $limits.cpus_milli,
            LimitName::Memory => $($by)+ $limits.memory_bytes,
            LimitName::Pids => $($by)+ $limits.pids,
            LimitName::Disk => $($by)+ $limits.disk_bytes,
            LimitName::Inodes => $($by)+ $limits.inodes,
            LimitName::OpenFiles => $($by)+ $limits.open_files,
            LimitName::Stdout => $($by)+ $limits.stdout_bytes,
            LimitName::Stderr => $($by)+ $limits.stderr_bytes,
            LimitName::ArtifactCount => $($by)+ $limits.artifact_count,
            LimitName::ArtifactSize => $($by)+ $limits.artifact_bytes,
        }
    };
}

/// The limits in force for one job; all are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "each field is documented at its `LimitName`")]
pub struct Limits {
    pub wall_ms: u64,
    pub cpu_ms: u64,
    /// A number of CPUs, which may be a fraction.
    #[serde(rename = "cpus", with = "cpus")]
    #[schemars(with = "f64")]
    pub cpus_milli: u64,
    pub memory_bytes: u64,
    pub pids: u64,
    pub disk_bytes: u64,
    pub inodes: u64,
    pub open_files: u64,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub artifact_count: u64,
    pub artifact_bytes: u64,
}

impl Limits {
    /// One of them by name; CPUs in thousandths.
    pub fn get(&self, name: LimitName) -> u64 {
        *limit_fields!(self, name, &)
    }

    /// CPUs rounded up: what the affinity and the thread counts inside agree with.
    pub fn cpus_whole(&self) -> u64 {
        self.cpus_milli.div_ceil(1_000).max(1)
    }

    fn slot(&mut self, name: LimitName) -> &mut u64 {
        limit_fields!(self, name, &mut)
    }
}

/// The limits that a job asks for; what it does not name is the profile's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "each field is documented at its `LimitName`")]
pub struct LimitRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// A number of CPUs, which may be a fraction.
    #[serde(rename = "cpus", with = "cpus::optional")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub cpus_milli: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_bytes: Option<u64>,
}

impl LimitRequest {
    /// What is asked for one limit; CPUs in thousandths.
    pub fn get(&self, name: LimitName) -> Option<u64> {
        *limit_fields!(self, name, &)
    }

    /// Asks for one limit.
    pub fn set(&mut self, name: LimitName, value: u64) {
        *limit_fields!(self, name, &mut) = Some(value);
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_the_default() {
        let limits = LimitTable::contract(2)
            .resolve(&LimitRequest::default())
            .expect("nothing was asked for");
        assert_eq!((limits.wall_ms, limits.cpus_milli), (60_000, 1_000));
        assert_eq!(limits.memory_bytes, limits.disk_bytes);
        assert!(LimitTable::contract(0).contradictions().is_empty());
    }

    #[test]
    fn the_disk_follows_the_memory_until_a_default_is_set() {
        let mut table = LimitTable::contract(1);
        table.set_ceiling(LimitName::Disk, 100 * MIB);
        let mut request = LimitRequest::default();
        request.set(LimitName::Memory, 64 * MIB);
        assert_eq!(
            table.resolve(&request).expect("in range").disk_bytes,
            64 * MIB
        );
        request.set(LimitName::Memory, GIB);
        assert_eq!(
            table.resolve(&request).expect("in range").disk_bytes,
            100 * MIB
        );
        table.set_default(LimitName::Disk, 7 * MIB);
        assert_eq!(
            table.resolve(&request).expect("in range").disk_bytes,
            7 * MIB
        );
    }

    #[test]
    fn every_limit_is_held_at_both_ends() {
        let table = LimitTable::contract(3);
        for name in LimitName::ALL {
            let LimitRange {
                minimum, ceiling, ..
            } = table.get(name);
            for (value, good) in [
                (Some(minimum), true),
                (Some(ceiling), true),
                (minimum.checked_sub(1), false),
                (Some(ceiling + 1), false),
            ] {
                let Some(value) = value else { continue };
                let mut request = LimitRequest::default();
                request.set(name, value);
                let resolved = table.resolve(&request);
                match &resolved {
                    Ok(limits) => assert_eq!(limits.get(name), value),
                    Err(refusals) => {
                        assert_eq!(refusals[0].pointer, format!("/limits/{}", name.wire_name()));
                    }
                }
                assert_eq!(resolved.is_ok(), good, "{name:?} {value}");
            }
        }
    }

    #[test]
    fn a_default_outside_its_range_is_told() {
        let mut table = LimitTable::contract(1);
        table.set_ceiling(LimitName::Wall, 1_000);
        assert_eq!(table.contradictions(), [LimitName::Wall]);
        let limits = table.resolve(&LimitRequest::default());
        assert_eq!(limits.expect("nothing was asked for").wall_ms, 1_000);
    }

    #[test]
    fn names_are_their_fields() {
        let limits = LimitTable::contract(1).resolve(&LimitRequest::default());
        let json = serde_json::to_value(limits.expect("nothing was asked for")).expect("JSON");
        for name in LimitName::ALL {
            let value = json[name.wire_name()].as_u64().expect("a number");
            assert_ne!(value, 1_000, "CPUs are not in thousandths");
            assert_eq!(LimitName::from_cli_name(name.cli_name()), Some(name));
            assert_eq!(LimitName::from_wire_name(name.wire_name()), Some(name));
        }
    }

    #[test]
    fn cpus_are_a_number() {
        let mut request = LimitRequest::default();
        request.set(LimitName::Cpus, 500);
        let json = serde_json::to_string(&request).expect("JSON");
        assert_eq!(json, r#"{"cpus":0.5}"#);
        assert_eq!(
            serde_json::from_str::<LimitRequest>(&json).expect("JSON"),
            request
        );
        let half = LimitTable::contract(1).resolve(&request).expect("in range");
        assert_eq!(half.cpus_whole(), 1);
    }
}
