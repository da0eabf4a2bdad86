//! For how long is a job that a worker has died in alone?

use std::pin::pin;
use std::time::Duration;
use tokio::sync::RwLockWriteGuard;

/// How long a suspect waits to be alone, and how long it then is: what kills a worker mostly does so
/// soon, and a job that runs for long is not to hold up the others.
pub(super) const ALONE_MAX: Duration = Duration::from_secs(30);

/// Runs a suspect: alone at first, then with company.
pub(super) async fn suspected<T>(
    running: impl Future<Output = T>,
    alone: RwLockWriteGuard<'_, ()>,
    alone_max: Duration,
) -> T {
    let mut running = pin!(running);
    if let Ok(ran) = tokio::time::timeout(alone_max, running.as_mut()).await {
        return ran;
    }
    let _company = alone.downgrade();
    running.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_suspect_that_runs_for_long_is_not_alone_all_the_time() {
        let gate = tokio::sync::RwLock::new(());
        let (seen, by_another) = tokio::sync::oneshot::channel();
        let suspect = async {
            let alone = gate.write().await;
            suspected(by_another, alone, Duration::from_millis(20)).await
        };
        // It is polled after the suspect, and no timer fires within one poll.
        let other = async {
            assert!(gate.try_read().is_err(), "at first it is alone");
            drop(gate.read().await);
            seen.send(())
        };
        let both = async { tokio::join!(suspect, other) };
        let both = tokio::time::timeout(Duration::from_secs(10), both).await;
        assert_eq!(
            both,
            Ok((Ok(()), Ok(()))),
            "it runs until the other has run"
        );
    }
}
