//! A wire that can be slow, narrow, silent or cut: a TCP proxy between one client and one server.

use crate::stack::ports::Ports;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::Instant;

/// The two ways bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From who connects to who listens.
    Up,
    /// Back.
    Down,
}

/// What the wire does to bytes that go one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Quality {
    delay: Duration,
    /// Bytes a second; no bound where nought.
    rate: u32,
    /// Bytes are taken and do not come out before this ends.
    silent: bool,
}

/// What holds for the whole wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    up: Quality,
    down: Quality,
    /// Who connects is hung up on.
    refused: bool,
    /// Connections of an older number are cut.
    cut: u64,
    /// ... by a reset, which loses what is on its way.
    reset: bool,
}

/// A proxy that listens on 127.0.0.1 until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    ports: Ports,
    state: Arc<watch::Sender<State>>,
    task: tokio::task::JoinHandle<()>,
}

/// The threads on which all that waits in the tests is done.
///
/// # Panics
/// When the machine has no threads left.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        builder.build().expect("threads can be made")
    })
}

impl Proxy {
    /// Starts one before a server of this machine.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn before(port: u16) -> Self {
        let ports = Ports::take();
        let (state, _) = watch::channel(State::default());
        let state = Arc::new(state);
        let address = SocketAddr::from(([127, 0, 0, 1], ports.at(0)));
        let listener = runtime()
            .block_on(TcpListener::bind(address))
            .unwrap_or_else(|error| panic!("listen on {address}: {error}"));
        let task = runtime().spawn(serve(listener, port, Arc::clone(&state)));
        Self { ports, state, task }
    }

    /// Where to connect to.
    pub fn port(&self) -> u16 {
        self.ports.at(0)
    }

    fn quality(&self, ways: &[Way], change: impl Fn(&mut Quality)) {
        self.state.send_modify(|state| {
            for way in ways {
                change(match way {
                    Way::Up => &mut state.up,
                    Way::Down => &mut state.down,
                });
            }
        });
    }

    /// Every byte comes this much later, both ways.
    pub fn latency(&self, delay: Duration) {
        self.quality(&[Way::Up, Way::Down], |quality| quality.delay = delay);
    }

    /// No more than so many bytes a second go each way; nought is no bound.
    pub fn bandwidth(&self, rate: u32) {
        self.quality(&[Way::Up, Way::Down], |quality| quality.rate = rate);
    }

    /// Nothing goes one way any more, and nobody is told: the half-open connection. What was sent
    /// comes when the wire is good again, as TCP would send it once more: a connection that lives
    /// on has no gap.
    pub fn silence(&self, way: Way, on: bool) {
        self.quality(&[way], |quality| quality.silent = on);
    }

    /// Hangs up on who connects from now on.
    pub fn refuse(&self, on: bool) {
        self.state.send_modify(|state| state.refused = on);
    }

    /// Closes all connections in order.
    pub fn cut(&self) {
        self.sever(false);
    }

    /// Resets all connections: what is on its way is lost.
    pub fn reset(&self) {
        self.sever(true);
    }

    fn sever(&self, reset: bool) {
        self.state.send_modify(|state| {
            state.cut += 1;
            state.reset = reset;
        });
    }

    /// A good wire again; connections that live are kept.
    pub fn heal(&self) {
        self.state.send_modify(|state| {
            *state = State {
                cut: state.cut,
                ..State::default()
            };
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.sever(true);
    }
}

async fn serve(listener: TcpListener, port: u16, state: Arc<watch::Sender<State>>) {
    while let Ok((near, _)) = listener.accept().await {
        let watch = state.subscribe();
        if watch.borrow().refused {
            near.set_zero_linger().ok();
            continue;
        }
        tokio::spawn(async move {
            if let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await {
                join(near, far, watch).await;
            }
        });
    }
}

/// Carries bytes both ways until one side ends or the wire is cut.
async fn join(near: TcpStream, far: TcpStream, mut watch: watch::Receiver<State>) {
    near.set_nodelay(true).ok();
    far.set_nodelay(true).ok();
    let since = watch.borrow().cut;
    let (mut near_in, mut near_out) = near.into_split();
    let (mut far_in, mut far_out) = far.into_split();
    let (up, down) = (watch.clone(), watch.clone());
    let both = async {
        tokio::join!(
            carry(&mut near_in, &mut far_out, up, |state| state.up),
            carry(&mut far_in, &mut near_out, down, |state| state.down),
        );
    };
    let severed = watch.wait_for(|state| state.cut > since);
    let reset = tokio::select! {
        () = both => false,
        state = severed => state.is_ok_and(|state| state.reset),
    };
    if reset {
        near_out.as_ref().set_zero_linger().ok();
        far_out.as_ref().set_zero_linger().ok();
        // Dropped, they would first say in order that they end.
        near_out.forget();
        far_out.forget();
    }
}

type From = tokio::net::tcp::OwnedReadHalf;
type Into = tokio::net::tcp::OwnedWriteHalf;

/// One way: a reader that stamps what comes, a writer that lets it out when it is due.
async fn carry(
    from: &mut From,
    into: &mut Into,
    mut watch: watch::Receiver<State>,
    of: fn(&State) -> Quality,
) {
    let (send, mut due) = tokio::sync::mpsc::channel::<(Instant, Vec<u8>)>(64);
    let now = watch.clone();
    let read = async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            let at = Instant::now() + of(&now.borrow()).delay;
            if send.send((at, buffer[..n].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((at, bytes)) = due.recv().await {
            tokio::time::sleep_until(at).await;
            for part in bytes.chunks(1024) {
                let Ok(rate) = watch
                    .wait_for(|state| !of(state).silent)
                    .await
                    .map(|state| of(&state).rate)
                else {
                    return;
                };
                if rate > 0 {
                    let size = u32::try_from(part.len()).unwrap_or(u32::MAX);
                    tokio::time::sleep(Duration::from_secs(1) * size / rate).await;
                }
                if into.write_all(part).await.is_err() {
                    return;
                }
            }
        }
        into.shutdown().await.ok();
    };
    tokio::join!(read, write);
}

#[cfg(test)]
mod tests {
    use super::{Proxy, Way};
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// A server that sends back what it gets, and a client of it through the proxy.
    fn echo() -> (Proxy, TcpStream) {
        let ports = crate::stack::ports::Ports::take();
        let listener = TcpListener::bind(("127.0.0.1", ports.at(0))).expect("free");
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream).ok());
            }
        });
        let proxy = Proxy::before(ports.at(0));
        let client = connect(&proxy);
        (proxy, client)
    }

    fn connect(proxy: &Proxy) -> TcpStream {
        let client = TcpStream::connect(("127.0.0.1", proxy.port())).expect("it listens");
        let patience = Some(Duration::from_millis(700));
        client.set_read_timeout(patience).expect("a socket");
        client
    }

    fn say(mut client: &TcpStream, bytes: &[u8]) -> std::io::Result<Duration> {
        let began = Instant::now();
        client.write_all(bytes)?;
        let mut back = vec![0; bytes.len()];
        client.read_exact(&mut back)?;
        assert_eq!(back, bytes);
        Ok(began.elapsed())
    }

    #[test]
    fn a_good_wire_carries_everything() {
        let (_proxy, client) = echo();
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let sent = client.try_clone().expect("a socket");
        let all = bytes.clone();
        let writer = std::thread::spawn(move || (&sent).write_all(&all));
        let mut back = vec![0; bytes.len()];
        (&client).read_exact(&mut back).expect("it comes back");
        writer.join().expect("no panic").expect("it is sent");
        assert!(back == bytes);
    }

    #[test]
    fn latency_is_paid_both_ways_and_ends() {
        let (proxy, client) = echo();
        proxy.latency(Duration::from_millis(150));
        let took = say(&client, b"slow").expect("it comes");
        assert!(took >= Duration::from_millis(300), "{took:?}");
        proxy.heal();
        let took = say(&client, b"fast").expect("it comes");
        assert!(took < Duration::from_millis(290), "{took:?}");
    }

    #[test]
    fn a_narrow_wire_takes_its_time() {
        let (proxy, client) = echo();
        proxy.bandwidth(20_000);
        let took = say(&client, &[7; 4_000]).expect("it comes");
        assert!(took >= Duration::from_millis(200), "{took:?}");
    }

    #[test]
    fn a_cut_is_an_end_of_file() {
        let (proxy, client) = echo();
        say(&client, b"before").expect("it comes");
        proxy.cut();
        assert_eq!((&client).read(&mut [0]).expect("an end"), 0);
        say(&connect(&proxy), b"after").expect("who comes later is served");
    }

    #[test]
    fn a_reset_is_an_error() {
        let (proxy, client) = echo();
        say(&client, b"before").expect("it comes");
        proxy.reset();
        let error = (&client).read(&mut [0]).expect_err("no end in order");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn a_silent_way_is_noticed_by_nobody() {
        for way in [Way::Up, Way::Down] {
            let (proxy, client) = echo();
            say(&client, b"before").expect("it comes");
            proxy.silence(way, true);
            let error = say(&client, b"into the void").expect_err("nothing comes");
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{way:?}");
            proxy.silence(way, false);
            let mut late = [0; 13];
            (&client).read_exact(&mut late).expect("it comes late");
            assert_eq!(&late, b"into the void", "nothing is missing");
            say(&client, b"after").expect("the connection lived");
        }
    }

    #[test]
    fn who_is_refused_is_hung_up_on() {
        let (proxy, _client) = echo();
        proxy.refuse(true);
        assert!(say(&connect(&proxy), b"hello").is_err());
        proxy.refuse(false);
        say(&connect(&proxy), b"hello").expect("who comes later is served");
    }
}
