//! A clamd that is dead, slow, or says something else than it should.

use super::order::Dice;
use super::order::Fault::{self, ClamdDead, ClamdSlow};
use kiln::config::ClamdAddress;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// How long the gate waits for it here.
pub(super) const WAIT: Duration = Duration::from_millis(250);

/// No answers.
const NONSENSE: [&[u8]; 14] = [
    b"",
    b"\0",
    b"stream: OK",
    b"stream: OK\n",
    b"stream: OK\0stream: X FOUND\0",
    b"stream: OK\0\0",
    b"stream: ok\0",
    b"1: stream: OK\0",
    b"stream: OK FOUND",
    b"stream: FOUND\0",
    b"stream: INSTREAM size limit exceeded. ERROR\0",
    b"UNKNOWN COMMAND\0",
    b"\xff\xfe\0",
    b"HTTP/1.1 200 OK\r\n\r\nstream: OK\0",
];

/// What it does with whoever calls.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// It takes the call and is gone.
    HangUp,
    /// It hears this many bytes and is gone.
    HangUpAfter(usize),
    Silent,
    Says(&'static [u8]),
    /// It says so before it has heard the file, and goes.
    SaysTooEarly(&'static [u8]),
}

/// One that listens and never does what it should.
pub(super) struct Liar {
    path: PathBuf,
    away: PathBuf,
    manner: Arc<Mutex<Manner>>,
}

impl Liar {
    pub(super) fn listen(path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("scratch");
        let manner = Arc::new(Mutex::new(Manner::HangUp));
        let now = Arc::clone(&manner);
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.expect("ours");
                let manner = *now.lock().expect("ours");
                tokio::spawn(answer(socket, manner));
            }
        });
        Self {
            path: path.to_owned(),
            away: path.with_extension("away"),
            manner,
        }
    }

    pub(super) fn address(&self) -> ClamdAddress {
        ClamdAddress::Unix(self.path.clone())
    }

    /// What it does from now on. One that is dead has no socket, or nobody behind it.
    pub(super) fn will(&self, fault: Fault, dice: &mut Dice) {
        let gone = fault == ClamdDead && dice.roll(2) == 0;
        if gone == self.path.exists() {
            let (from, to) = if gone {
                (&self.path, &self.away)
            } else {
                (&self.away, &self.path)
            };
            std::fs::rename(from, to).expect("scratch");
        }
        let said = NONSENSE[dice.roll(NONSENSE.len())];
        let manner = match fault {
            ClamdDead if dice.roll(2) == 0 => Manner::HangUp,
            ClamdDead => Manner::HangUpAfter(dice.roll(200)),
            ClamdSlow => Manner::Silent,
            _ if dice.roll(4) == 0 => Manner::SaysTooEarly(said),
            _ => Manner::Says(said),
        };
        *self.manner.lock().expect("ours") = manner;
    }
}

/// Whoever called may be gone at any time.
async fn answer(mut socket: UnixStream, manner: Manner) {
    let mut heard = Vec::new();
    match manner {
        Manner::HangUp => {}
        Manner::HangUpAfter(bytes) => {
            while heard.len() < bytes && socket.read_buf(&mut heard).await.is_ok_and(|n| n > 0) {}
        }
        Manner::Silent => {
            while socket.read_buf(&mut heard).await.is_ok_and(|n| n > 0) {
                heard.clear();
            }
        }
        Manner::SaysTooEarly(text) => {
            drop(socket.write_all(text).await);
        }
        Manner::Says(text) => {
            while !heard.ends_with(&[0; 4]) {
                if !socket.read_buf(&mut heard).await.is_ok_and(|n| n > 0) {
                    return;
                }
            }
            drop(socket.write_all(text).await);
        }
    }
}
