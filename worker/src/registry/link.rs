//! One connection to the server, with the scripts in place.

use super::library::{Call, Library};
use super::tempo::Tempo;
use crate::telemetry::metric::Metrics;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Value};
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// Why the record could not be asked or written.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("understand the address of Redis")]
    Address(#[source] RedisError),
    #[error("connect to Redis")]
    Connect(#[source] RedisError),
    #[error("connect to Redis in time")]
    Slow(#[source] io::Error),
    #[error("load the scripts into Redis")]
    Load(#[source] RedisError),
    #[error("call `{call}` in Redis")]
    Call {
        call: &'static str,
        source: RedisError,
    },
    #[error("understand what Redis answers to `{call}`: {answer}")]
    Nonsense { call: &'static str, answer: String },
}

/// A connection that is ready for calls. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Link {
    connection: MultiplexedConnection,
    library: Library,
    metrics: Arc<Metrics>,
}

/// What a script answered: a word, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) word: String,
    pub(super) more: Option<String>,
}

/// A client for an address; nothing is connected.
pub(super) fn client(url: &str) -> Result<Client, LinkError> {
    crate::tls::install();
    Client::open(url).map_err(LinkError::Address)
}

/// A connection without scripts, for whoever only reads.
pub(super) async fn connect(
    client: &Client,
    tempo: &Tempo,
) -> Result<MultiplexedConnection, LinkError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(tempo.connect))
        .set_response_timeout(Some(tempo.response));
    let connecting = client.get_multiplexed_async_connection_with_config(&config);
    // The handshake counts too: a server that stands still takes connections.
    tokio::time::timeout(tempo.connect, connecting)
        .await
        .map_err(|late| LinkError::Slow(late.into()))?
        .map_err(LinkError::Connect)
}

impl Link {
    pub(super) async fn open(
        client: &Client,
        tempo: &Tempo,
        metrics: Arc<Metrics>,
    ) -> Result<Self, LinkError> {
        let mut connection = connect(client, tempo).await?;
        let library = Library::load(&mut connection)
            .await
            .map_err(LinkError::Load)?;
        Ok(Self {
            connection,
            library,
            metrics,
        })
    }

    pub(super) fn command(&self, call: &Call) -> redis::Cmd {
        self.library.command(call)
    }

    /// Sends commands at once and gives what each answered; an error in one fails all.
    pub(super) async fn send(
        &mut self,
        call: &'static str,
        pipeline: &redis::Pipeline,
    ) -> Result<Vec<Value>, LinkError> {
        let began = Instant::now();
        let answered = pipeline.query_async(&mut self.connection).await;
        self.metrics.redis_command(call, began.elapsed());
        answered.map_err(|source| LinkError::Call { call, source })
    }

    /// Calls one script that answers with a word.
    pub(super) async fn ask(
        &mut self,
        call: &'static str,
        keys: Vec<String>,
        args: Vec<String>,
    ) -> Result<Answer, LinkError> {
        let answer = self.query(call, keys, args).await?;
        Answer::of(call, &answer)
    }

    /// Calls one script that answers with names.
    pub(super) async fn names(
        &mut self,
        call: &'static str,
        keys: Vec<String>,
        args: Vec<String>,
    ) -> Result<Vec<String>, LinkError> {
        let answer = self.query(call, keys, args).await?;
        texts(&answer).ok_or_else(|| nonsense(call, &answer))
    }

    async fn query(
        &mut self,
        call: &'static str,
        keys: Vec<String>,
        args: Vec<String>,
    ) -> Result<Value, LinkError> {
        let began = Instant::now();
        let command = self.command(&Call::new(call, keys, args));
        let answered = command.query_async(&mut self.connection).await;
        self.metrics.redis_command(call, began.elapsed());
        answered.map_err(|source| LinkError::Call { call, source })
    }
}

impl Answer {
    pub(super) fn of(call: &'static str, value: &Value) -> Result<Self, LinkError> {
        let mut words = texts(value)
            .ok_or_else(|| nonsense(call, value))?
            .into_iter();
        match words.next() {
            Some(word) => Ok(Self {
                word,
                more: words.next(),
            }),
            None => Err(nonsense(call, value)),
        }
    }

    /// The number it is about.
    pub(super) fn number(&self, call: &'static str) -> Result<u64, LinkError> {
        let number = self.more.as_deref().and_then(|more| more.parse().ok());
        number.ok_or_else(|| LinkError::Nonsense {
            call,
            answer: format!("{self:?}"),
        })
    }
}

/// A list of texts; `None` where it is something else.
fn texts(value: &Value) -> Option<Vec<String>> {
    let Value::Array(items) = value else {
        return None;
    };
    items
        .iter()
        .map(|item| match item {
            Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
            Value::SimpleString(text) => Some(text.clone()),
            Value::Int(number) => Some(number.to_string()),
            _ => None,
        })
        .collect()
}

fn nonsense(call: &'static str, value: &Value) -> LinkError {
    let mut answer = format!("{value:?}");
    let end = answer.floor_char_boundary(200);
    answer.truncate(end);
    LinkError::Nonsense { call, answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_no_answer_is_an_error_and_never_a_panic() {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let good = Value::Array(vec![bulk("ok"), bulk("17"), bulk("more")]);
        let answer = Answer::of("x", &good).expect("it is an answer");
        assert_eq!(answer.number("x").expect("a number"), 17);
        for bad in [
            Value::Nil,
            Value::Okay,
            Value::Int(1),
            Value::Array(Vec::new()),
            Value::Array(vec![Value::Nil]),
            Value::Array(vec![Value::BulkString(vec![0xff])]),
        ] {
            assert!(Answer::of("x", &bad).is_err(), "{bad:?}");
        }
        let wordy = Value::Array(vec![bulk("ok"), bulk("x")]);
        let answer = Answer::of("x", &wordy).expect("it is an answer");
        assert!(answer.number("x").is_err());
    }
}
