//! Whose refusal is it?
//!
//! A job that is refused is never stored, so nothing else says whose its id was: the refusal does,
//! and is shown to nobody else who uses the same id.

use kiln_protocol::id::Tenant;
use kiln_protocol::outcome::{Outcome, Status};
use serde::Deserialize;

/// In the evidence of a refusal.
const TENANT: &str = "tenant";

/// As much of an outcome as tells whose it is.
#[derive(Deserialize)]
struct Glance {
    status: Status,
    evidence: Evidence,
}

#[derive(Deserialize)]
struct Evidence {
    tenant: Option<Tenant>,
}

/// Has a refusal say whose it is.
pub(crate) fn name(outcome: &mut Outcome, tenant: &Tenant) {
    let evidence = &mut outcome.evidence;
    evidence.insert(TENANT.to_owned(), tenant.as_str().into());
}

/// Whether a stored outcome is a refusal that names another.
pub(crate) fn is_anothers(document: &[u8], tenant: &Tenant) -> bool {
    let Ok(Glance { status, evidence }) = serde_json::from_slice(document) else {
        return false;
    };
    status == Status::Rejected && evidence.tenant.is_some_and(|named| named != *tenant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::answer::Unrun;

    #[test]
    fn a_refusal_is_its_tenants_alone() {
        let tenant = |name: &str| name.parse::<Tenant>().expect("a tenant");
        let mut outcome = Outcome::from(Unrun::expired("j".parse().expect("an id"), 1, "w"));
        let anothers =
            |outcome: &Outcome, name| is_anothers(outcome.to_json().as_bytes(), &tenant(name));
        outcome.status = Status::Rejected;
        assert!(!anothers(&outcome, "b"), "nothing says whose it is");
        name(&mut outcome, &tenant("a"));
        assert!(!anothers(&outcome, "a"));
        assert!(anothers(&outcome, "b"));
        outcome.status = Status::Expired;
        assert!(!anothers(&outcome, "b"), "its job is stored, and says it");
        assert!(!is_anothers(b"{}", &tenant("b")));
    }
}
