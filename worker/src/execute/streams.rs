//! The job's stdout and stderr: read as they come, kept up to their limits, counted whole.

use futures_util::future::join;
use kiln_protocol::limits::Limits;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{Notify, mpsc, watch};

/// A stream that passes its limit this many times over is a flood.
const FLOOD_TIMES: u64 = 64;
/// A smaller limit floods as if it were this: a job that prints a line under a limit of 0 has
/// done nothing wrong.
const FLOOD_FLOOR: u64 = 64 * 1024;
/// Bytes read at once, at first and from a program that prints more: what a pipe holds.
const READ_FIRST: usize = 4 * 1024;
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

/// The two streams of one job, which its own task reads: a task for each would be woken on another
/// thread, mostly to read that there is nothing.
pub(super) struct Streams {
    reading: Pin<Box<dyn Future<Output = (Captured, Captured)> + Send>>,
    /// What was read, once both have ended.
    read: Option<(Captured, Captured)>,
    flooded: Arc<Notify>,
    stop: watch::Sender<Stop>,
}

/// What a reader gives up once the job is over: each after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Nothing,
    /// Whoever shows the stream is not waited for.
    Showing,
    /// Nor is its end.
    Reading,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

struct Reader {
    pipe: Receiver,
    keep_max: u64,
    live: Option<mpsc::Sender<Vec<u8>>>,
    flooded: Arc<Notify>,
    stop: watch::Receiver<Stop>,
}

impl Streams {
    /// The streams, and the ends for the job's stdout and stderr.
    pub(super) fn open(
        limits: &Limits,
        live: Option<Live>,
    ) -> io::Result<(Self, OwnedFd, OwnedFd)> {
        let flooded = Arc::new(Notify::new());
        let (stop, stopped) = watch::channel(Stop::Nothing);
        let (live_out, live_err) = live.map_or((None, None), |l| (Some(l.stdout), Some(l.stderr)));
        let reader = |keep_max, live| -> io::Result<(Reader, OwnedFd)> {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
            // Our end alone: theirs waits as a program expects of it.
            rustix::io::ioctl_fionbio(&ours, true)?;
            let pipe = Receiver::from_owned_fd_unchecked(ours)?;
            let (flooded, stop) = (Arc::clone(&flooded), stopped.clone());
            let reader = Reader {
                pipe,
                keep_max,
                live,
                flooded,
                stop,
            };
            Ok((reader, theirs))
        };
        let (out, stdout) = reader(limits.stdout_bytes, live_out)?;
        let (err, stderr) = reader(limits.stderr_bytes, live_err)?;
        let streams = Self {
            reading: Box::pin(join(out.read(), err.read())),
            read: None,
            flooded,
            stop,
        };
        Ok((streams, stdout, stderr))
    }

    /// Reads, for as long as it is polled. Ends when a stream becomes a flood, once for each;
    /// otherwise never.
    pub(super) async fn flood(&mut self) {
        tokio::select! {
            biased;
            () = self.flooded.notified() => return,
            read = &mut self.reading, if self.read.is_none() => self.read = Some(read),
        }
        self.flooded.notified().await;
    }

    /// What was read, when both pipes have ended or `drain` has passed twice: once for whoever shows
    /// the streams, and once for the pipes alone.
    pub(super) async fn finish(mut self, drain: Duration) -> (Captured, Captured) {
        if let Some(read) = self.read {
            return read;
        }
        for stop in [Stop::Showing, Stop::Reading] {
            if let Ok(read) = tokio::time::timeout(drain, &mut self.reading).await {
                return read;
            }
            self.stop.send_replace(stop);
        }
        self.reading.await
    }
}

impl Reader {
    async fn read(mut self) -> Captured {
        let flood_at = self.keep_max.max(FLOOD_FLOOR).saturating_mul(FLOOD_TIMES);
        let mut captured = Captured::default();
        let mut flooded = false;
        let mut buffer = vec![0; READ_FIRST];
        loop {
            let read = tokio::select! {
                read = self.pipe.read(&mut buffer) => read,
                _ = self.stop.wait_for(|stop| *stop >= Stop::Reading) => {
                    captured.truncated = true;
                    return captured;
                }
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
            if captured.total_bytes > flood_at && !flooded {
                flooded = true;
                self.flooded.notify_one();
            }
            if let Some(live) = &self.live {
                // Whoever shows the stream may be slow, which holds the job back as a terminal
                // does; it holds nothing back once the job is over.
                let passed = tokio::select! {
                    passed = live.send(buffer[..n].to_vec()) => passed.is_ok(),
                    _ = self.stop.wait_for(|stop| *stop >= Stop::Showing) => false,
                };
                if !passed {
                    self.live = None;
                }
            }
            if n == buffer.len() && n < READ {
                buffer.resize(READ, 0);
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
    use kiln_protocol::limits::LimitRequest;
    use std::fs::File;
    use std::io::Write as _;

    #[tokio::test]
    async fn whoever_shows_a_stream_slowly_costs_none_of_it() {
        let profiles = kiln_warden::profile::Profiles::built_in();
        let profile = profiles.get("command").expect("it is built in");
        let limits = profile.limits.resolve(&LimitRequest::default());
        let (stdout, shown) = mpsc::channel(1);
        let (stderr, _) = mpsc::channel(1);
        let live = Live { stdout, stderr };
        let (streams, out, err) =
            Streams::open(&limits.expect("in bounds"), Some(live)).expect("pipes");
        drop(err);
        let job = std::thread::spawn(move || File::from(out).write_all(&vec![b'x'; 300_000]));
        let (out, _) = streams.finish(Duration::from_millis(50)).await;
        job.join().expect("no panic").expect("it is read");
        assert_eq!(
            (out.bytes.len(), out.total_bytes, out.truncated),
            (300_000, 300_000, false)
        );
        drop(shown);
    }

    #[tokio::test]
    async fn a_pipe_that_somebody_keeps_open_is_given_up_and_said_to_be_cut() {
        let profiles = kiln_warden::profile::Profiles::built_in();
        let profile = profiles.get("command").expect("it is built in");
        let limits = profile.limits.resolve(&LimitRequest::default());
        let (streams, out, err) = Streams::open(&limits.expect("in bounds"), None).expect("pipes");
        drop(err);
        let mut kept = File::from(out);
        kept.write_all(b"abc").expect("there is room");
        let (out, err) = streams.finish(Duration::from_millis(50)).await;
        assert_eq!((&*out.bytes, out.truncated), (&b"abc"[..], true));
        assert!(!err.truncated);
        drop(kept);
    }

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
