//! How is a terminal borrowed, and given back as it was?

use super::frame::Frame;
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Another page of the terminal, without a cursor; and back.
const BORROW: &str = "\u{1b}[?1049h\u{1b}[?25l";
const RETURN: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// To the top; and what is left of an earlier picture goes.
const HOME: &str = "\u{1b}[H";
const REST_OF_LINE: &str = "\u{1b}[K";
const REST: &str = "\u{1b}[J";

/// The place there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Of the terminal that stdout is; nothing where it is none or does not say.
pub(super) fn size() -> Option<Size> {
    let said = termios::tcgetwinsize(io::stdout()).ok()?;
    (said.ws_col > 0 && said.ws_row > 0).then(|| Size {
        columns: said.ws_col.into(),
        rows: said.ws_row.into(),
    })
}

/// Whether there may be colour.
pub(super) fn colour() -> bool {
    let is = |name, bad: fn(&std::ffi::OsStr) -> bool| {
        std::env::var_os(name).is_some_and(|value| bad(&value))
    };
    !is("NO_COLOR", |value| !value.is_empty()) && !is("TERM", |value| value == "dumb")
}

/// A terminal that is borrowed until this is dropped.
pub(super) struct Screen {
    /// How it was; nothing where stdin is no terminal.
    before: Option<Termios>,
    keys: mpsc::Receiver<u8>,
    resized: Signal,
    coloured: bool,
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        let resized = signal(SignalKind::window_change())?;
        let (send, keys) = mpsc::channel(16);
        let stdin = io::stdin();
        let before = if stdin.is_terminal() {
            let before = termios::tcgetattr(&stdin)?;
            let mut quiet = before.clone();
            // Keys come one by one and unseen; Ctrl-C and Ctrl-Z mean what they always do.
            quiet
                .local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
            quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
            termios::tcsetattr(&stdin, OptionalActions::Now, &quiet)?;
            // It waits for a key when the process ends, and ends with it.
            std::thread::spawn(move || read(&send));
            Some(before)
        } else {
            None
        };
        let screen = Self {
            before,
            keys,
            resized,
            coloured: colour(),
        };
        put(BORROW)?;
        Ok(screen)
    }

    pub(super) fn paint(&mut self, frame: &Frame) -> io::Result<()> {
        let size = size().unwrap_or(Size {
            columns: 80,
            rows: 24,
        });
        let rows = frame.rows(size.columns, size.rows, self.coloured);
        let end = format!("{REST_OF_LINE}\r\n");
        let body = rows.join(&end);
        put(&format!("{HOME}{body}{REST_OF_LINE}{REST}"))
    }

    /// Comes back with whether the person has seen enough; else the picture is to be painted again,
    /// for the terminal has another size.
    pub(super) async fn enough(&mut self) -> bool {
        loop {
            tokio::select! {
                Some(key) = self.keys.recv() => if matches!(key, b'q' | b'Q') { return true },
                Some(()) = self.resized.recv() => return false,
                else => std::future::pending().await,
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(before) = &self.before
            && let Err(errno) = termios::tcsetattr(io::stdin(), OptionalActions::Now, before)
        {
            tracing::debug!(%errno, "the terminal is gone");
        }
        // A terminal that is gone needs nothing back.
        drop(put(RETURN));
    }
}

fn read(keys: &mpsc::Sender<u8>) {
    for key in io::stdin().lock().bytes() {
        let Ok(key) = key else { break };
        if keys.blocking_send(key).is_err() {
            break;
        }
    }
}

fn put(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
