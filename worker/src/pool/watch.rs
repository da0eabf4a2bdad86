//! Who hears of every move of a sandbox: the registry, and what is counted.

use super::phase::Phase;
use crate::telemetry::event::TakenDown;
use kiln_warden::wire::{Residue, SandboxId};
use std::sync::Arc;
use std::time::Duration;

/// A sandbox went into a phase.
#[derive(Clone, Debug)]
pub struct Moved {
    pub id: SandboxId,
    pub profile: Arc<str>,
    pub phase: Phase,
    /// The generation of its cell; rises with each job.
    pub generation: u64,
    pub uses: u32,
    pub tenant: Option<Arc<str>>,
    /// Why it retired, where somebody said why.
    pub reason: Option<&'static str>,
}

/// What a pool has to say beside the moves of its sandboxes.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// So many are wanted of a profile, and may live at most.
    Sized {
        profile: &'a str,
        wanted: usize,
        max: usize,
    },
    /// So many jobs wait for a sandbox of a profile.
    Waits {
        profile: &'a str,
        jobs: usize,
    },
    /// A sandbox is asked for.
    Making {
        profile: &'a str,
    },
    /// The one that was asked for is there.
    Made {
        profile: &'a str,
        took: Duration,
    },
    /// It will not be; without a reason where none is wanted any more.
    NotMade {
        profile: &'a str,
        why: Option<&'a str>,
    },
    /// A reset found what should not be there.
    Dirty {
        residue: &'a [Residue],
    },
    TakenDown(&'a TakenDown<'a>),
}

/// Hears of every move. Must not wait: it is called on a job's path, and with the pool's own lock
/// held. Must not call the pool.
pub trait Watch: Send + Sync + std::fmt::Debug {
    fn moved(&self, moved: &Moved);

    /// Whoever keeps only a record of sandboxes need not listen.
    fn told(&self, _news: &News<'_>) {}
}

/// Everybody who hears of moves.
#[derive(Clone, Debug, Default)]
pub struct Watchers(Arc<[Arc<dyn Watch>]>);

impl Watchers {
    pub fn new(all: Vec<Arc<dyn Watch>>) -> Self {
        Self(all.into())
    }

    /// Whether nobody hears of anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn moved(&self, moved: &Moved) {
        for watch in &*self.0 {
            watch.moved(moved);
        }
    }

    pub(crate) fn told(&self, news: &News<'_>) {
        for watch in &*self.0 {
            watch.told(news);
        }
    }
}
