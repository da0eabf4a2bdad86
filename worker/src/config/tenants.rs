//! Which tenants have queues of their own?

use super::TenantSection;
use super::section::{SHARE, TENANT};
use super::sources::Sources;
use kiln_protocol::id::{TENANT_GRAMMAR, Tenant};
use kiln_protocol::limits::LimitUnit;
use kiln_warden::profile::keys::Keys;
use std::collections::BTreeMap;

/// `[tenants.<name>]`.
pub(super) fn settle(sources: &Sources) -> BTreeMap<Tenant, TenantSection> {
    let mut all = BTreeMap::new();
    let Some(table) = sources.table(TENANT.name) else {
        return all;
    };
    let tenants = Keys::new(table, TENANT.name, &sources.errors);
    for (name, _) in tenants.each() {
        let Some(keys) = tenants.table(name) else {
            continue;
        };
        keys.only(&TENANT.names());
        if keys.has("ceilings") {
            keys.wrong(
                "ceilings",
                "not served yet: a tenant's jobs have the ceilings of their profile",
            );
        }
        let (least, most) = SHARE;
        let share = keys.figure("share", LimitUnit::Count, least, most);
        let share = u32::try_from(share.unwrap_or(1)).expect("it was compared with 1000");
        match name.parse::<Tenant>() {
            Ok(tenant) => drop(all.insert(tenant, TenantSection { share })),
            Err(_) => tenants.wrong(name, format!("a tenant's name is {TENANT_GRAMMAR}")),
        }
    }
    all
}
