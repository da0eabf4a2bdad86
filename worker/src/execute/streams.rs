//! The job's stdout and stderr: read as they come, kept up to their limits, counted whole.

use kiln_protocol::limits::Limits;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// A stream that passes its limit this many times over is a flood.
const FLOOD_TIMES: u64 = 64;
/// A smaller limit floods as if it were this: a job that prints a line under a limit of 0 has
/// done nothing wrong.
const FLOOD_FLOOR: u64 = 64 * 1024;
/// Bytes read at once: what a pipe holds.
const READ: usize = 64 * 1024;

/// Where a stream's bytes go while the job runs, besides being kept.
#[derive(Clone, Debug)]
pub struct Live {
    pub stdout: mpsc::Sender<Vec<u8>>,
    pub stderr: mpsc::Sender<Vec<u8>>,
}

/// What was read of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The raw bytes up to the limit.
    pub bytes: Vec<u8>,
    /// All that the program wrote.
    pub total_bytes: u64,
    /// Whether bytes past the limit were dropped.
    pub truncated: bool,
}

/// The two readers of one job.
#[derive(Debug)]
pub(super) struct Streams {
    readers: [JoinHandle<Captured>; 2],
    flooded: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
}

struct Reader {
    pipe: Receiver,
    keep_max: u64,
    live: Option<mpsc::Sender<Vec<u8>>>,
    flooded: watch::Sender<bool>,
    stop: watch::Receiver<bool>,
}

impl Streams {
    /// Starts to read; returns the ends for the job's stdout and stderr.
    pub(super) fn open(
        limits: &Limits,
        live: Option<Live>,
    ) -> io::Result<(Self, OwnedFd, OwnedFd)> {
        let (flooding, flooded) = watch::channel(false);
        let (stop, stopped) = watch::channel(false);
        let (live_out, live_err) = live.map_or((None, None), |l| (Some(l.stdout), Some(l.stderr)));
        let reader = |keep_max, live| -> io::Result<(JoinHandle<Captured>, OwnedFd)> {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
            let pipe = Receiver::from_owned_fd(ours)?;
            let (flooded, stop) = (flooding.clone(), stopped.clone());
            let reader = Reader {
                pipe,
                keep_max,
                live,
                flooded,
                stop,
            };
            Ok((tokio::spawn(reader.read()), theirs))
        };
        let (out, stdout) = reader(limits.stdout_bytes, live_out)?;
        let (err, stderr) = reader(limits.stderr_bytes, live_err)?;
        Ok((
            Self {
                readers: [out, err],
                flooded,
                stop,
            },
            stdout,
            stderr,
        ))
    }

    /// Ends when one of the streams is a flood; otherwise never.
    pub(super) async fn flood(&mut self) {
        if self.flooded.wait_for(|flooded| *flooded).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// What was read, when both pipes have ended or `drain` has passed.
    pub(super) async fn finish(self, drain: Duration) -> (Captured, Captured) {
        let Self {
            readers: [mut out, mut err],
            stop,
            ..
        } = self;
        let both = async { (joined(&mut out).await, joined(&mut err).await) };
        if let Ok(both) = tokio::time::timeout(drain, both).await {
            return both;
        }
        stop.send_replace(true);
        (joined(&mut out).await, joined(&mut err).await)
    }
}

/// A reader that panicked has lost its stream; what it counted is unknown, and the bug is ours.
async fn joined(reader: &mut JoinHandle<Captured>) -> Captured {
    match reader.await {
        Ok(captured) => captured,
        Err(error) => {
            tracing::error!(%error, "a stream's reader failed");
            Captured {
                truncated: true,
                ..Captured::default()
            }
        }
    }
}

impl Reader {
    async fn read(mut self) -> Captured {
        let flood_at = self.keep_max.max(FLOOD_FLOOR).saturating_mul(FLOOD_TIMES);
        let mut captured = Captured::default();
        let mut buffer = vec![0; READ];
        loop {
            let read = tokio::select! {
                read = self.pipe.read(&mut buffer) => read,
                stopped = self.stop.wait_for(|stop| *stop) => match stopped {
                    Ok(_) | Err(_) => return captured,
                },
            };
            let n = match read {
                Ok(0) => return captured,
                Ok(n) => n,
                Err(error) => {
                    tracing::warn!(%error, "a job's stream could not be read to its end");
                    captured.truncated = true;
                    return captured;
                }
            };
            captured.take(&buffer[..n], self.keep_max);
            if captured.total_bytes > flood_at {
                self.flooded.send_replace(true);
            }
            if let Some(live) = &self.live {
                // Whoever shows the stream may be slow, which holds the job back as a terminal
                // does; it holds nothing back once the job is over.
                let passed = tokio::select! {
                    passed = live.send(buffer[..n].to_vec()) => passed.is_ok(),
                    _ = self.stop.wait_for(|stop| *stop) => false,
                };
                if !passed {
                    self.live = None;
                }
            }
        }
    }
}

impl Captured {
    fn take(&mut self, bytes: &[u8], keep_max: u64) {
        let room = keep_max.saturating_sub(self.bytes.len() as u64);
        let kept = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..kept]);
        self.total_bytes += bytes.len() as u64;
        self.truncated |= kept < bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_past_the_limit_are_dropped_and_counted() {
        let mut captured = Captured::default();
        captured.take(b"abc", 4);
        assert!(!captured.truncated);
        captured.take(b"def", 4);
        assert_eq!(captured.bytes, b"abcd");
        assert_eq!((captured.total_bytes, captured.truncated), (6, true));
    }
}
