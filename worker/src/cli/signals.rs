//! How often has the person asked to stop?
//!
//! The first two times the command decides what that means. The third time the process ends at
//! once, whatever it waits for, such as a pipe that nobody reads: the warden sees its socket close
//! and takes every sandbox down.

use super::exit::Exit;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The wish that ends the process at once.
const PATIENCE: u8 = 3;

#[expect(
    clippy::exit,
    reason = "the person asked three times; what would be waited for is what is stuck"
)]
fn leave() -> ! {
    std::process::exit(i32::from(Exit::Failed as u8))
}

/// Whether whoever started us wants us to outlive the terminal, as `nohup` does.
fn hangup_is_ignored() -> bool {
    // Where that cannot be read, a hangup ends us like any program.
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

/// From the text of `/proc/self/status`: the lowest bit of the mask is signal 1.
fn ignores_hangup(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

/// Ctrl-C, SIGTERM and a terminal that goes away (SIGHUP), which mean the same here.
#[derive(Debug)]
pub(super) struct Asked(mpsc::UnboundedReceiver<()>);

impl Asked {
    /// Listens from now on; the signals no longer end the process.
    pub(super) fn listen() -> std::io::Result<Self> {
        let (send, receive) = mpsc::unbounded_channel();
        let count = Arc::new(AtomicU8::new(0));
        let hangup = (!hangup_is_ignored()).then(SignalKind::hangup);
        for kind in [SignalKind::interrupt(), SignalKind::terminate()]
            .into_iter()
            .chain(hangup)
        {
            let mut signals = signal(kind)?;
            let send = send.clone();
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if count.fetch_add(1, Ordering::Relaxed) + 1 >= PATIENCE {
                        leave();
                    }
                    if send.send(()).is_err() {
                        tracing::debug!("the command is at its end and listens no more");
                    }
                }
            });
        }
        Ok(Self(receive))
    }

    /// Somebody else's wishes.
    #[cfg(test)]
    pub(super) fn of(wishes: mpsc::UnboundedReceiver<()>) -> Self {
        Self(wishes)
    }

    /// Waits for the next wish to stop.
    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        for (status, wanted) in [
            (
                "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n",
                false,
            ),
            ("SigIgn:\t0000000000001001\n", true),
            ("SigIgn:\tx\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_hangup(status), wanted, "{status:?}");
        }
    }

    #[tokio::test]
    async fn a_hangup_is_a_wish_to_stop_but_under_nohup() {
        let mut asked = Asked::listen().expect("signals can be listened to");
        kill_process(getpid(), Signal::HUP).expect("it is our own process");
        let ignored = hangup_is_ignored();
        let patience = std::time::Duration::from_millis(if ignored { 100 } else { 5_000 });
        let heard = tokio::time::timeout(patience, asked.next()).await;
        assert_eq!(heard.is_ok(), !ignored);
    }
}
