//! The profiles of the contract, as far as reading a job needs them.

use kiln_protocol::admission::{ProfileSource, ProfileView};
use kiln_protocol::limits::LimitTable;

pub(crate) struct Known(LimitTable);

impl Default for Known {
    fn default() -> Self {
        Self(LimitTable::contract(2))
    }
}

const MAINS: [(&str, Option<&str>); 4] = [
    ("python", Some("main.py")),
    ("bash", Some("main.sh")),
    ("node", Some("main.js")),
    ("command", None),
];

impl ProfileSource for Known {
    fn profile(&self, name: &str) -> Option<ProfileView<'_>> {
        let (_, main) = MAINS.into_iter().find(|(known, _)| *known == name)?;
        Some(ProfileView {
            has_interpreter: main.is_some(),
            main,
            limits: &self.0,
            network: &[],
        })
    }

    fn names(&self) -> Vec<&str> {
        MAINS.map(|(name, _)| name).to_vec()
    }
}
