//! What may a job ask for that nothing here can give?
//!
//! A job is never run with less than it asked for: what would be left out is a refusal.

use crate::egress::allow::{Ceiling, Grant};
use crate::report::answer::now_unix_ms;
use crate::secrets::Secrets;
use kiln_protocol::job::{Content, Job};
use kiln_protocol::refusal::Refusal;

/// What can be given here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) network: Ceiling<'a>,
    pub(crate) secrets: &'a Secrets,
    /// Whether a job is its tenant's, and not only says so.
    pub(crate) proven: bool,
    pub(crate) store: bool,
}

/// The first thing that the job asks for and cannot have.
pub(crate) fn first(job: &Job, offer: Offer<'_>) -> Option<Refusal> {
    Grant::of(&job.network, offer.network)
        .err()
        .or_else(|| offer.secrets.refusal(job, offer.proven, now_unix_ms()))
        .or_else(|| if offer.store { None } else { objects(job) })
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
        let secrets = Secrets::default();
        let offer = Offer {
            network: Ceiling::Profile(&[]),
            secrets: &secrets,
            proven: true,
            store: false,
        };
        let accepted = decode(message.as_bytes(), &admission).expect("a job");
        first(&accepted.job, offer).map(|refusal| refusal.pointer)
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
                Some("/network/allow/0"),
            ),
            (r#","secrets":{"A":"acme/api"}"#, Some("/secrets/A")),
            (&object, Some("/files/1/object")),
        ] {
            assert_eq!(pointer(fields).as_deref(), wanted, "{fields}");
        }
    }
}
