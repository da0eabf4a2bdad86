//! What happens when the broker, a connection, a channel or a queue goes away?

use super::proxy::Proxy;
use super::*;
use crate::telemetry::metric::AckResult;
use lapin::options::QueueDeclareOptions;
use lapin::types::{AMQPValue, FieldTable};
use std::time::Instant;

/// How many times the connections are cut where memory is looked at.
const CUTS: &str = "KILN_TEST_CUTS";

fn quick() -> Pace {
    Pace {
        backoff_max: Duration::from_millis(10),
        ..Pace::default()
    }
}

async fn start_by(fixture: &Fixture, url: String, pace: Pace) -> (Broker, Incomings) {
    let options = BrokerOptions {
        url: Secret::new(url),
        ..fixture.options()
    };
    let started = Broker::start_at(pace, options, Metrics::new()).await;
    let (broker, incoming) = started.expect("it starts");
    (broker, Incomings(incoming))
}

#[tokio::test]
async fn broker_a_cut_connection_is_rebuilt_and_its_tickets_are_stale() {
    let fixture = Fixture::new("cut");
    let proxy = Proxy::start().await;
    let (broker, mut incoming) = start_by(&fixture, proxy.url(""), Pace::default()).await;
    fixture.submit(&broker, Class::Interactive, "one").await;
    let first = incoming.job().await;
    let since = Instant::now();
    proxy.cut();
    let again = incoming.job().await;
    assert!(
        since.elapsed() < Duration::from_secs(5),
        "{:?}",
        since.elapsed()
    );
    assert!(again.properties.redelivered);
    assert!(!first.ticket.usable());
    assert_eq!(first.ticket.ack().await, AckResult::Stale);
    assert_eq!(again.ticket.ack().await, AckResult::Ok);
    // A publish that meets no connection waits for the next.
    proxy.cut();
    fixture.submit(&broker, Class::Interactive, "two").await;
    let mut two = incoming.job().await;
    if *two.body == b"one" {
        // Written is not yet arrived: the cut may have taken the ack along.
        assert!(two.properties.redelivered);
        assert_eq!(two.ticket.ack().await, AckResult::Ok);
        two = incoming.job().await;
    }
    assert_eq!(*two.body, b"two");
    assert_eq!(two.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_control_is_told_to_be_heard_again() {
    let fixture = Fixture::new("again");
    let proxy = Proxy::start().await;
    let (broker, mut incoming) = start_by(&fixture, proxy.url(""), Pace::default()).await;
    for _ in 0..3 {
        while !matches!(incoming.next().await, Incoming::ControlOpen) {}
        proxy.cut();
    }
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_silent_connection_is_found_out_by_the_canary() {
    let fixture = Fixture::new("mute");
    let proxy = Proxy::start().await;
    let pace = Pace {
        canary_every: Duration::from_millis(500),
        canary_max: Duration::from_secs(1),
        ..Pace::default()
    };
    let (broker, mut incoming) = start_by(&fixture, proxy.url("heartbeat=0"), pace).await;
    while !matches!(incoming.next().await, Incoming::ControlOpen) {}
    incoming.nothing_for(Duration::from_secs(2)).await;
    proxy.mute();
    fixture.submit(&broker, Class::Interactive, "one").await;
    let job = incoming.job().await;
    assert_eq!(job.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_deleted_queue_concerns_no_other() {
    let fixture = Fixture::new("deleted");
    let (broker, mut incoming) = fixture.start().await;
    until("both consumers", || broker.status().consuming).await;
    fixture.submit(&broker, Class::Batch, "held").await;
    let held = incoming.job().await;
    let (_connection, channel) = fixture.raw().await;
    let name = fixture.queue(Class::Interactive).into();
    let gone = channel.queue_delete(name, QueueDeleteOptions::default());
    gone.await.expect("it goes");
    until("one consumer less", || !broker.status().consuming).await;
    assert!(held.ticket.usable(), "the other channel does not notice");
    until("the queue again", || broker.status().consuming).await;
    fixture.submit(&broker, Class::Interactive, "two").await;
    let two = incoming.job().await;
    assert_eq!(two.ticket.ack().await, AckResult::Ok);
    assert_eq!(held.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_topology_that_differs_is_told_line_by_line() {
    let fixture = Fixture::new("differs");
    let (_connection, channel) = fixture.raw().await;
    let mut arguments = FieldTable::default();
    let mut set = |name: &str, value: AMQPValue| {
        arguments.insert(name.into(), value);
    };
    set("x-queue-type", AMQPValue::LongString("quorum".into()));
    set("x-delivery-limit", AMQPValue::LongLongInt(3));
    set("x-overflow", AMQPValue::LongString("drop-head".into()));
    let name = fixture.queue(Class::Interactive);
    let options = QueueDeclareOptions::durable();
    let declared = channel.queue_declare(name.as_str().into(), options, arguments);
    declared.await.expect("it is made");
    for topology in [TopologyMode::Passive, TopologyMode::Create] {
        let options = BrokerOptions {
            topology,
            ..fixture.options()
        };
        let Err(BrokerError::Topology(mut lines)) = Broker::start(options, Metrics::new()).await
        else {
            panic!("it must not start");
        };
        // In a passive world the other queue is not there either.
        let batch = format!("queue `{}` is missing", fixture.queue(Class::Batch));
        lines.retain(|line| *line != batch);
        lines.sort();
        let expected = [
            "`x-dead-letter-exchange` is none, wanted is `kiln.dead`",
            "`x-dead-letter-routing-key` is none, wanted is `kiln.dead`",
            "`x-dead-letter-strategy` is none, wanted is `at-least-once`",
            "`x-delivery-limit` is `3`, wanted is `100`",
            "`x-overflow` is `drop-head`, wanted is `reject-publish`",
        ];
        assert_eq!(
            lines,
            expected.map(|line| format!("queue `{name}`: {line}"))
        );
    }
    for class in [Class::Interactive, Class::Batch] {
        let name = fixture.queue(class).into();
        let gone = channel.queue_delete(name, QueueDeleteOptions::default());
        gone.await.expect("it goes");
    }
}

#[tokio::test]
async fn broker_a_user_that_is_not_known_is_not_waited_for() {
    let mut uri: lapin::uri::AMQPUri = url().parse().expect("a url");
    "nobody-knows-me".clone_into(&mut uri.authority.userinfo.username);
    let authority = uri.authority;
    let mut fixture = Fixture::new("nobody");
    fixture.url = format!(
        "amqp://nobody-knows-me:x@{}:{}/%2f",
        authority.host, authority.port
    );
    let started = timeout(PATIENCE, Broker::start(fixture.options(), Metrics::new()));
    let started = started.await.expect("it does not wait");
    assert!(
        matches!(started, Err(BrokerError::Connect { .. })),
        "{started:?}"
    );
}

#[tokio::test]
async fn broker_memory_does_not_grow_with_reconnects() {
    let cuts = std::env::var(CUTS).map_or(150, |text| text.parse().expect("a number"));
    let fixture = Fixture::new("grow");
    let proxy = Proxy::start().await;
    let (broker, mut incoming) = start_by(&fixture, proxy.url(""), quick()).await;
    let mut before = 0;
    for n in 0..cuts {
        while !matches!(incoming.next().await, Incoming::ControlOpen) {}
        until("both connections", || {
            let status = broker.status();
            status.consuming && status.publishing
        })
        .await;
        if n == 50 {
            before = resident_kib();
        }
        proxy.cut();
        until("the end", || !broker.status().consuming).await;
    }
    let grown = resident_kib().saturating_sub(before);
    assert!(
        grown <= 1024,
        "{before} KiB after 50 cuts, {grown} KiB more after {cuts}"
    );
    fixture.clean(broker).await;
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let figure = line.and_then(|line| line.split_whitespace().next());
    figure.expect("it is told").parse().expect("a number")
}
