//! Does the other engine answer that looks at what jobs make?
//!
//! It is asked on its own account, for a worker whose jobs make no files would not find out, and
//! the first job that does would have them withheld.

use super::event::Engine;
use super::metric::Metrics;
use crate::fault::chain;
use crate::screen::clamd::Clamd;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, timeout};

/// How often it is asked, and how long it has to say which version it is.
const EVERY: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks until it is dropped.
#[derive(Debug)]
pub struct Asking(JoinHandle<()>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks a clamd from now on.
pub fn ask(clamd: Clamd, metrics: Arc<Metrics>) -> Asking {
    Asking(tokio::spawn(async move {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut known = None;
        loop {
            every.tick().await;
            let why = match timeout(PATIENCE, clamd.version()).await {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(chain(&error)),
                Err(_) => Some(format!("hear from clamd within {} s", PATIENCE.as_secs())),
            };
            let changed = known != Some(why.is_none());
            known = Some(why.is_none());
            Engine {
                why: why.as_deref(),
                changed,
            }
            .emit(&metrics);
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ClamdAddress;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    fn says(metrics: &Metrics) -> Option<bool> {
        let text = metrics.encode().expect("it can be encoded");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("kiln_clamd_up "));
        line.map(|value| value == "1")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_that_is_away_is_seen_without_a_job() {
        let folder = std::env::temp_dir().join(format!("kiln-clamd-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        let path = folder.join("clamd.ctl");
        for (there, wanted) in [(false, Some(false)), (true, Some(true))] {
            let metrics = Metrics::new();
            assert_eq!(says(&metrics), None, "nobody asked yet");
            if there {
                let listener = UnixListener::bind(&path).expect("a socket");
                std::thread::spawn(move || {
                    let (mut socket, _) = listener.accept().expect("it is asked");
                    let mut asked = [0; 9];
                    socket.read_exact(&mut asked).expect("it asks");
                    socket.write_all(b"ClamAV 1.0.0\0").expect("it listens");
                });
            }
            let clamd = Clamd::new(ClamdAddress::Unix(path.clone()));
            let _asking = ask(clamd, Arc::clone(&metrics));
            for _ in 0..200 {
                if says(&metrics).is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert_eq!(says(&metrics), wanted);
        }
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
