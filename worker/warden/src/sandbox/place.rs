//! How a cell that the keeper has built comes to wait for its job.

use super::{Cell, Emit, Fault, Sandbox, Shared, State};
use crate::keeper::KeeperError;
use crate::proof::manifest::Manifest;
use crate::proof::network::Network;
use crate::proof::placed::{self, Placed, Wanted};
use crate::wire::Event;
use std::os::fd::{AsFd, OwnedFd};

impl Sandbox {
    /// Proves the cell that the keeper has built, and offers it to the worker.
    pub(super) fn place(
        &mut self,
        shared: &Shared,
        mut golden: Manifest,
        mut cell: Cell,
        descriptors: Vec<OwnedFd>,
        stage: OwnedFd,
    ) -> Result<Emit, Fault> {
        let Ok([scratch]) = <[OwnedFd; 1]>::try_from(descriptors) else {
            return Err(KeeperError::Malformed.into());
        };
        let placed = placed::prove(&self.wanted(shared, &golden, &cell, &scratch), true)?;
        cell.network = Some(network(shared, cell.network.take(), &placed)?);
        golden.namespaces = placed.keeper_namespaces;
        let handed = scratch.try_clone().map_err(Fault::Descriptor)?;
        let (counters, files): (Vec<_>, Vec<_>) = cell.leaf.counters()?.into_iter().unzip();
        cell.leaf.rest();
        let event = Event::Ready {
            sandbox: self.id,
            generation: cell.generation,
            limits: cell.limits,
            counters,
        };
        self.state = State::Waiting {
            golden,
            cell,
            waiter: placed.waiter,
            scratch,
        };
        Ok(Emit {
            event,
            descriptors: [handed, stage].into_iter().chain(files).collect(),
        })
    }

    pub(super) fn wanted<'a>(
        &'a self,
        shared: &'a Shared,
        golden: &'a Manifest,
        cell: &'a Cell,
        scratch: &'a OwnedFd,
    ) -> Wanted<'a> {
        Wanted {
            keeper: &self.container.keeper,
            keeper_namespaces: &golden.namespaces,
            outside: &shared.outside,
            leaf: &cell.leaf,
            limits: &cell.limits,
            open_files_max: self.open_files_max(),
            job_uid: self.range.host(cell.job_id),
            owner_uid: self.range.host(cell.owner_id),
            affinity: cell.affinity,
            scratch: scratch.as_fd(),
        }
    }
}

/// The network namespace of a placed cell: the one that was kept, or a new one as it must be.
fn network(shared: &Shared, kept: Option<Network>, placed: &Placed) -> Result<Network, Fault> {
    let network = if let Some(kept) = kept {
        kept
    } else {
        let new = Network::of(placed.waiter.number())?;
        shared.networks.prove(&new)?;
        new
    };
    network.is(placed.network)?;
    Ok(network)
}
