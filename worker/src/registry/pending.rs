//! What does this worker know, and what of that is still to be written?
//!
//! The view is whole: a write that fails costs nothing, for the next connection brings all of it.

use crate::pool::phase::Phase;
use crate::pool::watch::Moved;
use kiln_protocol::id::JobId;
use kiln_warden::wire::SandboxId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// What waits to be written, of each kind.
pub(super) const WAITING_MAX: usize = 8192;

/// What goes in one call.
pub(super) const BATCH: usize = 256;

/// Where a sandbox is, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: SandboxId,
    pub(super) generation: u64,
    /// Rises from phase to phase within a generation.
    pub(super) rank: u8,
    /// JSON of a [`Rest`].
    pub(super) rest: String,
}

/// What the record says of a sandbox beside its order. Readers ignore fields they do not know.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Rest {
    pub(super) profile: String,
    pub(super) phase: String,
    #[serde(default)]
    pub(super) uses: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tenant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// A word about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Claimed(JobId),
    Ended(JobId, Option<u64>),
    Cancelled(JobId),
}

/// Everything this worker knows, and what of it is news to the record.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Every sandbox that lives.
    view: BTreeMap<u32, Moved>,
    /// Those that moved.
    dirty: HashSet<u32>,
    retired: VecDeque<Moved>,
    words: VecDeque<Word>,
    /// Jobs that run here, and the token of each claim where it is known.
    held: HashMap<JobId, Option<u64>>,
    /// News was lost: only the whole view mends that.
    whole: bool,
    dropped: u64,
}

/// What goes out at once.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) moves: Vec<Moved>,
    pub(super) words: Vec<Word>,
}

/// The word for a phase, and its place within a generation.
pub(super) fn word(phase: Phase) -> (&'static str, u8) {
    match phase {
        Phase::Cold => ("cold", 0),
        Phase::Warm => ("warm", 0),
        Phase::Leased => ("leased", 1),
        Phase::Running => ("running", 2),
        Phase::Resetting => ("resetting", 3),
        Phase::Retired => ("retired", 4),
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.words.is_empty()
    }
}

impl Entry {
    pub(super) fn of(moved: &Moved) -> Self {
        let (phase, rank) = word(moved.phase);
        let rest = Rest {
            profile: moved.profile.to_string(),
            phase: phase.to_owned(),
            uses: moved.uses,
            tenant: moved.tenant.as_deref().map(str::to_owned),
            reason: moved.reason.map(str::to_owned),
        };
        Self {
            id: moved.id,
            generation: moved.generation,
            rank,
            rest: serde_json::to_string(&rest).expect("strings and numbers are JSON"),
        }
    }
}

impl Pending {
    /// Takes note of a move; says whether the writer should be woken.
    pub(super) fn moved(&mut self, moved: &Moved) -> bool {
        let before = self.waiting();
        let id = moved.id.0;
        if moved.phase == Phase::Retired {
            self.view.remove(&id);
            self.dirty.remove(&id);
            if self.retired.len() < WAITING_MAX {
                self.retired.push_back(moved.clone());
            } else {
                self.lose();
            }
        } else {
            self.view.insert(id, moved.clone());
            if self.dirty.len() < WAITING_MAX {
                self.dirty.insert(id);
            } else if !self.dirty.contains(&id) {
                self.lose();
            }
        }
        self.wakes(before)
    }

    /// Takes a word about a job; says whether the writer should be woken.
    pub(super) fn say(&mut self, word: Word) -> bool {
        let before = self.waiting();
        match &word {
            Word::Claimed(job) => {
                if self.held.len() < WAITING_MAX {
                    self.held.entry(job.clone()).or_insert(None);
                }
            }
            Word::Ended(job, _) => {
                self.held.remove(job);
            }
            Word::Cancelled(_) => {}
        }
        if self.words.len() < WAITING_MAX {
            self.words.push_back(word);
        } else {
            self.dropped += 1;
        }
        self.wakes(before)
    }

    /// The claim of a job is ours, under this token.
    pub(super) fn holds(&mut self, job: &JobId, token: u64) {
        if self.held.len() < WAITING_MAX {
            self.held.insert(job.clone(), Some(token));
        }
    }

    /// Learns the token of a claim that was only said; nothing where the job has ended meanwhile.
    pub(super) fn learn(&mut self, job: &JobId, token: u64) {
        if let Some(known) = self.held.get_mut(job) {
            *known = Some(token);
        }
    }

    pub(super) fn held(&self) -> Vec<(JobId, Option<u64>)> {
        self.held.iter().map(|(j, t)| (j.clone(), *t)).collect()
    }

    pub(super) fn token(&self, job: &JobId) -> Option<u64> {
        self.held.get(job).copied().flatten()
    }

    /// What goes out next.
    pub(super) fn take(&mut self) -> Batch {
        let retired = self.retired.len().min(BATCH);
        let mut moves: Vec<_> = self.retired.drain(..retired).collect();
        let dirty: Vec<u32> = self.dirty.iter().copied().take(BATCH - retired).collect();
        for id in dirty {
            self.dirty.remove(&id);
            moves.extend(self.view.get(&id).cloned());
        }
        let words = self.words.len().min(BATCH);
        Batch {
            moves,
            words: self.words.drain(..words).collect(),
        }
    }

