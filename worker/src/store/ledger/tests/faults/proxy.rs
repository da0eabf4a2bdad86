//! Stands between a client and a server, and passes, delays, refuses, or loses answers.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What becomes of what comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    Pass,
    /// Each answer comes this much later.
    Delay(Duration),
    /// Connections are closed at once.
    Refuse,
    /// So many requests reach the server, and their answers nobody.
    LoseAnswers {
        left: usize,
    },
}

#[derive(Debug)]
struct State {
    manner: Manner,
    lost: usize,
    open: Vec<TcpStream>,
}

/// A proxy on a port of its own.
#[derive(Debug)]
pub(super) struct Proxy {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    pub(super) fn start(server: &str, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let state = Arc::new(Mutex::new(State {
            manner,
            lost: 0,
            open: Vec::new(),
        }));
        let host = server.strip_prefix("http://").expect("an http URL");
        let host = host.trim_end_matches('/').to_owned();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if matches!(shared.lock().expect("no panic").manner, Manner::Refuse) {
                    continue;
                }
                let (host, shared) = (host.clone(), Arc::clone(&shared));
                thread::spawn(move || drop(serve(client, &host, &shared)));
            }
        });
        Self { port, state }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From here on; connections that are open end.
    pub(super) fn manner(&self, manner: Manner) {
        let mut state = self.state.lock().expect("no panic");
        state.manner = manner;
        for stream in state.open.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Answers that were lost.
    pub(super) fn lost(&self) -> usize {
        self.state.lock().expect("no panic").lost
    }
}

fn serve(client: TcpStream, host: &str, state: &Mutex<State>) -> io::Result<()> {
    let server = TcpStream::connect(host)?;
    let mut open = vec![client.try_clone()?, server.try_clone()?];
    state.lock().expect("no panic").open.append(&mut open);
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        drop(io::copy(&mut from_client, &mut to_server));
        drop(to_server.shutdown(Shutdown::Write));
    });
    let (mut from_server, mut to_client) = (server, client);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = from_server.read(&mut buffer)?;
        if n == 0 {
            return to_client.shutdown(Shutdown::Both);
        }
        let delay = {
            let mut state = state.lock().expect("no panic");
            match &mut state.manner {
                Manner::LoseAnswers { left } if *left > 0 => {
                    *left -= 1;
                    state.lost += 1;
                    drop(from_server.shutdown(Shutdown::Both));
                    return to_client.shutdown(Shutdown::Both);
                }
                Manner::Delay(delay) => *delay,
                _ => Duration::ZERO,
            }
        };
        if !delay.is_zero() {
            // Nothing else can be waited for: the delay is the thing itself.
            let (_never, wait) = std::sync::mpsc::channel::<()>();
            wait.recv_timeout(delay).expect_err("nobody sends");
        }
        to_client.write_all(&buffer[..n])?;
    }
}
