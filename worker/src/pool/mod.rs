//! Where warm sandboxes wait, and who gets the next one.
//!
//! The pool owns every sandbox that no job holds. It makes them ahead of need, takes spent ones
//! back for their reset, and tears down what was dropped anywhere else: a [`Retirement`] comes for
//! every sandbox that ends, whatever the reason.

mod held;
mod line;
pub mod phase;
mod shelf;
mod sizes;
mod waiting;
pub mod watch;

use crate::sandbox::host::{Host, HostError, Made};
use crate::sandbox::{Leased, ResetError, Retirement, Sandbox, Spent, Warm};
use crate::telemetry::event::TakenDown;
use held::{InLine, Reserved};
use kiln_protocol::outcome::Start;
use kiln_warden::profile::{Profile, Profiles, Reuse};
use shelf::{Look, Shelf};
pub use sizes::Sizes;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc;
use waiting::Waiting;
use watch::{News, Watchers};

/// Why a job got no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("find the profile `{0}`")]
    Profile(String),
    #[error("make a sandbox of profile `{profile}`")]
    Create { profile: String, source: HostError },
    #[error("get a sandbox: the pool is closed")]
    Closed,
}

/// What a job asks of the pool.
#[derive(Clone, Debug)]
pub struct Order {
    pub profile: Arc<str>,
    pub tenant: Arc<str>,
    /// Only a sandbox that no job has used.
    pub unused: bool,
}

/// The warm sandboxes of one worker.
#[derive(Debug)]
pub struct Pool {
    host: Arc<Host>,
    profiles: Arc<Profiles>,
    retired: mpsc::UnboundedSender<Retirement>,
    shelves: Mutex<HashMap<Arc<str>, Shelf>>,
    sizes: Sizes,
    watchers: Watchers,
    waiting: waiting::Counts,
    closed: AtomicBool,
    /// Spent sandboxes of a closed pool.
    parked: Mutex<Vec<Sandbox<Spent>>>,
}

impl Pool {
    /// A pool that makes what `sizes` wants ahead of need, and its task that tears down what is
    /// dropped. `watchers` hear of every move of every sandbox.
    pub fn open(
        host: Arc<Host>,
        profiles: Arc<Profiles>,
        sizes: Sizes,
        watchers: Watchers,
    ) -> Arc<Self> {
        let (retired, retirements) = mpsc::unbounded_channel();
        let pool = Arc::new(Self {
            host,
            profiles,
            retired,
            shelves: Mutex::default(),
            sizes,
            watchers,
            waiting: waiting::Counts::default(),
            closed: AtomicBool::new(false),
            parked: Mutex::default(),
        });
        tokio::spawn(tear_down(Arc::clone(&pool), retirements));
        for name in pool.profiles.names() {
            let name = name.into();
            pool.say_size(&name);
            pool.refill(&name);
        }
        pool
    }

    /// Keeps `warm` sandboxes of a profile alive ahead of need.
    pub fn keep(self: &Arc<Self>, profile: &str, warm: usize) -> Result<(), LeaseError> {
        self.profile(profile)?;
        let name: Arc<str> = profile.into();
        self.shelf(&name, |shelf| shelf.keep(warm));
        self.say_size(&name);
        self.refill(&name);
        Ok(())
    }

    /// A sandbox for one job: one that waits, else one that comes back, else a new one.
    pub async fn lease(
        self: &Arc<Self>,
        order: &Order,
    ) -> Result<(Sandbox<Leased>, Start), LeaseError> {
        let reuse = self.profile(&order.profile)?.reuse;
        let mut waiting: Option<InLine<'_>> = None;
        loop {
            let number = waiting.as_ref().map(|line| line.number);
            let look = self.shelf(&order.profile, |shelf| {
                shelf.look(order, number, |sandbox, order| suits(sandbox, order, reuse))
            });
            self.refill(&order.profile);
            match look {
                Look::Found(sandbox) => {
                    // What was made while the job waited was not there before it.
                    let cold = waiting.is_some() && sandbox.uses() == 0;
                    let start = if cold { Start::Cold } else { Start::Warm };
                    return Ok((sandbox.lease(Arc::clone(&order.tenant)), start));
                }
                Look::Make => {
                    let _counted = match waiting.take() {
                        // Whoever is behind may be served meanwhile.
                        Some(line) => line.leave(),
                        None => self.waits(&order.profile),
                    };
                    let sandbox = self.make(&order.profile).await?;
                    return Ok((sandbox.lease(Arc::clone(&order.tenant)), Start::Cold));
                }
                Look::Joined(number, wake) => {
                    waiting = Some(InLine {
                        pool: self,
                        profile: &order.profile,
                        number,
                        wake,
                        counted: Some(self.waits(&order.profile)),
                    });
                }
                Look::Wait => {}
            }
            if let Some(line) = &waiting {
                line.wake.notified().await;
            }
        }
    }

