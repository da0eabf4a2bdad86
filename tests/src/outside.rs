//! What is outside of a sandbox, for jobs to reach or not: a name server and sites of the test's own, on this machine's loopback.

pub mod secure;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a thread waits before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What a name server says of a name.
#[derive(Debug, Clone)]
pub enum Answer {
    /// These addresses, each time.
    Always(Vec<IpAddr>),
    /// These at the first question of each kind, and those from then on.
    Then(Vec<IpAddr>, Vec<IpAddr>),
    /// A chain of names to these addresses.
    Chain(Vec<String>, Vec<IpAddr>),
    /// Addresses, but of another name.
    OfAnother(String, Vec<IpAddr>),
    /// Another name for itself.
    Circle,
}

/// A name server on the loopback. It knows these names and no other.
#[derive(Debug)]
pub struct Names {
    /// Where it is asked.
    pub address: SocketAddr,
    asked: Arc<Mutex<BTreeMap<(String, u16), u32>>>,
    thread: Thread,
}

#[derive(Debug)]
struct Thread {
    end: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    fn start(body: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&end);
        let handle = Some(std::thread::spawn(move || body(&told)));
        Self { end, handle }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            handle.join().expect("it does not panic");
        }
    }
}

impl Names {
    /// Begins to answer.
    ///
    /// # Panics
    /// When there is no port.
    pub fn start(known: Vec<(String, Answer)>) -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a port of the loopback");
        socket.set_read_timeout(Some(LOOK)).expect("a timeout");
        let address = socket.local_addr().expect("it is bound");
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let count = Arc::clone(&asked);
        let known: BTreeMap<_, _> = known.into_iter().collect();
        let thread = Thread::start(move |end| {
            let mut bytes = [0; 2048];
            while !end.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut bytes) else {
                    continue;
                };
                let Some((name, kind, question)) = question(&bytes[..length]) else {
                    continue;
                };
                let nth = {
                    let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
                    let nth = count.entry((name.clone(), kind)).or_insert(0);
                    *nth += 1;
                    *nth
                };
                let said = reply(&bytes[..2], question, kind, known.get(&name), nth);
                socket
                    .send_to(&said, from)
                    .expect("the loopback carries it");
            }
        });
        Self {
            address,
            asked,
            thread,
        }
    }

    /// How often it was asked for the IPv4 address of a name.
    pub fn asked(&self, name: &str) -> u32 {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.get(&(name.to_owned(), A)).copied().unwrap_or(0)
    }

    /// Whether it still answers.
    pub fn is_up(&self) -> bool {
        self.thread
            .handle
            .as_ref()
            .is_some_and(|it| !it.is_finished())
    }
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// The name in lower case, the type, and the question as it stands.
fn question(message: &[u8]) -> Option<(String, u16, &[u8])> {
    let mut at = 12;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*message.get(at)?);
        let label = message.get(at + 1..at + 1 + length)?;
        at += 1 + length;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(label).to_ascii_lowercase());
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    Some((labels.join("."), kind, message.get(12..at + 4)?))
}

fn wire(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).expect("short labels"));
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

fn record(owner: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("short data");
    // Of class IN, to be kept for no time at all.
    [
        owner,
        &kind.to_be_bytes(),
        &[0, 1, 0, 0, 0, 0],
        &length.to_be_bytes(),
        data,
    ]
    .concat()
}

fn addresses(owner: &[u8], kind: u16, all: &[IpAddr]) -> Vec<Vec<u8>> {
    let of_kind = all.iter().filter_map(|address| match (kind, address) {
        (A, IpAddr::V4(v4)) => Some(v4.octets().to_vec()),
        (AAAA, IpAddr::V6(v6)) => Some(v6.octets().to_vec()),
        _ => None,
    });
    of_kind.map(|data| record(owner, kind, &data)).collect()
}

fn reply(id: &[u8], question: &[u8], kind: u16, answer: Option<&Answer>, nth: u32) -> Vec<u8> {
    let asked = &question[..question.len() - 4];
    let records = match answer {
        None => Vec::new(),
        Some(Answer::Always(all)) => addresses(asked, kind, all),
        Some(Answer::Then(first, _)) if nth == 1 => addresses(asked, kind, first),
        Some(Answer::Then(_, then)) => addresses(asked, kind, then),
        Some(Answer::Chain(names, all)) => {
            let mut owner = asked.to_vec();
            let mut records = Vec::new();
            for name in names {
                records.push(record(&owner, CNAME, &wire(name)));
                owner = wire(name);
            }
            records.extend(addresses(&owner, kind, all));
            records
        }
        Some(Answer::OfAnother(name, all)) => addresses(&wire(name), kind, all),
        Some(Answer::Circle) => vec![record(asked, CNAME, asked)],
    };
    let code = if answer.is_none() { 3 } else { 0 };
    let count = u16::try_from(records.len()).expect("few records");
    let head = [
        id,
        &[0x84, 0x80 | code, 0, 1],
        &count.to_be_bytes(),
        &[0; 4],
    ]
    .concat();
    [head, question.to_vec(), records.concat()].concat()
}

/// A site on the loopback that says `hello` to whoever asks, and remembers who did.
#[derive(Debug)]
pub struct Site {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    _thread: Thread,
}

impl Site {
    /// Begins to answer at an address; port 0 is any.
    ///
    /// # Panics
    /// When the address cannot be had.
    pub fn start(address: &str) -> Self {
        let listener =
            TcpListener::bind(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        listener.set_nonblocking(true).expect("it can be looked at");
        let address = listener.local_addr().expect("it is bound");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        let thread = Thread::start(move |end| {
            let mut open = Vec::new();
            while !end.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let kept = Arc::clone(&kept);
                        open.push(std::thread::spawn(move || serve(stream, &kept)));
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        std::thread::park_timeout(Duration::from_millis(1));
                    }
                    Err(error) => panic!("accept: {error}"),
                }
            }
        });
        Self {
            address,
            heard,
            _thread: thread,
        }
    }

    /// What it was asked, whole heads, one a connection.
    pub fn heard(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.clone()
    }
}

/// Reads one request, remembers it, and answers: `hello`, or as many bytes as `/bytes/<n>` says;
/// for `/body` what the body was.
fn serve(mut stream: TcpStream, kept: &Mutex<Vec<String>>) {
    stream.set_nonblocking(false).expect("it can wait");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a timeout");
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break Some(at + 4);
        }
        match stream.read(&mut part) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&part[..n]),
            _ => break None,
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned();
    kept.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(head.clone());
    let Some(end) = end else { return };
    let path = head.split(' ').nth(1).unwrap_or_default();
    let body = match path.strip_prefix("/bytes/").and_then(|n| n.parse().ok()) {
        Some(n) => vec![b'x'; n],
        None if path == "/body" => {
            while !bytes.ends_with(b"0\r\n\r\n") && bytes.len() < end + 5 {
                match stream.read(&mut part) {
                    Ok(n) if n > 0 => bytes.extend_from_slice(&part[..n]),
                    _ => break,
                }
            }
            bytes.split_off(end)
        }
        None => b"hello".to_vec(),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    // Whoever asked may be gone.
    drop(
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body)),
    );
}
