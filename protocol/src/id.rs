//! What is a name of a job, and what is a name of a tenant?

use crate::digest::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The grammar of a job's id, for messages and for the schema.
pub const JOB_ID_GRAMMAR: &str = "[A-Za-z0-9][A-Za-z0-9._-]{0,127} without `..`";
/// The grammar of a tenant, for messages and for the schema.
pub const TENANT_GRAMMAR: &str = "[A-Za-z0-9_-]{1,64}";

/// Text that is no job id or no tenant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {what} is {grammar}")]
pub struct BadName {
    /// What it should have been.
    pub what: &'static str,
    /// How that is written.
    pub grammar: &'static str,
}

/// A job's id: safe as one part of a path.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"))]
pub struct JobId(String);

impl JobId {
    /// The id of a job that came without one, as line `number` (from 1) of a batch.
    pub fn for_line(number: u64, line: &[u8]) -> Self {
        Self(format!("line-{number}-{}", &sha256_hex(line)[..16]))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for JobId {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        let ends = |b: u8| b.is_ascii_alphanumeric();
        let inner = |b: u8| ends(b) || matches!(b, b'.' | b'_' | b'-');
        let good = text.len() <= 128
            && text.bytes().next().is_some_and(ends)
            && text.bytes().all(inner)
            && !text.contains("..");
        if good {
            Ok(Self(text))
        } else {
            Err(BadName {
                what: "job id",
                grammar: JOB_ID_GRAMMAR,
            })
        }
    }
}

/// For whom a job runs.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^[A-Za-z0-9_-]{1,64}$"))]
pub struct Tenant(String);

impl Tenant {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Tenant {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl TryFrom<String> for Tenant {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if (1..=64).contains(&text.len()) && text.bytes().all(inner) {
            Ok(Self(text))
        } else {
            Err(BadName {
                what: "tenant",
                grammar: TENANT_GRAMMAR,
            })
        }
    }
}

macro_rules! name {
    ($name:ident) => {
        impl std::str::FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                Self::try_from(text.to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
name!(JobId);
name!(Tenant);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_part_of_a_path() {
        for good in ["a", "0199f0c2-6f5e-7c1a-9c57-0f6f2b1f4a10", "A.b_c-9", "9."] {
            assert!(good.parse::<JobId>().is_ok(), "{good}");
        }
        let long = "a".repeat(129);
        for bad in [
            "", ".", "..", "a..b", "-a", ".a", "a/b", "a b", "ä", "a\n", &long,
        ] {
            assert!(bad.parse::<JobId>().is_err(), "{bad}");
        }
        assert!("a".repeat(128).parse::<JobId>().is_ok());
    }

    #[test]
    fn a_tenant_is_a_word() {
        let long = "a".repeat(65);
        for bad in ["", "a.b", "a/b", "ä", "a b", &long] {
            assert!(bad.parse::<Tenant>().is_err(), "{bad}");
        }
        assert!("_acme-1".parse::<Tenant>().is_ok());
        assert_eq!(Tenant::default().as_str(), "default");
    }

    #[test]
    fn a_line_has_an_id_of_its_number_and_its_bytes() {
        let id = JobId::for_line(3, b"abc");
        assert_eq!(id.as_str(), "line-3-ba7816bf8f01cfea");
        assert!(id.as_str().parse::<JobId>().is_ok());
    }

    #[test]
    fn a_bad_id_is_not_deserialised() {
        assert!(serde_json::from_str::<JobId>("\"a/b\"").is_err());
        assert!(serde_json::from_str::<JobId>("\"ab\"").is_ok());
    }
}
