//! Is this message a job, and who is to be answered?
//!
//! What can be answered is answered: a message with an id that is no job gets an outcome that says
//! where and why. What cannot, goes to the dead letters.

use super::encoding::{self, Decoded};
use super::reply::{self, Reply};
use crate::egress::allow::Ceiling;
use crate::heavy;
use crate::intake::{Header, Properties, Source};
use crate::report::answer::now_unix_ms;
use crate::report::whose;
use crate::secrets::Secrets;
use crate::telemetry::metric::DeadReason;
use crate::unserved::{self, Offer};
use kiln_protocol::Rejection;
use kiln_protocol::admission::{Admission, IdRule, ProfileSource, TenantRule};
use kiln_protocol::decode::{Accepted, MESSAGE_BYTES_MAX, decode};
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::{JOB_SCHEMA, Job};
use kiln_protocol::outcome::{Outcome, Warning};
use kiln_protocol::refusal::{Refusal, RefusalReason};

/// Bytes of a broker's word that are shown back.
const SHOWN_MAX: usize = 64;

/// What a message is.
#[derive(Debug)]
pub(super) enum Admitted {
    Job(Box<Request>),
    /// A job that is refused, and whose sender can be told.
    Refused(Box<Refused>),
    /// Nobody can be told.
    Dead {
        reason: DeadReason,
        detail: String,
    },
}

/// A job and who is to be answered.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) job: Job,
    pub(super) warnings: Vec<Warning>,
    pub(super) reply: Reply,
}

/// A job that is refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) outcome: Outcome,
    pub(super) tenant: Tenant,
    pub(super) reply: Reply,
}

/// On which terms messages are taken in.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) profiles: &'a dyn ProfileSource,
    /// What jobs may refer to.
    pub(super) secrets: &'a Secrets,
    pub(super) trust_tenant: bool,
    pub(super) reply_prefixes: &'a [String],
    /// Who answers.
    pub(super) worker: &'a str,
}

/// Says what a message is.
pub(super) fn admit(
    body: &[u8],
    properties: &Properties,
    source: &Source,
    terms: &Terms<'_>,
) -> Admitted {
    if let Some(detail) = unknown_kind(properties) {
        return dead(DeadReason::BadMessage, detail);
    }
    let message_id = properties.message_id.clone();
    let message_id = message_id.and_then(|id| JobId::try_from(id).ok());
    let tenant = tenant(properties, source, terms);
    let parties = Parties {
        message_id: message_id.clone(),
        tenant: tenant.clone(),
        properties,
        terms,
    };
    let body = match encoding::decoded(body, properties.content_encoding.as_deref()) {
        Ok(Decoded::Whole(body)) => body,
        Ok(Decoded::TooLong) => return parties.refuse(&Rejection::from(too_long())),
        Err(detail) => return dead(DeadReason::BadMessage, detail),
    };
    let proven = !matches!(tenant, TenantRule::Unchecked(_));
    let admission = Admission {
        profiles: terms.profiles,
        id: message_id.map_or(IdRule::Required, IdRule::Message),
        tenant,
        class: Some(source.class),
    };
    let Accepted {
        mut job,
        mut warnings,
        ..
    } = match heavy::work(body.len(), || decode(&body, &admission)) {
        Ok(accepted) => accepted,
        Err(rejection) => return parties.refuse(&rejection),
    };
    let told = from_headers(&mut job, properties, &mut warnings);
    let offer = Offer {
        network: Ceiling::of(terms.profiles, &job),
        secrets: terms.secrets,
        proven,
        store: true,
    };
    let refusal = told
        .err()
        .or_else(|| unserved::first(&job, offer))
        .or_else(|| reply::refusal(properties, terms.reply_prefixes));
    match refusal {
        Some(refusal) => parties.refuse(&Rejection {
            job_id: Some(job.id),
            tenant: Some(job.tenant),
            ..Rejection::from(refusal)
        }),
        None => Admitted::Job(Box::new(Request {
            reply: Reply::of(properties, &job.id, terms.reply_prefixes),
            job,
            warnings,
        })),
    }
}

/// What is known of a message before it is read.
struct Parties<'a> {
    message_id: Option<JobId>,
    tenant: TenantRule,
    properties: &'a Properties,
    terms: &'a Terms<'a>,
}

