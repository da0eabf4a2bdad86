//! What happens with a real broker? Needs one, whose url is in `KILN_TEST_AMQP`; fails without.
//!
//! Every test has a tenant of its own, and so queues of its own: they may run side by side.

mod answers;
mod faults;
mod poison;
mod proxy;

use super::*;
use crate::intake::Delivery;
use crate::intake::amqp::connect::in_time;
use kiln_protocol::job::Class;
use kiln_protocol::topology::{self, jobs_key, jobs_queue};
use lapin::Channel;
use lapin::options::QueueDeleteOptions;

const URL: &str = "KILN_TEST_AMQP";
const PATIENCE: Duration = Duration::from_secs(15);

fn url() -> String {
    std::env::var(URL).unwrap_or_else(|_| panic!("this test needs a broker: set {URL} to its url"))
}

/// A tenant that no other test has.
struct Fixture {
    tenant: Tenant,
    url: String,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.expect("it is later than 1970").as_micros();
        let tenant = format!("{name}-{now:x}");
        Self {
            tenant: tenant.parse().expect("a tenant"),
            url: url(),
        }
    }

    fn source(&self, class: Class) -> Arc<Source> {
        Arc::new(Source {
            queue: self.queue(class),
            class,
            tenant: Some(self.tenant.clone()),
        })
    }

    fn queue(&self, class: Class) -> String {
        jobs_queue(class, Some(&self.tenant))
    }

    fn options(&self) -> BrokerOptions {
        BrokerOptions {
            url: Secret::new(self.url.clone()),
            name: "test".to_owned(),
            topology: TopologyMode::Create,
            tenants: vec![self.tenant.clone()],
            sources: vec![self.source(Class::Interactive), self.source(Class::Batch)],
            prefetch: 4,
        }
    }

    async fn start(&self) -> (Broker, Incomings) {
        let started = Broker::start(self.options(), Metrics::new()).await;
        let (broker, incoming) = started.expect("it starts");
        (broker, Incomings(incoming))
    }

    async fn submit(&self, broker: &Broker, class: Class, id: &str) {
        let published = broker
            .publish(Outgoing {
                exchange: topology::JOBS.to_owned(),
                routing_key: jobs_key(class, Some(&self.tenant)),
                body: id.as_bytes().into(),
                kind: "kiln.job.v1".to_owned(),
                message_id: Some(id.to_owned()),
                correlation_id: None,
                traceparent: None,
            })
            .await;
        assert_eq!(published.expect("it is confirmed"), Published::Routed);
    }

    async fn raw(&self) -> (Connection, Channel) {
        let address = Address::parse(&Secret::new(url()), "raw").expect("a url");
        let connection = address.connect("test").await.expect("the broker is there");
        let channel = connection.create_channel().await.expect("a channel");
        (connection, channel)
    }

    /// Takes away the queues of this test.
    async fn clean(self, broker: Broker) {
        broker.close().await;
        let (_connection, channel) = self.raw().await;
        for class in [Class::Interactive, Class::Batch] {
            let name = self.queue(class).into();
            let gone = channel.queue_delete(name, QueueDeleteOptions::default());
            in_time(gone).await.expect("it goes");
        }
    }
}

struct Incomings(mpsc::UnboundedReceiver<Incoming>);

impl Incomings {
    async fn next(&mut self) -> Incoming {
        let next = timeout(PATIENCE, self.0.recv()).await;
        next.expect("something comes").expect("it goes on")
    }

    /// The next job; control is passed over.
    async fn job(&mut self) -> Delivery {
        loop {
            if let Incoming::Delivery(delivery) = self.next().await {
                return delivery;
            }
        }
    }

    async fn nothing_for(&mut self, wait: Duration) {
        let end = tokio::time::Instant::now() + wait;
        while let Ok(next) = tokio::time::timeout_at(end, self.0.recv()).await {
            assert!(matches!(next, Some(Incoming::ControlOpen)), "{next:?}");
        }
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, wait)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come"));
}
