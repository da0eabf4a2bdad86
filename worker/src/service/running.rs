//! Which jobs run here, and who ends them?

use crate::execute::Cancel;
use kiln_protocol::id::{JobId, Tenant};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The jobs that run here, by id.
#[derive(Debug, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<JobId, Job>>>);

#[derive(Debug)]
struct Job {
    tenant: Tenant,
    cancelled: watch::Sender<bool>,
}

/// A job's place among those that run, for as long as it is held.
#[derive(Debug)]
pub(super) struct Place {
    id: JobId,
    all: Arc<Mutex<HashMap<JobId, Job>>>,
    cancelled: watch::Receiver<bool>,
}

/// Whether a job may run here.
#[derive(Debug)]
pub(super) enum Entry {
    Free(Place),
    /// It runs here already.
    Taken,
}

/// What became of a wish to end a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It runs here, and is to end.
    Ending,
    /// It runs here, for another tenant.
    NotTheirs,
    /// It does not run here.
    NotHere,
}

impl Running {
    /// Takes the place of a job, unless it runs here already.
    pub(super) fn enter(&self, id: &JobId, tenant: &Tenant) -> Entry {
        let mut all = lock(&self.0);
        if all.contains_key(id) {
            return Entry::Taken;
        }
        let (cancel, cancelled) = watch::channel(false);
        let job = Job {
            tenant: tenant.clone(),
            cancelled: cancel,
        };
        all.insert(id.clone(), job);
        Entry::Free(Place {
            id: id.clone(),
            all: Arc::clone(&self.0),
            cancelled,
        })
    }

    /// Whether a job runs here that may be ended; `tenant` is whose it must be, where that was said.
    pub(super) fn find(&self, id: &JobId, tenant: Option<&Tenant>) -> Heard {
        heard(&lock(&self.0), id, tenant).0
    }

    /// Ends a job, if it runs here and may be ended.
    pub(super) fn cancel(&self, id: &JobId, tenant: Option<&Tenant>) -> Heard {
        let all = lock(&self.0);
        let (heard, job) = heard(&all, id, tenant);
        if let Some(job) = job {
            job.cancelled.send_replace(true);
        }
        heard
    }
}

fn heard<'a>(
    all: &'a HashMap<JobId, Job>,
    id: &JobId,
    tenant: Option<&Tenant>,
) -> (Heard, Option<&'a Job>) {
    match all.get(id) {
        None => (Heard::NotHere, None),
        Some(job) if tenant.is_some_and(|tenant| *tenant != job.tenant) => (Heard::NotTheirs, None),
        Some(job) => (Heard::Ending, Some(job)),
    }
}

impl Place {
    /// Resolves when the job is to end.
    pub(super) fn cancel(&self) -> Cancel {
        let mut cancelled = self.cancelled.clone();
        Box::pin(async move {
            if cancelled.wait_for(|asked| *asked).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    pub(super) fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.id);
    }
}

fn lock(all: &Mutex<HashMap<JobId, Job>>) -> MutexGuard<'_, HashMap<JobId, Job>> {
    // The map is whole between two calls of its own.
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> (JobId, Tenant, Tenant) {
        let tenant = |name: &str| name.parse().expect("a tenant");
        ("j".parse().expect("an id"), tenant("a"), tenant("b"))
    }

    #[test]
    fn a_job_runs_here_once_at_a_time() {
        let (id, tenant, _) = names();
        let running = Running::default();
        let first = running.enter(&id, &tenant);
        assert!(matches!(running.enter(&id, &tenant), Entry::Taken));
        drop(first);
        assert!(matches!(running.enter(&id, &tenant), Entry::Free(_)));
    }

    #[tokio::test]
    async fn a_job_is_ended_by_its_own_tenant_or_by_whoever_names_none() {
        let (id, tenant, other) = names();
        let running = Running::default();
        assert_eq!(running.cancel(&id, None), Heard::NotHere);
        let Entry::Free(place) = running.enter(&id, &tenant) else {
            panic!("nothing runs yet");
        };
        assert_eq!(running.cancel(&id, Some(&other)), Heard::NotTheirs);
        assert!(!place.is_cancelled());
        assert_eq!(running.cancel(&id, Some(&tenant)), Heard::Ending);
        place.cancel().await;
        assert_eq!(running.cancel(&id, None), Heard::Ending);
    }
}
