//! Who hears of every move of a sandbox: the registry, and what is counted.

use super::phase::Phase;
use kiln_warden::wire::SandboxId;
use std::sync::Arc;

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

/// Hears of every move. Must not wait: it is called on a job's path, and with the pool's own lock
/// held. Must not call the pool.
pub trait Watch: Send + Sync + std::fmt::Debug {
    fn moved(&self, moved: &Moved);
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
}
