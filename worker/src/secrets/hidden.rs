//! Does a name that a job has given hold one of its secrets: of a file that it made, or of a host
//! that it asked for?
//!
//! What a job writes into files and streams the gate looks at. Names get into the outcome and the
//! log by other ways, and few of them: here they are covered before they do.

use super::Values;
use artifact_scanner::check::secrets::forms;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What stands in place of such a name.
pub(crate) const COVER: &str = "[kiln: withheld: this name holds a secret]";

/// The secrets of one job in the forms in which they could leave; wiped when they are dropped.
#[derive(Clone, Default)]
pub struct Hidden(Arc<[Zeroizing<Vec<u8>>]>);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hidden").finish_non_exhaustive()
    }
}

impl Values {
    /// What must be in no name.
    pub(crate) fn hidden(&self) -> Hidden {
        let mut all = Vec::new();
        for (_, value) in &self.0 {
            let value = value.reveal();
            all.extend(forms(value.as_bytes()));
            // Hosts are read in lower case.
            let lower = Zeroizing::new(value.to_ascii_lowercase());
            if *lower != value {
                all.extend(forms(lower.as_bytes()));
            }
        }
        Hidden(all.into_iter().map(Zeroizing::new).collect())
    }
}

impl Hidden {
    /// Whether a name holds one.
    pub(crate) fn is_in(&self, name: &str) -> bool {
        let name = name.as_bytes();
        let holds = |form: &[u8]| name.windows(form.len()).any(|part| part == form);
        self.0.iter().any(|form| holds(form))
    }

    /// The name, or what stands in its place.
    pub(crate) fn cover<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.is_in(name) {
            COVER.into()
        } else {
            name.into()
        }
    }
}

#[cfg(test)]
impl Hidden {
    /// Of one secret.
    pub(crate) fn for_test(value: &str) -> Self {
        let value = crate::config::Secret::new(value.to_owned());
        Values(vec![("A".to_owned(), value)]).hidden()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    fn hidden(values: &[&str]) -> Hidden {
        let named = |value: &&str| ("A".to_owned(), Secret::new((*value).to_owned()));
        Values(values.iter().map(named).collect()).hidden()
    }

    #[test]
    fn a_name_that_holds_a_secret_in_any_form_is_covered() {
        let hidden = hidden(&["Hunter2-the-value", "another"]);
        for name in [
            "Hunter2-the-value",
            "a/Hunter2-the-value.txt",
            "hunter2-the-value.evil.example:443",
            "48756e746572322d7468652d76616c7565",
            "SHVudGVyMi10aGUtdmFsdWU=",
            "another",
        ] {
            assert_eq!(hidden.cover(name), COVER, "{name}");
        }
        for name in ["Hunter2-the", "", "a.txt"] {
            assert_eq!(hidden.cover(name), name);
        }
        assert!(!format!("{hidden:?}").to_lowercase().contains("hunter"));
    }

    #[test]
    fn a_job_without_secrets_hides_nothing_and_a_short_one_is_not_looked_for() {
        assert!(!hidden(&[]).is_in("anything") && !hidden(&["12345"]).is_in("12345"));
    }
}
