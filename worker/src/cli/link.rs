//! How does a command that is no worker reach the broker: once, with a limit, and then no more?

use super::exit::Exit;
use super::stop::Stop;
use crate::config::Store;
use crate::intake::amqp::BrokerError;
use crate::intake::amqp::connect::{Address, in_time, is_final};
use kiln_protocol::id::Tenant;
use lapin::options::ConfirmSelectOptions;
use lapin::{Channel, Connection, Error};
use std::io::Write as _;
use std::path::PathBuf;

/// Where the broker is.
#[derive(Debug, clap::Args)]
pub(super) struct LinkArgs {
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What the configuration says of the broker.
#[derive(Debug)]
pub(super) struct Place {
    /// None where no url is said, which is enough for whoever asks nothing of a broker.
    address: Option<Address>,
    pub(super) tenants: Vec<Tenant>,
    /// Where results are.
    pub(super) store: Store,
}

impl LinkArgs {
    /// Reads the configuration.
    pub(super) fn place(&self) -> Result<Place, Stop> {
        let config = super::config::load(self.config.as_deref())?;
        let address = match &config.amqp {
            Some(amqp) => Some(Address::parse(&amqp.url, "kiln").map_err(|error| refused(&error))?),
            None => None,
        };
        Ok(Place {
            address,
            tenants: config.tenants.into_keys().collect(),
            store: config.store,
        })
    }
}

impl Place {
    /// Who we are there.
    pub(super) fn user(&self) -> &str {
        self.address.as_ref().map_or("guest", Address::user)
    }

    /// The virtual host that is meant.
    pub(super) fn vhost(&self) -> &str {
        self.address.as_ref().map_or("/", Address::vhost)
    }

    /// What the broker said to something that was asked.
    pub(super) fn failed(&self, error: Error) -> Stop {
        match &self.address {
            Some(address) => refused(&address.failed(error)),
            None => Stop::unavailable(&error),
        }
    }

    /// One attempt.
    pub(super) async fn connect(&self) -> Result<Connection, Stop> {
        let Some(address) = &self.address else {
            return Err(super::config::no_broker());
        };
        address
            .connect("command")
            .await
            .map_err(|error| refused(&error))
    }
}

/// A broker that is away is mended by waiting, what it does not know by the configuration.
fn refused(error: &BrokerError) -> Stop {
    if matches!(error, BrokerError::Url(_)) {
        return Stop::new(Exit::Config, vec![crate::fault::chain(error)]);
    }
    if is_final(error) {
        tracing::debug!("waiting would not mend it");
    }
    Stop::unavailable(error)
}

/// A channel on which what is published is confirmed.
pub(super) async fn confirmed(connection: &Connection) -> Result<Channel, Error> {
    let channel = in_time(connection.create_channel()).await?;
    in_time(channel.confirm_select(ConfirmSelectOptions::default())).await?;
    Ok(channel)
}

/// Prints a line of the answer.
pub(super) fn print(line: &str) -> Result<(), Stop> {
    writeln!(std::io::stdout().lock(), "{line}").map_err(|error| Stop::output(&error))
}
