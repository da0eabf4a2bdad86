//! What is said beside the bytes of an artifact, so that a browser does no more than it should?

use super::Answer;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use kiln_protocol::outcome::{ArtifactReport, Verdict};
use std::fmt::Write as _;

const OTHER_SITES: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PREFETCH: HeaderName = HeaderName::from_static("x-dns-prefetch-control");
const CONNECTIONS: HeaderName = HeaderName::from_static("connection-allowlist");

/// Nothing is fetched, nothing is sent, nothing moves.
const NOTHING: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                       font-src data:; media-src data:; form-action 'none'; base-uri 'none'; \
                       webrtc 'block'";
/// The page around a frame is ours and has no script; what is in it can only move here.
const PAGE: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; \
                    form-action 'none'; base-uri 'none'";

/// Bytes of a name that is offered for saving, at most.
const NAME_MAX: usize = 150;

/// What answers have in common.
pub(crate) struct Heads {
    /// Who may have them in a frame.
    ancestors: String,
}

impl Heads {
    /// Lets our own pages, and those of one application, have artifacts in frames.
    pub(crate) fn new(application: Option<&str>) -> Result<Self, String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b":/.-[]".contains(&b);
        let origin = |text: &str| {
            let rest = text
                .strip_prefix("https://")
                .or(text.strip_prefix("http://"));
            rest.is_some_and(|host| !host.is_empty() && !host.contains('/'))
                && text.bytes().all(plain)
        };
        match application {
            None => Ok(Self {
                ancestors: "frame-ancestors 'self'".to_owned(),
            }),
            Some(text) if origin(text) => Ok(Self {
                ancestors: format!("frame-ancestors 'self' {text}"),
            }),
            Some(text) => Err(format!(
                "`{text}` is not an origin such as `https://app.example.com`"
            )),
        }
    }

    /// To be looked at, and no more.
    pub(crate) fn quiet(&self, artifact: &ArtifactReport, bytes: Bytes) -> Answer {
        let policy = format!("sandbox; {NOTHING}; {}", self.ancestors);
        shown(artifact, bytes, &policy, "inline")
    }

    /// To be saved.
    pub(crate) fn saved(&self, artifact: &ArtifactReport, bytes: Bytes) -> Answer {
        let policy = format!("sandbox; {NOTHING}; {}", self.ancestors);
        shown(artifact, bytes, &policy, "attachment")
    }

    /// In the frame of our own page: scripts run where the verdict says that they are by design,
    /// without an origin.
    pub(crate) fn framed(&self, artifact: &ArtifactReport, bytes: Bytes) -> Answer {
        if artifact.verdict != Verdict::Active {
            return self.quiet(artifact, bytes);
        }
        let policy = format!(
            "sandbox allow-scripts; {NOTHING}; script-src 'unsafe-inline'; {}",
            self.ancestors
        );
        shown(artifact, bytes, &policy, "inline")
    }

    /// The page with that frame.
    pub(crate) fn page(&self, id: &str, path: &str) -> Answer {
        let style = "html,body,iframe{margin:0;border:0;width:100%;height:100%;display:block}";
        // Of an escaped path nothing is left that HTML knows.
        let html = format!(
            "<!DOCTYPE html><meta charset=utf-8><title>Artifact</title><style>{style}</style>\
             <iframe sandbox=allow-scripts src=\"/{}/{}?raw\"></iframe>\n",
            escaped(id),
            escaped(path)
        );
        let policy = format!("{PAGE}; {}", self.ancestors);
        answer(StatusCode::OK, "text/html", &policy, html.into())
    }
}

fn shown(artifact: &ArtifactReport, bytes: Bytes, policy: &str, how: &str) -> Answer {
    let media = artifact.media_type.as_deref();
    let media = media.unwrap_or("application/octet-stream");
    let mut answer = answer(StatusCode::OK, media, policy, bytes);
    let name = artifact.path.rsplit('/').next().unwrap_or_default();
    let disposition = format!(
        "{how}; filename=\"artifact\"; filename*=UTF-8''{}",
        escaped(&short(name))
    );
    answer
        .headers_mut()
        .insert(CONTENT_DISPOSITION, value(&disposition));
    answer
}

/// A text of our own.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Answer {
    let policy = format!("sandbox; {NOTHING}; frame-ancestors 'none'");
    answer(status, "text/plain; charset=utf-8", &policy, text.into())
}

fn answer(status: StatusCode, media: &str, policy: &str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    let connections = if policy.starts_with(PAGE) {
        "(response-origin)"
    } else {
        "()"
    };
    for (name, text) in [
        (CONTENT_TYPE, media),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (OTHER_SITES, "same-site"),
        (REFERRER_POLICY, "no-referrer"),
        (PREFETCH, "off"),
        // What no content policy covers: WebRTC, and connections that are made ahead.
        (CONNECTIONS, connections),
        // A verdict can be taken back.
        (CACHE_CONTROL, "private, no-store"),
    ] {
        headers.insert(name, value(text));
    }
    answer
}

/// A text that stands in an outcome as a header; one that cannot be one says nothing.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The job and the path that a request is for.
pub(crate) fn asked(path: &str) -> Option<(String, String)> {
    let (id, path) = path.strip_prefix('/')?.split_once('/')?;
    Some((unescaped(id)?, unescaped(path)?))
}

/// The start of a name, whole characters, and none that steers a terminal or turns the text.
fn short(name: &str) -> String {
    let hidden = |c: &char| {
        c.is_control()
            || matches!(*c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut short = String::new();
    for c in name.chars().filter(|c| !hidden(c)) {
        if short.len() + c.len_utf8() > NAME_MAX {
            break;
        }
        short.push(c);
    }
    short
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                out.push(char::from(byte));
            }
            _ => write!(out, "%{byte:02X}").expect("a string takes whatever is written"),
        }
    }
    out
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, more)) = rest.split_first() {
        rest = more;
        if byte == b'%' {
            let (code, more) = rest.split_at_checked(2)?;
            let digits = std::str::from_utf8(code).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = more;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
