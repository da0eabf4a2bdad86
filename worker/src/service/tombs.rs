//! Which jobs were cancelled before anybody had them?
//!
//! Held in memory, so that no job waits for a look into the store: a cancellation is heard live,
//! and what could not be heard is read from the store whenever listening begins anew.

use crate::store::ledger::Tombstone;
use kiln_protocol::id::{JobId, Tenant};
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Tombstones that are remembered at most: most are for jobs that end elsewhere, and nobody takes
/// them. The oldest is forgotten first; the store has those that wait for a job.
const REMEMBERED_MAX: usize = 100_000;

/// The cancelled jobs that nobody has run.
#[derive(Debug, Default)]
pub(super) struct Tombs(Mutex<Inner>);

/// A job, and whose it must be where that was said.
type Wish = (JobId, Option<Tenant>);

#[derive(Debug, Default)]
struct Inner {
    /// Several for one job: a wish by whom it is not for must not stand in another's place.
    wishes: HashSet<Wish>,
    /// In the order in which they were heard first; some are taken by now.
    order: VecDeque<Wish>,
}

impl Tombs {
    pub(super) fn add(&self, tombstone: &Tombstone) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { wishes, order } = &mut *all;
        let wish = (tombstone.job_id.clone(), tombstone.tenant.clone());
        if wishes.insert(wish.clone()) {
            order.push_back(wish);
        }
        if order.len() > REMEMBERED_MAX
            && let Some(oldest) = order.pop_front()
        {
            wishes.remove(&oldest);
        }
    }

    /// Whether the job was cancelled, by somebody who may; it is forgotten then.
    pub(super) fn take(&self, id: &JobId, tenant: &Tenant) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let anybodys = all.wishes.remove(&(id.clone(), None));
        let theirs = all.wishes.remove(&(id.clone(), Some(tenant.clone())));
        anybodys || theirs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_is_for_its_tenant() {
        let tombs = Tombs::default();
        let id: JobId = "j".parse().expect("an id");
        let tenant = |name: &str| name.parse::<Tenant>().expect("a tenant");
        let stone = |by: Option<Tenant>| Tombstone {
            job_id: id.clone(),
            tenant: by,
            asked_unix_ms: 0,
        };
        tombs.add(&stone(Some(tenant("a"))));
        tombs.add(&stone(Some(tenant("c"))));
        assert!(!tombs.take(&id, &tenant("b")));
        assert!(tombs.take(&id, &tenant("a")));
        assert!(!tombs.take(&id, &tenant("a")), "it was taken");
        tombs.add(&stone(None));
        assert!(tombs.take(&id, &tenant("b")));
    }

    #[test]
    fn the_oldest_are_forgotten_and_the_newest_are_not() {
        let tombs = Tombs::default();
        let id = |n: usize| format!("j{n}").parse::<JobId>().expect("an id");
        let tenant: Tenant = "a".parse().expect("a tenant");
        for n in 0..=REMEMBERED_MAX {
            tombs.add(&Tombstone {
                job_id: id(n),
                tenant: None,
                asked_unix_ms: 0,
            });
        }
        assert!(!tombs.take(&id(0), &tenant));
        assert!(tombs.take(&id(1), &tenant));
        assert!(tombs.take(&id(REMEMBERED_MAX), &tenant));
    }
}
