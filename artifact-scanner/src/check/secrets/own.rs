//! The secrets that a job was given, in the forms in which they could leave.

use super::super::decode::to_base64;
use crate::{Budget, Notes, Severity, Unscannable};
use aho_corasick::AhoCorasick;
use std::fmt;

/// Shorter secrets would be found by accident.
const SECRET_BYTES_MIN: usize = 6;

/// The secrets of one job, ready to be looked for.
pub struct Own {
    needles: Option<AhoCorasick>,
    /// Which secret and which form each needle is.
    forms: Vec<(usize, &'static str)>,
    /// How many were too short to be looked for.
    pub short: usize,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own")
            .field("needles", &self.forms.len())
            .finish_non_exhaustive()
    }
}

impl Own {
    /// Makes the forms of each secret: plain, base64 at any offset, hexadecimal, percent signs,
    /// UTF-16, backwards. `Err` where they are more than an automaton holds.
    pub fn new<S: AsRef<[u8]>>(secrets: &[S]) -> Result<Self, Unscannable> {
        let (mut needles, mut forms, mut short) = (Vec::new(), Vec::new(), 0);
        for (index, secret) in secrets.iter().enumerate() {
            let secret = secret.as_ref();
            if secret.len() < SECRET_BYTES_MIN {
                short += 1;
                continue;
            }
            for (form, needle) in shapes(secret) {
                needles.push(needle);
                forms.push((index, form));
            }
        }
        let needles = match needles.len() {
            0 => None,
            _ => Some(AhoCorasick::new(&needles).map_err(|_| Unscannable::EngineError)?),
        };
        Ok(Self {
            needles,
            forms,
            short,
        })
    }

    /// Where the secrets are in a view, in any form.
    pub(super) fn places(&self, view: &[u8]) -> Vec<std::ops::Range<usize>> {
        let Some(needles) = &self.needles else {
            return Vec::new();
        };
        let found = needles.find_overlapping_iter(view);
        found.map(|found| found.start()..found.end()).collect()
    }

    /// Looks for the secrets in a view.
    pub fn check(
        &self,
        view: &[u8],
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        budget.charge(view.len().max(1) as u64)?;
        let Some(needles) = &self.needles else {
            return Ok(());
        };
        let mut told = std::collections::BTreeSet::new();
        for found in needles.find_overlapping_iter(view) {
            let (secret, form) = self.forms[found.pattern().as_usize()];
            if told.insert((secret, form)) {
                notes.find(
                    "secrets.own",
                    Severity::Suspicious,
                    format!("offset {}", found.start()),
                    format!("holds secret {} of the job, {form}", secret + 1),
                );
            }
        }
        Ok(())
    }
}

/// A secret in each form that is looked for; none where it is too short for that.
pub fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    if secret.len() < SECRET_BYTES_MIN {
        return Vec::new();
    }
    shapes(secret).into_iter().map(|(_, form)| form).collect()
}

fn shapes(secret: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let hex = |upper: bool, before: &str| {
        let digits = secret.iter().map(|b| {
            if upper {
                format!("{before}{b:02X}")
            } else {
                format!("{before}{b:02x}")
            }
        });
        digits.collect::<String>().into_bytes()
    };
    let percent = |upper: bool| {
        let kept = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
        let code = |b: &u8| {
            if upper {
                format!("%{b:02X}")
            } else {
                format!("%{b:02x}")
            }
        };
        let text = secret.iter().map(|b| {
            if kept(b) {
                char::from(*b).to_string()
            } else {
                code(b)
            }
        });
        text.collect::<String>().into_bytes()
    };
    let mut shapes = vec![
        ("as it is", secret.to_vec()),
        ("in hexadecimal", hex(false, "")),
        ("in hexadecimal", hex(true, "")),
        ("with percent signs", percent(true)),
        ("with percent signs", percent(false)),
        ("with percent signs", hex(true, "%")),
        ("with percent signs", hex(false, "%")),
        ("with backslashes", hex(false, "\\x")),
        ("in UTF-16", secret.iter().flat_map(|b| [*b, 0]).collect()),
        ("backwards", secret.iter().rev().copied().collect()),
        (
            "as JSON",
            serde_json::to_string(&String::from_utf8_lossy(secret))
                .unwrap_or_default()
                .trim_matches('"')
                .as_bytes()
                .to_vec(),
        ),
    ];
    for offset in 0..3 {
        for url in [false, true] {
            let mut shifted = vec![0; offset];
            shifted.extend_from_slice(secret);
            let whole = to_base64(&shifted, url);
            // The first digits also hold what stands before the secret.
            let skip = [0, 2, 3][offset];
            shapes.push(("in base64", whole[skip..].to_vec()));
        }
    }
    shapes.retain(|(_, needle)| needle.len() >= SECRET_BYTES_MIN);
    shapes.dedup_by(|a, b| a.1 == b.1);
    shapes
}
