//! What does a job's request ask for, and what is sent on in its place?
//!
//! One parser, and strict: what two readers could understand differently is refused. Nothing of
//! the job's bytes is passed on as it came; the request that goes out is written anew, with the
//! `Host` of its target, one framing of its body, and none of the fields that are for one hop.

use super::target::Target;
use std::fmt::Write as _;

/// Bytes of a request's head at most.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Fields of a head at most.
const FIELDS_MAX: usize = 100;
/// Bytes of a method at most; the longest that is registered has 17.
const METHOD_BYTES_MAX: usize = 24;

/// Fields that concern one hop alone, or that are written anew.
const DROPPED: [&str; 13] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What a job asks its proxy for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A tunnel.
    Connect(Target),
    Plain(Plain),
}

/// A request that is sent on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) method: String,
    pub(crate) target: Target,
    /// With its query; begins with `/`.
    pub(crate) path: String,
    /// Those that are sent on.
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Body,
    /// Whether the job waits for a word before it sends its body.
    pub(crate) expects: bool,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Length(u64),
    Chunked,
}

/// Why a request is none, or none that is served here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Bad(pub(crate) &'static str);

/// Where the head ends, if it is whole. What can never become a head is told early.
pub(crate) fn end(bytes: &[u8]) -> Result<Option<usize>, Bad> {
    if matches!(bytes.first(), Some(b'\r' | b'\n')) {
        return Err(Bad("the request begins with an empty line"));
    }
    let mut start = 0;
    while let Some(at) = bytes[start..].iter().position(|b| *b == b'\n') {
        let line = &bytes[start..start + at];
        match line.strip_suffix(b"\r") {
            None => return Err(Bad("a line ends with a bare line feed")),
            Some([]) => return Ok(Some(start + at + 1)),
            Some(line) if line.contains(&b'\r') => {
                return Err(Bad("a line holds a bare carriage return"));
            }
            Some(_) => start += at + 1,
        }
    }
    if bytes.len() >= HEAD_BYTES_MAX {
        return Err(Bad("the head of the request is longer than 64 KiB"));
    }
    Ok(None)
}

/// Reads a whole head, its empty line included.
pub(crate) fn parse(head: &[u8]) -> Result<Request, Bad> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Bad("the request has more than 100 fields"));
        }
        Ok(_) | Err(_) => return Err(Bad("it is not an HTTP/1.1 request")),
    }
    let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version)
    else {
        return Err(Bad("it is not an HTTP/1.1 request"));
    };
    if method.len() > METHOD_BYTES_MAX {
        return Err(Bad("the method is not known"));
    }
    if !path.bytes().all(|b| b.is_ascii_graphic()) || path.contains('#') {
        return Err(Bad("the address holds a character that no address has"));
    }
    let fields = Fields(request.headers);
    if fields.0.iter().any(|field| !is_plain(field.value)) {
        return Err(Bad("a field holds a control character"));
    }
    let framing = fields.framing(version)?;
    if method == "CONNECT" {
        let target = Target::parse(path, None)
            .map_err(|_| Bad("CONNECT is followed by `host:port`, the host in its plain form"))?;
        fields.names(&target, target.port, version)?;
        return match framing {
            Body::Length(0) => Ok(Request::Connect(target)),
            Body::Length(_) | Body::Chunked => Err(Bad("CONNECT has no body")),
        };
    }
    let (target, path) = absolute(path)?;
    fields.names(&target, 80, version)?;
    Ok(Request::Plain(Plain {
        method: method.to_owned(),
        target,
        path,
        fields: fields.kept()?,
        body: framing,
        expects: fields.expects()?,
    }))
}

/// Whether a value has no control character but the tab.
fn is_plain(value: &[u8]) -> bool {
    value
        .iter()
        .all(|b| *b == b'\t' || (*b >= b' ' && *b != 0x7f))
}

