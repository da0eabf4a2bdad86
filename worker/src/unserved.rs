//! What may a job ask for that nothing here can give?
//!
//! A job is never run with less than it asked for: what would be left out is a refusal.

use kiln_protocol::job::{Content, Job};
use kiln_protocol::refusal::Refusal;

/// The first thing that the job asks for and cannot have.
pub(crate) fn first(job: &Job, has_store: bool) -> Option<Refusal> {
    network(job)
        .or_else(|| secrets(job))
        .or_else(|| if has_store { None } else { objects(job) })
}

fn network(job: &Job) -> Option<Refusal> {
    let host = job.network.first()?;
    Some(Refusal::bad(
        "/network/allow",
        format!("the host `{host}` cannot be reached: no network is offered here"),
        format!("{} hosts", job.network.len()),
        "no host; data comes by `files`",
    ))
}

fn secrets(job: &Job) -> Option<Refusal> {
    (!job.secrets.is_empty()).then(|| {
        Refusal::bad(
            "/secrets",
            "no secrets are offered here",
            format!("{} secrets", job.secrets.len()),
            "none",
        )
    })
}

fn objects(job: &Job) -> Option<Refusal> {
    let (n, file) = job
        .files
        .iter()
        .enumerate()
        .find(|(_, file)| matches!(file.content, Content::Object { .. }))?;
    Some(Refusal::bad(
        format!("/files/{n}/object"),
        format!(
            "the file `{}` is an object of a store, and there is no store here",
            file.path
        ),
        "an object",
        "`text` or `base64`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::profiles_for_tests::Known;
    use kiln_protocol::admission::{Admission, IdRule, TenantRule};
    use kiln_protocol::decode::decode;
    use kiln_protocol::id::Tenant;

    fn pointer(fields: &str) -> Option<String> {
        let message = format!("{{\"schema\":\"kiln.job.v1\",\"id\":\"a\",\"code\":\"x\"{fields}}}");
        let admission = Admission {
            profiles: &Known::default(),
            id: IdRule::Required,
            tenant: TenantRule::Default(Tenant::default()),
            class: None,
        };
        let accepted = decode(message.as_bytes(), &admission).expect("a job");
        first(&accepted.job, false).map(|refusal| refusal.pointer)
    }

    #[test]
    fn what_nobody_can_give_is_refused_and_nothing_else() {
        let object = format!(
            r#","files":[{{"path":"a","text":""}},{{"path":"b","object":"inputs/default/b","sha256":"{}"}}]"#,
            "0".repeat(64)
        );
        for (fields, wanted) in [
            ("", None),
            (r#","files":[{"path":"a","text":""}]"#, None),
            (r#","network":{"allow":[]}"#, None),
            (
                r#","network":{"allow":["example.com:443"]}"#,
                Some("/network/allow"),
            ),
            (r#","secrets":{"A":"acme/api"}"#, Some("/secrets")),
            (&object, Some("/files/1/object")),
        ] {
            assert_eq!(pointer(fields).as_deref(), wanted, "{fields}");
        }
    }
}
