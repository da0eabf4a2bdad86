//! How other limits than the profile's come into force on a waiting cell.
//!
//! What is set from outside is set first, then the keeper re-sizes the scratch where it must, then
//! the whole cell is proved again. A limit that cannot be set or proved ends the sandbox.

use super::{ANSWER_MAX, Cell, Emit, Fault, Sandbox, Shared, State, illegal};
use crate::keeper;
use crate::limits;
use crate::proof::manifest::Manifest;
use crate::proof::placed;
use crate::proof::process::Process;
use crate::sys::{self, Resource};
use crate::wire::{CellLimits, Event};
use kiln_keeper::wire::FromWarden;
use rustix::thread::CpuSet;
use std::os::fd::OwnedFd;
use std::time::Instant;

impl Sandbox {
    /// Sets other limits on the waiting cell.
    pub(crate) fn limit(
        &mut self,
        shared: &Shared,
        generation: u64,
        wanted: CellLimits,
    ) -> Result<Option<Emit>, Fault> {
        match self.take() {
            State::Waiting {
                golden,
                mut cell,
                waiter,
                scratch,
            } if cell.generation == generation => {
                let limit = |fault: Fault| Fault::Limit(Box::new(fault));
                limits::within(&self.table, &wanted).map_err(|e| limit(Fault::Bounds(e)))?;
                let resize = wanted.disk_bytes != cell.limits.disk_bytes
                    || wanted.inodes != cell.limits.inodes;
                cell.limits = wanted;
                self.set(shared, &mut cell, &waiter).map_err(limit)?;
                if !resize {
                    return self
                        .limited(shared, golden, cell, &waiter, scratch)
                        .map(Some)
                        .map_err(limit);
                }
                let message = FromWarden::Resize {
                    disk_bytes: wanted.disk_bytes,
                    inodes: wanted.inodes,
                };
                keeper::send(&self.container.socket, &message, &[]).map_err(|e| limit(e.into()))?;
                self.state = State::Resizing {
                    golden,
                    cell,
                    waiter,
                    scratch,
                    until: Instant::now() + ANSWER_MAX,
                };
                Ok(None)
            }
            state => Err(illegal(
                format_args!("Limit of generation {generation}"),
                &state,
            )),
        }
    }

    /// Sets what is set from outside of the sandbox.
    fn set(&self, shared: &Shared, cell: &mut Cell, waiter: &Process) -> Result<(), Fault> {
        cell.leaf.set(&cell.limits)?;
        waiter.alive()?;
        let files = (cell.limits.open_files, self.open_files_max());
        // The sandbox's uid owns its user namespace; root may lack what this takes.
        let owner = self.range.first;
        let set = || sys::set_limit(waiter.pid(), Resource::OpenFiles, files);
        sys::as_user(owner, set).map_err(Fault::Process)?;
        let mask = limits::affinity(&shared.cpus, cell.limits.cpus_milli, self.range.slot());
        if mask != cell.affinity {
            let mut set = CpuSet::new();
            for cpu in (0..64).filter(|cpu| mask & 1 << cpu != 0) {
                set.set(cpu);
            }
            let set = || Ok(rustix::thread::sched_setaffinity(Some(waiter.pid()), &set)?);
            sys::as_user(owner, set).map_err(Fault::Process)?;
            cell.affinity = mask;
        }
        Ok(waiter.alive()?)
    }

    /// Proves the cell again, with its new limits.
    pub(super) fn limited(
        &mut self,
        shared: &Shared,
        golden: Manifest,
        cell: Cell,
        waiter: &Process,
        scratch: OwnedFd,
    ) -> Result<Emit, Fault> {
        let placed = placed::prove(&self.wanted(shared, &golden, &cell, &scratch), false)?;
        waiter.alive()?;
        let event = Event::Limited {
            sandbox: self.id,
            generation: cell.generation,
        };
        self.state = State::Waiting {
            golden,
            cell,
            waiter: placed.waiter,
            scratch,
        };
        Ok(Emit {
            event,
            descriptors: Vec::new(),
        })
    }
}
