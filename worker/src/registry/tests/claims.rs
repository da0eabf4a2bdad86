//! Who runs a job: one of those that live, and a late word of another changes nothing.

use super::*;

#[tokio::test]
async fn redis_gives_a_job_to_one_of_two() {
    let server = Server::start(&[]).await;
    let (a, b) = (start(&server.url(), "a"), start(&server.url(), "b"));
    up(&a).await;
    up(&b).await;
    let job = job("one");
    assert_eq!(a.claim(&job).await, Claim::Ours);
    assert_eq!(a.claim(&job).await, Claim::Ours, "asking again is no harm");
    let held = Claim::Held { worker: "a".into() };
    assert_eq!(b.claim(&job).await, held);
    a.ended(&job);
    until("the end is heard of", async || {
        (b.claim(&job).await == Claim::Ours).then_some(())
    })
    .await;
}

#[tokio::test]
async fn redis_gives_the_job_of_a_dead_worker_to_another() {
    let server = Server::start(&[]).await;
    let dead = crashed(&server, "a", &job("one")).await;
    let b = start(&server.url(), "b");
    up(&b).await;
    let began = Instant::now();
    until("the claim of a dead worker is free", async || {
        (b.claim(&dead).await == Claim::Ours).then_some(())
    })
    .await;
    assert!(began.elapsed() >= Duration::from_millis(100), "not at once");
}

#[tokio::test]
async fn redis_does_not_take_an_earlier_life_for_the_present_one() {
    let server = Server::start(&[]).await;
    let dead = crashed(&server, "a", &job("one")).await;
    // The worker is back; that it ran the job before its death does not hold the job.
    let (a, b) = (start(&server.url(), "a"), start(&server.url(), "b"));
    up(&a).await;
    up(&b).await;
    assert_eq!(b.claim(&dead).await, Claim::Ours);
}

/// A worker that claimed a job and then was no more, without a word.
async fn crashed(server: &Server, worker: &str, job: &JobId) -> JobId {
    let url = server.url();
    let (worker, wanted) = (worker.to_owned(), job.clone());
    let life = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let registry = start(&url, &worker);
            up(&registry).await;
            assert_eq!(registry.claim(&wanted).await, Claim::Ours);
        });
        // The runtime ends, and with it every task: as a kill would.
    });
    tokio::task::spawn_blocking(|| life.join())
        .await
        .expect("it is joined")
        .expect("it lived");
    job.clone()
}

#[tokio::test]
async fn redis_refuses_the_end_of_a_claim_that_another_has() {
    let server = Server::start(&[]).await;
    let a = start(&server.url(), "a");
    up(&a).await;
    assert_eq!(a.claim(&job("one")).await, Claim::Ours);
    let b = start(&server.url(), "b");
    up(&b).await;
    // b runs it whatever the record says, as after a redelivery.
    b.claimed(&job("one"));
    let by_b = Claim::Held { worker: "b".into() };
    until("b has it", async || {
        (a.claim(&job("one")).await == by_b).then_some(())
    })
    .await;
    a.ended(&job("one"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(a.claim(&job("one")).await, by_b);
}

#[tokio::test]
async fn redis_keeps_a_cancellation_for_seven_days() {
    let server = Server::start(&[]).await;
    let a = start(&server.url(), "a");
    a.cancelled(&job("one"));
    let week_ms = 7 * 24 * 3_600 * 1_000;
    until("the tombstone is there", async || {
        let left = server.command(&["PTTL", "{kiln}:cancel:one"]).await;
        matches!(left, redis::Value::Int(ms) if ms > week_ms - 60_000 && ms <= week_ms)
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn redis_that_is_not_configured_is_never_asked() {
    let none = Registry::start(None, identity("a"), Metrics::new());
    none.moved(&moved(1, Phase::Warm, 1));
    none.claimed(&job("one"));
    none.ended(&job("one"));
    assert_eq!(none.claim(&job("one")).await, Claim::Unknown);
    assert!(!none.is_up());
    none.close().await;
}
