//! Several workers in one record: who lives, who is stale, who is gone, who is asked to drain.

use super::fleet::Health;
use super::*;

async fn states(url: &str) -> Vec<(String, Health)> {
    let found = workers(url).await.unwrap_or_default();
    found.into_iter().map(|w| (w.worker, w.state)).collect()
}

/// The worker of another runtime, which ends without a word when the handle is dropped.
fn elsewhere(url: &str, worker: &str) -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let (url, worker) = (url.to_owned(), worker.to_owned());
    runtime.spawn(async move {
        let registry = start(&url, &worker);
        registry.moved(&moved(1, Phase::Warm, 1));
        std::future::pending::<()>().await;
    });
    runtime
}

#[tokio::test]
async fn redis_marks_a_dead_worker_stale_and_then_another_takes_it_out() {
    let server = Server::start(&[]).await;
    let url = server.url();
    let dead = elsewhere(&url, "a");
    sees(&url, "a", &[(1, "warm", 1)]).await;
    let b = start(&url, "b");
    up(&b).await;
    dead.shutdown_background();
    let (died, name) = (Instant::now(), |name: &str| name.to_owned());
    let stale = [(name("a"), Health::Stale), (name("b"), Health::Live)];
    until("it is stale", async || {
        (states(&url).await == stale).then_some(())
    })
    .await;
    assert!(died.elapsed() + fast().beat * 2 >= fast().stale);
    let alone = [(name("b"), Health::Live)];
    until("it is gone", async || {
        (states(&url).await == alone).then_some(())
    })
    .await;
    assert!(died.elapsed() + fast().beat * 2 >= fast().gone);
    let left = server.command(&["KEYS", "{kiln}:*:a"]).await;
    assert_eq!(
        left,
        redis::Value::Array(Vec::new()),
        "nothing of it is left"
    );
}

#[tokio::test]
async fn redis_has_a_worker_again_after_its_restart() {
    let server = Server::start(&[]).await;
    let url = server.url();
    let dead = elsewhere(&url, "a");
    sees(&url, "a", &[(1, "warm", 1)]).await;
    dead.shutdown_background();
    let again = start(&url, "a");
    again.moved(&moved(1, Phase::Leased, 1));
    let began = Instant::now();
    sees(&url, "a", &[(1, "leased", 1)]).await;
    assert!(began.elapsed() < Duration::from_secs(5));
    again.close().await;
    assert_eq!(states(&url).await, []);
}

#[tokio::test]
async fn redis_listens_to_the_later_of_two_workers_of_one_name() {
    let server = Server::start(&[]).await;
    let url = server.url();
    let earlier = start(&url, "a");
    earlier.moved(&moved(1, Phase::Warm, 1));
    sees(&url, "a", &[(1, "warm", 1)]).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let later = start(&url, "a");
    later.moved(&moved(2, Phase::Warm, 1));
    sees(&url, "a", &[(2, "warm", 1)]).await;
    earlier.moved(&moved(1, Phase::Leased, 1));
    down(&earlier).await;
    sees(&url, "a", &[(2, "warm", 1)]).await;
    // When the later one is gone, the earlier one is heard again.
    later.close().await;
    sees(&url, "a", &[(1, "leased", 1)]).await;
    up(&earlier).await;
}

#[tokio::test]
async fn redis_passes_on_that_a_worker_should_drain() {
    let server = Server::start(&[]).await;
    let url = server.url();
    let (a, b) = (start(&url, "a"), start(&url, "b"));
    up(&a).await;
    up(&b).await;
    let mut fleet = Fleet::paced(&redis(&url), fast()).await.expect("it is up");
    assert!(!fleet.drain("nobody").await.expect("it is asked"));
    assert!(fleet.drain("a").await.expect("it is asked"));
    let heard = tokio::time::timeout(Duration::from_secs(5), a.drain_asked()).await;
    assert!(heard.is_ok());
    let spared = tokio::time::timeout(fast().beat * 3, b.drain_asked()).await;
    assert!(spared.is_err());
    let draining = ("a".to_owned(), Health::Draining);
    assert!(states(&url).await.contains(&draining));
    assert!(!fleet.remove("a").await.expect("it is asked"), "it lives");
}

#[tokio::test]
async fn redis_hears_how_busy_a_worker_is() {
    let server = Server::start(&[]).await;
    let a = start(&server.url(), "a");
    up(&a).await;
    a.busy(3);
    until("three slots are busy", async || {
        let found = workers(&server.url()).await?;
        (found.first()?.busy == 3 && found.first()?.slots == 4).then_some(())
    })
    .await;
}

#[tokio::test]
async fn redis_keeps_a_bounded_number_of_events_and_of_retired_ids() {
    let server = Server::start(&[]).await;
    let a = start(&server.url(), "a");
    up(&a).await;
    for round in 0..12 {
        for id in 0..1_000 {
            a.moved(&moved(round * 1_000 + id, Phase::Retired, 1));
        }
        until("they are written", async || {
            let left = a.shared.as_ref().expect("it is kept").pending().is_idle();
            left.then_some(())
        })
        .await;
    }
    let long = |value: redis::Value| match value {
        redis::Value::Int(n) => n,
        other => panic!("a number, not {other:?}"),
    };
    let events = long(server.command(&["XLEN", "{kiln}:events"]).await);
    assert!((10_000..10_300).contains(&events), "{events}");
    let gone = long(server.command(&["ZCARD", "{kiln}:gone:a"]).await);
    assert_eq!(gone, 1_024);
    assert_eq!(a.dropped(), 0);
}
