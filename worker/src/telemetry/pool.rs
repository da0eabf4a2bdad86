//! What do the moves of sandboxes say in figures?

use super::event::{Made, NotMade};
use super::metric::{Metrics, gauge};
use super::names::{IntCounterVec, IntGauge, IntGaugeVec, Names};
use crate::pool::phase::Phase;
use crate::pool::watch::{Moved, News, Watch};
use kiln_warden::wire::{ResidueKind, SandboxId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// The label of a retirement of which nobody said why.
const DROPPED: &str = "dropped";

/// The figures of the pool, and where each sandbox was last.
#[derive(Debug)]
pub(super) struct PoolFigures {
    sandboxes: IntGaugeVec,
    discards: IntCounterVec,
    resets: IntCounterVec,
    last: Mutex<HashMap<SandboxId, Last>>,
}

#[derive(Debug)]
struct Last {
    /// Its label.
    profile: String,
    phase: Phase,
}

impl PoolFigures {
    pub(super) fn new(names: &Names) -> Self {
        let resets = names.resets.clone();
        for result in ["clean", "failed"] {
            resets.with_label_values(&[result]).inc_by(0);
        }
        for one in KINDS {
            names.residue.with_label_values(&[kind(one)]).inc_by(0);
        }
        Self {
            sandboxes: names.pool_sandboxes.clone(),
            discards: names.pool_discards.clone(),
            resets,
            last: Mutex::default(),
        }
    }

    /// How many sandboxes of each profile are in which phase, in the order of [`Phase::ALL`].
    pub(super) fn counts(&self) -> BTreeMap<String, [u64; Phase::ALL.len()]> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts: BTreeMap<String, [u64; Phase::ALL.len()]> = BTreeMap::new();
        for last in last.values() {
            if !counts.contains_key(&last.profile) {
                counts.insert(last.profile.clone(), [0; Phase::ALL.len()]);
            }
            let counted = counts.get_mut(&last.profile).zip(place(last.phase));
            if let Some((row, at)) = counted {
                row[at] += 1;
            }
        }
        counts
    }

    pub(super) fn moved(&self, moved: &Moved, profile: &str) {
        if cfg!(feature = "uncounted") {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.remove(&moved.id);
        if let Some(before) = &before {
            self.in_phase(&before.profile, before.phase).dec();
            self.passed(before, moved.phase);
        }
        if moved.phase == Phase::Retired {
            // The pool tells once that a sandbox is gone; a second word of it counts nothing.
            if before.is_some() {
                let reason = moved.reason.unwrap_or(DROPPED);
                self.discards.with_label_values(&[reason]).inc();
            }
            return;
        }
        self.in_phase(profile, moved.phase).inc();
        let now = Last {
            profile: profile.to_owned(),
            phase: moved.phase,
        };
        last.insert(moved.id, now);
    }

    /// Counts what lies between two phases.
    fn passed(&self, before: &Last, phase: Phase) {
        match (before.phase, phase) {
            (Phase::Resetting, Phase::Warm) => self.resets.with_label_values(&["clean"]).inc(),
            (Phase::Resetting, Phase::Retired) => self.resets.with_label_values(&["failed"]).inc(),
            _ => {}
        }
    }

    fn in_phase(&self, profile: &str, phase: Phase) -> IntGauge {
        self.sandboxes.with_label_values(&[profile, word(phase)])
    }
}

impl Watch for Metrics {
    fn moved(&self, moved: &Moved) {
        self.pool.moved(moved, self.profile(&moved.profile));
    }

    fn told(&self, news: &News<'_>) {
        let figure = |figures: &IntGaugeVec, profile: &str, value: usize| {
            let figure = figures.with_label_values(&[self.profile(profile)]);
            figure.set(gauge(value));
        };
        match *news {
            News::Sized {
                profile,
                wanted,
                max,
            } => {
                figure(&self.names.pool_target, profile, wanted);
                figure(&self.names.pool_size_max, profile, max);
            }
            News::Waits { profile, jobs } => figure(&self.names.pool_waiting, profile, jobs),
            News::Making { profile } => {
                let profile = self.profile(profile);
                self.pool.in_phase(profile, Phase::Cold).inc();
            }
            News::Made { profile, took } => {
                let profile = self.profile(profile);
                self.pool.in_phase(profile, Phase::Cold).dec();
                self.neighbours.made(profile);
                Made { took }.emit(self);
            }
            News::NotMade { profile, why } => {
                self.pool.in_phase(self.profile(profile), Phase::Cold).dec();
                if let Some(why) = why {
                    self.neighbours.not_made(self.profile(profile), why);
                    NotMade { profile, why }.emit(self);
                }
            }
            News::Dirty { residue } => {
                for one in residue {
                    self.residue(kind(one.kind));
                }
            }
            News::TakenDown(down) => down.count(self),
        }
    }
}

fn place(phase: Phase) -> Option<usize> {
    Phase::ALL.iter().position(|known| *known == phase)
}

/// Every kind of residue.
const KINDS: [ResidueKind; 10] = [
    ResidueKind::Process,
    ResidueKind::Cgroup,
    ResidueKind::Mount,
    ResidueKind::Descriptor,
    ResidueKind::Namespace,
    ResidueKind::Memory,
    ResidueKind::Posture,
    ResidueKind::Key,
    ResidueKind::Limit,
    ResidueKind::Unreadable,
];

fn kind(kind: ResidueKind) -> &'static str {
    match kind {
        ResidueKind::Process => "process",
        ResidueKind::Cgroup => "cgroup",
        ResidueKind::Mount => "mount",
        ResidueKind::Descriptor => "descriptor",
        ResidueKind::Namespace => "namespace",
        ResidueKind::Memory => "memory",
        ResidueKind::Posture => "posture",
        ResidueKind::Key => "key",
        ResidueKind::Limit => "limit",
        ResidueKind::Unreadable => "unreadable",
    }
}

