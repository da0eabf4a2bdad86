//! Which exchanges and queues are there, and how are they bound?
//!
//! ```text
//!  kiln.jobs ── <class>, <class>.<tenant> ──────► kiln.jobs.<class>, kiln.jobs.<class>.<tenant>
//!     │ what matches none                              ▲            ▲
//!     └─► kiln.jobs.shared ── <class>.# ───────────────┘            │ when the time is up, with
//!  kiln.retry.5s ─► kiln.retry.5s ── kiln.jobs ─────────────────────┘ the routing key it came by
//!  kiln.dead ── kiln.dead ─► kiln.dead
//!  kiln.results ─► whoever listens        kiln.control ─► every worker
//! ```

mod definitions;

use crate::id::Tenant;
use crate::job::Class;

/// Where jobs are published: direct, by `<class>` or `<class>.<tenant>`.
pub const JOBS: &str = "kiln.jobs";
/// Where a job goes that has no queue of its own: topic, to its class's.
pub const JOBS_SHARED: &str = "kiln.jobs.shared";
/// Where outcomes are published: topic, by `<tenant>.<status>`.
pub const RESULTS: &str = "kiln.results";
/// Where messages go that cannot be served: direct; and the queue of the same name.
pub const DEAD: &str = "kiln.dead";
/// Where every worker listens: fanout.
pub const CONTROL: &str = "kiln.control";

/// The queue of a class, or of one tenant's jobs of it.
pub fn jobs_queue(class: Class, tenant: Option<&Tenant>) -> String {
    format!("{JOBS}.{}", jobs_key(class, tenant))
}

/// The delay queues and what they wait, in milliseconds. Each has an exchange of the same name.
pub const RETRY: [(&str, i64); 3] = [
    ("kiln.retry.5s", 5_000),
    ("kiln.retry.30s", 30_000),
    ("kiln.retry.5m", 300_000),
];

/// After how many deliveries that nobody answered the broker itself takes a message for dead. Far
/// more than restarts cost: it ends what no worker can even read.
const DELIVERIES_MAX: i64 = 100;

/// The same for dead letters, which are looked at without being taken, and must stay.
const LOOKS_MAX: i64 = 1_000_000;

/// The routing key of a job: `<class>` or `<class>.<tenant>`.
pub fn jobs_key(class: Class, tenant: Option<&Tenant>) -> String {
    match tenant {
        None => class.as_str().to_owned(),
        Some(tenant) => format!("{}.{tenant}", class.as_str()),
    }
}

/// The routing key by which a queue of jobs is reached; none where it is no such queue.
pub fn key_of_queue(queue: &str) -> Option<&str> {
    let key = queue.strip_prefix(JOBS)?.strip_prefix('.')?;
    let class = key.split('.').next()?;
    Class::ALL
        .iter()
        .any(|known| known.as_str() == class)
        .then_some(key)
}

/// How an exchange chooses among its bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeKind {
    /// By the same routing key.
    Direct,
    /// By a pattern.
    Topic,
    /// All of them.
    Fanout,
}

impl ExchangeKind {
    /// The broker's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Topic => "topic",
            Self::Fanout => "fanout",
        }
    }
}

/// An argument's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Text.
    Text(String),
    /// A number, signed.
    Integer(i64),
}

/// Arguments, in a fixed order.
pub type Arguments = Vec<(&'static str, Argument)>;

/// A durable exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its name.
    pub name: &'static str,
    /// How it chooses.
    pub kind: ExchangeKind,
    /// What it was declared with.
    pub arguments: Arguments,
}

/// A durable queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// What it was declared with.
    pub arguments: Arguments,
}

/// The way from an exchange to a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// From.
    pub exchange: &'static str,
    /// To.
    pub queue: String,
    /// For messages with this key.
    pub routing_key: String,
}

/// Everything that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Before the queues, for these name them.
    pub exchanges: Vec<Exchange>,
    /// Before the bindings.
    pub queues: Vec<Queue>,
    /// All that are needed.
    pub bindings: Vec<Binding>,
}

impl Topology {
    /// What must be there where these tenants have queues of their own.
    pub fn new(tenants: &[Tenant]) -> Self {
        let mut topology = Self {
            exchanges: exchanges(),
            queues: vec![Queue {
                name: DEAD.to_owned(),
                arguments: dead(),
            }],
            bindings: vec![bind(DEAD, DEAD.to_owned(), DEAD)],
        };
        for class in Class::ALL {
            let shared = jobs_queue(class, None);
            topology.add_jobs(class, None);
            let pattern = format!("{}.#", class.as_str());
            topology.bindings.push(bind(JOBS_SHARED, shared, &pattern));
            for tenant in tenants {
                topology.add_jobs(class, Some(tenant));
            }
        }
        for (name, wait_ms) in RETRY {
            topology.queues.push(Queue {
                name: name.to_owned(),
                arguments: delay(wait_ms),
            });
            topology.bindings.push(bind(name, name.to_owned(), ""));
        }
        topology
    }

