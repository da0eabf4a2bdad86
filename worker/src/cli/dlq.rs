//! `kiln dlq`: which messages could not be served, why, and what becomes of them now?
//!
//! Letters are taken without an answer, looked at, and go back to their places when the channel
//! ends; only one that was replayed or purged is answered.

mod letter;

use super::exit::Exit;
use super::link::{LinkArgs, Place, confirmed, print};
use super::stop::Stop;
use super::unkept::store_stop;
use crate::intake::amqp::again;
use crate::intake::amqp::connect::{close, in_time};
use crate::intake::ticket::{DETAIL, QUEUE, REASON, RETRIES};
use crate::store::ledger::Ledger;
use crate::telemetry::metric::Metrics;
use clap::Subcommand;
use kiln_protocol::id::JobId;
use kiln_protocol::topology::{DEAD, JOBS};
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicGetOptions, BasicNackOptions, BasicPublishOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Confirmation, Connection, Error};
use letter::Letter;
use serde_json::json;
use std::cell::{Cell, OnceCell};
use std::time::{Duration, Instant};

/// Who put a message back among the jobs.
const REPLAYED_BY: &str = "x-replayed-by";
/// How long letters that go back are waited for, and how often is looked.
const BACK_MAX: Duration = Duration::from_secs(2);
const BACK_LOOK: Duration = Duration::from_millis(20);

/// Look at the messages that could not be served, replay them, or throw them away.
#[derive(Debug, clap::Args)]
pub(super) struct DlqArgs {
    #[command(subcommand)]
    command: DlqCommand,
}

#[derive(Debug, Subcommand)]
enum DlqCommand {
    /// List them, the oldest first: id (the body's sha256 where it has none), reason, queue, size, detail
    Ls {
        #[command(flatten)]
        choice: Choice,
        #[command(flatten)]
        link: LinkArgs,
    },
    /// Show one with everything that it holds (exit 1 if it is not there)
    Show {
        /// Its message-id, or its body's sha256 where it has none
        id: String,
        #[command(flatten)]
        link: LinkArgs,
    },
    /// Put them back among the jobs, under the ids they have
    Replay(ChangeArgs),
    /// Throw them away
    Purge(ChangeArgs),
}

/// Which of them something is done to.
#[derive(Debug, clap::Args)]
struct ChangeArgs {
    #[command(flatten)]
    choice: Choice,
    /// Only this, by its message-id, or by its digest where it has none
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Only say which
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    link: LinkArgs,
}

/// Which of them.
#[derive(Debug, Default, clap::Args)]
struct Choice {
    /// Only those with this reason, such as `worker_crash`
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,
    /// So many at most
    #[arg(long, value_name = "N")]
    max: Option<usize>,
}

impl Choice {
    fn takes(&self, id: Option<&str>, letter: &Letter) -> bool {
        let same =
            |wanted: Option<&str>, held: Option<&str>| wanted.is_none_or(|w| held == Some(w));
        same(id, Some(letter.name())) && same(self.reason.as_deref(), letter.reason.as_deref())
    }
}

pub(super) fn run(args: &DlqArgs) -> Result<Exit, Stop> {
    match &args.command {
        DlqCommand::Ls { choice, link } => act(link, choice, None, Action::List),
        DlqCommand::Show { id, link } => {
            let choice = &Choice {
                reason: None,
                max: Some(1),
            };
            act(link, choice, Some(id), Action::Show)
        }
        DlqCommand::Replay(change) => change.act(Action::Replay),
        DlqCommand::Purge(change) => change.act(Action::Purge),
    }
}

impl ChangeArgs {
    fn act(&self, action: Action) -> Result<Exit, Stop> {
        let action = action.unless(self.dry_run);
        act(&self.link, &self.choice, self.id.as_deref(), action)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    List,
    Show,
    Replay,
    Purge,
}

impl Action {
    /// This, or only a list of what it would reach.
    fn unless(self, dry_run: bool) -> Self {
        if dry_run { Self::List } else { self }
    }
}

fn act(link: &LinkArgs, choice: &Choice, id: Option<&str>, action: Action) -> Result<Exit, Stop> {
    let place = link.place()?;
    super::runtime()?.block_on(async {
        let connection = place.connect().await?;
        let walk = Walk {
            place: &place,
            results: OnceCell::new(),
            connection: &connection,
            json: link.json,
            action,
            gone: Cell::new(0),
        };
        let ended = walk.through(choice, id).await;
        // What was not answered goes back to its place.
        close(&connection).await;
        ended
    })
}

struct Walk<'a> {
    place: &'a Place,
    /// Where outcomes are, opened for the first letter that is to be replayed.
    results: OnceCell<Ledger>,
    connection: &'a Connection,
    json: bool,
    action: Action,
    /// Letters that do not go back.
    gone: Cell<u32>,
}

