//! How do bytes get from one side to the other, within the job's budget and no slower than is
//! waited for?

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep_until, timeout};

/// Bytes that are carried at once.
const PART: usize = 16 * 1024;

/// The bytes that a job may still carry, to and from all hosts together.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicU64,
    whole: u64,
}

impl Budget {
    pub(crate) fn new(whole: u64) -> Self {
        let left = AtomicU64::new(whole);
        Self { left, whole }
    }

    /// Takes so many bytes, all or none.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Stop> {
        let bytes = bytes as u64;
        let taken = |left: u64| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken)
            .map(drop)
            .map_err(|_| {
                // What is left is of no use to anybody: the next byte is refused too.
                self.left.store(0, Ordering::Relaxed);
                Stop::Budget
            })
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn used(&self) -> u64 {
        self.whole - self.left.load(Ordering::Relaxed)
    }
}

/// Why nothing more is carried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error("carry bytes")]
    Io(#[from] io::Error),
    #[error("carry more bytes than the job may")]
    Budget,
    #[error("wait longer for bytes")]
    Idle,
    #[error("hear anything: the other side has ended")]
    Silent,
    #[error("understand the body: {0}")]
    Body(&'static str),
}

/// Reads what is there, within the idle time.
pub(crate) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    part: &mut [u8],
    idle: Duration,
) -> Result<usize, Stop> {
    Ok(timeout(idle, from.read(part))
        .await
        .map_err(|_| Stop::Idle)??)
}

/// Writes all of it, within the idle time.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    part: &[u8],
    idle: Duration,
) -> Result<(), Stop> {
    Ok(timeout(idle, to.write_all(part))
        .await
        .map_err(|_| Stop::Idle)??)
}

/// Carries bytes until the source ends, and ends the sink then.
pub(crate) async fn one_way(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    budget: &Budget,
    idle: Duration,
) -> Result<(), Stop> {
    let mut part = vec![0; PART];
    loop {
        match read(from, &mut part, idle).await? {
            0 => return Ok(to.shutdown().await?),
            n => {
                budget.take(n)?;
                write(to, &part[..n], idle).await?;
            }
        }
    }
}

/// Carries bytes both ways until both sources have ended. It is idle when neither has sent
/// anything for so long.
pub(crate) async fn both_ways<A, B>(
    near: &mut A,
    far: &mut B,
    budget: &Budget,
    idle: Duration,
) -> Result<(), Stop>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let began = Instant::now();
    // Milliseconds after `began` at which something was last carried.
    let last = AtomicU64::new(0);
    let (mut near_read, mut near_write) = tokio::io::split(near);
    let (mut far_read, mut far_write) = tokio::io::split(far);
    let quiet = async {
        loop {
            let seen = began + Duration::from_millis(last.load(Ordering::Relaxed));
            let end = seen + idle;
            if Instant::now() >= end {
                return Stop::Idle;
            }
            sleep_until(end).await;
        }
    };
    let there = carry(&mut near_read, &mut far_write, budget, (&last, began));
    let back = carry(&mut far_read, &mut near_write, budget, (&last, began));
    tokio::select! {
        stop = quiet => Err(stop),
        carried = async { tokio::try_join!(there, back) } => carried.map(drop),
    }
}

async fn carry(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    budget: &Budget,
    (last, began): (&AtomicU64, Instant),
) -> Result<(), Stop> {
    let mut part = vec![0; PART];
    loop {
        let n = from.read(&mut part).await?;
        if n == 0 {
            return Ok(to.shutdown().await?);
        }
        budget.take(n)?;
        to.write_all(&part[..n]).await?;
        let now = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        last.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    const IDLE: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn bytes_are_carried_and_counted_both_ways() {
        let (mut job, mut near) = duplex(64);
        let (mut far, mut host) = duplex(64);
        let budget = Budget::new(100);
        let played = async {
            job.write_all(b"ask").await?;
            job.shutdown().await?;
            let mut asked = String::new();
            host.read_to_string(&mut asked).await?;
            host.write_all(b"answer").await?;
            host.shutdown().await?;
            let mut answer = String::new();
            job.read_to_string(&mut answer).await?;
            Ok::<_, io::Error>((asked, answer))
        };
        let (carried, played) = tokio::join!(both_ways(&mut near, &mut far, &budget, IDLE), played);
        carried.expect("both have ended");
        assert_eq!(
            played.expect("played"),
            ("ask".to_owned(), "answer".to_owned())
        );
        assert_eq!(budget.used(), 9);
    }

    #[tokio::test]
    async fn a_spent_budget_stops_both_ways() {
        let (mut job, mut near) = duplex(64);
        let (mut far, _host) = duplex(64);
        let budget = Budget::new(10);
        job.write_all(&[0; 11]).await.expect("there is room");
        let stopped = both_ways(&mut near, &mut far, &budget, IDLE).await;
        assert!(matches!(stopped, Err(Stop::Budget)), "{stopped:?}");
        assert!(budget.is_spent() && budget.take(1).is_err());
    }

    #[tokio::test]
    async fn silence_stops_it_and_a_word_from_either_side_puts_it_off() {
        let (mut job, mut near) = duplex(64);
        let (mut far, mut host) = duplex(64);
        // Long against what a busy machine stalls.
        let (budget, idle) = (Budget::new(100), Duration::from_secs(1));
        let began = Instant::now();
        let speak = async {
            tokio::time::sleep(idle / 2).await;
            job.write_all(b"a").await?;
            tokio::time::sleep(idle / 2).await;
            host.write_all(b"b").await
        };
        let (stopped, spoken) = tokio::join!(both_ways(&mut near, &mut far, &budget, idle), speak);
        spoken.expect("there is room");
        assert!(matches!(stopped, Err(Stop::Idle)));
        assert!(began.elapsed() >= idle * 2, "{:?}", began.elapsed());
    }
}
