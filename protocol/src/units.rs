//! How is a size or a duration written by a person, and how is one shown to a person?

/// The units of a size, the longest suffix first, so that `B` does not shadow `KiB`.
const SIZES: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// The units of a duration, in milliseconds; `ms` before `m` and `s`.
const DURATIONS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Digits after the point that are read; more than these say nothing about a byte of a GiB.
const FRACTION_DIGITS_MAX: usize = 9;

/// Why a written size, duration or number was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A bare number where a unit is needed.
    #[error("`{given}` has no unit: write it as {right}")]
    Bare {
        /// What was written.
        given: String,
        /// What could have been meant, in backticks.
        right: String,
    },
    /// A unit that does not exist.
    #[error("`{given}` has an unknown unit: the units are {units}")]
    UnknownUnit {
        /// What was written.
        given: String,
        /// The units there are.
        units: &'static str,
    },
    /// No number, a sign, two points, or more digits than are read.
    #[error("`{given}` is not a number{of}")]
    NotANumber {
        /// What was written.
        given: String,
        /// What kind of number was wanted.
        of: &'static str,
    },
    /// Finer than the unit that counts.
    #[error("`{given}` is not a whole number of milliseconds")]
    TooFine {
        /// What was written.
        given: String,
    },
    /// Past 64 bits.
    #[error("`{given}` is too large")]
    TooLarge {
        /// What was written.
        given: String,
    },
}

/// Bytes of a size such as `64KiB`, `256MiB`, `1.5GiB` or `1GB`; a part of a byte is dropped.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text, &SIZES, "B, KiB, MiB, GiB, KB, MB, GB", |n| {
        format!("`{n}B`, `{n}KiB` or `{n}MiB`")
    })?;
    let (units, _rest) = scaled(text, number, unit)?;
    Ok(units)
}

/// Milliseconds of a duration such as `500ms`, `10s`, `2m`, `1h` or `1.5s`.
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text, &DURATIONS, "ms, s, m, h", |n| {
        format!("`{n}ms` or `{n}s`")
    })?;
    let (ms, rest) = scaled(text, number, unit)?;
    if rest == 0 {
        Ok(ms)
    } else {
        Err(UnitError::TooFine { given: shown(text) })
    }
}

/// Thousandths of a CPU in a number such as `1`, `0.5` or `2.25`; finer parts are dropped.
pub fn parse_cpus(text: &str) -> Result<u64, UnitError> {
    scaled(text, text, 1_000).map(|(milli, _rest)| milli)
}

/// A whole number such as `64`.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(UnitError::NotANumber {
            given: shown(text),
            of: " without sign, point or unit",
        });
    }
    text.parse()
        .map_err(|_| UnitError::TooLarge { given: shown(text) })
}

/// A size for a message: `512 MiB`, `1.5 GiB`, `11 B`.
pub fn format_size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..0x400 => return format!("{bytes} B"),
        0x400..0x10_0000 => (1 << 10, "KiB"),
        0x10_0000..0x4000_0000 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    format!("{} {name}", tenths(bytes, unit))
}

/// A duration for a message: `500 ms`, `3.2 s`, `10 s`, `20 min`, `2 min 5 s`, `3 h`, `2 d 4 h`.
pub fn format_duration_ms(ms: u64) -> String {
    match ms {
        0..1_000 => return format!("{ms} ms"),
        1_000..120_000 => return format!("{} s", tenths(ms, 1_000)),
        _ => {}
    }
    let seconds = ms / 1_000;
    let minutes = seconds / 60;
    let parts = if minutes < 120 {
        [(0, "d"), (0, "h"), (minutes, "min"), (seconds % 60, "s")]
    } else {
        let hours = minutes / 60;
        let (days, hours) = if hours < 48 {
            (0, hours)
        } else {
            (hours / 24, hours % 24)
        };
        [
            (days, "d"),
            (hours, "h"),
            (minutes % 60, "min"),
            (seconds % 60, "s"),
        ]
    };
    let told = parts.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, unit)| format!("{count} {unit}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A number of CPUs for a message: `1`, `0.5`.
pub fn format_cpus(milli: u64) -> String {
    let (whole, rest) = (milli / 1_000, milli % 1_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:03}")
        .trim_end_matches('0')
        .to_owned()
}

/// `value` in `unit`s with at most one digit after the point, cut and not rounded: a figure below
/// a limit must never be shown as the limit.
fn tenths(value: u64, unit: u64) -> String {
    let tenth = u128::from(value % unit) * 10 / u128::from(unit);
    if tenth == 0 {
        (value / unit).to_string()
    } else {
        format!("{}.{tenth}", value / unit)
    }
}

/// The number's text and the unit's factor.
fn split<'a>(
    text: &'a str,
    units: &[(&str, u64)],
    names: &'static str,
    right: impl Fn(&str) -> String,
) -> Result<(&'a str, u64), UnitError> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    if number.is_empty() {
        return Err(UnitError::NotANumber {
            given: shown(text),
            of: " with a unit",
        });
    }
    if suffix.is_empty() {
        return Err(UnitError::Bare {
            given: shown(text),
            right: right(&shown(number)),
        });
    }
    units
        .iter()
        .find(|(name, _)| *name == suffix)
        .map(|(_, factor)| (number, *factor))
        .ok_or_else(|| UnitError::UnknownUnit {
            given: shown(text),
            units: names,
        })
}

