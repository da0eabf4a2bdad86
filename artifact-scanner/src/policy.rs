//! What an operator holds to be harmless, and what not.

use crate::check::secrets::Own;
use crate::{Rules, Severity};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The choices of a scan that are not facts about the file.
#[derive(Clone, Debug)]
pub struct Policy {
    pub rules: Rules,
    /// A program for a machine: ELF, PE, Mach-O, WebAssembly, classes, packages.
    pub programs: Severity,
    /// Source that an interpreter of a shell or a language runs (`#!`, `.py`, `.js`).
    pub scripts: Severity,
    /// Whether a file of a type that nothing here reads may leave all the same.
    pub unknown_types: UnknownTypes,
    /// What was given to the job in confidence and must not leave with a file.
    pub own_secrets: Option<Arc<Own>>,
}

/// A policy by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Nothing that a machine or an interpreter could run.
    Strict,
    #[default]
    Standard,
    /// Files of types that nothing here reads may leave: names, rules and secrets are looked at.
    DataScience,
}

impl Preset {
    pub const ALL: [Self; 3] = [Self::Strict, Self::Standard, Self::DataScience];

    /// The word of the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::DataScience => "data-science",
        }
    }
}

/// What is said of bytes that no reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownTypes {
    /// They are unscannable.
    Refuse,
    /// Names, rules and secrets are looked at, and that is enough.
    Accept,
}

impl Policy {
    /// The policy of a name, with these rules.
    #[must_use]
    pub fn preset(preset: Preset, rules: Rules) -> Self {
        let standard = Self::standard(rules);
        match preset {
            Preset::Strict => Self {
                scripts: Severity::Suspicious,
                ..standard
            },
            Preset::Standard => standard,
            Preset::DataScience => Self {
                unknown_types: UnknownTypes::Accept,
                ..standard
            },
        }
    }

    /// Programs are suspicious, source is not, unknown types are refused.
    #[must_use]
    pub fn standard(rules: Rules) -> Self {
        Self {
            rules,
            programs: Severity::Suspicious,
            scripts: Severity::Info,
            unknown_types: UnknownTypes::Refuse,
            own_secrets: None,
        }
    }
}
