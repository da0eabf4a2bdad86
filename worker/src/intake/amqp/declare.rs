//! Is the broker's topology the one that is wanted, and if not, what exactly differs?
//!
//! A declaration that the broker refuses ends its channel and nothing else, and names one
//! difference; what it names is then taken as it is and the rest asked again.

mod differs;

use super::connect::in_time;
use differs::{Current, Difference};
use kiln_protocol::topology::{
    Argument, Arguments, Binding, Exchange, ExchangeKind, Queue, Topology,
};
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, Error, ErrorKind, ExchangeKind as Kind};
use std::collections::BTreeMap;

/// Differences of one exchange or queue that are told at most.
const DIFFERENCES_MAX: usize = 16;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is not there, or not as it is wanted; a line each.
    pub(crate) differences: Vec<String>,
    /// What was not there and is now; a line each.
    pub(crate) made: Vec<String>,
    /// What we may not look at; a line each.
    pub(crate) unseen: Vec<String>,
}

/// Looks at everything; makes what is missing where `create` says so.
pub(crate) async fn inspect(
    connection: &Connection,
    topology: &Topology,
    create: bool,
) -> Result<Findings, Error> {
    let mut inspector = Inspector {
        connection,
        channel: None,
        create,
        findings: Findings::default(),
    };
    for exchange in &topology.exchanges {
        inspector.look(&Thing::Exchange(exchange)).await?;
    }
    for queue in &topology.queues {
        inspector.look(&Thing::Queue(queue)).await?;
    }
    if create && inspector.findings.differences.is_empty() {
        for binding in &topology.bindings {
            inspector.bind(binding).await?;
        }
    }
    Ok(inspector.findings)
}

enum Thing<'a> {
    Exchange(&'a Exchange),
    Queue(&'a Queue),
}

impl Thing<'_> {
    fn label(&self) -> String {
        match self {
            Self::Exchange(exchange) => format!("exchange `{}`", exchange.name),
            Self::Queue(queue) => format!("queue `{}`", queue.name),
        }
    }

    fn arguments(&self) -> &Arguments {
        match self {
            Self::Exchange(exchange) => &exchange.arguments,
            Self::Queue(queue) => &queue.arguments,
        }
    }

    async fn declare(
        &self,
        channel: &Channel,
        passive: bool,
        arguments: FieldTable,
    ) -> Result<(), Error> {
        match self {
            Self::Exchange(exchange) => {
                let options = ExchangeDeclareOptions {
                    passive,
                    durable: true,
                    ..ExchangeDeclareOptions::default()
                };
                let name = exchange.name.into();
                in_time(channel.exchange_declare(name, kind(exchange.kind), options, arguments))
                    .await
            }
            Self::Queue(queue) => {
                let mut options = QueueDeclareOptions::durable();
                options.passive = passive;
                let name = queue.name.as_str().into();
                in_time(channel.queue_declare(name, options, arguments))
                    .await
                    .map(drop)
            }
        }
    }
}

fn kind(kind: ExchangeKind) -> Kind {
    match kind {
        ExchangeKind::Direct => Kind::Direct,
        ExchangeKind::Topic => Kind::Topic,
        ExchangeKind::Fanout => Kind::Fanout,
    }
}

struct Inspector<'a> {
    connection: &'a Connection,
    channel: Option<Channel>,
    create: bool,
    findings: Findings,
}

/// What the broker thought of a declaration.
enum Verdict {
    Agreed,
    Missing,
    Forbidden,
    Differs(String),
}

