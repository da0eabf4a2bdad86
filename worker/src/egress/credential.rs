//! Which credential does the proxy attach to a request, and to which requests?
//!
//! A job asks in plain HTTP for `http://host/path`; where a rule is for that host and path the
//! proxy sends it on over TLS of its own, to the rule's port, with the rule's field. The value is
//! never in the sandbox. A path that a host might understand as another one gets nothing.

use super::allow::Grant;
use super::head::{Bad, Plain};
use super::target::Target;
use crate::config::Secret;
use crate::secrets::{SecretError, Secrets};
use kiln_protocol::job::Job;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The port of plain requests, which are taken for the rule's.
const HTTP: u16 = 80;
/// Fields that are the proxy's own to write.
const OWN_FIELDS: [&str; 6] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "expect",
    "upgrade",
];

/// `[credentials.<name>]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The secret that is attached; it says whose jobs have it.
    pub(crate) secret: String,
    pub(crate) target: Target,
    /// What the path begins with.
    pub(crate) path: String,
    pub(crate) field: String,
    /// What stands before the secret in the field.
    pub(crate) before: String,
}

/// What is attached for one job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Credential {
    /// `host:port`.
    target: String,
    path: String,
    pub(crate) field: String,
    pub(crate) value: Sealed,
}

/// A value on its way to the proxy: it does not print, and is wiped when it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Sealed(Secret);

impl Sealed {
    pub(crate) fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.reveal())
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|value| Self(Secret::new(value)))
    }
}

/// Whether requests may have a field of this name, and a credential may be in it.
pub(crate) fn is_field_name(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let own = OWN_FIELDS.iter().any(|own| own.eq_ignore_ascii_case(name));
    !own && (1..=64).contains(&name.len()) && name.bytes().all(token)
}

/// What is attached to the requests of a job: of the rules for hosts that it was granted those
/// whose secret is given to its tenant and profile.
pub(crate) fn of(
    job: &Job,
    grant: &Grant,
    (rules, secrets): (&[Rule], &Secrets),
    now: u64,
) -> Result<Vec<Credential>, SecretError> {
    let mut all = Vec::new();
    for rule in rules.iter().filter(|rule| grant.allows(&rule.target)) {
        let judged = secrets
            .0
            .get(&rule.secret)
            .map(|secret| secret.judge(&job.tenant, &job.profile, now));
        if let Some(Err(denied)) = judged {
            let (job_id, secret) = (job.id.as_str(), rule.secret.as_str());
            tracing::info!(job_id, secret, ?denied, "credential not attached");
            continue;
        }
        let value = secrets.read(&rule.secret)?;
        if !value.reveal().bytes().all(|b| (b'!'..=b'~').contains(&b)) {
            return Err(SecretError::unfit(&rule.secret));
        }
        all.push(Credential {
            target: rule.target.to_string(),
            path: rule.path.clone(),
            field: rule.field.clone(),
            value: Sealed(Secret::new(format!("{}{}", rule.before, value.reveal()))),
        });
    }
    Ok(all)
}

/// The credential of a request, with the longest path that it begins with; the request is then
/// for the rule's target.
pub(crate) fn attach<'a>(
    all: &'a [Credential],
    plain: &mut Plain,
) -> Result<Option<&'a Credential>, Bad> {
    let mut found: Option<(&Credential, Target)> = None;
    for credential in all {
        let Ok(target) = Target::parse(&credential.target, None) else {
            continue;
        };
        let port = plain.target.port == HTTP || plain.target.port == target.port;
        let longer = found
            .as_ref()
            .is_none_or(|(best, _)| credential.path.len() > best.path.len());
        if port
            && plain.target.host == target.host
            && longer
            && below(&plain.path, &credential.path)
        {
            found = Some((credential, target));
        }
    }
    let Some((credential, target)) = found else {
        return Ok(None);
    };
    if !is_simple(&plain.path) {
        return Err(Bad(
            "a path with a credential has no `//`, `.`, `..`, `\\` or encoded `/`, `.`, `\\` and `%`",
        ));
    }
    plain.target = target;
    Ok(Some(credential))
}

