//! What was said of the same bytes under the same name before?
//!
//! Rules, policy and program are those of this process as long as it lives, so that they need not
//! be part of the key. What did not finish is not remembered, and nor is a word that depends on
//! the secrets of one job.

use super::word::Word;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Words that are remembered at most; the oldest go first.
const WORDS_MAX: usize = 4_096;

/// A file by its content and by its name, which is part of what is judged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    sha256: String,
    name: String,
}

/// The words of a process so far.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    words: HashMap<Key, Word>,
    order: VecDeque<Key>,
}

impl Cache {
    pub(crate) fn get(&self, sha256: &str, name: &str) -> Option<Word> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.words.get(&key(sha256, name)).cloned()
    }

    pub(crate) fn put(&self, sha256: &str, name: &str, word: &Word) {
        if !word.is_final() {
            return;
        }
        let key = key(sha256, name);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.words.insert(key.clone(), word.clone()).is_none() {
            known.order.push_back(key);
        }
        if known.order.len() > WORDS_MAX
            && let Some(oldest) = known.order.pop_front()
        {
            known.words.remove(&oldest);
        }
    }
}

fn key(sha256: &str, name: &str) -> Key {
    Key {
        sha256: sha256.to_owned(),
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artifact_scanner::{Unscannable, Verdict};

    #[test]
    fn only_what_finished_is_remembered_and_only_for_its_name() {
        let cache = Cache::default();
        cache.put("ab", "a.csv", &Word::for_test(Verdict::Clean));
        assert!(cache.get("ab", "a.csv").is_some());
        assert_eq!(cache.get("ab", "a.html"), None);
        assert_eq!(cache.get("cd", "a.csv"), None);
        for reason in [Unscannable::Timeout, Unscannable::EngineError] {
            cache.put("cd", "a.csv", &Word::unscannable(reason));
            assert_eq!(cache.get("cd", "a.csv"), None, "{reason}");
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let cache = Cache::default();
        for n in 0..=WORDS_MAX {
            cache.put(&n.to_string(), "a", &Word::for_test(Verdict::Clean));
        }
        assert_eq!(cache.get("0", "a"), None);
        assert!(cache.get("1", "a").is_some());
        let known = cache.0.lock().expect("ours");
        assert_eq!(known.words.len(), known.order.len());
    }
}
