//! Which job is it, for whom, and in which queue?

use crate::admission::{Admission, IdRule, TenantRule};
use crate::fields::{Fields, Report, quoted};
use crate::id::{JOB_ID_GRAMMAR, JobId, Tenant};
use crate::job::Class;
use crate::refusal::Refusal;

/// The id that a job without one has.
pub(super) fn fallback(admission: &Admission<'_>) -> Option<JobId> {
    match &admission.id {
        IdRule::Required => None,
        IdRule::Given(id) | IdRule::Message(id) => Some(id.clone()),
    }
}

/// The job's own id, or the one it is given.
pub(super) fn id(
    fields: &mut Fields,
    admission: &Admission<'_>,
    report: &mut Report,
) -> Option<JobId> {
    let given = fallback(admission);
    if !fields.has("id") {
        if given.is_none() {
            let message = "a job needs an `id`";
            report.refuse(Refusal::bad(
                fields.at("id"),
                message,
                "nothing",
                JOB_ID_GRAMMAR,
            ));
        }
        return given;
    }
    let own = fields.parsed("id", report, JobId::try_from)?;
    if let IdRule::Message(other) = &admission.id
        && *other != own
    {
        let message = || format!("the message's id is `{other}`; the job's own is used");
        report.warn("id_differs", message, &fields.at("id"));
    }
    Some(own)
}

/// The tenant that the job names, where it may, or the one it is given.
pub(super) fn tenant(
    fields: &mut Fields,
    admission: &Admission<'_>,
    report: &mut Report,
) -> Option<Tenant> {
    let at = fields.at("tenant");
    let given = match &admission.tenant {
        TenantRule::Default(tenant) | TenantRule::Only(tenant) | TenantRule::Unchecked(tenant) => {
            tenant
        }
    };
    if !fields.has("tenant") {
        return Some(given.clone());
    }
    let own = fields.parsed("tenant", report, Tenant::try_from)?;
    if matches!(admission.tenant, TenantRule::Only(_)) && own != *given {
        // Who sends for one tenant need not learn the name of another.
        let got = quoted(own.as_str());
        let message = format!("the job names the tenant {got}, and its sender is another");
        report.refuse(Refusal::bad(at, message, got, "the sender's own tenant"));
        return None;
    }
    if matches!(admission.tenant, TenantRule::Unchecked(_)) && own != *given {
        let message = || {
            format!(
                "nobody has checked that this is of `{own}`, so it runs for `{given}`; a queue of \
                 the tenant's own would say it"
            )
        };
        report.warn("tenant_unchecked", message, &at);
        return Some(given.clone());
    }
    Some(own)
}

/// The class of the queue, else the job's, else the default.
pub(super) fn class(fields: &mut Fields, admission: &Admission<'_>, report: &mut Report) -> Class {
    let words = Class::ALL.map(|class| (class.as_str(), class));
    let own = fields.word("class", &words, report);
    match (admission.class, own) {
        (Some(queue), Some(own)) if queue != own => {
            let queue_name = queue.as_str();
            let message = || format!("the job came by the queue of `{queue_name}`, which wins");
            report.warn("class_differs", message, &fields.at("class"));
            queue
        }
        (Some(queue), _) => queue,
        (None, own) => own.unwrap_or_default(),
    }
}
