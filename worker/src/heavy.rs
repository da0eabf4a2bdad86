//! How does long work that waits for nothing leave the runtime's threads to all else?
//!
//! A worker has few of them: who hashes or copies 60 MiB on one keeps heartbeats, deadlines and
//! `/readyz` waiting.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Less than that is hashed, copied or sealed in a millisecond or two.
const LONG_BYTES: usize = 1024 * 1024;
/// What a byte that is unpacked takes beside one that is copied: blocks of nothing take the longest.
const UNPACKING: usize = 64;

/// Does work over so many bytes, aside of the runtime's threads where they are many.
pub(crate) fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let aside = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes >= LONG_BYTES && aside() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// The same for so many packed bytes.
pub(crate) fn unpack<T>(packed: usize, unpack: impl FnOnce() -> T) -> T {
    work(packed.saturating_mul(UNPACKING), unpack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_holds_up_nobody_else() {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build();
        let runtime = runtime.expect("threads can be made");
        let (send, received) = std::sync::mpsc::channel();
        runtime.block_on(async {
            let long = tokio::spawn(async move {
                let heard = || received.recv_timeout(std::time::Duration::from_secs(10));
                work(LONG_BYTES, heard)
            });
            let other = tokio::spawn(async move { send.send(()) });
            assert!(other.await.expect("no panic").is_ok());
            assert!(
                long.await.expect("no panic").is_ok(),
                "the other ran meanwhile"
            );
        });
    }

    #[tokio::test]
    async fn a_single_thread_does_it_itself() {
        assert_eq!(work(LONG_BYTES, || 7), 7);
    }
}