/// `http://host:port/path?query`, taken apart.
fn absolute(text: &str) -> Result<(Target, String), Bad> {
    let form = Bad(
        "ask for `http://host/path` here; for `https://` use CONNECT, as clients do by \
         `HTTPS_PROXY`",
    );
    let (scheme, rest) = text.split_at_checked("http://".len()).ok_or(form)?;
    if !scheme.eq_ignore_ascii_case("http://") {
        return Err(form);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let target = Target::parse(authority, Some(80))
        .map_err(|_| Bad("the address has no host in its plain form, such as `api.example.com`"))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((target, format!("{slash}{path}")))
}

/// The fields of a head.
struct Fields<'a>(&'a [httparse::Header<'a>]);

impl Fields<'_> {
    fn each(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let named = self.0.iter();
        named
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
    }

    /// The value of a field that may be there once.
    fn one(&self, name: &str, twice: &'static str) -> Result<Option<&str>, Bad> {
        let mut all = self.each(name);
        match (all.next(), all.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => std::str::from_utf8(value).map(Some).map_err(|_| Bad(twice)),
            (Some(_), Some(_)) => Err(Bad(twice)),
        }
    }

    /// How the body is framed, where there is only one way to read it.
    fn framing(&self, version: u8) -> Result<Body, Bad> {
        let length = self.one("content-length", "`Content-Length` is given twice")?;
        let coding = self.one("transfer-encoding", "`Transfer-Encoding` is given twice")?;
        match (length, coding) {
            (Some(_), Some(_)) => Err(Bad(
                "both `Content-Length` and `Transfer-Encoding` are given",
            )),
            (None, None) => Ok(Body::Length(0)),
            (None, Some(coding)) if version == 1 && coding.eq_ignore_ascii_case("chunked") => {
                Ok(Body::Chunked)
            }
            (None, Some(_)) => Err(Bad("the only `Transfer-Encoding` here is `chunked`")),
            (Some(length), None) => {
                let plain =
                    (1..=18).contains(&length.len()) && length.bytes().all(|b| b.is_ascii_digit());
                let length = length.parse().ok().filter(|_| plain);
                length
                    .map(Body::Length)
                    .ok_or(Bad("`Content-Length` is not one plain number"))
            }
        }
    }

    /// Whether `Host` names the target too.
    fn names(&self, target: &Target, default: u16, version: u8) -> Result<(), Bad> {
        match self.one("host", "`Host` is given twice")? {
            None if version == 0 => Ok(()),
            None => Err(Bad("there is no `Host`")),
            Some(host) if Target::parse(host, Some(default)).as_ref() == Ok(target) => Ok(()),
            Some(_) => Err(Bad("`Host` is not the host of the address")),
        }
    }

    fn expects(&self) -> Result<bool, Bad> {
        match self.one("expect", "`Expect` is given twice")? {
            None => Ok(false),
            Some(word) if word.eq_ignore_ascii_case("100-continue") => Ok(true),
            Some(_) => Err(Bad("the only `Expect` here is `100-continue`")),
        }
    }

    /// What is sent on: neither what is for one hop, nor what `Connection` says is.
    fn kept(&self) -> Result<Vec<(String, Vec<u8>)>, Bad> {
        let mut hop = Vec::new();
        for value in self.each("connection") {
            let text = std::str::from_utf8(value).map_err(|_| Bad("`Connection` is no text"))?;
            hop.extend(text.split(',').map(|name| name.trim().to_ascii_lowercase()));
        }
        let kept = self.0.iter().filter_map(|field| {
            let name = field.name.to_ascii_lowercase();
            let dropped = DROPPED.contains(&name.as_str()) || hop.contains(&name);
            (!dropped).then(|| (field.name.to_owned(), field.value.to_vec()))
        });
        Ok(kept.collect())
    }
}

impl Plain {
    /// The head that is sent on. `default` is the port that needs no saying; `attached` is a
    /// field of the proxy's own, and stands in place of any of that name.
    pub(crate) fn write(&self, default: u16, attached: Option<(&str, &str)>) -> Vec<u8> {
        let mut head = String::new();
        let line = write!(
            head,
            "{} {} HTTP/1.1\r\nHost: {}\r\n",
            self.method,
            self.path,
            self.target.authority(default)
        );
        line.expect("a string takes whatever is written");
        let mut head = head.into_bytes();
        let mut put = |name: &str, value: &[u8]| {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        };
        for (name, value) in &self.fields {
            if attached.is_none_or(|(own, _)| !own.eq_ignore_ascii_case(name)) {
                put(name, value);
            }
        }
        if let Some((name, value)) = attached {
            put(name, value.as_bytes());
        }
        match self.body {
            Body::Length(0) if matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS") => {}
            Body::Length(length) => put("Content-Length", length.to_string().as_bytes()),
            Body::Chunked => put("Transfer-Encoding", b"chunked"),
        }
        put("Connection", b"close");
        head.extend_from_slice(b"\r\n");
        head
    }
}

#[cfg(test)]
#[path = "head/tests.rs"]
mod tests;
