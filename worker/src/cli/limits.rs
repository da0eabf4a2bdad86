//! What does `--limit NAME=VALUE` ask for?

use kiln_protocol::limits::{LimitName, LimitRange, LimitRequest, LimitTable, LimitUnit};
use kiln_protocol::units::UnitError;
use std::fmt::Write as _;

/// Edits by which a name may differ from the one that was meant.
const EDITS_MAX: usize = 2;

/// Why a limit is not understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LimitError {
    #[error("`--limit {given}` is not NAME=VALUE, such as `memory=256MiB`")]
    NoValue { given: String },
    #[error("unknown limit `{name}`{}", meant(.name))]
    Unknown { name: String },
    #[error("limit `{name}`")]
    Value {
        /// As it was given.
        name: String,
        source: UnitError,
    },
}

/// Every limit with what holds where a profile says nothing else, for the help.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "A limit; may be given many times. Durations such as 500ms, 10s, 2m; sizes such as 64KiB, \
         256MiB, 1GB. A profile may change the defaults and lower the most:\n",
    );
    let table = LimitTable::contract(1);
    for name in LimitName::ALL {
        let LimitRange {
            default,
            ceiling,
            minimum,
        } = table.get(name);
        let unit = name.unit();
        let default = match name {
            LimitName::Disk => "as memory".to_owned(),
            _ => unit.format(default),
        };
        let most = match unit {
            LimitUnit::Cpus => "the host's".to_owned(),
            LimitUnit::Duration | LimitUnit::Size | LimitUnit::Count => unit.format(ceiling),
        };
        let (name, least) = (name.cli_name(), unit.format(minimum));
        write!(
            text,
            "\n  {name:<15} default {default}, most {most}, least {least}"
        )
        .expect("a string takes whatever is written");
    }
    text
}

/// All limits that are asked for; of two with one name the last counts.
pub(crate) fn parse(given: &[String]) -> Result<LimitRequest, LimitError> {
    let mut request = LimitRequest::default();
    for argument in given {
        let (name, value) = argument
            .split_once('=')
            .ok_or_else(|| LimitError::NoValue {
                given: argument.clone(),
            })?;
        let limit = named(name).ok_or_else(|| LimitError::Unknown {
            name: name.to_owned(),
        })?;
        let value = limit
            .unit()
            .parse(value)
            .map_err(|source| LimitError::Value {
                name: name.to_owned(),
                source,
            })?;
        request.set(limit, value);
    }
    Ok(request)
}

/// The limit of a name, which may be that of its field in a job.
fn named(name: &str) -> Option<LimitName> {
    LimitName::from_cli_name(name).or_else(|| LimitName::from_wire_name(name))
}

/// The argument that asked for the limit of a field in a job; of two the last counts.
pub(crate) fn argument<'a>(given: &'a [String], field: &str) -> Option<&'a str> {
    let limit = LimitName::from_wire_name(field)?;
    given
        .iter()
        .rev()
        .map(String::as_str)
        .find(|argument| argument.split_once('=').and_then(|(name, _)| named(name)) == Some(limit))
}

/// What was probably meant, else what there is.
fn meant(name: &str) -> String {
    let likely = LimitName::ALL
        .into_iter()
        .map(|limit| (distance(name, limit.cli_name()), limit))
        .filter(|(edits, limit)| {
            *edits <= EDITS_MAX || (name.len() > 2 && limit.cli_name().starts_with(name))
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, limit)| limit);
    match likely {
        Some(limit) => format!("; did you mean `{}`?", limit.cli_name()),
        None => format!(
            "; the limits are {}",
            LimitName::ALL.map(LimitName::cli_name).join(", ")
        ),
    }
}

/// The edits from one word to another (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(given: &[&str]) -> Result<LimitRequest, String> {
        let given: Vec<_> = given.iter().map(ToString::to_string).collect();
        parse(&given).map_err(|error| crate::fault::chain(&error))
    }

    #[test]
    fn every_name_is_understood() {
        let found = asked(&[
            "wall=10s",
            "cpu=500ms",
            "cpus=0.5",
            "memory=256MiB",
            "pids=8",
            "disk=1GB",
            "inodes=100",
            "open-files=64",
            "stdout=64KiB",
            "stderr=0B",
            "artifact-count=3",
            "artifact-size=1MiB",
        ])
        .expect("each is right");
        let figures = LimitName::ALL.map(|name| found.get(name).expect("each was asked for"));
        assert_eq!(
            figures,
            [
                10_000,
                500,
                500,
                268_435_456,
                8,
                1_000_000_000,
                100,
                64,
                65_536,
                0,
                3,
                1_048_576
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (given, wanted) in [
            (
                "memory",
                "`--limit memory` is not NAME=VALUE, such as `memory=256MiB`",
            ),
            (
                "memory=256",
                "limit `memory`: `256` has no unit: write it as `256B`, `256KiB` or `256MiB`",
            ),
            (
                "wall=10",
                "limit `wall`: `10` has no unit: write it as `10ms` or `10s`",
            ),
            (
                "memroy=1MiB",
                "unknown limit `memroy`; did you mean `memory`?",
            ),
            ("mem=1MiB", "unknown limit `mem`; did you mean `memory`?"),
            (
                "wall_ms=1",
                "limit `wall_ms`: `1` has no unit: write it as `1ms` or `1s`",
            ),
            (
                "openfiles=1",
                "unknown limit `openfiles`; did you mean `open-files`?",
            ),
            (
                "frobnicate=1",
                "unknown limit `frobnicate`; the limits are wall, cpu, cpus, memory, pids, disk, \
                 inodes, open-files, stdout, stderr, artifact-count, artifact-size",
            ),
        ] {
            assert_eq!(asked(&[given]), Err(wanted.to_owned()));
        }
        assert!(asked(&["pids=-1"]).is_err());
        assert!(asked(&["cpus=fast"]).is_err());
    }

    #[test]
    fn the_last_of_two_counts() {
        let found = asked(&["pids=1", "pids=2"]).expect("both are right");
        assert_eq!(found.pids, Some(2));
    }

    #[test]
    fn the_names_of_a_job_are_understood_too() {
        let found = asked(&["memory_bytes=1GiB", "wall_ms=5s", "open_files=64", "cpus=2"])
            .expect("each is right");
        assert_eq!(found.memory_bytes, Some(1 << 30));
        assert_eq!(found.wall_ms, Some(5_000));
        assert_eq!(found.open_files, Some(64));
        let given = ["memory=1GiB", "pids=3", "memory_bytes=2GiB"].map(str::to_owned);
        assert_eq!(argument(&given, "memory_bytes"), Some("memory_bytes=2GiB"));
        assert_eq!(argument(&given, "pids"), Some("pids=3"));
        assert_eq!(argument(&given, "wall_ms"), None);
        assert_eq!(argument(&given, "nonsense"), None);
    }

    #[test]
    fn the_help_has_every_limit_with_its_figures() {
        let help = help();
        for name in LimitName::ALL {
            let line = format!("\n  {} ", name.cli_name());
            assert!(help.contains(&line), "{} is not in {help}", name.cli_name());
        }
        for line in [
            "  wall            default 60 s, most 20 min, least 10 ms",
            "  cpus            default 1, most the host's, least 0.05",
            "  memory          default 512 MiB, most 4 GiB, least 16 MiB",
            "  disk            default as memory, most 4 GiB, least 1 MiB",
        ] {
            assert!(help.contains(line), "`{line}` is not in {help}");
        }
    }
}