impl Inspector<'_> {
    async fn look(&mut self, thing: &Thing<'_>) -> Result<(), Error> {
        let label = thing.label();
        match self.declare(thing, true, FieldTable::default()).await? {
            Verdict::Agreed => self.compare(thing).await,
            Verdict::Missing if self.create => {
                let verdict = self.declare(thing, false, table(thing.arguments())).await?;
                match verdict {
                    Verdict::Agreed => self.findings.made.push(label),
                    Verdict::Missing => self.missing(&label),
                    Verdict::Forbidden => {
                        let line = format!("{label} is missing and may not be made by this user");
                        self.findings.differences.push(line);
                    }
                    Verdict::Differs(text) => {
                        self.findings.differences.push(format!("{label}: {text}"));
                    }
                }
                Ok(())
            }
            Verdict::Missing => {
                self.missing(&label);
                Ok(())
            }
            Verdict::Forbidden => {
                self.findings.unseen.push(label);
                Ok(())
            }
            // A queue that another connection holds for itself.
            Verdict::Differs(text) => {
                self.findings.differences.push(format!("{label}: {text}"));
                Ok(())
            }
        }
    }

    fn missing(&mut self, label: &str) {
        self.findings
            .differences
            .push(format!("{label} is missing"));
    }

    /// Declares what is there as it is wanted, which changes nothing and shows what differs.
    async fn compare(&mut self, thing: &Thing<'_>) -> Result<(), Error> {
        let label = thing.label();
        let mut arguments: BTreeMap<String, AMQPValue> = thing
            .arguments()
            .iter()
            .map(|(name, held)| ((*name).to_owned(), value(held)))
            .collect();
        for _ in 0..DIFFERENCES_MAX {
            let mut asked = FieldTable::default();
            for (name, value) in &arguments {
                asked.insert(name.as_str().into(), value.clone());
            }
            let text = match self.declare(thing, false, asked).await? {
                Verdict::Differs(text) => text,
                // Who may not declare cannot compare either.
                Verdict::Forbidden => {
                    self.findings.unseen.push(label);
                    return Ok(());
                }
                Verdict::Agreed | Verdict::Missing => return Ok(()),
            };
            let Some(difference) = Difference::parse(&text) else {
                self.findings.differences.push(format!("{label}: {text}"));
                return Ok(());
            };
            self.findings
                .differences
                .push(format!("{label}: {}", difference.line()));
            let known = |name: &str| name.starts_with("x-") || name == "alternate-exchange";
            match difference.current {
                Current::Integer(current) if known(&difference.name) => {
                    arguments.insert(difference.name, AMQPValue::LongLongInt(current))
                }
                Current::Text(current) if known(&difference.name) => {
                    let current = AMQPValue::LongString(current.into());
                    arguments.insert(difference.name, current)
                }
                Current::Nothing if known(&difference.name) => arguments.remove(&difference.name),
                _ => return Ok(()),
            };
        }
        Ok(())
    }

    async fn bind(&mut self, binding: &Binding) -> Result<(), Error> {
        let channel = self.channel().await?;
        let bound = in_time(channel.queue_bind(
            binding.queue.as_str().into(),
            binding.exchange.into(),
            binding.routing_key.as_str().into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        ))
        .await;
        match self.verdict(bound)? {
            Verdict::Agreed => {}
            Verdict::Forbidden => {
                let line = format!("binding of queue `{}`", binding.queue);
                self.findings.unseen.push(line);
            }
            Verdict::Missing => self.missing(&format!("queue `{}`", binding.queue)),
            Verdict::Differs(text) => {
                let line = format!("binding of queue `{}`: {text}", binding.queue);
                self.findings.differences.push(line);
            }
        }
        Ok(())
    }

    async fn declare(
        &mut self,
        thing: &Thing<'_>,
        passive: bool,
        arguments: FieldTable,
    ) -> Result<Verdict, Error> {
        let channel = self.channel().await?;
        let answer = thing.declare(&channel, passive, arguments).await;
        self.verdict(answer)
    }

    fn verdict(&mut self, answer: Result<(), Error>) -> Result<Verdict, Error> {
        let Err(error) = answer else {
            return Ok(Verdict::Agreed);
        };
        self.channel = None;
        let ErrorKind::ProtocolError(told) = error.kind() else {
            return Err(error);
        };
        match told.kind() {
            AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND) => Ok(Verdict::Missing),
            AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED) => Ok(Verdict::Forbidden),
            AMQPErrorKind::Soft(_) => Ok(Verdict::Differs(told.get_message().to_string())),
            AMQPErrorKind::Hard(_) => Err(error),
        }
    }

    async fn channel(&mut self) -> Result<Channel, Error> {
        if let Some(channel) = self.channel.as_ref().filter(|c| c.status().connected()) {
            return Ok(channel.clone());
        }
        let channel = in_time(self.connection.create_channel()).await?;
        self.channel = Some(channel.clone());
        Ok(channel)
    }
}

fn value(argument: &Argument) -> AMQPValue {
    match argument {
        Argument::Text(text) => AMQPValue::LongString(text.as_str().into()),
        Argument::Integer(number) => AMQPValue::LongLongInt(*number),
    }
}

fn table(arguments: &Arguments) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, held) in arguments {
        table.insert((*name).into(), value(held));
    }
    table
}
