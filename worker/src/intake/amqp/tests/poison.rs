//! What do messages do that no client of ours could write?

use super::*;
use crate::telemetry::metric::AckResult;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// A client that checks nothing of what it says.
struct Raw(TcpStream);

impl Raw {
    fn connect() -> Self {
        let uri: lapin::uri::AMQPUri = url().parse().expect("a url");
        let authority = uri.authority;
        let socket = TcpStream::connect((authority.host.as_str(), authority.port));
        let mut raw = Self(socket.expect("the broker is there"));
        raw.0.write_all(b"AMQP\0\0\x09\x01").expect("sent");
        raw.answer();
        let user = authority.userinfo;
        let secret = format!("\0{}\0{}", user.username, user.password);
        let start = [
            &[0; 4],
            &text(b"PLAIN")[..],
            &long(secret.as_bytes()),
            &text(b"en_US"),
        ];
        raw.method(0, [10, 11], &start.concat());
        raw.answer();
        raw.method(0, [10, 31], &[7, 255, 0, 2, 0, 0, 0, 0]);
        raw.method(
            0,
            [10, 40],
            &[text(uri.vhost.as_bytes()), vec![0, 0]].concat(),
        );
        raw.answer();
        raw.method(1, [20, 10], &[0]);
        raw.answer();
        raw
    }

    fn publish(&mut self, key: &str, headers: &[u8], id: &[u8]) {
        let to = [
            &[0, 0],
            &text(b"kiln.jobs")[..],
            &text(key.as_bytes()),
            &[0],
        ]
        .concat();
        self.method(1, [60, 40], &to);
        let flags: u16 = 1 << 13 | 1 << 12 | 1 << 7;
        let mut header = vec![0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6];
        header.extend(flags.to_be_bytes());
        header.extend(long(headers));
        header.push(2);
        header.extend(text(id));
        self.frame(2, 1, &header);
        self.frame(3, 1, b"poison");
    }

    /// Waits until the broker has taken what was published.
    fn finish(mut self) {
        self.method(1, [20, 40], &[0, 200, 0, 0, 0, 0, 0]);
        self.answer();
    }

    fn method(&mut self, channel: u8, [class, method]: [u8; 2], arguments: &[u8]) {
        let payload = [&[0, class, 0, method], arguments].concat();
        self.frame(1, channel, &payload);
    }

    fn frame(&mut self, kind: u8, channel: u8, payload: &[u8]) {
        let head = [&[kind, 0, channel], &long(payload)[..], &[0xce]].concat();
        self.0.write_all(&head).expect("sent");
    }

    fn answer(&mut self) {
        let mut head = [0; 7];
        self.0.read_exact(&mut head).expect("a frame");
        let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
        let mut rest = vec![0; usize::try_from(size).expect("small") + 1];
        self.0.read_exact(&mut rest).expect("its payload");
        assert_ne!(rest[..4], [0, 10, 0, 50], "the broker ends the connection");
    }
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&[u8::try_from(bytes.len()).expect("short")], bytes].concat()
}

fn long(bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).expect("small");
    [&size.to_be_bytes(), bytes].concat()
}

#[tokio::test]
async fn broker_a_message_that_cannot_be_read_ends_no_connection() {
    let fixture = Fixture::new("poison");
    let (broker, mut incoming) = fixture.start().await;
    fixture.submit(&broker, Class::Batch, "held").await;
    let held = incoming.job().await;
    let mut nested = Vec::new();
    for _ in 0..5000 {
        nested = [text(b"t"), b"F".to_vec(), long(&nested)].concat();
    }
    let mut raw = Raw::connect();
    let key = jobs_key(Class::Interactive, Some(&fixture.tenant));
    raw.publish(
        &key,
        &[text(b"h\xff"), b"t\x01".to_vec()].concat(),
        b"id\xff",
    );
    raw.publish(&key, &nested, b"deep");
    raw.finish();
    let bad = incoming.job().await;
    assert_eq!(bad.properties.message_id.as_deref(), Some("id?"));
    assert_eq!(*bad.body, b"poison");
    assert!(bad.properties.headers.contains_key("h?"));
    assert_eq!(bad.ticket.ack().await, AckResult::Ok);
    let deep = incoming.job().await;
    assert_eq!(deep.properties.message_id.as_deref(), Some("deep"));
    assert_eq!(deep.ticket.ack().await, AckResult::Ok);
    assert!(held.ticket.usable(), "the connection stands");
    assert_eq!(held.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_message_full_of_headers_can_be_moved() {
    let fixture = Fixture::new("headers");
    let (broker, mut incoming) = fixture.start().await;
    let mut raw = Raw::connect();
    let key = jobs_key(Class::Interactive, Some(&fixture.tenant));
    let large = [text(b"k"), b"S".to_vec(), long(&vec![b'v'; 130_990])].concat();
    raw.publish(&key, &large, b"large");
    raw.finish();
    let ticket = incoming.job().await.ticket;
    let moved = ticket.delay(&broker, Delay::Seconds5, 0).await;
    assert_eq!(moved.expect("it fits"), AckResult::Ok);
    let again = incoming.job().await;
    assert_eq!(again.properties.message_id.as_deref(), Some("large"));
    assert_eq!(again.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}

#[tokio::test]
async fn broker_a_direct_reply_that_cannot_be_read_harms_no_other() {
    let fixture = Fixture::new("direct");
    let (broker, mut incoming) = fixture.start().await;
    fixture.submit(&broker, Class::Batch, "one").await;
    let to = |routing_key: &str| Outgoing {
        exchange: String::new(),
        routing_key: routing_key.to_owned(),
        body: b"{}".as_slice().into(),
        kind: "kiln.outcome.v1".to_owned(),
        message_id: None,
        correlation_id: None,
        traceparent: None,
    };
    let unreadable = broker.publish(to("amq.rabbitmq.reply-to.AAAA.AAAA"));
    let others = async {
        for _ in 0..50 {
            let answer = broker.publish(to("kiln.reply.nobody")).await;
            assert_eq!(answer.expect("confirmed"), Published::Unroutable);
            assert!(broker.status().publishing, "its connection stands");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (unreadable, ()) = tokio::join!(unreadable, others);
    assert!(
        matches!(unreadable, Err(PublishError::Broken(_))),
        "{unreadable:?}"
    );
    assert_eq!(incoming.job().await.ticket.ack().await, AckResult::Ok);
    fixture.clean(broker).await;
}
