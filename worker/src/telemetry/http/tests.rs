//! Is an operator answered, and can one who asks not keep others from it?

use super::super::readiness::Condition;
use super::*;
use std::time::Instant;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

async fn started(bounds: Bounds) -> (Server, Readiness, Arc<Metrics>) {
    let (metrics, readiness) = (Metrics::new(), Readiness::new());
    let served = serve_within(bounds, ANY, watched(&metrics, &readiness));
    (served.await.expect("a port is free"), readiness, metrics)
}

fn watched(metrics: &Arc<Metrics>, readiness: &Readiness) -> Watched {
    Watched {
        identity: Identity {
            worker: "worker-a".to_owned(),
            grace: Duration::from_secs(30),
        },
        metrics: Arc::clone(metrics),
        readiness: readiness.clone(),
    }
}

/// All that is answered to these bytes.
async fn ask(server: &Server, request: &str) -> String {
    let asked = async {
        let mut stream = TcpStream::connect(server.address())
            .await
            .expect("it listens");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .await
            .expect("it answers");
        answer
    };
    let asked = tokio::time::timeout(Duration::from_secs(5), asked);
    asked.await.expect("it answers in time")
}

async fn get(server: &Server, path: &str) -> String {
    ask(
        server,
        &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address()),
    )
    .await
}

#[tokio::test]
async fn each_page_is_answered_and_nothing_else() {
    let (server, readiness, metrics) = started(BOUNDS).await;
    metrics.delivery(false);
    let page = get(&server, "/metrics").await;
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(
        page.contains("content-type: text/plain; version=0.0.4"),
        "{page}"
    );
    assert!(page.contains("\nkiln_amqp_deliveries_total 1\n"), "{page}");

    let page = get(&server, "/readyz").await;
    assert!(page.starts_with("HTTP/1.1 503 "), "{page}");
    let body = "{\"ready\":false,\"reasons\":[\"broker: not known yet\",\"store: not known yet\",\"pool: not known yet\"]}\n";
    assert!(page.ends_with(&format!("\r\n\r\n{body}")), "{page}");
    for what in [Condition::Broker, Condition::Store, Condition::Pool] {
        readiness.set(what, true, "");
    }
    let page = get(&server, "/readyz?x").await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(
        page.ends_with("\r\n\r\n{\"ready\":true,\"reasons\":[]}\n"),
        "{page}"
    );

    let page = get(&server, "/livez").await;
    assert!(
        page.starts_with("HTTP/1.1 200 ") && page.ends_with("{\"live\":true}\n"),
        "{page}"
    );
    let page = get(&server, "/status.json").await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(
        page.contains("cross-origin-resource-policy: same-origin"),
        "{page}"
    );
    let (_, body) = page.split_once("\r\n\r\n").expect("it has a body");
    let status: super::super::status::Status = serde_json::from_str(body).expect("it is read");
    assert_eq!((status.worker.as_str(), status.ready), ("worker-a", true));

    let page = get(&server, "/").await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let policy = "content-security-policy: default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy), "{page}");
    for path in [
        "/index.html",
        "/status.json/",
        "/metrics/",
        "/../metrics",
        "//metrics",
    ] {
        let page = get(&server, path).await;
        assert!(page.starts_with("HTTP/1.1 404 "), "{path}: {page}");
    }
    server.close().await;
}

#[tokio::test]
async fn only_get_and_head_and_only_by_our_name() {
    let (server, ..) = started(BOUNDS).await;
    let page = ask(&server, "HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(
        page.starts_with("HTTP/1.1 200 ") && page.ends_with("\r\n\r\n"),
        "{page}"
    );
    assert!(page.contains("content-length: 14\r\n"), "{page}");
    for method in ["POST", "DELETE", "OPTIONS", "BREW"] {
        let request = format!("{method} /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let page = ask(&server, &request).await;
        assert!(
            page.starts_with("HTTP/1.1 405 ") && page.contains("allow: GET, HEAD"),
            "{page}"
        );
    }
    let own = crate::config::Config::host_name();
    for host in [
        "127.0.0.1",
        "LOCALHOST:1",
        "[::1]:9464",
        "10.0.0.1:80",
        own.as_str(),
    ] {
        let page = ask(
            &server,
            &format!("GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        )
        .await;
        assert!(page.starts_with("HTTP/1.1 200 "), "{host}: {page}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:9464",
    ] {
        let page = ask(
            &server,
            &format!("GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        )
        .await;
        assert!(page.starts_with("HTTP/1.1 421 "), "{host}: {page}");
    }
    for request in [
        "GET /livez HTTP/1.1\r\n\r\n",
        "GET /livez HTTP/1.0\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: \r\n\r\n",
    ] {
        let page = ask(&server, request).await;
        assert!(
            page.starts_with("HTTP/1.") && page[9..].starts_with("400"),
            "{request}: {page}"
        );
    }
    let absolute = "GET http://evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let page = ask(&server, absolute).await;
    assert!(page.starts_with("HTTP/1.1 421 "), "{page}");
}

#[tokio::test]
async fn slow_clients_neither_hold_the_server_nor_stay() {
    let bounds = Bounds {
        connections: 3,
        head: Duration::from_secs(2),
        whole: Duration::from_secs(3),
    };
    let (server, ..) = started(bounds).await;
    let mut slow = Vec::new();
    for _ in 0..bounds.connections {
        let mut stream = TcpStream::connect(server.address())
            .await
            .expect("it listens");
        stream
            .write_all(b"GET /livez HTTP/1.1\r\nHo")
            .await
            .expect("it reads");
        slow.push(stream);
    }
    let begun = Instant::now();
    let page = get(&server, "/livez").await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let waited = begun.elapsed();
    assert!(waited < Duration::from_secs(1), "a probe waited {waited:?}");
    for (n, mut stream) in slow.into_iter().enumerate() {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
        drop(read.await.expect("a slow client is cut off"));
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "nothing was asked");
        // The oldest made room, the others had their time.
        let early = begun.elapsed() < Duration::from_secs(1);
        assert_eq!(early, n == 0, "{n}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_and_a_drip_is_cut_off() {
    let bounds = Bounds {
        head: Duration::from_millis(300),
        ..BOUNDS
    };
    let (server, ..) = started(bounds).await;
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("it listens");
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nX: ")
        .await
        .expect("it reads");
    let begun = Instant::now();
    while stream.write_all(b"x").await.is_ok() && begun.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "a byte now and then keeps it"
    );

    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("it listens");
    let long = format!(
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    // It may end the connection before all is written.
    drop(stream.write_all(long.as_bytes()).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    assert!(
        !answer.starts_with(b"HTTP/1.1 200"),
        "a megabyte of head was taken"
    );
}

#[tokio::test]
async fn a_closed_server_listens_no_more_and_a_taken_port_is_told() {
    let (server, readiness, metrics) = started(BOUNDS).await;
    let address = server.address();
    let twice = serve(address, watched(&metrics, &readiness)).await;
    let said = twice.expect_err("the port is taken").to_string();
    assert_eq!(said, format!("listen on `{address}` (`telemetry.listen`)"));
    let idle = TcpStream::connect(address).await.expect("it listens");
    let begun = Instant::now();
    server.close().await;
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "one who says nothing held it"
    );
    assert!(TcpStream::connect(address).await.is_err());
    drop(idle);
}
