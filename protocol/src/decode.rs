//! Is this message a job, and if not, why not?

mod environment;
mod files;
mod identity;
mod limits;
mod program;

use crate::admission::{Admission, ProfileView};
use crate::fields::{Fields, Report, quoted, text_kind};
use crate::glob;
use crate::id::{JobId, Tenant};
use crate::job::{Isolation, JOB_SCHEMA, Job, Payload};
use crate::json;
use crate::limits::Limits;
use crate::outcome::Warning;
use crate::refusal::Refusal;
pub use crate::rejection::Rejection;
use crate::suggest::nearest;
use std::collections::BTreeMap;

pub use crate::json::{DEPTH_MAX, VALUES_MAX};
pub use environment::{VARIABLES_BYTES_MAX, VARIABLES_MAX};
pub use files::FILES_MAX;
pub use program::{ARGUMENT_BYTES_MAX, ARGUMENTS_BYTES_MAX, CODE_BYTES_MAX};

/// The longest message, in bytes, once it is decompressed.
pub const MESSAGE_BYTES_MAX: usize = 8 << 20;

/// A job that was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The job.
    pub job: Job,
    /// The limits in force for it.
    pub limits: Limits,
    /// What was ignored or overruled in it.
    pub warnings: Vec<Warning>,
}

/// Finds the job in a message.
///
/// # Errors
///
/// What is wrong with it: the first thing as the main one, and what else was found.
pub fn decode(bytes: &[u8], admission: &Admission<'_>) -> Result<Accepted, Box<Rejection>> {
    let mut report = Report::default();
    let Some(mut fields) = fields(bytes, &mut report) else {
        return Err(rejection(report, identity::fallback(admission), None));
    };
    let id = identity::id(&mut fields, admission, &mut report);
    let (job_id, mut tenant) = (id.or_else(|| identity::fallback(admission)), None);
    let accepted = if schema(&mut fields, &mut report) {
        tenant = identity::tenant(&mut fields, admission, &mut report);
        job(
            fields,
            job_id.clone(),
            tenant.clone(),
            admission,
            &mut report,
        )
    } else {
        None
    };
    match accepted {
        Some((job, limits)) if report.refusals.is_empty() => Ok(Accepted {
            job,
            limits,
            warnings: report.into_warnings(),
        }),
        _ => Err(rejection(report, job_id, tenant)),
    }
}

/// The fields of a message that is a JSON object and not too large.
fn fields(bytes: &[u8], report: &mut Report) -> Option<Fields> {
    if bytes.len() > MESSAGE_BYTES_MAX {
        report.refuse(
            Refusal::bad(
                "",
                format!(
                    "the message has {} bytes; at most {MESSAGE_BYTES_MAX} (8 MiB) are taken",
                    bytes.len()
                ),
                format!("{} bytes", bytes.len()),
                format!("at most {MESSAGE_BYTES_MAX} bytes"),
            )
            .too_large(),
        );
        return None;
    }
    match json::parse(bytes) {
        Ok(value) => Fields::of(value, String::new(), report),
        Err(refusal) => {
            report.refuse(refusal);
            None
        }
    }
}

fn rejection(report: Report, job_id: Option<JobId>, tenant: Option<Tenant>) -> Box<Rejection> {
    let mut refusals = report.refusals.into_iter();
    let main = refusals
        .next()
        .expect("every way to no job goes through a refusal");
    Box::new(Rejection {
        job_id,
        tenant,
        main,
        others: refusals.collect(),
    })
}

/// Whether the message is of this version; what another one means nobody can tell.
fn schema(fields: &mut Fields, report: &mut Report) -> bool {
    let at = fields.at("schema");
    if !fields.has("schema") {
        let message = format!("a job needs its `schema`, `{JOB_SCHEMA}`");
        report.refuse(Refusal::bad(at, message, "nothing", JOB_SCHEMA));
        return false;
    }
    match fields.string("schema", report) {
        Some(schema) if schema == JOB_SCHEMA => true,
        Some(other) => {
            let got = quoted(&other);
            let message = format!("the schema {got} is unknown; this is `{JOB_SCHEMA}`");
            report.refuse(Refusal::bad(at, message, got, JOB_SCHEMA));
            false
        }
        None => false,
    }
}

