//! How does the program's output reach the person while the program runs?
//!
//! A thread for each stream writes what comes. Where a stream goes to a terminal its control
//! characters are escaped; a file or a pipe gets the bytes as they are.

use super::escape::Escaper;
use crate::engine::Live;
use kiln_protocol::limits::Limits;
use std::io::{self, IsTerminal, Write};
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// Chunks that may wait for a slow reader.
const CHUNKS: usize = 16;

/// The threads that write.
#[derive(Debug)]
pub(super) struct Passing {
    threads: Vec<JoinHandle<bool>>,
}

/// Passes both streams on, each up to its limit, or with `stdout_too` unset stderr alone.
pub(super) fn start(stdout_too: bool, limits: &Limits) -> (Live, Passing) {
    let (stdout_bytes, stderr_bytes) = (limits.stdout_bytes, limits.stderr_bytes);
    let (stdout, from_stdout) = mpsc::channel(CHUNKS);
    let (stderr, from_stderr) = mpsc::channel(CHUNKS);
    let mut threads = vec![std::thread::spawn(move || {
        let terminal = io::stderr().is_terminal();
        pass(from_stderr, io::stderr(), stderr_bytes, terminal)
    })];
    if stdout_too {
        threads.push(std::thread::spawn(move || {
            let terminal = io::stdout().is_terminal();
            pass(from_stdout, io::stdout(), stdout_bytes, terminal)
        }));
    } else {
        drop(from_stdout);
    }
    (Live { stdout, stderr }, Passing { threads })
}

impl Passing {
    /// Waits until everything is written; whether a terminal's cursor stands inside a line. The
    /// engine must have let go of its [`Live`] by then.
    pub(super) fn finish(self) -> bool {
        self.threads
            .into_iter()
            .map(|thread| thread.join().expect("the writing thread does not panic"))
            .fold(false, |open, one| open | one)
    }
}

/// Writes until the stream ends or nobody reads; whether a terminal was left inside a line. What
/// comes past the limit is dropped here as it is dropped from the file.
fn pass(
    mut chunks: mpsc::Receiver<Vec<u8>>,
    mut sink: impl Write,
    limit_bytes: u64,
    terminal: bool,
) -> bool {
    let mut left = limit_bytes;
    let mut escaper = Escaper::default();
    let mut open = false;
    while let Some(mut chunk) = chunks.blocking_recv() {
        chunk.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= chunk.len() as u64;
        if chunk.is_empty() {
            continue;
        }
        let written = if terminal {
            let text = escaper.push(&chunk);
            open = text.chars().next_back().map_or(open, |last| last != '\n');
            sink.write_all(text.as_bytes())
        } else {
            sink.write_all(&chunk)
        };
        if written.and_then(|()| sink.flush()).is_err() {
            // The reader is gone, as with `kiln run x.py | head`: the files hold everything.
            return open;
        }
    }
    if !terminal {
        return false;
    }
    let rest = escaper.finish();
    let shown = sink.write_all(rest.as_bytes()).and_then(|()| sink.flush());
    open | (shown.is_ok() && !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(chunks: &[&[u8]], terminal: bool) -> (Vec<u8>, bool) {
        let (send, receive) = mpsc::channel(CHUNKS);
        for chunk in chunks {
            send.try_send(chunk.to_vec()).expect("few chunks");
        }
        drop(send);
        let mut sink = Vec::new();
        let open = pass(receive, &mut sink, 16, terminal);
        (sink, open)
    }

    #[test]
    fn a_pipe_gets_the_bytes_and_a_terminal_does_not() {
        let raw: &[&[u8]] = &[b"a\x1b[31", b"m\xff\n"];
        assert_eq!(passed(raw, false), (b"a\x1b[31m\xff\n".to_vec(), false));
        assert_eq!(passed(raw, true), (b"a\\x1b[31m\\xff\n".to_vec(), false));
    }

    #[test]
    fn what_is_past_the_limit_is_not_shown() {
        let chunks: &[&[u8]] = &[b"0123456789", b"abcdefgh\n", b"more\n"];
        for terminal in [false, true] {
            assert_eq!(
                passed(chunks, terminal),
                (b"0123456789abcdef".to_vec(), terminal)
            );
        }
    }

    #[test]
    fn an_open_line_is_told() {
        assert!(passed(&[b"a\n", b"b"], true).1);
        assert!(passed(&[b"a\n\xc3"], true).1);
        assert!(!passed(&[b"a", b"\n"], true).1);
        assert!(!passed(&[b"a"], false).1);
    }

    #[test]
    fn a_reader_that_is_gone_ends_the_passing() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (send, receive) = mpsc::channel(CHUNKS);
        send.try_send(b"x".to_vec()).expect("room");
        assert!(!pass(receive, Gone, 16, false));
        assert!(send.is_closed(), "the engine sees that nobody listens");
    }
}
