//! The profiles that the tests admit jobs to.

use kiln_protocol::{
    Admission, IdRule, JobId, LimitName, LimitTable, ProfileSource, ProfileView, Tenant, TenantRule,
};

/// The built-in ones, on a host of four CPUs.
pub(crate) struct Profiles {
    plain: LimitTable,
    data: LimitTable,
}

const NAMES: [(&str, Option<&str>); 5] = [
    ("python", Some("main.py")),
    ("python-data", Some("main.py")),
    ("bash", Some("main.sh")),
    ("node", Some("main.js")),
    ("command", None),
];

impl Default for Profiles {
    fn default() -> Self {
        let plain = LimitTable::contract(4);
        let mut data = plain.clone();
        data.set_default(LimitName::Memory, 1 << 30);
        Self { plain, data }
    }
}

impl ProfileSource for Profiles {
    fn profile(&self, name: &str) -> Option<ProfileView<'_>> {
        let (name, main) = NAMES.into_iter().find(|(known, _)| *known == name)?;
        Some(ProfileView {
            has_interpreter: main.is_some(),
            main,
            limits: if name == "python-data" {
                &self.data
            } else {
                &self.plain
            },
            network: &[],
        })
    }

    fn names(&self) -> Vec<&str> {
        NAMES.iter().map(|(name, _)| *name).collect()
    }
}

/// The terms of `kiln run`.
pub(crate) fn admission(profiles: &Profiles) -> Admission<'_> {
    Admission {
        profiles,
        id: IdRule::Given(JobId::for_line(1, b"")),
        tenant: TenantRule::Default(Tenant::default()),
        class: None,
    }
}
