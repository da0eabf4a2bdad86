//! How does the wish to end jobs reach every job that runs?

use crate::execute::Cancel;
use tokio::sync::watch;

/// The wish to end jobs.
#[derive(Debug)]
pub(super) struct Canceller(watch::Sender<bool>);

/// Hears of the wish; one for many jobs.
#[derive(Clone, Debug)]
pub(super) struct Hearer(watch::Receiver<bool>);

/// A wish and its hearer.
pub(super) fn pair() -> (Canceller, Hearer) {
    let (send, receive) = watch::channel(false);
    (Canceller(send), Hearer(receive))
}

impl Canceller {
    /// Asks every hearer's job to end.
    pub(super) fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl Hearer {
    /// Resolves when the job is to end. Where nobody can ask any more, it never does.
    pub(super) fn cancel(&self) -> Cancel {
        let mut asked = self.0.clone();
        Box::pin(async move {
            if asked.wait_for(|asked| *asked).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_wish_is_heard_before_and_after_it_is_waited_for() {
        let (canceller, hearer) = pair();
        let waiting = tokio::spawn(hearer.cancel());
        canceller.cancel();
        hearer.cancel().await;
        waiting.await.expect("the task ends");
    }

    #[tokio::test]
    async fn a_canceller_that_is_gone_cancels_nothing() {
        let (canceller, hearer) = pair();
        drop(canceller);
        let waited = tokio::time::timeout(Duration::from_millis(20), hearer.cancel()).await;
        assert!(waited.is_err(), "a lost canceller is not a wish");
    }
}
