//! How does a number of CPUs, counted in thousandths, stand in JSON?

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Thousandths of a number of CPUs; `None` for what is no such number.
pub(crate) fn milli(cpus: f64) -> Option<u64> {
    let milli = (cpus * 1_000.0).round();
    if !(0.0..=1e9).contains(&milli) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number between 0 and 10^9"
    )]
    Some(milli as u64)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
pub(super) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_multiple_of(1_000) {
        return serializer.serialize_u64(value / 1_000);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a table's ceiling is far below 2^52"
    )]
    serializer.serialize_f64(*value as f64 / 1_000.0)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let cpus = f64::deserialize(deserializer)?;
    milli(cpus).ok_or_else(|| D::Error::custom("not a number of CPUs"))
}

pub(super) mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Cpus(#[serde(with = "super")] u64);

    #[expect(clippy::ref_option, reason = "the signature that serde asks for")]
    pub(in super::super) fn serialize<S: Serializer>(
        value: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(Cpus).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, De: Deserializer<'de>>(
        deserializer: De,
    ) -> Result<Option<u64>, De::Error> {
        let cpus = Option::<Cpus>::deserialize(deserializer)?;
        Ok(cpus.map(|Cpus(milli)| milli))
    }
}