impl Parties<'_> {
    /// Answers, where there is an id to answer by.
    fn refuse(&self, rejection: &Rejection) -> Admitted {
        let detail = || rejection.main.to_string();
        if rejection.is_not_json() {
            return dead(DeadReason::BadMessage, detail());
        }
        let id = rejection.job_id.clone().or_else(|| self.message_id.clone());
        let Some(id) = id else {
            let large = rejection.main.reason == RefusalReason::TooLarge;
            let reason = match rejection.main.pointer.as_str() {
                "/id" => DeadReason::NoId,
                "" if large => DeadReason::TooLarge,
                _ => DeadReason::BadMessage,
            };
            return dead(reason, detail());
        };
        let (TenantRule::Default(tenant)
        | TenantRule::Only(tenant)
        | TenantRule::Unchecked(tenant)) = &self.tenant;
        let tenant = rejection.tenant.clone().unwrap_or_else(|| tenant.clone());
        let reply = Reply::of(self.properties, &id, self.terms.reply_prefixes);
        let mut outcome = rejection.outcome(id, self.terms.worker.to_owned(), now_unix_ms());
        whose::name(&mut outcome, &tenant);
        Admitted::Refused(Box::new(Refused {
            outcome,
            tenant,
            reply,
        }))
    }
}

fn dead(reason: DeadReason, detail: String) -> Admitted {
    Admitted::Dead { reason, detail }
}

fn too_long() -> Refusal {
    Refusal::bad(
        "",
        format!("the message has more than {MESSAGE_BYTES_MAX} bytes (8 MiB), packed or unpacked"),
        format!("more than {MESSAGE_BYTES_MAX} bytes"),
        format!("at most {MESSAGE_BYTES_MAX} bytes"),
    )
    .too_large()
}

/// Why the message is of no kind that we know.
fn unknown_kind(properties: &Properties) -> Option<String> {
    let wrong = |name: &str, got: &str, allowed: &str| {
        let shown = reply::shown(got, SHOWN_MAX);
        Some(format!("{name}: `{shown}` is not known; send `{allowed}`"))
    };
    match properties.kind.as_deref() {
        None | Some(JOB_SCHEMA) => {}
        Some(other) => return wrong("type", other, JOB_SCHEMA),
    }
    match properties.content_type.as_deref() {
        None => None,
        Some(kind) => {
            let essence = kind.split(';').next().unwrap_or_default().trim();
            let known = essence.eq_ignore_ascii_case("application/json");
            (!known)
                .then(|| wrong("content-type", kind, "application/json"))
                .flatten()
        }
    }
}

/// Whose job it is: the queue's, else the sender's as the broker checked it. What a message says
/// of itself counts only where the operator wants it to.
fn tenant(properties: &Properties, source: &Source, terms: &Terms<'_>) -> TenantRule {
    if let Some(tenant) = &source.tenant {
        return TenantRule::Only(tenant.clone());
    }
    let of = |text: &str| Tenant::try_from(text.to_owned()).ok();
    if let Some(user) = properties.user_id.as_deref().and_then(of) {
        return TenantRule::Only(user);
    }
    if !terms.trust_tenant {
        return TenantRule::Unchecked(Tenant::default());
    }
    let header = match properties.headers.get("x-tenant") {
        Some(Header::Text(text)) => of(text),
        _ => None,
    };
    TenantRule::Default(header.unwrap_or_default())
}

/// What the headers say of the job, where it does not say it itself.
fn from_headers(
    job: &mut Job,
    properties: &Properties,
    warnings: &mut Vec<Warning>,
) -> Result<(), Refusal> {
    if let Some(header) = properties.headers.get("x-deadline-unix-ms") {
        let told = match header {
            Header::Integer(ms) => u64::try_from(*ms).ok(),
            Header::Text(text) => text.parse().ok(),
            Header::Other => None,
        };
        let Some(told) = told else {
            return Err(Refusal::bad(
                "x-deadline-unix-ms",
                "the header is no number of milliseconds since 1970",
                "another value",
                "an integer, or a decimal string",
            ));
        };
        let own = *job.deadline_unix_ms.get_or_insert(told);
        differs(own != told, "deadline", "deadline_unix_ms", warnings);
    }
    if let Some(Header::Text(told)) = properties.headers.get("idempotency-key") {
        let own = job.idempotency_key.get_or_insert_with(|| told.clone());
        differs(own != told, "idempotency_key", "idempotency_key", warnings);
    }
    Ok(())
}

fn differs(differs: bool, what: &str, field: &str, warnings: &mut Vec<Warning>) {
    if differs {
        warnings.push(Warning {
            code: format!("{what}_differs"),
            message: "the message's header says another; the job's own is used".to_owned(),
            pointer: Some(format!("/{field}")),
        });
    }
}

#[cfg(test)]
#[path = "admit/tests.rs"]
mod tests;