/// Whether a path is the prefix, or below it: `/v1` has `/v1`, `/v1?x` and `/v1/x`, not `/v12`.
fn below(path: &str, prefix: &str) -> bool {
    let rest = path.strip_prefix(prefix);
    rest.is_some_and(|rest| {
        prefix.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?'])
    })
}

/// Whether a path can be understood in one way only.
fn is_simple(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let encoded = path.to_ascii_lowercase();
    let hidden = ["%2e", "%2f", "%5c", "%25", "%00"];
    !path.contains("//")
        && !path.contains(['\\', ';'])
        && !path.split('/').any(|part| matches!(part, "." | ".."))
        && !hidden.iter().any(|hidden| encoded.contains(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::head::{Request, parse};

    fn credential(target: &str, path: &str, value: &str) -> Credential {
        Credential {
            target: target.to_owned(),
            path: path.to_owned(),
            field: "Authorization".to_owned(),
            value: Sealed(Secret::new(value)),
        }
    }

    fn all() -> [Credential; 3] {
        [
            credential("api.example:443", "/v1/", "one"),
            credential("api.example:443", "/v1/admin", "two"),
            credential("other.example:8443", "/", "three"),
        ]
    }

    fn asked(host: &str, path: &str) -> Result<Option<(String, String)>, Bad> {
        let text = format!("GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let Ok(Request::Plain(mut plain)) = parse(text.as_bytes()) else {
            panic!("{text}");
        };
        let all = all();
        let found = attach(&all, &mut plain)?;
        Ok(found.map(|found| (found.value.reveal().to_owned(), plain.target.to_string())))
    }

    #[test]
    fn a_request_gets_what_is_for_its_host_and_path() {
        for (host, path, wanted) in [
            ("api.example", "/v1/x", Some(("one", "api.example:443"))),
            (
                "api.example:443",
                "/v1/x?y=/../",
                Some(("one", "api.example:443")),
            ),
            ("api.example", "/v1/admin", Some(("two", "api.example:443"))),
            (
                "api.example",
                "/v1/admin/x",
                Some(("two", "api.example:443")),
            ),
            (
                "api.example",
                "/v1/administrator",
                Some(("one", "api.example:443")),
            ),
            ("api.example", "/v1", None),
            ("api.example", "/v2/x", None),
            ("api.example", "/", None),
            ("api.example:8080", "/v1/x", None),
            ("x.api.example", "/v1/x", None),
            (
                "other.example",
                "/any",
                Some(("three", "other.example:8443")),
            ),
            ("other.example:443", "/any", None),
        ] {
            let wanted = wanted.map(|(value, target)| (value.to_owned(), target.to_owned()));
            assert_eq!(asked(host, path), Ok(wanted), "{host}{path}");
        }
    }

    #[test]
    fn a_path_that_may_mean_another_is_refused() {
        for path in [
            "/v1/../v2",
            "/v1/./x",
            "/v1//x",
            "/v1/%2e%2e/x",
            "/v1/%2E./x",
            "/v1/a%2fb",
            "/v1/a%5Cb",
            "/v1/a\\b",
            "/v1/..;/x",
            "/v1/%252e",
            "/v1/x%00",
            "/v1/..",
        ] {
            assert!(asked("api.example", path).is_err(), "{path}");
        }
        assert!(asked("api.example", "/v1/a.b/c%20d?x=%2e%2e//").is_ok());
    }

    #[test]
    fn a_value_crosses_the_socket_and_does_not_print() {
        let one = credential("a.example:443", "/", "hunter2");
        assert!(!format!("{one:?}").contains("hunter2"));
        let text = serde_json::to_string(&one).expect("it is JSON");
        let again: Credential = serde_json::from_str(&text).expect("it was one");
        assert_eq!(again.value.reveal(), "hunter2");
        for bad in ["", "a b", "Host", "content-length", "a:b", "é"] {
            assert!(!is_field_name(bad), "{bad}");
        }
        assert!(is_field_name("X-Api-Key"));
    }
}
