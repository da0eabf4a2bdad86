//! What does a request cost more that goes through the egress proxy?
//!
//! `cargo bench -p kiln --bench egress`. A site and the proxy are on this machine's loopback, and
//! each request is made directly and through the proxy in turns, so that both meet the same noise.
//! Ends with 1 where the median adds more than 0.3 ms.
#![expect(clippy::print_stdout, reason = "the figures are for people")]

use kiln_warden::socket;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 3_000;
const ADDED_MAX: Duration = Duration::from_micros(300);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

/// A proxy as a worker has it, with one job.
struct Proxy {
    _socket: OwnedFd,
    process: Child,
    door: SocketAddr,
}

impl Proxy {
    fn start(site: SocketAddr) -> Self {
        let (ours, theirs) = socket::pair().expect("a pair of sockets");
        let process = Command::new(env!("CARGO_BIN_EXE_kiln"))
            .arg("proxy")
            .env_clear()
            .stdin(Stdio::from(theirs))
            .spawn()
            .expect("the proxy starts");
        let say = |word: Value, fds: &[_]| {
            socket::send(&ours, word.to_string().as_bytes(), fds).expect("it hears");
        };
        let begin = json!({"begin": {
            "resolvers": [], "allow_private": ["127.0.0.1/32"], "plain_tunnels": [], "tls": false, "ca_file": null,
            "connect_ms": 1000, "idle_ms": 10000, "uid": kiln_warden::UID_BASE - 1,
        }});
        say(begin, &[]);
        let mut word = vec![0; 4096];
        let (length, _) = socket::receive(&ours, &mut word)
            .expect("it answers")
            .expect("a word");
        assert_eq!(
            &word[..length],
            b"\"ready\"",
            "{}",
            String::from_utf8_lossy(&word[..length])
        );
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let door = listener.local_addr().expect("it is bound");
        let open = json!({"open": {
            "lease": 1, "allow": [site.to_string()], "credentials": [], "connections": 200,
            "bytes": 1_u64 << 40,
        }});
        say(open, &[listener.as_fd()]);
        Self {
            _socket: ours,
            process,
            door,
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }
}

/// Answers one request a connection; a connection that goes on is answered as long as it asks.
fn site() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            serve(stream);
        }
    });
    address
}

fn serve(mut stream: TcpStream) {
    let mut bytes = [0; 4096];
    let mut length = 0;
    while let Ok(n @ 1..) = stream.read(&mut bytes[length..]) {
        length += n;
        if bytes[..length].ends_with(b"\r\n\r\n") {
            length = 0;
            let last = !bytes.starts_with(b"POST");
            if stream.write_all(ANSWER).is_err() || last {
                return;
            }
        }
    }
}

/// One request on a connection of its own, to its last byte.
fn request(to: SocketAddr, text: &str) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.write_all(text.as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    assert!(
        answer.ends_with(b"hello"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    began.elapsed()
}

/// One request on a connection that stays.
fn again(stream: &mut TcpStream, text: &str) -> Duration {
    let began = Instant::now();
    stream.write_all(text.as_bytes()).expect("it reads");
    let mut answer = vec![0; ANSWER.len()];
    stream.read_exact(&mut answer).expect("it answers");
    began.elapsed()
}

/// The middle and the 99th of a hundred.
fn judged(name: &str, mut direct: Vec<Duration>, mut proxied: Vec<Duration>) -> Duration {
    direct.sort_unstable();
    proxied.sort_unstable();
    let at = |all: &[Duration], percent: usize| all[all.len() * percent / 100].as_secs_f64() * 1e3;
    let added = proxied[proxied.len() / 2].saturating_sub(direct[direct.len() / 2]);
    println!(
        "{name:<28} p50 {:.3} ms direct, {:.3} ms by the proxy: +{:.3} ms, {:.1} times; p99 {:.3}, {:.3}",
        at(&direct, 50),
        at(&proxied, 50),
        added.as_secs_f64() * 1e3,
        at(&proxied, 50) / at(&direct, 50),
        at(&direct, 99),
        at(&proxied, 99),
    );
    added
}

fn main() -> ExitCode {
    let site = site();
    let proxy = Proxy::start(site);
    let direct = format!("GET / HTTP/1.1\r\nHost: {site}\r\n\r\n");
    let proxied = format!("GET http://{site}/ HTTP/1.1\r\nHost: {site}\r\n\r\n");
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        a.push(request(site, &direct));
        b.push(request(proxy.door, &proxied));
    }
    let plain = judged("a plain request", a, b);
    let stays = "POST / HTTP/1.1\r\n\r\n";
    let mut tunnel = TcpStream::connect(proxy.door).expect("it listens");
    let connect = format!("CONNECT {site} HTTP/1.1\r\nHost: {site}\r\n\r\n");
    tunnel.write_all(connect.as_bytes()).expect("it reads");
    let mut established = [0; 39];
    tunnel.read_exact(&mut established).expect("it answers");
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        b.push(again(&mut tunnel, stays));
    }
    drop(tunnel);
    let mut straight = TcpStream::connect(site).expect("it listens");
    for _ in 0..ROUNDS {
        a.push(again(&mut straight, stays));
    }
    let tunnelled = judged("a request in a tunnel", a, b);
    let within = plain <= ADDED_MAX && tunnelled <= ADDED_MAX;
    println!(
        "at most {:.1} ms may be added: {within}",
        ADDED_MAX.as_secs_f64() * 1e3
    );
    if within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