    /// Counts a job among those that wait, for as long as what is returned lives.
    fn waits(&self, profile: &Arc<str>) -> Waiting {
        Waiting::new(&self.waiting, Arc::clone(profile), self.watchers.clone())
    }

    fn say_size(&self, profile: &Arc<str>) {
        let (wanted, max) = self.shelf(profile, |shelf| shelf.size());
        self.watchers.told(&News::Sized {
            profile,
            wanted,
            max,
        });
    }

    /// Takes a spent sandbox back. The reset goes on by itself; no job waits for it.
    pub fn hand_back(self: &Arc<Self>, spent: Sandbox<Spent>, condemned: Option<&'static str>) {
        if self.closed.load(Ordering::Relaxed) {
            // It ends with the warden: a reset would only keep that busy.
            self.parked().push(spent);
            return;
        }
        let worn = condemned.or_else(|| self.worn(&spent));
        if let Some(reason) = worn {
            tracing::debug!(sandbox = %spent.id(), reason, "retire");
            spent.retire(reason);
            return;
        }
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            let id = spent.id();
            match spent.reset().await {
                Ok(warm) => pool.put(warm),
                Err(_) if pool.closed.load(Ordering::Relaxed) => {
                    tracing::debug!(sandbox = %id, "the warden ended during a reset");
                }
                Err(error) => {
                    if let ResetError::Dirty(residue) = &error {
                        pool.watchers.told(&News::Dirty { residue });
                    }
                    let error = crate::fault::chain(&error);
                    tracing::warn!(sandbox = %id, error, "a reset failed; the sandbox is retired");
                }
            }
        });
    }

    /// Makes no more sandboxes and resets none; what there is ends with the warden.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.shelves().values_mut().for_each(Shelf::close);
    }

    fn parked(&self) -> MutexGuard<'_, Vec<Sandbox<Spent>>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn profile(&self, name: &str) -> Result<&Profile, LeaseError> {
        self.profiles
            .get(name)
            .ok_or_else(|| LeaseError::Profile(name.to_owned()))
    }

    /// Works on the shelf of one profile, which is made where there is none.
    fn shelf<T>(&self, profile: &Arc<str>, work: impl FnOnce(&mut Shelf) -> T) -> T {
        let mut shelves = self.shelves();
        let new = || match self.profiles.get(profile) {
            Some(known) => self.sizes.of(known).shelf(),
            None => Shelf::new(1),
        };
        work(shelves.entry(Arc::clone(profile)).or_insert_with(new))
    }

    fn shelves(&self) -> MutexGuard<'_, HashMap<Arc<str>, Shelf>> {
        // A shelf is whole between two calls of its own; a panic elsewhere does not harm it.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a sandbox has served long enough, if it has.
    fn worn(&self, spent: &Sandbox<Spent>) -> Option<&'static str> {
        let profile = self.profiles.get(spent.profile())?;
        if spent.uses() >= profile.max_uses {
            Some("uses")
        } else if spent.born().elapsed() >= profile.max_age {
            Some("age")
        } else if profile.reuse == Reuse::Never {
            Some("reuse")
        } else {
            None
        }
    }

    fn put(self: &Arc<Self>, warm: Sandbox<Warm>) {
        let profile = Arc::clone(warm.profile());
        self.shelf(&profile, |shelf| shelf.put(warm));
        self.rouse(&profile);
    }

    /// Makes a sandbox in a place that was reserved.
    async fn make(&self, profile: &Arc<str>) -> Result<Sandbox<Warm>, LeaseError> {
        let mut place = Reserved {
            pool: self,
            profile,
            taken: false,
        };
        let began = Instant::now();
        self.watchers.told(&News::Making { profile });
        let made = self.host.create(profile).await;
        self.say_made(profile, began, &made);
        let made = made.map_err(|source| LeaseError::Create {
            profile: profile.to_string(),
            source,
        })?;
        // From here on the sandbox's own end frees the place.
        place.taken = true;
        Ok(Sandbox::made(
            made,
            Arc::clone(profile),
            self.retired.clone(),
            self.watchers.clone(),
        ))
    }

    fn say_made(&self, profile: &str, began: Instant, made: &Result<Made, HostError>) {
        match made {
            Ok(_) => self.watchers.told(&News::Made {
                profile,
                took: began.elapsed(),
            }),
            Err(error) => {
                // At the end it is no failure.
                let open = !self.closed.load(Ordering::Relaxed);
                let why = open.then(|| crate::fault::chain(error));
                let why = why.as_deref();
                self.watchers.told(&News::NotMade { profile, why });
            }
        }
    }

    /// Starts to make what the shelf wants ahead of need.
    fn refill(self: &Arc<Self>, profile: &Arc<str>) {
        while self.shelf(profile, Shelf::reserve_ahead) {
            let pool = Arc::clone(self);
            let profile = Arc::clone(profile);
            tokio::spawn(async move {
                let made = pool.make(&profile).await;
                pool.shelf(&profile, Shelf::arrived);
                match made {
                    Ok(warm) => pool.put(warm),
                    Err(error) if pool.closed.load(Ordering::Relaxed) => {
                        let error = crate::fault::chain(&error);
                        tracing::debug!(%profile, error, "the warden ended before a sandbox was made");
                    }
                    Err(error) => {
                        let error = crate::fault::chain(&error);
                        // Whoever needs one is told why when it is made for them.
                        tracing::debug!(%profile, error, "no sandbox could be made ahead");
                        // Its place was freed while it still counted as one that comes.
                        pool.rouse(&profile);
                    }
                }
            });
        }
    }

    fn gone(self: &Arc<Self>, profile: &Arc<str>) {
        self.free(profile);
        self.refill(profile);
    }

    fn free(&self, profile: &Arc<str>) {
        self.shelf(profile, Shelf::gone);
        self.rouse(profile);
    }

    /// Wakes the jobs of a profile that what there is now is for.
    fn rouse(&self, profile: &Arc<str>) {
        let Some(reuse) = self.profiles.get(profile).map(|known| known.reuse) else {
            return;
        };
        self.shelf(profile, |shelf| {
            shelf.rouse(|sandbox, order| suits(sandbox, order, reuse));
        });
    }
}

fn suits(sandbox: &Sandbox<Warm>, order: &Order, reuse: Reuse) -> bool {
    let unused = sandbox.uses() == 0;
    let same_tenant = sandbox
        .tenant()
        .is_none_or(|tenant| tenant == &*order.tenant);
    match reuse {
        _ if order.unused => unused,
        Reuse::Any => true,
        Reuse::Tenant => same_tenant,
        Reuse::Never => unused,
    }
}

async fn tear_down(pool: Arc<Pool>, mut retirements: mpsc::UnboundedReceiver<Retirement>) {
    while let Some(Retirement { id, profile }) = retirements.recv().await {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move {
            let began = Instant::now();
            let left = match pool.host.retire(id).await {
                Ok(left) => left,
                // The warden's end is the end of every sandbox.
                Err(HostError::Gone) => None,
                Err(error) => Some(crate::fault::chain(&error)),
            };
            let down = TakenDown {
                sandbox: id,
                took: began.elapsed(),
                left: left.as_deref(),
            };
            down.log();
            pool.watchers.told(&News::TakenDown(&down));
            pool.gone(&profile);
        });
    }
}
