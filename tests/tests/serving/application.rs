//! An application with something to steal, the example server behind it, and a listener for what leaves.

use acceptance::places;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the application keeps in a cookie and beside it, and nobody else may know.
pub(crate) const MARKER: &str = "marker-7f3a91";

/// What the server says beside an artifact's bytes to keep it from acting.
const HEADS: [&str; 7] = [
    "connection-allowlist",
    "content-security-policy",
    "content-disposition",
    "cross-origin-resource-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-dns-prefetch-control",
];

/// What of that gets to the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heads {
    All,
    /// All but the list of connections that only Chromium knows, and not for long.
    OfOlderBrowsers,
    None,
}

impl Heads {
    fn passes(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::OfOlderBrowsers => name != HEADS[0],
            Self::None => !HEADS.contains(&name),
        }
    }
}

/// The example server, as anybody starts it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut child = Command::new(places::example("serve"))
            .arg(folder)
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let port = line.trim().trim_end_matches('/').rsplit(':').next();
        let port = port.and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("it does not say where it listens: `{line}`"));
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }
}

/// An application that shows artifacts on its own origin, with or without what the server says of them.
#[derive(Debug)]
pub(crate) struct Application {
    port: u16,
    pages: Arc<Mutex<String>>,
}

impl Application {
    pub(crate) fn start(server: u16, heads: Heads) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("bound").port();
        let pages = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&pages);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shown = Arc::clone(&shown);
                std::thread::spawn(move || answer(&stream, server, heads, &shown));
            }
        });
        Self { port, pages }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The address of a page of the application's that shows these in frames.
    pub(crate) fn page(&self, urls: &[String]) -> String {
        let frames = urls
            .iter()
            .map(|url| format!("<iframe src=\"/{url}\"></iframe>"));
        *self.pages.lock().expect("ours") = frames.collect();
        self.url("frames")
    }
}

/// One request; an application that has gone wrong shows by what the browser does not see.
fn answer(mut stream: &TcpStream, server: u16, heads: Heads, shown: &Mutex<String>) -> Option<()> {
    let mut head = String::new();
    let mut lines = BufReader::new(stream);
    while lines.read_line(&mut head).ok()? > 2 {}
    let path = head.split(' ').nth(1)?.to_owned();
    let own = match &*path {
        "/app" => format!(
            "<body>signed in<script>document.cookie = 'session={MARKER}';\
             localStorage.setItem('session', '{MARKER}')</script>"
        ),
        "/frames" => shown.lock().ok()?.clone(),
        _ => String::new(),
    };
    if !own.is_empty() {
        let length = own.len();
        return write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{own}"
        )
        .ok();
    }
    let mut behind = TcpStream::connect(("127.0.0.1", server)).ok()?;
    let asked = head.replacen("Connection: keep-alive", "Connection: close", 1);
    behind.write_all(asked.as_bytes()).ok()?;
    let mut bytes = Vec::new();
    behind.read_to_end(&mut bytes).ok()?;
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, body) = bytes.split_at(at);
    let head = String::from_utf8_lossy(head);
    let kept = head.split("\r\n").filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        heads.passes(&name.to_ascii_lowercase())
    });
    let kept = kept.collect::<Vec<_>>().join("\r\n");
    stream.write_all(kept.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    stream.shutdown(Shutdown::Both).ok()
}

/// The whole internet, as far as a browser here can tell: it counts who calls.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    pub(crate) fn start() -> Self {
        let (tcp, udp, port) = (0..100)
            .find_map(|_| {
                let tcp = TcpListener::bind(("127.0.0.1", 0)).ok()?;
                let port = tcp.local_addr().ok()?.port();
                let udp = UdpSocket::bind(("127.0.0.1", port)).ok()?;
                Some((tcp, udp, port))
            })
            .expect("a port is free in both");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (by_tcp, by_udp) = (Arc::clone(&heard), Arc::clone(&heard));
        std::thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                let heard = Arc::clone(&by_tcp);
                std::thread::spawn(move || {
                    // One that says nothing has called all the same.
                    stream
                        .set_read_timeout(Some(Duration::from_millis(200)))
                        .ok();
                    let mut bytes = [0; 2_048];
                    let n = (&stream).read(&mut bytes).unwrap_or(0);
                    let plain = |b: &u8| b.is_ascii_graphic() || *b == b' ';
                    let said = bytes[..n].iter().filter(|b| plain(b)).take(300);
                    let said: String = said.copied().map(char::from).collect();
                    heard.lock().expect("ours").push(format!("tcp: {said}"));
                    write!(
                        &stream,
                        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
                    )
                    .ok();
                });
            }
        });
        std::thread::spawn(move || {
            let mut bytes = [0; 2_048];
            while let Ok((n, _)) = udp.recv_from(&mut bytes) {
                let line = format!("udp: {n} bytes");
                by_udp.lock().expect("ours").push(line);
            }
        });
        Self { port, heard }
    }

    /// Who has called since the last look.
    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().expect("ours"))
    }
}