/// `number * unit`, and what is left over, in parts of `10^FRACTION_DIGITS_MAX`.
fn scaled(text: &str, number: &str, unit: u64) -> Result<(u64, u64), UnitError> {
    let not_a_number = || UnitError::NotANumber {
        given: shown(text),
        of: "",
    };
    let too_large = || UnitError::TooLarge { given: shown(text) };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if !digits(whole) || !digits(fraction) || fraction.len() > FRACTION_DIGITS_MAX {
        return Err(not_a_number());
    }
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let places = 10_u64.pow(
        u32::try_from(fraction.len()).expect("at most FRACTION_DIGITS_MAX digits were let in"),
    );
    let fraction: u64 = fraction.parse().map_err(|_| not_a_number())?;
    // Nine digits times 3,600,000 or 2^30 stay below 2^60.
    let part = fraction * unit;
    let total = whole
        .checked_mul(unit)
        .and_then(|units| units.checked_add(part / places))
        .ok_or_else(too_large)?;
    Ok((total, part % places))
}

/// At most 64 characters of what was written, for a message.
fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0B", 0),
            ("64KiB", 65_536),
            ("256MiB", 268_435_456),
            ("1.5GiB", 1_610_612_736),
            ("1GB", 1_000_000_000),
            ("2KB", 2_000),
            ("0.5MB", 500_000),
            ("0.3KiB", 307),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn durations_are_read() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("1.5s", 1_500),
            ("0.25m", 15_000),
        ] {
            assert_eq!(parse_duration(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_with_what_would_be_right() {
        let said = parse_size("64").expect_err("bare").to_string();
        assert_eq!(
            said,
            "`64` has no unit: write it as `64B`, `64KiB` or `64MiB`"
        );
        let said = parse_duration("10").expect_err("bare").to_string();
        assert_eq!(said, "`10` has no unit: write it as `10ms` or `10s`");
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in [
            "",
            "B",
            "-1B",
            "+1B",
            " 1B",
            "1 B",
            "1b",
            "1kib",
            "1TiB",
            "1..5GiB",
            "1.GiB",
            ".5GiB",
            "1.5.5GiB",
            "1e3B",
            "1.0000000001GiB",
            "99999999999999999999B",
            "18446744073709551615KiB",
            "1GiB ",
            "١B",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in [
            "",
            "ms",
            "1.5ms",
            "0.0001s",
            "5 s",
            "1d",
            "1M",
            "5124095576031h",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(parse_cpus("0.5"), Ok(500));
        assert_eq!(parse_cpus("2"), Ok(2_000));
        assert!(parse_cpus("-1").is_err());
        assert!(parse_cpus("").is_err());
        assert_eq!(parse_count("64"), Ok(64));
        assert!(parse_count("6.4").is_err());
        assert!(parse_count("99999999999999999999").is_err());
    }

    #[test]
    fn figures_are_shown_and_never_rounded_up() {
        assert_eq!(format_size(536_870_912), "512 MiB");
        assert_eq!(format_size(536_870_911), "511.9 MiB");
        assert_eq!(format_size(11), "11 B");
        assert_eq!(format_size(1_610_612_736), "1.5 GiB");
        assert_eq!(format_size(u64::MAX), "17179869183.9 GiB");
        assert_eq!(format_duration_ms(10), "10 ms");
        assert_eq!(format_duration_ms(3_204), "3.2 s");
        assert_eq!(format_duration_ms(10_000), "10 s");
        assert_eq!(format_duration_ms(60_000), "60 s");
        assert_eq!(format_duration_ms(1_200_000), "20 min");
        assert_eq!(format_duration_ms(125_000), "2 min 5 s");
        assert_eq!(format_duration_ms(7_199_999), "119 min 59 s");
        assert_eq!(format_duration_ms(7_200_000), "2 h");
        assert_eq!(format_duration_ms(172_800_500), "2 d");
        assert_eq!(format_duration_ms(999_999_000), "11 d 13 h 46 min 39 s");
        assert_eq!(format_cpus(1_000), "1");
        assert_eq!(format_cpus(500), "0.5");
        assert_eq!(format_cpus(1_050), "1.05");
    }

    #[test]
    fn what_is_written_does_not_reach_a_terminal_raw() {
        let said = parse_size("1\u{1b}[2J").expect_err("no unit").to_string();
        assert!(!said.contains('\u{1b}'), "{said}");
    }
}
