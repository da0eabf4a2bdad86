//! The server is killed, stopped, emptied, full, a replica, closed to us: no caller waits, and the
//! view is right again soon after its return.

use super::*;

/// Two sandboxes that are seen.
async fn two(server: &Server) -> Registry {
    let registry = start(&server.url(), "a");
    registry.moved(&moved(1, Phase::Warm, 1));
    registry.moved(&moved(2, Phase::Running, 4));
    sees(&server.url(), "a", &[(1, "warm", 1), (2, "running", 4)]).await;
    assert!(registry.is_up());
    registry
}

/// What happens while nobody hears of it, and what is right afterwards.
fn meanwhile(registry: &Registry) {
    registry.moved(&moved(1, Phase::Retired, 1));
    registry.moved(&moved(2, Phase::Resetting, 4));
    registry.moved(&moved(2, Phase::Warm, 5));
    registry.moved(&moved(3, Phase::Leased, 1));
}

const AFTER: [(u32, &str, u64); 2] = [(2, "warm", 5), (3, "leased", 1)];

#[tokio::test]
async fn redis_is_killed_and_comes_back_empty() {
    let mut server = Server::start(&[]).await;
    let registry = two(&server).await;
    server.kill();
    down(&registry).await;
    meanwhile(&registry);
    server.run().await;
    sees(&server.url(), "a", &AFTER).await;
    up(&registry).await;
}

#[tokio::test]
async fn redis_stands_still_and_what_waited_in_its_sockets_changes_nothing() {
    let server = Server::start(&[]).await;
    let registry = two(&server).await;
    server.stop();
    // Sent, and read by the server only when it goes on.
    registry.moved(&moved(1, Phase::Leased, 1));
    registry.moved(&moved(7, Phase::Warm, 1));
    down(&registry).await;
    registry.moved(&moved(7, Phase::Retired, 1));
    meanwhile(&registry);
    server.go_on();
    sees(&server.url(), "a", &AFTER).await;
    up(&registry).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    sees(&server.url(), "a", &AFTER).await;
}

#[tokio::test]
async fn redis_is_emptied() {
    let server = Server::start(&[]).await;
    let registry = two(&server).await;
    let held = job("held");
    assert_eq!(registry.claim(&held).await, Claim::Ours);
    server.command(&["FLUSHALL"]).await;
    // Without a move: the heartbeat sees it.
    sees(&server.url(), "a", &[(1, "warm", 1), (2, "running", 4)]).await;
    let other = start(&server.url(), "b");
    up(&other).await;
    let by_a = Claim::Held { worker: "a".into() };
    until("the claim is there again", async || {
        (other.claim(&held).await == by_a).then_some(())
    })
    .await;
}

#[tokio::test]
async fn redis_loses_one_sandbox_and_it_is_found_out() {
    let server = Server::start(&[]).await;
    let _registry = two(&server).await;
    server
        .command(&["HDEL", "{kiln}:sandboxes:a", "sbx-1"])
        .await;
    sees(&server.url(), "a", &[(1, "warm", 1), (2, "running", 4)]).await;
}

#[tokio::test]
async fn redis_is_full() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]).await;
    let registry = two(&server).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    down(&registry).await;
    meanwhile(&registry);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    sees(&server.url(), "a", &AFTER).await;
    up(&registry).await;
}

#[tokio::test]
async fn redis_becomes_a_replica_and_is_promoted() {
    let server = Server::start(&[]).await;
    let registry = two(&server).await;
    server.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    down(&registry).await;
    meanwhile(&registry);
    server.command(&["REPLICAOF", "NO", "ONE"]).await;
    sees(&server.url(), "a", &AFTER).await;
    up(&registry).await;
}

#[tokio::test]
async fn redis_wants_another_password() {
    let server = Server::start(&["--requirepass", "right"]).await;
    let wrong = format!("{}?pass=wrong", server.url());
    let registry = start(&wrong, "a");
    meanwhile(&registry);
    assert_eq!(registry.claim(&job("x")).await, Claim::Unknown);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!registry.is_up());
    let server = server.with_password("wrong");
    // The operator changes the server; nobody restarts the worker.
    let right = redis::Client::open(server.url().replace("wrong", "right")).expect("an address");
    let mut connection = right
        .get_multiplexed_async_connection()
        .await
        .expect("it takes connections");
    let mut set = redis::cmd("CONFIG");
    set.arg(&["SET", "requirepass", "wrong"]);
    let set: redis::RedisResult<()> = set.query_async(&mut connection).await;
    set.expect("it does as asked");
    sees(&server.url(), "a", &AFTER).await;
}

#[tokio::test]
async fn redis_has_no_functions() {
    let server = Server::start(&["--rename-command", "FUNCTION", ""]).await;
    let registry = two(&server).await;
    meanwhile(&registry);
    sees(&server.url(), "a", &AFTER).await;
    assert_eq!(registry.claim(&job("x")).await, Claim::Ours);
    // Somebody throws the scripts away.
    server.command(&["SCRIPT", "FLUSH"]).await;
    registry.moved(&moved(2, Phase::Leased, 5));
    sees(&server.url(), "a", &[(2, "leased", 5), (3, "leased", 1)]).await;
    registry.close().await;
    assert_eq!(workers(&server.url()).await, Some(Vec::new()));
}