    /// Every sandbox and every claim: what a new session begins with. Nothing else of sandboxes
    /// is news after it.
    pub(super) fn whole(&mut self) -> Vec<Moved> {
        self.dirty.clear();
        self.retired.clear();
        self.whole = false;
        let said: HashSet<_> = self
            .words
            .iter()
            .filter_map(|word| match word {
                Word::Claimed(job) => Some(job.clone()),
                Word::Ended(..) | Word::Cancelled(_) => None,
            })
            .collect();
        let again = self.held.keys().filter(|job| !said.contains(*job)).cloned();
        let again: Vec<_> = again.map(Word::Claimed).collect();
        self.words.extend(again);
        self.view.values().cloned().collect()
    }

    /// Takes back words that did not arrive; of sandboxes the next session brings everything.
    pub(super) fn back(&mut self, words: Vec<Word>) {
        for word in words.into_iter().rev() {
            if self.words.len() < WAITING_MAX {
                self.words.push_front(word);
            } else {
                self.dropped += 1;
            }
        }
    }

    pub(super) fn sandboxes(&self) -> usize {
        self.view.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting() == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting() >= BATCH
    }

    /// Whether only the whole view will do.
    pub(super) fn wants_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn lose(&mut self) {
        self.whole = true;
        self.dropped += 1;
    }

    fn waiting(&self) -> usize {
        self.dirty.len() + self.retired.len() + self.words.len()
    }

    /// The first news and a full batch wake the writer; what comes between finds it awake.
    fn wakes(&self, before: usize) -> bool {
        let now = self.waiting();
        now != before && (before == 0 || now == BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(id: u32, phase: Phase, generation: u64) -> Moved {
        Moved {
            id: SandboxId(id),
            profile: "python".into(),
            phase,
            generation,
            uses: 0,
            tenant: None,
            reason: None,
        }
    }

    fn job(name: &str) -> JobId {
        JobId::try_from(name.to_owned()).expect("a name")
    }

    #[test]
    fn of_many_moves_the_last_is_written_once() {
        let mut pending = Pending::default();
        assert!(pending.moved(&moved(1, Phase::Warm, 1)), "the first wakes");
        assert!(!pending.moved(&moved(1, Phase::Leased, 1)));
        assert!(!pending.moved(&moved(1, Phase::Running, 1)));
        let batch = pending.take();
        assert_eq!(batch.moves.len(), 1);
        assert_eq!(batch.moves[0].phase, Phase::Running);
        assert!(pending.is_idle());
        assert_eq!(pending.sandboxes(), 1);
    }

    #[test]
    fn a_retired_sandbox_is_written_as_retired_and_is_not_in_the_view() {
        let mut pending = Pending::default();
        pending.moved(&moved(1, Phase::Warm, 1));
        pending.moved(&moved(1, Phase::Retired, 1));
        let batch = pending.take();
        assert_eq!(batch.moves.len(), 1);
        assert_eq!(batch.moves[0].phase, Phase::Retired);
        assert!(pending.whole().is_empty());
    }

    #[test]
    fn a_full_batch_wakes_the_writer_and_a_full_queue_asks_for_the_whole_view() {
        let mut pending = Pending::default();
        let wakes = (0..300).filter(|id| pending.moved(&moved(*id, Phase::Warm, 1)));
        assert_eq!(wakes.collect::<Vec<_>>(), [0, 255]);
        let most = u32::try_from(WAITING_MAX).expect("small");
        for id in 300..most + 10 {
            pending.moved(&moved(id, Phase::Warm, 1));
        }
        assert_eq!(pending.dropped(), 10);
        assert!(pending.wants_whole());
        assert_eq!(pending.whole().len(), WAITING_MAX + 10);
        assert!(!pending.wants_whole() && pending.is_idle());
    }

    #[test]
    fn a_new_session_says_every_claim_that_is_still_held() {
        let mut pending = Pending::default();
        pending.say(Word::Claimed(job("a")));
        pending.say(Word::Claimed(job("b")));
        let lost = pending.take();
        assert_eq!(lost.words.len(), 2);
        pending.say(Word::Ended(job("a"), None));
        pending.whole();
        let words = pending.take().words;
        assert_eq!(
            words,
            [Word::Ended(job("a"), None), Word::Claimed(job("b"))]
        );
    }

    #[test]
    fn words_that_did_not_arrive_keep_their_order() {
        let mut pending = Pending::default();
        pending.say(Word::Cancelled(job("a")));
        pending.say(Word::Cancelled(job("b")));
        let words = pending.take().words;
        pending.say(Word::Cancelled(job("c")));
        pending.back(words);
        let order: Vec<_> = pending.take().words;
        let wanted = ["a", "b", "c"].map(|name| Word::Cancelled(job(name)));
        assert_eq!(order, wanted);
    }

    #[test]
    fn the_token_of_a_job_that_has_ended_is_not_kept() {
        let mut pending = Pending::default();
        pending.say(Word::Claimed(job("a")));
        pending.learn(&job("a"), 7);
        assert_eq!(pending.token(&job("a")), Some(7));
        pending.say(Word::Ended(job("a"), Some(7)));
        pending.learn(&job("a"), 8);
        assert_eq!(pending.token(&job("a")), None);
    }
}
