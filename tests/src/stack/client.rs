//! Who submits jobs and hears the outcomes: a client that knows only the contract and survives every fault of the broker.

use crate::faults::runtime;
use crate::history::History;
use crate::stack::letter::{Letter, Message};
use futures_util::StreamExt as _;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties, Consumer};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// The queue of this client, bound to all outcomes.
const OUTCOMES: &str = "test.outcomes";
/// How many messages wait for their confirm at once.
const WINDOW: usize = 256;

/// How long the broker may take for all that comes before the first outcome.
const ANSWERS_MAX: Duration = Duration::from_secs(20);

/// A client of one virtual host.
#[derive(Debug)]
pub struct Client {
    url: String,
    inbox: Arc<Inbox>,
    task: tokio::task::JoinHandle<()>,
    publisher: tokio::sync::Mutex<Option<(Connection, Channel)>>,
}

#[derive(Debug, Default)]
struct Inbox {
    state: Mutex<Heard>,
    news: Condvar,
}

/// What was heard up to now.
#[derive(Debug, Default)]
struct Heard {
    listening: bool,
    trouble: String,
    first: BTreeMap<String, Message>,
    copies: u64,
    history: History,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, act: impl FnOnce(&mut Heard)) {
        act(&mut self.lock());
        self.news.notify_all();
    }
}

impl Client {
    /// Connects, binds to the outcomes as soon as there is an exchange for them, and listens until dropped.
    pub fn start(url: &str) -> Self {
        let inbox = Arc::<Inbox>::default();
        let task = runtime().spawn(listen(url.to_owned(), Arc::clone(&inbox)));
        Self {
            url: url.to_owned(),
            inbox,
            task,
            publisher: tokio::sync::Mutex::new(None),
        }
    }