#[tokio::test]
async fn redis_loses_its_functions() {
    let server = Server::start(&[]).await;
    let registry = two(&server).await;
    server.command(&["FUNCTION", "FLUSH"]).await;
    meanwhile(&registry);
    sees(&server.url(), "a", &AFTER).await;
}

#[tokio::test]
async fn redis_sleeps_longer_than_we_wait() {
    let server = Server::start(&["--enable-debug-command", "yes"]).await;
    let registry = two(&server).await;
    let asleep = server.command(&["DEBUG", "SLEEP", "0.4"]);
    let asked = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let began = Instant::now();
        registry.claim(&job("x")).await;
        began.elapsed()
    };
    let (_, took) = tokio::join!(asleep, asked);
    assert!(took < fast().claim * 2, "{took:?}");
    meanwhile(&registry);
    sees(&server.url(), "a", &AFTER).await;
}

/// A cluster refuses keys of different slots, and keys that a script makes up.
#[tokio::test]
async fn redis_is_a_node_of_a_cluster() {
    let port = (21_301..21_305)
        .find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("one of the ports 21301 to 21304 is free");
    let port = port.to_string();
    let server = Server::start(&[
        "--cluster-enabled",
        "yes",
        "--bind",
        "127.0.0.1",
        "--port",
        &port,
    ])
    .await;
    server
        .command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"])
        .await;
    let registry = two(&server).await;
    meanwhile(&registry);
    registry.cancelled(&job("x"));
    sees(&server.url(), "a", &AFTER).await;
    assert_eq!(registry.claim(&job("x")).await, Claim::Ours);
    tokio::time::sleep(fast().beat * 2).await;
    assert!(registry.is_up(), "it beats");
    registry.close().await;
    assert_eq!(workers(&server.url()).await, Some(Vec::new()));
}

/// The paces of a worker: right again within the ten seconds that `sees` waits.
#[tokio::test]
async fn redis_comes_back_at_the_usual_pace() {
    let mut server = Server::start(&[]).await;
    let (redis, metrics) = (redis(&server.url()), Metrics::new());
    let registry = Registry::start(Some(&redis), identity("a"), metrics);
    registry.moved(&moved(1, Phase::Warm, 1));
    sees(&server.url(), "a", &[(1, "warm", 1)]).await;
    server.command(&["FLUSHALL"]).await;
    sees(&server.url(), "a", &[(1, "warm", 1)]).await;
    server.stop();
    meanwhile(&registry);
    down(&registry).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    server.go_on();
    sees(&server.url(), "a", &AFTER).await;
    server.kill();
    down(&registry).await;
    server.run().await;
    sees(&server.url(), "a", &AFTER).await;
}

/// Calls of every kind, with nobody to hear them: what a job pays for the record.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figure is the point of it")]
async fn redis_that_stands_still_costs_a_job_nothing() {
    const MOVES: u32 = 40_000;
    let server = Server::start(&[]).await;
    let registry = two(&server).await;
    server.stop();
    let mut worst = Duration::ZERO;
    let began = Instant::now();
    for n in 0..MOVES {
        let phase = [Phase::Leased, Phase::Running, Phase::Resetting, Phase::Warm][n as usize % 4];
        let at = Instant::now();
        registry.moved(&moved(n % 64, phase, u64::from(n / 4)));
        worst = worst.max(at.elapsed());
        if n % 1_000 == 0 {
            registry.claimed(&job("x"));
            registry.ended(&job("x"));
            tokio::task::yield_now().await;
        }
    }
    let mean = began.elapsed() / MOVES;
    println!("a move: {mean:?} in the mean, {worst:?} at worst");
    assert!(mean < Duration::from_micros(50), "{mean:?}");
    down(&registry).await;
    let began = Instant::now();
    assert_eq!(registry.claim(&job("x")).await, Claim::Unknown);
    assert!(
        began.elapsed() < Duration::from_millis(50),
        "it is not asked"
    );
    let began = Instant::now();
    registry.close().await;
    assert!(began.elapsed() < Duration::from_millis(1_500));
}

#[tokio::test]
async fn redis_that_stands_still_is_not_waited_for_by_a_claim() {
    let server = Server::start(&[]).await;
    let tempo = Tempo {
        claim: Duration::from_millis(50),
        beat: Duration::from_mins(1),
        ..fast()
    };
    let registry = Registry::paced(
        Some(&redis(&server.url())),
        identity("a"),
        Metrics::new(),
        tempo,
    );
    up(&registry).await;
    server.stop();
    let began = Instant::now();
    assert_eq!(registry.claim(&job("x")).await, Claim::Unknown);
    let took = began.elapsed();
    assert!(
        took >= tempo.claim && took < Duration::from_millis(250),
        "{took:?}"
    );
}
