//! What is a job told that cannot have what it asks for?
//!
//! A sentence that a person or a model can act on: in the body, and in the status line too, which
//! is all that many clients show of a refused tunnel.

use crate::egress::allow::Grant;
use crate::egress::head::Bad;
use crate::egress::hello::Unlike;
use crate::egress::resolve::Unfit;
use crate::egress::tally::Decision;
use crate::egress::target::Target;
use std::io;

/// Bytes of the sentence in a status line at most.
const REASON_BYTES_MAX: usize = 240;
/// A fatal alert of TLS, as a client shows it: `access denied`.
const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// Why a job does not get what it asks for.
#[derive(Debug)]
pub(super) enum Refusal<'a> {
    NotListed(&'a Target, &'a Grant),
    Unfit(&'a Target, Unfit),
    Unreachable(&'a Target),
    /// It has not shown that it is the host.
    Insecure(&'a Target, io::Error),
    Bad(Bad),
    /// What a tunnel begins with is not for its host.
    Misnamed(&'a Target, Unlike),
    TooManyConnections(u32),
    TooManyBytes(u64),
    TimedOut,
}

impl Refusal<'_> {
    pub(super) fn decision(&self) -> Decision {
        match self {
            Self::NotListed(..) => Decision::NotListed,
            Self::Unfit(_, Unfit::Forbidden(..)) => Decision::ForbiddenAddress,
            Self::Unfit(_, Unfit::Unresolved) => Decision::Unresolved,
            Self::Unreachable(_) | Self::Insecure(..) => Decision::Unreachable,
            Self::Bad(_) => Decision::BadRequest,
            Self::Misnamed(..) => Decision::Misnamed,
            Self::TooManyConnections(_) => Decision::TooManyConnections,
            Self::TooManyBytes(_) => Decision::TooManyBytes,
            Self::TimedOut => Decision::TimedOut,
        }
    }

    /// For the job. It is not told which address a name has.
    pub(super) fn words(&self) -> String {
        match self {
            Self::NotListed(_, grant) if grant.is_empty() => {
                "network is off for this job; allowed hosts: none".to_owned()
            }
            Self::NotListed(target, grant) => {
                format!("`{target}` is not allowed for this job; allowed hosts: {grant}")
            }
            Self::Unfit(target, Unfit::Forbidden(_, what)) => {
                format!("`{target}` is not reached: its address is {what}")
            }
            Self::Unfit(target, Unfit::Unresolved) => {
                format!("`{target}` is not reached: its name has no address")
            }
            Self::Unreachable(target) => format!("`{target}` is not reached: nobody answers there"),
            Self::Insecure(target, _) => {
                format!("`{target}` is not reached: it did not show by TLS that it is that host")
            }
            Self::Bad(Bad(why)) => format!("the request is not served: {why}"),
            Self::Misnamed(target, unlike) => format!(
                "the tunnel to `{target}` is cut: {unlike}; only TLS whose server name is that host \
                 goes through"
            ),
            Self::TooManyConnections(most) => {
                format!("a job has at most {most} connections at a time")
            }
            Self::TooManyBytes(most) => format!("the job has carried its {most} bytes"),
            Self::TimedOut => "the request did not come in time".to_owned(),
        }
    }

    /// For the operator's log, where it says more.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Unfit(_, unfit) => unfit.to_string(),
            Self::Insecure(_, error) => format!("no TLS: {error}"),
            other => other.words(),
        }
    }

    /// The whole response.
    pub(super) fn response(&self) -> Vec<u8> {
        match self {
            Self::Misnamed(_, Unlike::NotTls) => {}
            // Who speaks TLS hears it in TLS.
            Self::Misnamed(..) => return ACCESS_DENIED.to_vec(),
            _ => {}
        }
        let status = match self.decision() {
            Decision::BadRequest => 400,
            Decision::TimedOut => 408,
            Decision::Unresolved | Decision::Unreachable => 502,
            Decision::TooManyConnections => 503,
            Decision::Allowed
            | Decision::NotListed
            | Decision::ForbiddenAddress
            | Decision::Misnamed
            | Decision::TooManyBytes => 403,
        };
        let words = format!("kiln: {}", self.words());
        let reason: String = words
            .chars()
            .take(REASON_BYTES_MAX)
            .map(|c| if c.is_ascii_graphic() { c } else { ' ' })
            .collect();
        let length = words.len() + 1;
        format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{words}\n"
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_allowed() {
        let target = Target::parse("evil.example:443", None).expect("a target");
        let grant = Grant::granted(&["api.example.com:443".to_owned()]).expect("a grant");
        let said = |grant: &Grant| {
            String::from_utf8(Refusal::NotListed(&target, grant).response()).expect("text")
        };
        let text = said(&grant);
        let sentence = "kiln: `evil.example:443` is not allowed for this job; allowed hosts: \
                        api.example.com:443";
        assert!(
            text.starts_with(&format!("HTTP/1.1 403 {sentence}\r\n")),
            "{text}"
        );
        assert!(text.ends_with(&format!("\r\n\r\n{sentence}\n")), "{text}");
        assert!(text.contains(&format!("Content-Length: {}\r\n", sentence.len() + 1)));
        assert!(
            said(&Grant::default()).contains("network is off for this job; allowed hosts: none")
        );
    }

    #[test]
    fn a_forbidden_address_is_not_told() {
        let target = Target::parse("in.example:443", None).expect("a target");
        let address = "10.1.2.3".parse().expect("an address");
        let refusal = Refusal::Unfit(&target, Unfit::Forbidden(address, "private"));
        assert!(!refusal.words().contains("10.1.2.3"));
        assert!(refusal.detail().contains("10.1.2.3"));
    }
}
