//! How a used sandbox comes to its next cell: nothing of the last may be left.

use super::{ANSWER_MAX, Cell, Fault, Sandbox, Shared, State, illegal};
use crate::proof::clean::{self, Spent};
use crate::proof::manifest::Manifest;
use std::time::{Duration, Instant};

/// Between two looks at a keeper that lets go of a spent cell.
const DRAIN_LOOK: Duration = Duration::from_micros(500);

impl Sandbox {
    /// Proves that nothing is left of a job, and has the next cell built.
    pub(crate) fn reset(&mut self, shared: &Shared, generation: u64) -> Result<(), Fault> {
        match self.take() {
            // Waiting ---- Reset ----> Draining
            State::Waiting {
                golden,
                cell,
                scratch,
                ..
            } if cell.generation == generation => {
                // Of the cell's tmpfs the keeper alone holds something now, until `Finish`.
                drop(scratch);
                let now = Instant::now();
                self.drain(shared, golden, cell, now, now + ANSWER_MAX)
            }
            state => Err(illegal(
                format_args!("Reset of generation {generation}"),
                &state,
            )),
        }
    }

    /// Proves a spent cell once the keeper has let go of it.
    pub(super) fn drain(
        &mut self,
        shared: &Shared,
        golden: Manifest,
        cell: Cell,
        now: Instant,
        until: Instant,
    ) -> Result<(), Fault> {
        let keeper = &self.container.keeper;
        if now < until && !golden.is_settled(keeper)? {
            self.state = State::Draining {
                golden,
                cell,
                look_at: now + DRAIN_LOOK,
                until,
            };
            return Ok(());
        }
        let residue = clean::residue(&Spent {
            keeper,
            golden: &golden,
            leaf: &cell.leaf,
            groups: &self.container.groups,
            uids: [self.range.host(cell.job_id), self.range.host(cell.owner_id)],
        });
        if !residue.is_empty() {
            return Err(Fault::Dirty(residue));
        }
        // Draining ---- proved clean ----> Preparing
        let mut next = self.cell(shared, cell.generation + 1)?;
        next.network = cell
            .network
            .filter(|network| shared.networks.prove(network).is_ok());
        self.prepare(golden, next)
    }
}
