//! What does a server of this machine answer to one HTTP request?

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The head, as it came.
    pub head: String,
    /// The body, with its chunks joined.
    pub body: String,
}

/// Asks once; `None` where nobody answers in two seconds.
pub fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Option<Answer> {
    let patience = Duration::from_secs(2);
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect_timeout(&address, patience).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let named = headers.iter().any(|(name, _)| *name == "Host");
    let head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n");
    let own = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let request: String = [head, if named { String::new() } else { host }]
        .into_iter()
        .chain(own)
        .collect();
    stream.write_all(request.as_bytes()).ok()?;
    stream.write_all(b"\r\n").ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    parse(&String::from_utf8_lossy(&bytes))
}

/// Gets a page.
pub fn get(port: u16, path: &str) -> Option<Answer> {
    ask(port, "GET", path, &[])
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = if chunked { join(body) } else { body.to_owned() };
    Some(Answer {
        status,
        head: head.to_owned(),
        body,
    })
}

fn join(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(chunk) = after.get(..size).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        body += chunk;
        rest = after[size..].trim_start_matches("\r\n");
    }
    body
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_answer_is_read_whole_or_in_chunks() {
        let whole = parse("HTTP/1.1 503 Service Unavailable\r\nA: b\r\n\r\n{}").expect("one");
        assert_eq!((whole.status, whole.body.as_str()), (503, "{}"));
        let chunks =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        assert_eq!(parse(chunks).expect("one").body, "abcde");
        assert_eq!(parse("nothing"), None);
    }
}
