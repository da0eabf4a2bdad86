//! Does every answer to a delivery do what it says?

use super::*;
use crate::intake::Header;
use crate::intake::ticket::{DETAIL, QUEUE, REASON};
use crate::telemetry::metric::{AckResult, DeadReason};
use futures_util::StreamExt as _;
use lapin::message::BasicGetMessage;
use lapin::options::{BasicAckOptions, BasicGetOptions};
use lapin::types::AMQPValue;

fn result(key: &str) -> Outgoing {
    Outgoing {
        exchange: topology::RESULTS.to_owned(),
        routing_key: key.to_owned(),
        body: b"{}".as_slice().into(),
        kind: "kiln.outcome.v1".to_owned(),
        message_id: Some("id".to_owned()),
        correlation_id: None,
        traceparent: None,
    }
}

#[tokio::test]
async fn broker_a_message_that_is_acknowledged_is_done_with() {
    let fixture = Fixture::new("ack");
    let (broker, mut incoming) = fixture.start().await;
    fixture.submit(&broker, Class::Interactive, "one").await;
    let delivery = incoming.job().await;
    assert_eq!(*delivery.body, b"one");
    assert_eq!(delivery.source, fixture.source(Class::Interactive));
    assert_eq!(delivery.properties.message_id.as_deref(), Some("one"));
    assert!(!delivery.properties.redelivered);
    assert!(delivery.ticket.usable());
    until("both consumers", || broker.status().consuming).await;
    assert!(broker.status().publishing && !broker.status().blocked);
    assert_eq!(delivery.ticket.ack().await, AckResult::Ok);
    broker.close().await;
    let (broker, mut incoming) = fixture.start().await;
    incoming.nothing_for(Duration::from_millis(500)).await;
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_dropped_ticket_gives_the_message_back() {
    let fixture = Fixture::new("drop");
    let (broker, mut incoming) = fixture.start().await;
    fixture.submit(&broker, Class::Batch, "one").await;
    drop(incoming.job().await);
    let again = incoming.job().await;
    assert!(again.properties.redelivered);
    assert_eq!(again.properties.delivery_count, Some(1));
    assert_eq!(again.ticket.give_back().await, AckResult::Ok);
    let third = incoming.job().await;
    assert_eq!(third.properties.delivery_count, Some(2));
    assert_eq!(third.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_dead_letter_is_the_message_with_its_reason() {
    let fixture = Fixture::new("dead");
    let (broker, mut incoming) = fixture.start().await;
    let id = fixture.tenant.to_string();
    fixture.submit(&broker, Class::Interactive, &id).await;
    let ticket = incoming.job().await.ticket;
    let answer = ticket
        .dead_letter(&broker, DeadReason::NoId, "no `id`")
        .await;
    assert_eq!(answer.expect("it is taken"), AckResult::Ok);
    let (_connection, channel) = fixture.raw().await;
    let letter = find_dead(&channel, &id).await;
    assert_eq!(letter.data, id.as_bytes());
    assert_eq!(letter.properties.delivery_mode(), &Some(2));
    let headers = letter.properties.headers().clone().expect("there are some");
    let text = |name: &str| match headers.inner().get(name) {
        Some(AMQPValue::LongString(text)) => text.to_string(),
        other => panic!("{name} is {other:?}"),
    };
    assert_eq!(text(REASON), "no_id");
    assert_eq!(text(DETAIL), "no `id`");
    assert_eq!(text(QUEUE), fixture.queue(Class::Interactive));
    letter.ack(BasicAckOptions::default()).await.expect("ours");
    fixture.clean(broker).await;
}

/// The others stay unanswered, and so go back in their order when the channel ends.
async fn find_dead(channel: &Channel, id: &str) -> BasicGetMessage {
    let find = async {
        loop {
            let got = channel.basic_get(topology::DEAD.into(), BasicGetOptions::default());
            let got = got.await.expect("it is there");
            let named =
                |letter: &BasicGetMessage| letter.properties.message_id() == &Some(id.into());
            if let Some(letter) = got.filter(named) {
                return letter;
            }
        }
    };
    timeout(PATIENCE, find).await.expect("it is among the dead")
}

#[tokio::test]
async fn broker_a_delayed_message_comes_back_by_its_own_queue_each_time() {
    let fixture = Fixture::new("delay");
    let (broker, mut incoming) = fixture.start().await;
    fixture.submit(&broker, Class::Batch, "one").await;
    let mut delivery = incoming.job().await;
    for retries in 1..=2 {
        let since = std::time::Instant::now();
        let answer = delivery
            .ticket
            .delay(&broker, Delay::Seconds5, retries)
            .await;
        assert_eq!(answer.expect("it is taken"), AckResult::Ok);
        delivery = incoming.job().await;
        assert!(
            since.elapsed() > Duration::from_millis(4900),
            "{:?}",
            since.elapsed()
        );
        assert_eq!(delivery.source, fixture.source(Class::Batch));
        assert_eq!(*delivery.body, b"one");
        assert_eq!(delivery.properties.message_id.as_deref(), Some("one"));
        let counted = delivery.properties.headers.get("x-kiln-retries");
        assert_eq!(counted, Some(&Header::Integer(retries.into())));
    }
    assert_eq!(delivery.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_result_that_nobody_takes_is_told_and_harms_no_other() {
    let fixture = Fixture::new("result");
    let (broker, _incoming) = fixture.start().await;
    let (_connection, channel) = fixture.raw().await;
    let declared = channel.queue_declare(
        "".into(),
        lapin::options::QueueDeclareOptions::exclusive(),
        lapin::types::FieldTable::default(),
    );
    let queue = declared.await.expect("a queue").name().to_string();
    let to_queue = || Outgoing {
        exchange: String::new(),
        routing_key: queue.clone(),
        ..result("")
    };
    let nowhere = || Outgoing {
        exchange: "no-such-exchange".to_owned(),
        ..result("")
    };
    let all = futures_util::stream::iter(0..300).map(|n| {
        let broker = broker.clone();
        let message = match n % 3 {
            0 => to_queue(),
            1 => result("nobody.listens"),
            _ => nowhere(),
        };
        async move { (n % 3, broker.publish(message).await) }
    });
    let mut all = all.buffer_unordered(50);
    while let Some((kind, answer)) = all.next().await {
        match kind {
            0 => assert_eq!(answer.expect("it is there"), Published::Routed),
            1 => assert_eq!(answer.expect("confirmed"), Published::Unroutable),
            _ => assert!(matches!(answer, Err(PublishError::Broker(_))), "{answer:?}"),
        }
    }
    drop(all);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_control_is_heard_and_told_to_be_heard() {
    let fixture = Fixture::new("control");
    let (broker, mut incoming) = fixture.start().await;
    assert!(matches!(incoming.next().await, Incoming::ControlOpen));
    let body = fixture.tenant.to_string();
    let published = broker.publish(Outgoing {
        exchange: topology::CONTROL.to_owned(),
        body: body.as_bytes().into(),
        ..result("")
    });
    assert_eq!(published.await.expect("confirmed"), Published::Routed);
    loop {
        // Other tests' control is heard too.
        if let Incoming::Control(control) = incoming.next().await
            && control.body == body.as_bytes()
        {
            break;
        }
    }
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_nothing_comes_once_consuming_has_stopped() {
    let fixture = Fixture::new("stop");
    let (broker, mut incoming) = fixture.start().await;
    for n in 0..20 {
        fixture
            .submit(&broker, Class::Interactive, &n.to_string())
            .await;
    }
    let held = incoming.job().await;
    broker.stop_consuming().await;
    assert!(!broker.status().consuming);
    let mut came = Vec::new();
    while let Ok(next) = incoming.0.try_recv() {
        if let Incoming::Delivery(delivery) = next {
            came.push(delivery.ticket);
        }
    }
    assert!(came.len() < 4, "no more than the prefetch came: {came:?}");
    for ticket in came {
        assert_eq!(ticket.give_back().await, AckResult::Ok);
    }
    incoming.nothing_for(Duration::from_millis(500)).await;
    assert_eq!(held.ticket.ack().await, AckResult::Ok, "it is still ours");
    let (_connection, channel) = fixture.raw().await;
    let options = lapin::options::QueueDeclareOptions::durable().passive();
    let name = fixture.queue(Class::Interactive).into();
    let declared = channel.queue_declare(name, options, lapin::types::FieldTable::default());
    assert_eq!(declared.await.expect("it is there").message_count(), 19);
    fixture.clean(broker).await;
}