/// The job and its limits; `None` only where something was refused.
fn job(
    mut fields: Fields,
    id: Option<JobId>,
    tenant: Option<Tenant>,
    admission: &Admission<'_>,
    report: &mut Report,
) -> Option<(Job, Limits)> {
    let payload = program::payload(&mut fields, report);
    let profile = profile(&mut fields, payload.as_ref(), admission, report);
    let view = profile.as_ref().map(|(_, view)| *view);
    let args = program::args(&mut fields, payload.as_ref(), report);
    let main = view
        .and_then(|view| view.main)
        .filter(|_| matches!(payload, Some(Payload::Code(_))));
    let files = files::read(&mut fields, main, tenant.as_ref(), report);
    let stdin = fields.string("stdin", report).unwrap_or_default();
    let env = environment::env(&mut fields, report);
    let secrets = environment::secrets(&mut fields, &env, report);
    let network = environment::network(&mut fields, report);
    let artifacts = artifacts(&mut fields, report);
    let (request, limits) = limits::read(&mut fields, view.map(|view| view.limits), report);
    let words = [
        ("standard", Isolation::Standard),
        ("strict", Isolation::Strict),
    ];
    let isolation = fields.word("isolation", &words, report);
    let class = identity::class(&mut fields, admission, report);
    let deadline_unix_ms = fields.integer("deadline_unix_ms", report);
    let idempotency_key = fields.parsed("idempotency_key", report, |key| {
        if key.is_empty() {
            Err("a key may not be empty")
        } else {
            Ok(key)
        }
    });
    let labels: BTreeMap<String, String> = fields.string_map("labels", report);
    fields.finish(report);
    let job = Job {
        id: id?,
        profile: profile?.0,
        payload: payload?,
        files,
        args,
        stdin,
        env,
        artifacts,
        limits: request,
        network,
        secrets,
        isolation,
        tenant: tenant?,
        class,
        deadline_unix_ms,
        idempotency_key,
        labels,
    };
    Some((job, limits?))
}

/// The profile by name, if there is one and it can run this.
fn profile<'a>(
    fields: &mut Fields,
    payload: Option<&Payload>,
    admission: &Admission<'a>,
    report: &mut Report,
) -> Option<(String, ProfileView<'a>)> {
    let at = fields.at("profile");
    let name = match (fields.has("profile"), payload) {
        (true, _) => fields.string("profile", report)?,
        (false, Some(Payload::Code(_))) => "python".to_owned(),
        (false, Some(Payload::Command(_))) => "command".to_owned(),
        (false, None) => return None,
    };
    let Some(view) = admission.profiles.profile(&name) else {
        let names = admission.profiles.names();
        let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let known = known.join(", ");
        let meant = match nearest(&name, names) {
            Some(meant) => format!("is `{meant}` meant? There are {known}"),
            None => format!("there are {known}"),
        };
        let got = quoted(&name);
        let message = format!("the profile {got} is unknown; {meant}");
        report.refuse(Refusal::bad(at, message, got, known));
        return None;
    };
    if let (Some(Payload::Code(code)), false) = (payload, view.has_interpreter) {
        report.refuse(Refusal::bad(
            fields.at("code"),
            format!(
                "the profile {} has no interpreter; it takes a `command`",
                quoted(&name)
            ),
            text_kind(code),
            "`command`, or a profile with an interpreter",
        ));
        return None;
    }
    Some((name, view))
}

/// The globs of what is taken out.
fn artifacts(fields: &mut Fields, report: &mut Report) -> Option<Vec<String>> {
    let at = fields.at("artifacts");
    let globs = fields.strings("artifacts", report)?;
    for (index, glob) in globs.iter().enumerate() {
        if let Err(bad) = glob::check(glob) {
            report.refuse(Refusal::bad(
                format!("{at}/{index}"),
                format!("the glob {} is none: {bad}", quoted(glob)),
                quoted(glob),
                "a glob such as `plots/**`",
            ));
        }
    }
    let bytes: usize = globs.iter().map(String::len).sum();
    if bytes > glob::GLOBS_BYTES_MAX {
        let max = glob::GLOBS_BYTES_MAX;
        report.refuse(
            Refusal::bad(
                at,
                format!("the globs have {bytes} bytes; at most {max} are taken"),
                format!("{bytes} bytes"),
                format!("at most {max} bytes"),
            )
            .too_large(),
        );
    }
    Some(globs)
}