    /// Waits for something to be heard; says whether it was.
    fn hears(&self, patience: Duration, mut holds: impl FnMut(&Heard) -> bool) -> bool {
        let end = Instant::now() + patience;
        let mut heard = self.inbox.lock();
        while !holds(&heard) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.inbox.news.wait_timeout(heard, left);
            heard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Waits until no outcome can be missed.
    ///
    /// # Panics
    /// When that is not so within a minute.
    pub fn wait_bound(&self) {
        let bound = self.hears(Duration::from_mins(1), |heard| heard.listening);
        assert!(
            bound,
            "not bound to the outcomes: {}",
            self.inbox.lock().trouble
        );
    }

    /// The first copy of a job's outcome, where one comes in time.
    pub fn outcome(&self, job: &str, patience: Duration) -> Option<Message> {
        self.hears(patience, |heard| heard.first.contains_key(job));
        self.inbox.lock().first.get(job).cloned()
    }

    /// Waits until there is an outcome of each of these; returns those without.
    pub fn outcomes(&self, jobs: &[String], patience: Duration) -> Vec<String> {
        let mut next = 0;
        self.hears(patience, |heard| {
            while jobs
                .get(next)
                .is_some_and(|job| heard.first.contains_key(job))
            {
                next += 1;
            }
            next == jobs.len()
        });
        let heard = self.inbox.lock();
        let missing = jobs.iter().filter(|job| !heard.first.contains_key(*job));
        missing.cloned().collect()
    }

    /// How many jobs have an outcome, and how many copies came.
    pub fn heard(&self) -> (usize, u64) {
        let heard = self.inbox.lock();
        (heard.first.len(), heard.copies)
    }

    /// Whether it listens, and what ended its last connection: for whoever hears too little.
    pub fn state(&self) -> String {
        let heard = self.inbox.lock();
        format!(
            "{} outcomes, {} copies, listening: {}, last trouble: `{}`",
            heard.first.len(),
            heard.copies,
            heard.listening,
            heard.trouble
        )
    }

    /// Waits until so many copies came in all.
    pub fn wait_copies(&self, copies: u64, patience: Duration) -> bool {
        self.hears(patience, |heard| heard.copies >= copies)
    }

    /// Looks at, or adds to, what happened.
    pub fn history<T>(&self, act: impl FnOnce(&mut History) -> T) -> T {
        act(&mut self.inbox.lock().history)
    }

    /// Hands letters to the broker, each until it is confirmed: one may arrive twice.
    ///
    /// # Panics
    /// When the broker does not take them within five minutes.
    pub fn send(&self, letters: &[Letter]) {
        for letter in letters {
            if let Some(id) = letter.counts_as() {
                self.history(|history| history.submitted(id));
            }
        }
        let sent = runtime()
            .block_on(async { timeout(Duration::from_mins(5), self.send_all(letters)).await });
        assert!(sent.is_ok(), "the broker takes no message in five minutes");
    }

    async fn send_all(&self, letters: &[Letter]) {
        let mut left = letters;
        while !left.is_empty() {
            let part = &left[..left.len().min(WINDOW)];
            let sent = timeout(Duration::from_secs(10), self.send_part(part)).await;
            if let Ok(Ok(())) = sent {
                left = &left[part.len()..];
            } else {
                *self.publisher.lock().await = None;
                sleep(Duration::from_millis(200)).await;
            }
        }
    }

    async fn send_part(&self, letters: &[Letter]) -> lapin::Result<()> {
        let mut publisher = self.publisher.lock().await;
        if publisher.is_none() {
            let connection = connect(&self.url).await?;
            let channel = connection.create_channel().await?;
            channel
                .confirm_select(ConfirmSelectOptions::default())
                .await?;
            *publisher = Some((connection, channel));
        }
        let (_, channel) = publisher.as_ref().expect("it was just made");
        let mut confirms = Vec::new();
        for letter in letters {
            let (exchange, key) = (letter.exchange.as_str().into(), letter.key.as_str().into());
            let options = BasicPublishOptions::default();
            let properties = letter.properties();
            let confirm = channel.basic_publish(exchange, key, options, &letter.body, properties);
            confirms.push(confirm.await?);
        }
        for confirm in confirms {
            if !confirm.await?.is_ack() {
                return Err(std::io::Error::other("the broker did not take it").into());
            }
        }
        Ok(())
    }

    /// Makes a queue of a name, for answers.
    ///
    /// # Panics
    /// When the broker refuses.
    pub fn declare(&self, queue: &str) {
        self.with_channel(async |channel| {
            let options = QueueDeclareOptions::durable();
            let made = channel.queue_declare(queue.into(), options, FieldTable::default());
            made.await.map(drop)
        });
    }

    /// What lies in a queue; it stays there.
    ///
    /// # Panics
    /// When there is no such queue.
    pub fn peek(&self, queue: &str) -> Vec<Message> {
        self.with_channel(async |channel| {
            let mut found = Vec::new();
            let options = BasicGetOptions::default();
            while let Some(got) = channel.basic_get(queue.into(), options).await? {
                found.push(Message::of(&got.delivery));
            }
            Ok(found) // Nothing was acknowledged: all goes back with the channel.
        })
    }

    fn with_channel<T>(&self, act: impl AsyncFnOnce(&Channel) -> lapin::Result<T>) -> T {
        let done = runtime().block_on(async {
            let connection = connect(&self.url).await?;
            let channel = connection.create_channel().await?;
            let done = act(&channel).await?;
            connection.close(200, "done".into()).await?;
            Ok::<_, lapin::Error>(done)
        });
        done.unwrap_or_else(|error| panic!("the broker refuses: {error}"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(url: &str) -> lapin::Result<Connection> {
    let url = format!(
        "{url}{}heartbeat=10",
        if url.contains('?') { "&" } else { "?" }
    );
    let properties = ConnectionProperties::default().with_connection_name("kiln-test".into());
    let connection = timeout(
        Duration::from_secs(5),
        Connection::connect(&url, properties),
    );
    let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
    connection.await.map_err(late)?
}

/// Listens for ever: whatever ends a connection, the next one goes on where it was.
async fn listen(url: String, inbox: Arc<Inbox>) {
    loop {
        // A broker that is killed between two words of it may leave one without an answer.
        let trouble = match timeout(ANSWERS_MAX, consume(&url)).await {
            Ok(Ok((connection, deliveries))) => {
                inbox.change(|heard| heard.listening = true);
                let ended = hear(deliveries, &inbox).await;
                drop(connection);
                ended.err().map(|error| error.to_string())
            }
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the broker did not answer".to_owned()),
        };
        inbox.change(|heard| {
            heard.listening = false;
            heard.trouble = trouble.unwrap_or_else(|| "the deliveries ended".to_owned());
        });
        sleep(Duration::from_millis(200)).await;
    }
}

async fn consume(url: &str) -> lapin::Result<(Connection, Consumer)> {
    let connection = connect(url).await?;
    let channel = connection.create_channel().await?;
    let (durable, none) = (QueueDeclareOptions::durable(), FieldTable::default());
    channel
        .queue_declare(OUTCOMES.into(), durable, none)
        .await?;
    let bind = QueueBindOptions::default();
    let (from, all) = ("kiln.results".into(), "#".into());
    let none = FieldTable::default();
    channel
        .queue_bind(OUTCOMES.into(), from, all, bind, none)
        .await?;
    channel.basic_qos(500, BasicQosOptions::default()).await?;
    let consume = BasicConsumeOptions::default();
    let deliveries = channel
        .basic_consume(
            OUTCOMES.into(),
            "test".into(),
            consume,
            FieldTable::default(),
        )
        .await?;
    Ok((connection, deliveries))
}

async fn hear(mut deliveries: Consumer, inbox: &Inbox) -> lapin::Result<()> {
    while let Some(delivery) = deliveries.next().await {
        let delivery = delivery?;
        let message = Message::of(&delivery);
        inbox.change(|heard| {
            let id = message.id.clone().unwrap_or_default();
            heard.history.published(&id, &message.body);
            heard.copies += 1;
            heard.first.entry(id).or_insert(message);
        });
        delivery.acker.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}
