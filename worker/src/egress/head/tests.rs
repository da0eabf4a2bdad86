//! Is every request that two readers could understand differently refused, and the rest written
//! anew?

use super::*;

fn read(text: &str) -> Result<Request, Bad> {
    let bytes = text.as_bytes();
    match end(bytes)? {
        Some(length) => parse(&bytes[..length]),
        None => Err(Bad("not whole")),
    }
}

fn plain(text: &str) -> Plain {
    match read(text) {
        Ok(Request::Plain(plain)) => plain,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn sent(text: &str) -> String {
    String::from_utf8(plain(text).write(80, None)).expect("text")
}

#[test]
fn a_request_is_written_anew() {
    assert_eq!(
        sent(
            "GET HTTP://Api.Example.com:80/a?b=c HTTP/1.1\r\nhost: api.example.com\r\nX-A:  1 \r\n\
             Connection: keep-alive, X-Hop\r\nx-hop: 1\r\nProxy-Connection: keep-alive\r\n\
             Proxy-Authorization: Basic x\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\n\
             Accept: */*\r\n\r\n"
        ),
        "GET /a?b=c HTTP/1.1\r\nHost: api.example.com\r\nX-A: 1\r\nAccept: */*\r\n\
         Connection: close\r\n\r\n"
    );
    assert_eq!(
        sent(
            "POST http://a.example:8080 HTTP/1.1\r\nHost: a.example:8080\r\nContent-Length: 3\r\n\r\nabc"
        ),
        "POST / HTTP/1.1\r\nHost: a.example:8080\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(
        sent(
            "PUT http://a.example?x HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: Chunked\r\n\r\n"
        ),
        "PUT /?x HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(
        sent("GET http://a.example/ HTTP/1.0\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
    );
    let expecting = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nExpect: 100-Continue\r\n\
                     Content-Length: 1\r\n\r\n";
    assert!(plain(expecting).expects);
}

#[test]
fn a_field_of_our_own_stands_in_place_of_the_jobs() {
    let request = plain(
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nauthorization: mine\r\n\
         Authorization: mine too\r\n\r\n",
    );
    let head = request.write(443, Some(("Authorization", "Bearer x")));
    assert_eq!(
        String::from_utf8(head).expect("text"),
        "GET / HTTP/1.1\r\nHost: a.example:80\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn a_tunnel_names_its_target() {
    for text in [
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.0\r\n\r\n",
        "CONNECT A.example:443 HTTP/1.1\r\nHost: a.EXAMPLE:443\r\nContent-Length: 0\r\n\r\n",
    ] {
        let target = Target::parse("a.example:443", None).expect("a target");
        assert_eq!(read(text), Ok(Request::Connect(target)), "{text}");
    }
}

/// Each on its own; `Host` is `a.example` where none is written.
#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let get = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n";
    let lines = |extra: &str| format!("{get}{extra}\r\n");
    let fields = [
        // Two framings, or one that is doubtful.
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\ncontent-length: 4\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: 3 3\r\n",
        "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: \u{660}\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked;q=1\r\n",
        "Transfer-Encoding:\u{b}chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Content-Length : 3\r\n",
        " Content-Length: 3\r\n",
        "X: a\r\n Content-Length: 3\r\n",
        "X: a\r\n\tb\r\n",
        "Transfer-Encoding\r\n",
        ": x\r\n",
        "X\u{0}: a\r\n",
        "X: a\u{0}b\r\n",
        "X: a\u{7f}b\r\n",
        "X: a\u{1}b\r\n",
        "X Y: a\r\n",
        // Lines that end otherwise.
        "X: a\nContent-Length: 3\r\n",
        "X: a\rContent-Length: 3\r\n",
        "X: a\r\r\n",
        "X: a\n\r\n",
        // A second word about the host.
        "Host: b.example\r\n",
        "Host: a.example\r\n",
        "host : b.example\r\n",
        "Expect: 200-ok\r\n",
    ];
    for extra in fields {
        assert!(read(&lines(extra)).is_err(), "{extra:?}");
    }
    let whole = [
        "\r\nGET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "\nGET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n",
        "GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET\thttp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.1 \r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.2\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ HTTP/2.0\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ http/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\r\nHost:\r\n\r\n",
        "GET http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET //a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET a.example:80 HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http:/a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://u@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://b.example@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example#@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/#x HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example./ HTTP/1.1\r\nHost: a.example.\r\n\r\n",
        "GET http://a%2eexample/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example:080/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example:/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/\u{e9} HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "G\u{e9}T http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "AVERYLONGMETHODTHATNOBODYHAS http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT http://a.example:443/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nContent-Length: 5\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nTransfer-Encoding: chunked\r\n\r\n",
        "CONNECT u@a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
        "CONNECT 2130706433:443 HTTP/1.1\r\nHost: 2130706433:443\r\n\r\n",
        "connect a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
    ];
    for text in whole {
        assert!(read(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_head_is_bounded_and_its_end_found() {
    let get = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n";
    let whole = format!("{get}\r\nrest");
    assert_eq!(end(whole.as_bytes()), Ok(Some(whole.len() - 4)));
    assert_eq!(end(get.as_bytes()), Ok(None));
    assert_eq!(end(b"GET"), Ok(None));
    assert!(end(&vec![b'a'; HEAD_BYTES_MAX]).is_err());
    let many = |n| format!("{get}{}\r\n", "X: a\r\n".repeat(n));
    assert!(read(&many(99)).is_ok());
    assert!(read(&many(100)).is_err());
}
