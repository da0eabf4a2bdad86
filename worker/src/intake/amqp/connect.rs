//! How is one connection made, and is it still one?

use super::{BrokerError, clean};
use crate::config::Secret;
use futures_util::{Stream, StreamExt as _};
use lapin::protocol::{AMQPErrorKind, AMQPHardError};
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties, Error, ErrorKind, Event};
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long a channel, a declaration or a consumer may take.
const REPLY_MAX: Duration = Duration::from_secs(10);
/// How long a farewell may take.
const CLOSE_MAX: Duration = Duration::from_secs(2);
/// Seconds between heartbeats where the url does not say it.
const HEARTBEAT_S: u16 = 10;

/// Where the broker is and who we are there.
#[derive(Clone)]
pub(crate) struct Address {
    uri: AMQPUri,
    name: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let authority = &self.uri.authority;
        write!(f, "{}:{}", authority.host, authority.port)
    }
}

impl Address {
    /// Reads the url; `name` is shown in the broker's list of connections.
    pub(crate) fn parse(url: &Secret, name: &str) -> Result<Self, BrokerError> {
        let mut uri: AMQPUri = url.reveal().parse().map_err(BrokerError::Url)?;
        uri.query.heartbeat.get_or_insert(HEARTBEAT_S);
        Ok(Self {
            uri,
            name: name.to_owned(),
        })
    }

    /// The user that the broker knows us by.
    pub(crate) fn user(&self) -> &str {
        &self.uri.authority.userinfo.username
    }

    /// The broker's virtual host that the url names.
    pub(crate) fn vhost(&self) -> &str {
        &self.uri.vhost
    }

    /// One attempt; `role` tells this program's connections apart.
    pub(crate) async fn connect(&self, role: &str) -> Result<Connection, BrokerError> {
        crate::tls::install();
        let name = format!("{} {role}", self.name);
        let properties = ConnectionProperties::default()
            .with_connection_name(name.into())
            .with_client_property("product".into(), "kiln".into())
            .with_client_property("version".into(), env!("CARGO_PKG_VERSION").into());
        // Without a limit, a broker that accepts and then says nothing is waited for for ever.
        timeout(CONNECT_MAX, clean::open(&self.uri, properties))
            .await
            .map_err(|_| BrokerError::Late(self.place()))?
            .map_err(|error| self.failed(error))
    }

    /// Host and port, for people.
    pub(crate) fn place(&self) -> String {
        format!("{self:?}")
    }

    /// An error of this broker.
    pub(crate) fn failed(&self, source: Error) -> BrokerError {
        let place = self.place();
        BrokerError::Connect { place, source }
    }
}

/// Whether waiting will not mend it: the broker knows us not, or not there.
pub(crate) fn is_final(error: &BrokerError) -> bool {
    match error {
        BrokerError::Topology(_) | BrokerError::Url(_) | BrokerError::Right { .. } => true,
        BrokerError::Late(_) => false,
        BrokerError::Connect { source, .. } => match source.kind() {
            ErrorKind::AuthProviderError(_) => true,
            ErrorKind::ProtocolError(error) => matches!(
                error.kind(),
                AMQPErrorKind::Soft(lapin::protocol::AMQPSoftError::ACCESSREFUSED)
                    | AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED)
            ),
            _ => false,
        },
    }
}

/// The broker's answer, or an error where there is none in time.
pub(crate) async fn in_time<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(REPLY_MAX, answer).await.unwrap_or_else(|_| {
        let late = std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer came in time");
        Err(late.into())
    })
}

/// Closes a connection, as far as it still can be.
pub(crate) async fn close(connection: &Connection) {
    let farewell = timeout(CLOSE_MAX, connection.close(200, "done".into())).await;
    if let Ok(Err(error)) = farewell {
        tracing::debug!(%error, "the connection was closed already");
    }
}

/// Waits until the connection is one no longer, and says why.
pub(crate) async fn ended(
    connection: &Connection,
    events: &mut (impl Stream<Item = Event> + Unpin),
    tell_blocked: impl Fn(bool),
) -> String {
    // An event can be missed, a state cannot.
    let mut look = tokio::time::interval(Duration::from_secs(1));
    let mut why = "the connection is gone".to_owned();
    let mut blocked = false;
    loop {
        tokio::select! {
            event = events.next() => match event {
                // Also told for a channel, which does not end the connection.
                Some(Event::Error(error)) => why = error.to_string(),
                Some(_) => {}
                None => return why,
            },
            _ = look.tick() => {}
        }
        if !connection.status().connected() {
            return why;
        }
        if connection.status().blocked() != blocked {
            blocked = !blocked;
            tell_blocked(blocked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Address, BrokerError> {
        Address::parse(&Secret::new(url), "kiln")
    }

    #[test]
    fn heartbeats_come_often_unless_the_url_says_otherwise() {
        let beat = |url| parse(url).map(|address| address.uri.query.heartbeat);
        assert!(matches!(beat("amqp://h/%2f"), Ok(Some(10))));
        assert!(matches!(beat("amqp://h/%2f?heartbeat=3"), Ok(Some(3))));
        assert!(matches!(beat("amqp://h/%2f?heartbeat=0"), Ok(Some(0))));
    }

    #[test]
    fn a_password_is_never_shown() {
        let address = parse("amqps://u:hunter2@h:5671/v").expect("it is one");
        assert_eq!(format!("{address:?}"), "h:5671");
        assert_eq!((address.user(), address.vhost()), ("u", "v"));
        let error = parse("http://u:hunter2@h/v").expect_err("it is none");
        assert!(
            !crate::fault::chain(&error).contains("hunter2"),
            "{error:?}"
        );
        assert!(is_final(&error));
    }
}