fn word(phase: Phase) -> &'static str {
    match phase {
        Phase::Cold => "cold",
        Phase::Warm => "warm",
        Phase::Leased => "leased",
        Phase::Running => "running",
        Phase::Resetting => "resetting",
        Phase::Retired => "retired",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn moved(id: u32, profile: &str, phase: Phase) -> Moved {
        Moved {
            id: SandboxId(id),
            profile: profile.into(),
            phase,
            generation: 1,
            uses: 0,
            tenant: None,
            reason: (phase == Phase::Retired).then_some("uses"),
        }
    }

    fn says(metrics: &Arc<Metrics>, lines: &[&str]) {
        let text = metrics.encode().expect("it can be encoded");
        for line in lines {
            assert!(
                text.contains(&format!("{line}\n")),
                "`{line}` is not in:\n{text}"
            );
        }
    }

    #[test]
    fn what_a_reset_found_is_counted_by_its_kind() {
        let metrics = Metrics::new();
        says(&metrics, &["kiln_residue_total{kind=\"mount\"} 0"]);
        let found = |kind| kiln_warden::wire::Residue {
            kind,
            detail: String::new(),
        };
        let residue = &[
            found(ResidueKind::Mount),
            found(ResidueKind::Key),
            found(ResidueKind::Mount),
        ];
        metrics.told(&News::Dirty { residue });
        says(
            &metrics,
            &[
                "kiln_residue_total{kind=\"key\"} 1",
                "kiln_residue_total{kind=\"mount\"} 2",
            ],
        );
    }

    #[test]
    fn moves_become_figures() {
        let metrics = Metrics::new();
        for phase in [Phase::Cold, Phase::Warm, Phase::Leased, Phase::Running] {
            metrics.moved(&moved(1, "python", phase));
        }
        metrics.moved(&moved(2, "a-stranger", Phase::Warm));
        says(
            &metrics,
            &[
                "kiln_pool_sandboxes{phase=\"cold\",profile=\"python\"} 0",
                "kiln_pool_sandboxes{phase=\"warm\",profile=\"python\"} 0",
                "kiln_pool_sandboxes{phase=\"running\",profile=\"python\"} 1",
                "kiln_pool_sandboxes{phase=\"warm\",profile=\"other\"} 1",
                "kiln_resets_total{result=\"clean\"} 0",
            ],
        );
        for phase in [
            Phase::Resetting,
            Phase::Warm,
            Phase::Leased,
            Phase::Resetting,
        ] {
            metrics.moved(&moved(1, "python", phase));
        }
        for _ in 0..2 {
            metrics.moved(&moved(1, "python", Phase::Retired));
        }
        says(
            &metrics,
            &[
                "kiln_pool_sandboxes{phase=\"running\",profile=\"python\"} 0",
                "kiln_pool_sandboxes{phase=\"resetting\",profile=\"python\"} 0",
                "kiln_resets_total{result=\"clean\"} 1",
                "kiln_resets_total{result=\"failed\"} 1",
                "kiln_pool_discards_total{reason=\"uses\"} 1",
            ],
        );
    }
}
