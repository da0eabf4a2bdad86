//! The network of one job that runs: from the door of its cell to what was seen of it.

use super::ExecuteError;
use crate::egress::client::{Door, Granted, Lease};
use crate::egress::tally::Tally;
use kiln_keeper::wire::Cause;
use std::os::fd::OwnedFd;

/// The network of a job that has been started.
#[derive(Debug)]
pub(super) enum Network {
    Off,
    On(Lease),
    /// The cell made no listener: it ended before, or is not to be trusted.
    Missing,
}

/// A door for a job that was granted a network, once there is a proxy to serve it.
pub(super) async fn door(
    network: Option<&Granted>,
) -> Result<Option<(Door, OwnedFd)>, ExecuteError> {
    let Some(granted) = network else {
        return Ok(None);
    };
    granted.ready().await.map_err(ExecuteError::Network)?;
    Door::open().map(Some).map_err(ExecuteError::Network)
}

impl Network {
    /// Takes the listener that comes out of the cell to the proxy.
    pub(super) async fn enter(granted: &Granted, door: Door) -> Result<Self, ExecuteError> {
        let listener = door.listener().await.map_err(ExecuteError::Network)?;
        match listener {
            None => Ok(Self::Missing),
            Some(listener) => {
                let lease = granted.open(listener).await;
                lease.map(Self::On).map_err(ExecuteError::Network)
            }
        }
    }

    /// Ends every connection of the job, which ended by `cause`.
    pub(super) async fn close(self, cause: Cause) -> Result<Tally, ExecuteError> {
        match self {
            Self::On(lease) => lease.close().await.map_err(ExecuteError::Network),
            // A job that ran by itself to its end ran without what it was promised.
            Self::Missing if cause == Cause::Exited => Err(ExecuteError::KeeperNonsense(
                "a cell that makes no listener",
            )),
            Self::Off | Self::Missing => Ok(Tally::default()),
        }
    }
}