impl Walk<'_> {
    async fn through(&self, choice: &Choice, id: Option<&str>) -> Result<Exit, Stop> {
        let away = |error: Error| Stop::unavailable(&error);
        let channel = in_time(self.connection.create_channel())
            .await
            .map_err(away)?;
        let options = QueueDeclareOptions::durable().passive();
        let queue = channel.queue_declare(DEAD.into(), options, FieldTable::default());
        let all = in_time(queue).await.map_err(away)?.message_count();
        let ended = self.each(&channel, all, choice, id).await;
        // Sent before the channel ends, so that whoever looks next finds them in their places.
        let rest = BasicNackOptions {
            multiple: true,
            requeue: true,
        };
        in_time(channel.basic_nack(0, rest)).await.map_err(away)?;
        self.are_back(&channel, all).await.map_err(away)?;
        in_time(channel.close(200, "done".into()))
            .await
            .map_err(away)?;
        ended
    }

    /// Waits until the letters of before are in their places: whoever looks next, perhaps the next
    /// command of a script, would see none. For a while only, as others may take some of them.
    async fn are_back(&self, channel: &Channel, all: u32) -> Result<(), Error> {
        let until = Instant::now() + BACK_MAX;
        while Instant::now() < until {
            let options = QueueDeclareOptions::durable().passive();
            let queue = channel.queue_declare(DEAD.into(), options, FieldTable::default());
            if in_time(queue).await?.message_count() + self.gone.get() >= all {
                break;
            }
            tokio::time::sleep(BACK_LOOK).await;
        }
        Ok(())
    }

    async fn each(
        &self,
        channel: &Channel,
        all: u32,
        choice: &Choice,
        id: Option<&str>,
    ) -> Result<Exit, Stop> {
        let away = |error: Error| Stop::unavailable(&error);
        let mut exit = Exit::Succeeded;
        let mut count = 0;
        // All of them, though fewer may be wanted: what goes back goes behind what was not taken,
        // so their order is kept only if all go back together. And no more than there are now, for
        // one that is replayed may soon be back.
        for _ in 0..all {
            let got = channel.basic_get(DEAD.into(), BasicGetOptions::default());
            let Some(got) = in_time(got).await.map_err(away)? else {
                break;
            };
            let letter = Letter::read(&got.delivery);
            let enough = choice.max.is_some_and(|max| count >= max);
            if !enough && choice.takes(id, &letter) {
                count += 1;
                exit = exit.max(self.one(&letter, &got.delivery).await?);
            }
        }
        // Only `show` and a choice by id ask for something that may not be there.
        match id {
            Some(id) if count == 0 => {
                let line = format!("no dead letter has the id `{id}`: see `kiln dlq ls`");
                Err(Stop::new(Exit::Failed, vec![line]))
            }
            _ => Ok(exit),
        }
    }

    async fn one(&self, letter: &Letter, delivery: &Delivery) -> Result<Exit, Stop> {
        match self.action {
            Action::List => self.tell(letter, None)?,
            Action::Show if self.json => print(&letter::whole(delivery).to_string())?,
            Action::Show => print(&format!("{:#}", letter::whole(delivery)))?,
            Action::Purge => {
                self.ack(delivery).await?;
                self.tell(letter, Some("purged"))?;
            }
            Action::Replay => {
                let Some(key) = letter.routing_key() else {
                    self.tell(letter, Some("left: the queue it came by is not known"))?;
                    return Ok(Exit::Failed);
                };
                if self.is_answered(letter).await? {
                    // The worker would only publish the same outcome again.
                    let why = "left: its job has its outcome; send it under another id";
                    self.tell(letter, Some(why))?;
                    return Ok(Exit::Failed);
                }
                if !self.replay(key, delivery).await? {
                    self.tell(letter, Some("left: no queue takes it"))?;
                    return Ok(Exit::Unavailable);
                }
                self.ack(delivery).await?;
                self.tell(letter, Some("replayed"))?;
            }
        }
        Ok(Exit::Succeeded)
    }

    /// Whether the store has an outcome of the job already.
    async fn is_answered(&self, letter: &Letter) -> Result<bool, Stop> {
        let id = letter.id.clone().and_then(|id| JobId::try_from(id).ok());
        let Some(id) = id else {
            return Ok(false);
        };
        let result = self.results()?.result(&id).await;
        Ok(result.map_err(|error| store_stop(&error))?.is_some())
    }

    fn results(&self) -> Result<&Ledger, Stop> {
        if let Some(ledger) = self.results.get() {
            return Ok(ledger);
        }
        let ledger = Ledger::open_to_read(&self.place.store, Metrics::new());
        let ledger = ledger.map_err(|error| store_stop(&error))?;
        Ok(self.results.get_or_init(|| ledger))
    }

    /// Whether the broker has it, before it is taken from the dead.
    async fn replay(&self, key: &str, delivery: &Delivery) -> Result<bool, Stop> {
        let by = format!("kiln@{}", crate::config::Config::host_name());
        let properties = again::properties(
            &delivery.properties,
            self.place.user(),
            &[REASON, DETAIL, QUEUE, RETRIES],
            &[(REPLAYED_BY, AMQPValue::LongString(by.into()))],
        );
        let published = async {
            let channel: Channel = confirmed(self.connection).await?;
            let options = BasicPublishOptions {
                mandatory: true,
                immediate: false,
            };
            let (exchange, key) = (JOBS.into(), key.into());
            let publish = channel.basic_publish(exchange, key, options, &delivery.data, properties);
            in_time(publish.await?).await
        };
        let confirmation = in_time(published).await;
        let confirmation = confirmation.map_err(|error| Stop::unavailable(&error))?;
        Ok(matches!(confirmation, Confirmation::Ack(None)))
    }

    fn tell(&self, letter: &Letter, done: Option<&str>) -> Result<(), Stop> {
        if self.json {
            let mut line = letter.json();
            if let Some(done) = done {
                line["result"] = json!(done);
            }
            return print(&line.to_string());
        }
        match done {
            Some(done) => print(&format!("{done}: {}", letter.line())),
            None => print(&letter.line()),
        }
    }

    /// The letter does not go back.
    async fn ack(&self, delivery: &Delivery) -> Result<(), Stop> {
        match in_time(delivery.acker.ack(BasicAckOptions::default())).await {
            Ok(true) => {
                self.gone.set(self.gone.get() + 1);
                Ok(())
            }
            Ok(false) => {
                let lost = std::io::Error::other("the broker has taken the message back");
                Err(Stop::unavailable(&lost))
            }
            Err(error) => Err(Stop::unavailable(&error)),
        }
    }
}