    fn add_jobs(&mut self, class: Class, tenant: Option<&Tenant>) {
        let name = jobs_queue(class, tenant);
        self.bindings
            .push(bind(JOBS, name.clone(), &jobs_key(class, tenant)));
        self.queues.push(Queue {
            name,
            arguments: jobs(),
        });
    }
}

fn exchanges() -> Vec<Exchange> {
    let plain = |name, kind| Exchange {
        name,
        kind,
        arguments: Vec::new(),
    };
    let mut all = vec![
        plain(JOBS_SHARED, ExchangeKind::Topic),
        Exchange {
            name: JOBS,
            kind: ExchangeKind::Direct,
            arguments: vec![text("alternate-exchange", JOBS_SHARED)],
        },
        plain(RESULTS, ExchangeKind::Topic),
        plain(DEAD, ExchangeKind::Direct),
        plain(CONTROL, ExchangeKind::Fanout),
    ];
    all.extend(RETRY.map(|(name, _)| plain(name, ExchangeKind::Fanout)));
    all
}

fn bind(exchange: &'static str, queue: String, key: &str) -> Binding {
    Binding {
        exchange,
        queue,
        routing_key: key.to_owned(),
    }
}

fn text(name: &'static str, value: &str) -> (&'static str, Argument) {
    (name, Argument::Text(value.to_owned()))
}

fn quorum() -> Arguments {
    vec![text("x-queue-type", "quorum")]
}

/// Dead letters leave the queue only when they have arrived: that needs both of the first two.
fn dead_letters_to(exchange: &str) -> Arguments {
    vec![
        text("x-dead-letter-strategy", "at-least-once"),
        text("x-overflow", "reject-publish"),
        text("x-dead-letter-exchange", exchange),
    ]
}

fn dead() -> Arguments {
    let mut all = quorum();
    all.push(("x-delivery-limit", Argument::Integer(LOOKS_MAX)));
    all
}

fn jobs() -> Arguments {
    let mut all = quorum();
    all.extend(dead_letters_to(DEAD));
    all.push(text("x-dead-letter-routing-key", DEAD));
    all.push(("x-delivery-limit", Argument::Integer(DELIVERIES_MAX)));
    all
}

fn delay(wait_ms: i64) -> Arguments {
    let mut all = quorum();
    all.extend(dead_letters_to(JOBS));
    all.push(("x-message-ttl", Argument::Integer(wait_ms)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn acme() -> Topology {
        Topology::new(&["acme".parse().expect("a tenant")])
    }

    #[test]
    fn every_class_and_tenant_has_its_queue() {
        let names: Vec<_> = acme().queues.into_iter().map(|queue| queue.name).collect();
        assert_eq!(
            names,
            [
                "kiln.dead",
                "kiln.jobs.interactive",
                "kiln.jobs.interactive.acme",
                "kiln.jobs.batch",
                "kiln.jobs.batch.acme",
                "kiln.retry.5s",
                "kiln.retry.30s",
                "kiln.retry.5m",
            ]
        );
    }

    #[test]
    fn what_is_bound_exists_and_every_queue_is_reached() {
        let topology = acme();
        let exchanges: BTreeSet<_> = topology.exchanges.iter().map(|x| x.name).collect();
        let queues: BTreeSet<_> = topology.queues.iter().map(|q| q.name.as_str()).collect();
        let bound: BTreeSet<_> = topology.bindings.iter().map(|b| b.queue.as_str()).collect();
        assert_eq!(bound, queues);
        assert!(
            topology
                .bindings
                .iter()
                .all(|b| exchanges.contains(b.exchange))
        );
        for queue in &topology.queues {
            for (name, value) in &queue.arguments {
                if let ("x-dead-letter-exchange", Argument::Text(to)) = (*name, value) {
                    assert!(exchanges.contains(to.as_str()), "{to}");
                }
            }
        }
    }

    #[test]
    fn a_retried_message_keeps_its_routing_key() {
        let topology = acme();
        for (name, wait_ms) in RETRY {
            let queue = topology.queues.iter().find(|queue| queue.name == name);
            let arguments = &queue.expect("it is there").arguments;
            assert!(arguments.contains(&("x-message-ttl", Argument::Integer(wait_ms))));
            assert!(arguments.contains(&text("x-dead-letter-exchange", JOBS)));
            let rewritten = |(name, _): &(&str, Argument)| *name == "x-dead-letter-routing-key";
            assert!(!arguments.iter().any(rewritten), "it would lose its key");
            let exchange = topology.exchanges.iter().find(|x| x.name == name);
            assert_eq!(exchange.expect("it is there").kind, ExchangeKind::Fanout);
        }
    }

    #[test]
    fn a_queue_of_jobs_knows_its_key_and_no_other_does() {
        let tenant = "a-b".parse().expect("a tenant");
        for class in Class::ALL {
            for tenant in [None, Some(&tenant)] {
                let queue = jobs_queue(class, tenant);
                let key = jobs_key(class, tenant);
                assert_eq!(key_of_queue(&queue), Some(key.as_str()));
            }
        }
        for other in [
            "kiln.jobs",
            "kiln.jobs.",
            "kiln.jobsinteractive",
            "kiln.jobs.shared",
            "x",
        ] {
            assert_eq!(key_of_queue(other), None, "{other}");
        }
    }
}
