//! Which limits a cell may have, and which CPUs its job runs on.

use crate::profile::{LimitName, LimitTable};
use crate::wire::CellLimits;

const NAMES: [LimitName; 6] = [
    LimitName::Memory,
    LimitName::Pids,
    LimitName::Cpus,
    LimitName::Disk,
    LimitName::Inodes,
    LimitName::OpenFiles,
];

fn values(limits: &CellLimits) -> [u64; NAMES.len()] {
    [
        limits.memory_bytes,
        limits.pids,
        limits.cpus_milli,
        limits.disk_bytes,
        limits.inodes,
        limits.open_files,
    ]
}

/// The limits of a cell where nobody asked for others.
pub(crate) fn defaults(table: &LimitTable) -> CellLimits {
    let default = |name| table.get(name).default;
    CellLimits {
        memory_bytes: default(LimitName::Memory),
        pids: default(LimitName::Pids),
        cpus_milli: default(LimitName::Cpus),
        disk_bytes: default(LimitName::Disk),
        inodes: default(LimitName::Inodes),
        open_files: default(LimitName::OpenFiles),
    }
}

/// Fails with what is wrong where a limit is outside of the profile's bounds. The worker checks
/// too; the warden does not rely on it.
pub(crate) fn within(table: &LimitTable, limits: &CellLimits) -> Result<(), String> {
    for (name, value) in NAMES.into_iter().zip(values(limits)) {
        let range = table.get(name);
        if !(range.minimum..=range.ceiling).contains(&value) {
            return Err(format!(
                "`{}` = `{value}` is not between `{}` and `{}`",
                name.wire_name(),
                range.minimum,
                range.ceiling
            ));
        }
    }
    Ok(())
}

/// As many of the `usable` CPUs as the quota can keep busy, beginning elsewhere for each slot.
pub(crate) fn affinity(usable: &[usize], cpus_milli: u64, slot: u32) -> u64 {
    let count = usize::try_from(cpus_milli.div_ceil(1000))
        .unwrap_or(usize::MAX)
        .clamp(1, usable.len().max(1));
    usable
        .iter()
        .cycle()
        .skip(slot as usize % usable.len().max(1))
        .take(count)
        .fold(0, |mask, cpu| mask | 1 << cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_within_and_one_more_than_a_ceiling_is_not() {
        let table = LimitTable::contract(2);
        let limits = defaults(&table);
        assert_eq!(within(&table, &limits), Ok(()));
        let above = CellLimits {
            memory_bytes: table.get(LimitName::Memory).ceiling + 1,
            ..limits
        };
        assert!(within(&table, &above).is_err());
        let below = CellLimits {
            open_files: table.get(LimitName::OpenFiles).minimum - 1,
            ..limits
        };
        assert!(within(&table, &below).is_err());
    }

    #[test]
    fn cpus_are_rounded_up_and_spread() {
        let usable = [0, 1, 5];
        assert_eq!(affinity(&usable, 50, 0), 0b00_0001);
        assert_eq!(affinity(&usable, 50, 1), 0b00_0010);
        assert_eq!(affinity(&usable, 1001, 2), 0b10_0001);
        assert_eq!(affinity(&usable, 64_000, 7), 0b10_0011);
    }
}
