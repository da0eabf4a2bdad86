//! What of the proxy's takes a job's bytes, and what must hold of every answer?

use super::body::{self, Source};
use super::head::{self, Body, Plain, Request};
use super::hello::{self, made};
use super::pump::Budget;
use super::target::Host::Name;
use super::target::Target as Host;
use crate::hostile_bytes::Target;
use std::net::IpAddr;
use std::time::Duration;

const HOST: &str = "api.example.com";
const IDLE: Duration = Duration::from_secs(10);
/// Fields that a request sent on may not have, as they concern one hop alone.
const HOP: [&str; 4] = ["te", "trailer", "upgrade", "proxy-authorization"];

/// What goes out in place of a request is one request, to its target, with one framing.
pub(crate) fn requests() -> Target {
    let head =
        |line: &str, fields: &str| format!("{line} HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n");
    let get = format!("GET http://{HOST}/a?b=c");
    let post = format!("POST http://{HOST}:80/");
    let seeds = [
        head(
            &get,
            "Accept: */*\r\nConnection: keep-alive, x-own\r\nX-Own: 1\r\n",
        ),
        head(&post, "Content-Length: 5\r\nExpect: 100-continue\r\n") + "hello",
        head(&post, "Transfer-Encoding: chunked\r\nTE: trailers\r\n") + "5\r\nhello\r\n0\r\n\r\n",
        format!("GET http://{HOST}/ HTTP/1.0\r\n\r\n"),
        format!("CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n"),
        "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n".to_owned(),
    ];
    Target {
        name: "requests",
        seeds: seeds.map(String::into_bytes).to_vec(),
        take: request_is_taken,
    }
}

fn request_is_taken(bytes: &[u8]) -> bool {
    let Ok(Some(end)) = head::end(bytes) else {
        return false;
    };
    for cut in [end / 2, end - 1] {
        assert_eq!(
            head::end(&bytes[..cut]),
            Ok(None),
            "a part is no whole head"
        );
    }
    match head::parse(&bytes[..end]) {
        Ok(Request::Connect(target)) => {
            let again = Host::parse(&target.to_string(), None);
            assert_eq!(again.as_ref(), Ok(&target), "a target has one spelling");
            true
        }
        Ok(Request::Plain(plain)) => {
            let sent = plain.write(80, None);
            sent_on(&plain, &sent);
            let attached = plain.write(443, Some(("Authorization", "Bearer own")));
            let count = attached
                .windows(16)
                .filter(|w| w.eq_ignore_ascii_case(b"\r\nauthorization: "));
            assert!(count.count() <= 1, "one credential");
            true
        }
        Err(_) => false,
    }
}

/// As the host reads it.
fn sent_on(plain: &Plain, sent: &[u8]) {
    let mut fields = [httparse::EMPTY_HEADER; 128];
    let mut heard = httparse::Request::new(&mut fields);
    let whole = heard.parse(sent).expect("it is a request");
    assert_eq!(
        whole,
        httparse::Status::Complete(sent.len()),
        "and nothing else"
    );
    assert_eq!(heard.method, Some(plain.method.as_str()));
    assert_eq!(heard.path, Some(plain.path.as_str()));
    assert!(plain.path.starts_with('/'), "{:?}", plain.path);
    let values = |name: &str| {
        let named = heard
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| field.value).collect::<Vec<_>>()
    };
    assert_eq!(values("host"), [plain.target.authority(80).as_bytes()]);
    assert_eq!(values("connection"), [b"close"]);
    let framings = values("content-length").len() + values("transfer-encoding").len();
    let wanted = match plain.body {
        Body::Length(0) => 0..=1,
        Body::Length(_) | Body::Chunked => 1..=1,
    };
    assert!(
        wanted.contains(&framings),
        "{framings} framings of one body"
    );
    assert!(HOP.iter().all(|name| values(name).is_empty()));
    let lines = sent.split(|b| *b == b'\n');
    assert!(
        lines
            .filter(|line| !line.is_empty())
            .all(|line| line.ends_with(b"\r"))
    );
}

/// A chunked body that is carried is framed in the one way in which it would be framed again.
pub(crate) fn bodies() -> Target {
    let seeds = [
        &b"5\r\nhello\r\n0\r\n\r\n"[..],
        b"1\r\na\r\nA\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n",
        b"0\r\n\r\n",
    ];
    Target {
        name: "bodies",
        seeds: seeds.map(<[u8]>::to_vec).to_vec(),
        take: |bytes| {
            let Some(framed) = framed(bytes) else {
                return false;
            };
            assert!(framed.len() <= bytes.len() + 2, "it grows");
            assert_eq!(framed_again(&framed), framed);
            true
        },
    }
}

fn framed_again(bytes: &[u8]) -> Vec<u8> {
    framed(bytes).expect("what was framed is a body")
}

/// What goes out in place of a chunked body.
fn framed(bytes: &[u8]) -> Option<Vec<u8>> {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
    }
    let (already, mut rest) = bytes.split_at(bytes.len() / 2);
    let mut out = Vec::new();
    let budget = Budget::new(1 << 20);
    let mut source = Source::new(&mut rest, already.to_vec(), IDLE);
    let carried = body::carry(Body::Chunked, &mut source, &mut out, &budget);
    RUNTIME.with(|runtime| runtime.block_on(carried)).ok()?;
    assert!(budget.used() <= 2 * out.len() as u64);
    Some(out)
}

/// What a tunnel begins with names one host or none, and what is whole is so from its last byte on.
pub(crate) fn hellos() -> Target {
    let real = made::real(HOST);
    let pieces = made::in_pieces(HOST, 50);
    Target {
        name: "hellos",
        seeds: vec![made::for_host(HOST), real, pieces],
        take: |bytes| {
            let whole = |length: usize| hello::names(&bytes[..length], HOST);
            let Ok(Some(())) = whole(bytes.len()) else {
                return false;
            };
            let other = hello::names(bytes, "evil.example.com");
            assert_eq!(other, Err(hello::Unlike::Another));
            let heard = (0..=bytes.len()).find(|length| whole(*length) != Ok(None));
            let first = heard.expect("the whole of it is heard");
            assert_eq!(whole(first), Ok(Some(())), "it is refused and then taken");
            true
        },
    }
}

/// A host and port is read in one spelling, and a name is none that a resolver takes for an address.
pub(crate) fn spellings() -> Target {
    let seeds = [
        "api.example.com:443",
        "1.2.3.4:80",
        "[2001:db8::1]:8080",
        "a_b.xn--c.example:1",
    ];
    Target {
        name: "spellings",
        seeds: seeds.map(|text| text.as_bytes().to_vec()).to_vec(),
        take: |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let Ok(host) = Host::parse(&text, None) else {
                return false;
            };
            let written = host.to_string();
            assert!(
                written.eq_ignore_ascii_case(&text),
                "`{text}` is read as `{written}`"
            );
            assert_eq!(Host::parse(&written, None).as_ref(), Ok(&host));
            if let Name(name) = &host.host {
                let (first, last) = (name.as_bytes()[0], name.rsplit('.').next());
                assert!(name.parse::<IpAddr>().is_err() && first != b'-', "{name}");
                let number = |label: &str| label.bytes().all(|b| b.is_ascii_digit());
                assert!(!last.is_some_and(number), "{name}");
            }
            true
        },
    }
}
